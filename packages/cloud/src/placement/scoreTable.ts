import { constraintMisfit, hostFits } from './filter.js';
import type { HostSlots } from './hostSlots.js';
import type { HostUsage } from './hostUsage.js';
import type { HostScorer, PlacementPolicy } from './policy.js';
import type { PlacementRequest } from './request.js';

const noRoom = Number.NEGATIVE_INFINITY;

/**
 * The scores of all hosts for requests that ask for the same, kept between requests: only hosts
 * that have changed since are looked at again.
 */
export class ScoreTable {
  #scores = new Float64Array(0);
  #hostRevision = -1;
  #policyVersion = -1;
  readonly #scorer: HostScorer;

  constructor(
    private readonly request: PlacementRequest,
    private readonly policy: PlacementPolicy,
  ) {
    this.#scorer = policy.scorer(request);
  }

  /** The best host for a request of the table's kind, whose constraints may differ. */
  best(hosts: HostSlots, request: PlacementRequest): HostUsage | undefined {
    this.#refresh(hosts);
    const { slots } = hosts;
    const preferred = request.preferredHosts;
    const ruled = (request.constraints?.length ?? 0) > 0;
    let best: HostUsage | undefined;
    let bestScore = noRoom;
    let bestIsPreferred = false;
    for (let slot = 0; slot < slots.length; slot++) {
      const score = this.#scores[slot] ?? noRoom;
      if (score === noRoom || (score <= bestScore && preferred === undefined)) continue;
      const usage = slots[slot];
      if (usage === undefined) continue;
      const isPreferred = preferred?.has(usage.host.id) ?? false;
      if (isPreferred === bestIsPreferred ? score <= bestScore : bestIsPreferred) continue;
      if (ruled && constraintMisfit(usage, request) !== undefined) continue;
      best = usage;
      bestScore = score;
      bestIsPreferred = isPreferred;
    }
    return best;
  }

  #refresh(hosts: HostSlots): void {
    const { slots } = hosts;
    const known = this.#policyVersion === this.policy.version ? this.#hostRevision : -1;
    const changed = known < 0 ? undefined : hosts.changedSince(known);
    this.#hostRevision = hosts.revision;
    this.#policyVersion = this.policy.version;
    if (this.#scores.length < slots.length) {
      const grown = new Float64Array(Math.max(slots.length, 2 * this.#scores.length)).fill(noRoom);
      grown.set(this.#scores);
      this.#scores = grown;
    }
    if (changed !== undefined) {
      for (const slot of changed) this.#scores[slot] = this.#score(slots[slot]);
      return;
    }
    for (let slot = 0; slot < slots.length; slot++) this.#scores[slot] = this.#score(slots[slot]);
  }

  #score(usage: HostUsage | undefined): number {
    return usage !== undefined && hostFits(usage, this.request) ? this.#scorer.score(usage) : noRoom;
  }
}
