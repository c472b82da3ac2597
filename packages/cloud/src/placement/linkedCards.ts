import type { CardUsage, HostUsage } from './hostUsage.js';
import { linkKey } from './linkKey.js';

/** Cards of one NUMA node without a known link are nearer to each other than those of two. */
const sameNumaBandwidth = 0.1;

/**
 * The `count` cards of `from` whose slowest link is fastest: from every card, the group that grows
 * by the best linked next one. In the host's order where nothing is known of links.
 */
export function bestLinked(usage: HostUsage, from: readonly CardUsage[], count: number): CardUsage[] {
  if (count <= 1 || count >= from.length || !knowsLinks(usage)) return from.slice(0, count);
  let best: CardUsage[] = [];
  let bestBandwidth = -1;
  for (const seed of from) {
    const group = [seed];
    const rest = from.filter((card) => card !== seed);
    while (group.length < count) {
      let nearest = 0;
      let nearestBandwidth = -1;
      rest.forEach((card, place) => {
        const bandwidth = slowest(usage, card, group);
        if (bandwidth > nearestBandwidth) {
          nearest = place;
          nearestBandwidth = bandwidth;
        }
      });
      group.push(...rest.splice(nearest, 1));
    }
    const bandwidth = bandwidthOf(usage, group);
    if (bandwidth > bestBandwidth) {
      best = group;
      bestBandwidth = bandwidth;
    }
  }
  return best.sort((a, b) => a.index - b.index);
}

/** The bandwidth of the slowest link in a group of cards; 0 where links are unknown. */
export function bandwidthOf(usage: HostUsage, group: readonly CardUsage[]): number {
  if (group.length < 2 || !knowsLinks(usage)) return 0;
  let least = Number.POSITIVE_INFINITY;
  group.forEach((card, place) => {
    if (place > 0) least = Math.min(least, slowest(usage, card, group.slice(0, place)));
  });
  return least;
}

function knowsLinks(usage: HostUsage): boolean {
  return usage.linkBandwidth.size > 0 || usage.cards.some(({ card }) => card.numaNode !== undefined);
}

function slowest(usage: HostUsage, card: CardUsage, group: readonly CardUsage[]): number {
  let least = Number.POSITIVE_INFINITY;
  for (const other of group) least = Math.min(least, bandwidth(usage, card, other));
  return least;
}

function bandwidth(usage: HostUsage, one: CardUsage, other: CardUsage): number {
  const link = usage.linkBandwidth.get(linkKey(one.card.id, other.card.id));
  if (link !== undefined) return link;
  const { numaNode } = one.card;
  return numaNode !== undefined && numaNode === other.card.numaNode ? sameNumaBandwidth : 0;
}
