import { cardOptions } from './cardChoice.js';
import { DemandModel } from './demand.js';
import { type CardUsage, type HostUsage, slicePercent } from './hostUsage.js';
import { type CardGroup, cardGroups, HostValuation } from './hostValue.js';
import { bandwidthOf } from './linkedCards.js';
import type { HostScorer, PlacementPolicy } from './policy.js';
import type { GpuRequest, PlacementRequest } from './request.js';
import { usedShareAfter } from './usedSharePolicy.js';

/**
 * Scores are whole steps of this many cards, and hosts within one step are taken in their fixed
 * order: like requests so gather on few hosts, and what is left free stays in large pieces.
 */
const stepCards = 0.04;
/** The demand is weighed anew after at least and at most so many further GPU requests. */
const minRequestsBetweenWeighings = 100;
const maxRequestsBetweenWeighings = 1000;
/** Above every score of a host with cards. */
const hostsWithoutCards = 1e6;

/**
 * The default policy: of all places a request is given the one that costs the requests still to
 * come least: what the host's free part is worth to them (`HostValuation`) before and after. What
 * usually comes is learnt from the requests themselves; nothing has to be configured. A request
 * without GPU goes to hosts without cards while these have room, the least used first.
 */
export class FragmentationPolicy implements PlacementPolicy {
  version = 0;
  readonly demand = new DemandModel();
  #valuation = new HostValuation([], []);
  #nextWeighing = minRequestsBetweenWeighings;
  readonly #known = new WeakMap<HostUsage, KnownHost>();

  observe(request: PlacementRequest, hosts: () => Iterable<HostUsage>): void {
    this.demand.observe(request);
    if (this.demand.observed >= this.#nextWeighing) this.weigh(hosts());
  }

  /** Takes the demand seen so far and the room there is now as the ground of further scores. */
  weigh(hosts: Iterable<HostUsage>): void {
    const { observed } = this.demand;
    const pause = Math.min(maxRequestsBetweenWeighings, Math.max(minRequestsBetweenWeighings, observed));
    this.#nextWeighing = observed + pause;
    this.#valuation = new HostValuation([...this.demand.classes()], hosts);
    this.version++;
  }

  worth(usage: HostUsage): number {
    return usage.cards.length === 0 || usage.host.state !== 'active' ? 0 : this.#knownHost(usage).value;
  }

  scorer(request: PlacementRequest): HostScorer {
    // Hosts of one shape that run nothing are alike: a new cloud has a few scores, not thousands.
    let ofUntouched = new Map<string, number>();
    let version = this.version;
    return {
      score: (usage, cards) => {
        if (usage.owners > 0 || cards !== undefined) return this.#score(usage, request, cards);
        if (version !== this.version) ofUntouched = new Map();
        version = this.version;
        let score = ofUntouched.get(usage.shape);
        if (score === undefined) {
          score = this.#score(usage, request, cards);
          ofUntouched.set(usage.shape, score);
        }
        return score;
      },
    };
  }

  /** The cost in steps, negative, with the cards that cost least; of like hosts the better linked. */
  #score(usage: HostUsage, request: PlacementRequest, cards: CardUsage[] | undefined): number {
    if (usage.cards.length === 0) return hostsWithoutCards - usedShareAfter(usage, request);
    const known = this.#knownHost(usage);
    const { percents, groups } = known;
    const freeCpuMilli = usage.free.cpuMilli - request.cpuMilli;
    const { gpu } = request;
    let best = Number.NEGATIVE_INFINITY;
    let bestCards: readonly CardUsage[] = [];
    for (const chosen of gpu === undefined ? [[]] : cardOptions(usage, gpu)) {
      for (const card of chosen) percents[card.index] = percentAfter(card, gpu);
      const value = this.#valuation.value(groups, freeCpuMilli, percents);
      for (const card of chosen) percents[card.index] = card.freePercent;
      if (value > best) {
        best = value;
        bestCards = chosen;
      }
    }
    cards?.push(...bestCards);
    const links = gpu?.kind === 'whole' && gpu.count > 1 ? bandwidthOf(usage, bestCards) : 0;
    return -Math.ceil((known.value - best) / stepCards) + links / (1 + links) / 2;
  }

  #knownHost(usage: HostUsage): KnownHost {
    let known = this.#known.get(usage);
    if (known === undefined) {
      const groups = cardGroups(usage);
      known = { groups, percents: new Uint8Array(usage.cards.length), value: 0, revision: -1, version: -1 };
      this.#known.set(usage, known);
    }
    if (known.revision !== usage.revision || known.version !== this.version) {
      for (const card of usage.cards) known.percents[card.index] = card.freePercent;
      known.value = this.#valuation.value(known.groups, usage.free.cpuMilli, known.percents);
      known.revision = usage.revision;
      known.version = this.version;
    }
    return known;
  }
}

/** What the policy remembers of a host while neither it nor the valuation has changed. */
interface KnownHost {
  readonly groups: readonly CardGroup[];
  readonly percents: Uint8Array;
  value: number;
  revision: number;
  version: number;
}

function percentAfter(card: CardUsage, gpu: GpuRequest | undefined): number {
  if (gpu === undefined || gpu.kind === 'whole') return 0;
  return Math.max(0, card.freePercent - slicePercent(card.card, gpu));
}
