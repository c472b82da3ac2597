import { cardKind } from './cardKind.js';
import { cardValues } from './cardValue.js';
import type { RequestClass } from './demand.js';
import type { Card } from './host.js';
import { type HostUsage, slicePercent } from './hostUsage.js';

/*
 * What the free part of a host is worth to the requests that usually come, in cards. It is the sum of
 *
 * 1. the worth of its cards' free parts (`cardValues`): what fewest-cards packing would make of
 *    them. A hole that no usual slice fills is worth nothing; counted `cardWorth` times, because
 *    what is lost here is lost for certain.
 * 2. the same worth as far as the host's free CPU can feed it, averaged over the CPU that requests
 *    ask per card; counted `fedWorth` times. It keeps CPU and cards of a host running out together:
 *    requests without GPU go where CPU is left over, those with much CPU where there is much of it.
 * 3. usable GPU: for a class m of requests, usable(m) is the free GPU, summed over all hosts, that
 *    requests of m could take. What is kept large is the sum over the classes of
 *    arrivals(m) * log usable(m), so that free GPU counts arrivals(m) / usable(m) for each class
 *    that can use it: room that is scarce for those who need it (a card model asked by name, much
 *    CPU beside eight cards, idle cards together) has a price, paid by requests that could run
 *    elsewhere. Where nothing is scarce, this is the fragmentation gradient of Weng et al., ATC 2023.
 */

const cardWorth = 9;
const fedWorth = 1;
/** Room that is gone for a class counts no more than this: one class must not rule all choices. */
const maxScarcity = 20;

/** Classes that ask the same of the cards and differ in CPU. */
interface CardNeed {
  readonly whole: boolean;
  /** Cards of a request. */
  readonly count: number;
  /** Of each card; 100 for whole cards. */
  readonly percent: number;
  /** Of the classes, ascending. */
  readonly cpuMilli: Float64Array;
  readonly classes: Int32Array;
  /** Sums of the weights of the first n classes: one look-up answers for all that the CPU allows. */
  readonly weightSums: Float64Array;
}

/** What the demand is to one kind of card. */
interface KindDemand {
  /** The smallest slices first. */
  readonly needs: readonly CardNeed[];
  /** Worth of the free part of a card, for 0 to 100 percent, in cards. */
  readonly values: Float64Array;
}

/** The cards of one kind on a host, by their places in its list. */
export interface CardGroup {
  readonly card: Card;
  readonly members: readonly number[];
}

export function cardGroups(usage: HostUsage): CardGroup[] {
  const groups = new Map<string, { card: Card; members: number[] }>();
  for (const { card, kind, index } of usage.cards) {
    const group = groups.get(kind);
    if (group !== undefined) group.members.push(index);
    else groups.set(kind, { card, members: [index] });
  }
  return [...groups.values()];
}

/** The worth of hosts under the demand and the room of one moment. */
export class HostValuation {
  readonly #kinds = new Map<string, KindDemand>();
  readonly #kindOfCard = new WeakMap<Card, KindDemand>();
  readonly #cpuPerCard: CpuPerCard;

  constructor(
    private readonly classes: readonly RequestClass[],
    hosts: Iterable<HostUsage>,
  ) {
    this.#cpuPerCard = new CpuPerCard(classes);
    const open = [...hosts].filter((usage) => usage.host.state === 'active' && usage.cards.length > 0);
    for (const usage of open) {
      for (const { card, kind } of usage.cards) {
        if (!this.#kinds.has(kind)) this.#kinds.set(kind, kindDemand(card, classes));
      }
    }
    this.#weigh(open);
  }

  /** The worth of a host with `freeCpuMilli` and, card by card, `percents` free. */
  value(groups: readonly CardGroup[], freeCpuMilli: number, percents: ArrayLike<number>): number {
    let usable = 0;
    let worth = 0;
    for (const { card, members } of groups) {
      const { needs, values } = this.#demandFor(card);
      let most = 0;
      for (const member of members) {
        const percent = percents[member] ?? 0;
        worth += values[percent] ?? 0;
        if (percent > most) most = percent;
      }
      for (const need of needs) {
        // The needs stand by size: where no card has room for this one, the rest is larger still.
        if (need.percent > most) break;
        const percent = usablePercent(need, members, percents);
        if (percent === 0) continue;
        usable += percent * (need.weightSums[countUpTo(need.cpuMilli, freeCpuMilli)] ?? 0);
      }
    }
    const fed = worth > 0 ? worth * this.#cpuPerCard.fedShare(freeCpuMilli / worth) : 0;
    return usable / 100 + cardWorth * worth + fedWorth * fed;
  }

  #demandFor(card: Card): KindDemand {
    let demand = this.#kindOfCard.get(card);
    if (demand === undefined) {
      demand = this.#kinds.get(cardKind(card)) ?? kindDemand(card, this.classes);
      this.#kindOfCard.set(card, demand);
    }
    return demand;
  }

