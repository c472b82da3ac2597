import { cardFits } from './filter.js';
import type { CardShare } from './host.js';
import type { CardUsage, HostUsage } from './hostUsage.js';
import { bestLinked } from './linkedCards.js';
import type { GpuRequest } from './request.js';

/** The cards of a host that can serve their part of the request now, in the host's order. */
export function fittingCards(usage: HostUsage, gpu: GpuRequest): CardUsage[] {
  return usage.cards.filter((card) => cardFits(card, gpu));
}

/**
 * The choices of cards worth comparing. One slice: each card of those alike once. Several: the
 * fullest that have room. Whole cards: the group with the best links.
 */
export function cardOptions(usage: HostUsage, gpu: GpuRequest): CardUsage[][] {
  const fitting = fittingCards(usage, gpu);
  if (gpu.kind === 'whole') return [bestLinked(usage, fitting, gpu.count)];
  if (gpu.count === 1) return firstOfEachState(fitting).map((card) => [card]);
  return [fitting.sort((a, b) => a.freePercent - b.freePercent).slice(0, gpu.count)];
}

function firstOfEachState(cards: readonly CardUsage[]): CardUsage[] {
  return cards.filter(
    (card, place) =>
      !cards
        .slice(0, place)
        .some((other) => other.freePercent === card.freePercent && other.kind === card.kind),
  );
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
