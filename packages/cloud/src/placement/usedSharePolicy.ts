import { fittingCards } from './cardChoice.js';
import type { CardUsage, HostUsage } from './hostUsage.js';
import type { HostScorer, PlacementPolicy } from './policy.js';
import type { PlacementRequest } from './request.js';

/** `spread`: the least used host and cards; `binpack`: the most used. */
export class UsedSharePolicy implements PlacementPolicy {
  readonly version = 0;
  readonly #sign: 1 | -1;

  constructor(readonly direction: 'spread' | 'binpack') {
    this.#sign = direction === 'spread' ? -1 : 1;
  }

  observe(): void {}

  scorer(request: PlacementRequest): HostScorer {
    return {
      score: (usage, cards) => {
        const { gpu } = request;
        if (gpu === undefined) {
          // Hosts with cards come last: their CPU is needed to feed the cards.
          return this.#sign * usedShareAfter(usage, request) - 2 * usage.cards.length;
        }
        const chosen = fittingCards(usage, gpu)
          .sort((a, b) => this.#sign * (a.freePercent - b.freePercent))
          .slice(0, gpu.count);
        cards?.push(...chosen);
        return (
          this.#sign * (usedCardShare(usage.cards) + usedCardShare(chosen) + usedShareAfter(usage, request))
        );
      },
    };
  }
}

/** The larger of the shares of CPU and memory in use once the request is there, 0 to 1. */
export function usedShareAfter(usage: HostUsage, request: PlacementRequest): number {
  const { host, free } = usage;
  const cpu = 1 - (free.cpuMilli - request.cpuMilli) / Math.max(1, host.cpuMilli);
  const memory = 1 - (free.memoryMiB - request.memoryMiB) / Math.max(1, host.memoryMiB);
  return Math.max(cpu, memory);
}

function usedCardShare(cards: readonly CardUsage[]): number {
  let free = 0;
  for (const card of cards) free += card.freePercent;
  return 1 - free / (100 * Math.max(1, cards.length));
}
