import { cardMisfit } from './filter.js';
import type { CardShare } from './host.js';
import type { CardUsage, HostUsage } from './hostUsage.js';
import type { GpuRequest, PlacementRequest, Strategy } from './request.js';

/** Where a request would go on one host. */
export interface Candidate {
  /** Larger wins; hosts of one score are taken in the order in which they joined. */
  readonly score: number;
  readonly cards: readonly CardUsage[];
}

/** The strategy that a request gets when it names none. */
export function defaultStrategy(request: PlacementRequest): Strategy {
  return request.gpu === undefined ? 'spread' : 'fragmentation';
}

/** Scores a host that has room for the request and picks its cards. */
export function scoreHost(usage: HostUsage, request: PlacementRequest, strategy: Strategy): Candidate {
  const { gpu } = request;
  if (gpu === undefined) {
    const share = usedShareAfter(usage, request);
    // A CPU-only request goes to a host with cards only when no other has room: cards need CPU too.
    return { score: (strategy === 'spread' ? -share : share) - 2 * usage.cards.length, cards: [] };
  }
  const fitting = usage.cards.filter((card) => cardMisfit(card, gpu) === undefined);
  const direction = strategy === 'spread' ? 1 : -1;
  fitting.sort((a, b) => direction * (freeShare(b) - freeShare(a)));
  const cards = fitting.slice(0, gpu.count);
  let left = 0;
  for (const card of usage.cards) left += freeShare(card);
  let used = 0;
  for (const card of cards) used += freeShare(card);
  return { score: direction * (left / 100 + used), cards };
}

/** The larger of the shares of CPU and memory in use once the request is there, 0 to 1. */
function usedShareAfter(usage: HostUsage, request: PlacementRequest): number {
  const { host, free } = usage;
  const cpu = 1 - (free.cpuMilli - request.cpuMilli) / Math.max(1, host.cpuMilli);
  const memory = 1 - (free.memoryMiB - request.memoryMiB) / Math.max(1, host.memoryMiB);
  return Math.max(cpu, memory);
}

/** The part of a card that a slice can still use: the scarcer of memory and compute, 0 to 1. */
export function freeShare(usage: CardUsage): number {
  if (usage.exclusive) return 0;
  return Math.min(usage.freeMemoryMiB / usage.card.memoryMiB, usage.freeComputePercent / 100);
}

/** What the request takes from each of the chosen cards. */
export function sharesOf(cards: readonly CardUsage[], gpu: GpuRequest | undefined): CardShare[] {
  if (gpu === undefined) return [];
  return cards.map(({ card }) =>
    gpu.kind === 'whole'
      ? { cardId: card.id, memoryMiB: card.memoryMiB, computePercent: card.computePercent, exclusive: true }
      : { cardId: card.id, memoryMiB: gpu.memoryMiB, computePercent: gpu.computePercent, exclusive: false },
  );
}
