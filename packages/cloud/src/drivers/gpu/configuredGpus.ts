import type { GpuInventory, GpuKind } from '../../domain/gpu.js';
import type { GpuDriver } from './driver.js';

/** Cards that the operator declares for a host. */
export interface DeclaredCards {
  readonly model: string;
  readonly memoryMiB: number;
  readonly count: number;
  readonly kind: Exclude<GpuKind, 'nvidia'>;
}

/** Cards without hardware, as the configuration names them. They are always well and have no links. */
export class ConfiguredGpuDriver implements GpuDriver {
  /** `processors` of the host: its software cards have like parts of them. */
  constructor(
    private readonly declared: readonly DeclaredCards[],
    private readonly processors: number,
  ) {}

  async readInventory(): Promise<GpuInventory> {
    const all = this.declared.flatMap(({ count, ...card }) => Array.from({ length: count }, () => card));
    const software = all.filter((card) => card.kind === 'software').length;
    const processorMilli = Math.floor((this.processors * 1000) / software);
    const cards = all.map(({ model, memoryMiB, kind }, index) => ({
      id: `${kind}-${index}`,
      kind,
      product: model,
      memoryMiB,
      ...(kind === 'software' ? { processorMilli } : {}),
      faults: [],
    }));
    return { cards, links: [] };
  }
}
