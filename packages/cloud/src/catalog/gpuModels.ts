import type { GpuCard, GpuInventory } from '../domain/gpu.js';
import type { Card, GpuRequest, Host } from '../placement/index.js';
import type { InstanceType, InstanceTypeGpu } from './instanceTypes.js';

/** The model of instance types that a card serves, in one of the sizes in which the model comes. */
interface ModelSize {
  readonly model: string;
  readonly memoryMiB: number;
}

/** Products of NVIDIA (as its driver names them) and the model of instance types that they are. */
const products: readonly (readonly [RegExp, string])[] = [
  [/\bP100\b/, 'NVIDIA P100'],
  [/\bP4\b/, 'NVIDIA P4'],
  [/\bT4\b/, 'NVIDIA T4'],
  [/\bV100-SXM2\b/, 'NVIDIA V100 SXM2'],
  [/\bA100\b/, 'NVIDIA A100'],
  [/\bA10$/, 'NVIDIA A10'],
  [/\bA16$/, 'NVIDIA GA107 (quarter of an A16 board)'],
  [/\bA30\b/, 'NVIDIA A30'],
  [/\bL20\b/, 'NVIDIA L20'],
  [/\bH20\b/, 'NVIDIA H20'],
];

/** Sizes that the table of instance types does not tell: of an A16's quarter, from NVIDIA's data sheet. */
const untoldSizes: readonly ModelSize[] = [
  { model: 'NVIDIA GA107 (quarter of an A16 board)', memoryMiB: 16 * 1024 },
];

/** Slices that may share a card: the most of cGPU (`max_inst`). */
const maxSlicesPerCard = 25;

/**
 * Which cards serve which instance types. Placement knows cards by a name that says model and size
 * (`NVIDIA A100 80GB`), since types of one model differ by the size of its memory.
 *
 * A slice is a fraction of the card: placement counts in the size that the maker says (16384 MiB of a T4), of
 * which the driver keeps some for itself (it reports 15360), so that two halves always fit.
 */
export class GpuModels {
  private readonly sizes: readonly ModelSize[];

  /** `mapping`: the operator's own, product to model of instance types; it wins over what is known here. */
  constructor(
    types: Iterable<InstanceType>,
    private readonly mapping: Readonly<Record<string, string>>,
  ) {
    const sizes = new Map<string, ModelSize>(untoldSizes.map((size) => [nameOf(size), size]));
    for (const { gpu } of types) {
      if (gpu?.memoryMiBPerCard === undefined) continue;
      const size = { model: gpu.model, memoryMiB: gpu.memoryMiBPerCard };
      sizes.set(nameOf(size), size);
    }
    this.sizes = [...sizes.values()];
  }

  /** Models that some instance type has. */
  get models(): ReadonlySet<string> {
    return new Set(this.sizes.map((size) => size.model));
  }

  /** Memory of a product that comes in one size, or has it in its name (`NVIDIA A100-SXM4-80GB`). */
  findMemoryMiB(product: string): number | undefined {
    const named = /(\d+) ?GB\b/.exec(product)?.[1];
    if (named !== undefined) return Number(named) * 1024;
    const sizes = this.sizesOf(product);
    return sizes.length === 1 ? sizes[0]?.memoryMiB : undefined;
  }

  /** A host's cards as placement shall count them. */
  offer({ cards, links }: GpuInventory): Pick<Host, 'cards' | 'links'> {
    return { cards: cards.map((card) => this.offerCard(card)), links };
  }

  /** What an instance of a type with this GPU asks for. */
  requestOf({ model, amount, memoryMiBPerCard }: InstanceTypeGpu): GpuRequest {
    const models = this.sizes
      .filter((size) => size.model === model && size.memoryMiB === (memoryMiBPerCard ?? size.memoryMiB))
      .map(nameOf);
    if (amount >= 1) return { kind: 'whole', count: amount, models };
    return {
      kind: 'slice',
      count: 1,
      // Rounded down: as many slices fit as the fraction says.
      memoryMiB: Math.floor((memoryMiBPerCard ?? 0) * amount),
      computePercent: Math.floor(100 * amount),
      models,
    };
  }

  private offerCard(card: GpuCard): Card {
    const sizes = this.sizesOf(card.product);
    const [nearest] = [...sizes].sort(
      (one, other) => Math.abs(one.memoryMiB - card.memoryMiB) - Math.abs(other.memoryMiB - card.memoryMiB),
    );
    const size = nearest ?? { model: card.product, memoryMiB: card.memoryMiB };
    return {
      id: card.id,
      model: nameOf(size),
      memoryMiB: size.memoryMiB,
      computePercent: 100,
      // A part that the hardware keeps apart is not shared once more.
      maxSlices: card.mig === undefined ? maxSlicesPerCard : 1,
      healthy: card.faults.length === 0,
      ...(card.numaNode === undefined ? {} : { numaNode: card.numaNode }),
    };
  }

  private sizesOf(product: string): readonly ModelSize[] {
    const isPart = / MIG /.test(product);
    const model =
      this.mapping[product] ??
      (this.models.has(product) ? product : undefined) ??
      (isPart ? undefined : products.find(([pattern]) => pattern.test(product))?.[1]);
    return this.sizes.filter((size) => size.model === model);
  }
}

function nameOf({ model, memoryMiB }: ModelSize): string {
  return `${model} ${Math.round(memoryMiB / 1024)}GB`;
}