  /** Gives each class its share of arrivals times the scarcity of the room it can use. */
  #weigh(hosts: readonly HostUsage[]): void {
    const usable = new Float64Array(this.classes.length);
    let free = 0;
    for (const usage of hosts) {
      const percents = usage.cards.map((card) => card.freePercent);
      for (const percent of percents) free += percent;
      for (const { card, members } of cardGroups(usage)) {
        for (const need of this.#demandFor(card).needs) {
          const percent = usablePercent(need, members, percents);
          if (percent === 0) continue;
          const fed = countUpTo(need.cpuMilli, usage.free.cpuMilli);
          for (const index of need.classes.subarray(0, fed)) usable[index] = (usable[index] ?? 0) + percent;
        }
      }
    }
    const arrivals = this.classes.reduce((sum, { weight }) => sum + weight, 0);
    for (const { needs } of this.#kinds.values()) {
      for (const { classes, weightSums } of needs) {
        classes.forEach((index, i) => {
          const scarcity = Math.min(maxScarcity, free / Math.max(1, usable[index] ?? 0));
          const share = (this.classes[index]?.weight ?? 0) / arrivals;
          weightSums[i + 1] = (weightSums[i] ?? 0) + share * scarcity;
        });
      }
    }
  }
}

/** What the classes ask of cards of one kind; the weights come later. */
function kindDemand(card: Card, classes: readonly RequestClass[]): KindDemand {
  const needs = new Map<string, { whole: boolean; count: number; percent: number; classes: number[] }>();
  const slices: { percent: number; weight: number }[] = [];
  classes.forEach(({ gpu, weight }, index) => {
    if (gpu.models !== undefined && !gpu.models.includes(card.model)) return;
    const whole = gpu.kind === 'whole';
    const percent = gpu.kind === 'whole' ? 100 : slicePercent(card, gpu);
    if (percent > 100) return;
    if (!whole) slices.push({ percent, weight: weight * gpu.count });
    const key = `${gpu.kind}|${gpu.count}|${percent}`;
    const need = needs.get(key);
    if (need !== undefined) need.classes.push(index);
    else needs.set(key, { whole, count: gpu.count, percent, classes: [index] });
  });
  const cpuOf = (index: number): number => classes[index]?.cpuMilli ?? 0;
  return {
    values: cardValues(slices),
    needs: [...needs.values()].sort(bySize).map(({ whole, count, percent, classes: members }) => {
      members.sort((a, b) => cpuOf(a) - cpuOf(b));
      return {
        whole,
        count,
        percent,
        cpuMilli: Float64Array.from(members, cpuOf),
        classes: Int32Array.from(members),
        weightSums: new Float64Array(members.length + 1),
      };
    }),
  };
}

function bySize(one: { percent: number }, other: { percent: number }): number {
  return one.percent - other.percent;
}

/** How much CPU the requests want for each card they ask, weighted by those cards. */
class CpuPerCard {
  /** Ascending, with the sums over the first n of weight and of weight / cpuMilli. */
  readonly #cpuMilli: Float64Array;
  readonly #weights: Float64Array;
  readonly #weightsPerCpu: Float64Array;

  constructor(classes: readonly RequestClass[]) {
    const wants = classes
      .map(({ cpuMilli, gpu, weight }) => {
        const cards = gpu.kind === 'whole' ? gpu.count : (gpu.count * sliceShare(gpu.computePercent)) / 100;
        return { cpuMilli: Math.max(1, cpuMilli / cards), weight: weight * cards };
      })
      .sort((a, b) => a.cpuMilli - b.cpuMilli);
    const total = wants.reduce((sum, { weight }) => sum + weight, 0);
    this.#cpuMilli = Float64Array.from(wants, (want) => want.cpuMilli);
    this.#weights = runningSums(wants.map(({ weight }) => weight / total));
    this.#weightsPerCpu = runningSums(wants.map(({ weight, cpuMilli }) => weight / total / cpuMilli));
  }

  /** The share of free cards that can be used when there is so much CPU for each, 0 to 1. */
  fedShare(cpuMilliPerCard: number): number {
    if (this.#cpuMilli.length === 0) return 1;
    if (cpuMilliPerCard <= 0) return 0;
    const fed = countUpTo(this.#cpuMilli, cpuMilliPerCard);
    const partly = (this.#weightsPerCpu.at(-1) ?? 0) - (this.#weightsPerCpu[fed] ?? 0);
    return (this.#weights[fed] ?? 0) + cpuMilliPerCard * partly;
  }
}

/** Slices that ask no compute still take their memory's part of a card; one percent is the least. */
function sliceShare(computePercent: number): number {
  return Math.max(1, computePercent);
}

function runningSums(values: readonly number[]): Float64Array {
  const sums = new Float64Array(values.length + 1);
  values.forEach((value, i) => {
    sums[i + 1] = (sums[i] ?? 0) + value;
  });
  return sums;
}

/** How much of the cards' free parts a need can use, in percent of a card. */
function usablePercent(need: CardNeed, members: readonly number[], percents: ArrayLike<number>): number {
  let cards = 0;
  let percent = 0;
  for (const member of members) {
    const free = percents[member] ?? 0;
    if (free < need.percent) continue;
    cards++;
    percent += free;
  }
  if (cards < need.count) return 0;
  // Idle cards left over when groups of `count` are made are of no use.
  return need.whole ? (cards - (cards % need.count)) * 100 : percent;
}

/** How many of the ascending values are at most `limit`. */
function countUpTo(values: Float64Array, limit: number): number {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((values[middle] ?? 0) <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}
