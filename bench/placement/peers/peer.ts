import { cardFits } from '@openegs/cloud/placement/filter';
import type {
  CardUsage,
  GpuRequest,
  HostScorer,
  HostUsage,
  PlacementPolicy,
  PlacementRequest,
} from '@openegs/cloud/placement/index';

/** A published policy under test, as the artefact of the FGD paper implements it: integer scores 0 to 100. */
export abstract class Peer implements PlacementPolicy {
  readonly version: number = 0;

  observe(_request: PlacementRequest): void {}

  /** Told where a request has gone. */
  placed(_hostId: string, _request: PlacementRequest): void {}

  scorer(request: PlacementRequest): HostScorer {
    return {
      score: (usage, cards) => {
        const { score, chosen } = this.rate(usage, request);
        cards?.push(...chosen);
        return score;
      },
    };
  }

  protected abstract rate(usage: HostUsage, request: PlacementRequest): Rating;
}

export interface Rating {
  readonly score: number;
  readonly chosen: readonly CardUsage[];
}

/** The largest host of the trace, by which the artefact normalises. */
export const maxHost = { cpuMilli: 128_000, cards: 8 };

/** Milli-GPU left on a card. */
export function leftOn(card: CardUsage): number {
  return card.freeMemoryMiB;
}

export function leftOnHost(usage: HostUsage): number {
  return usage.cards.reduce((sum, card) => sum + leftOn(card), 0);
}

export function idleCards(usage: HostUsage): number {
  return usage.cards.filter((card) => leftOn(card) === 1000).length;
}

export function milliOf(gpu: GpuRequest | undefined): number {
  if (gpu === undefined) return 0;
  return gpu.count * (gpu.kind === 'whole' ? 1000 : gpu.memoryMiB);
}

/** The fullest card that fits a slice; the first idle ones for whole cards. */
export function bestFitCards(usage: HostUsage, gpu: GpuRequest | undefined): CardUsage[] {
  if (gpu === undefined) return [];
  const fitting = usage.cards.filter((card) => cardFits(card, gpu));
  if (gpu.kind === 'slice') fitting.sort((a, b) => leftOn(a) - leftOn(b));
  return fitting.slice(0, gpu.count);
}
