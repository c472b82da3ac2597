import { cardFits } from '@openegs/cloud/placement/filter';
import type { CardUsage, HostUsage, PlacementRequest } from '@openegs/cloud/placement/index';
import type { Pod } from '../openb.js';
import { bestFitCards, leftOn, Peer, type Rating } from './peer.js';

interface TypicalPod {
  readonly cpuMilli: number;
  readonly count: number;
  readonly milli: number;
  readonly models: ReadonlySet<string> | undefined;
  readonly frequency: number;
}

/** The most frequent classes are kept until they make up this share of all pods. */
const typicalShare = 0.95;

/** Fragmentation gradient descent: the host whose GPU that typical pods cannot use grows least. */
export class FgdPeer extends Peer {
  readonly #typical: readonly TypicalPod[];
  readonly #before = new WeakMap<HostUsage, { revision: number; fragmentation: number }>();

  /** The policy is told the pods that will come. */
  constructor(pods: readonly Pod[]) {
    super();
    this.#typical = typicalPods(pods);
  }

  protected rate(usage: HostUsage, request: PlacementRequest): Rating {
    const { gpu } = request;
    const left = usage.cards.map(leftOn);
    const freeCpuMilli = usage.free.cpuMilli - request.cpuMilli;
    const before = this.#fragmentationBefore(usage, left);
    const scoreAfter = (after: readonly number[]): number => {
      const gain = before - this.#fragmentation(usage, freeCpuMilli, after);
      return Math.floor(100 / (1 + Math.exp(-gain / 1000)));
    };
    if (gpu?.kind !== 'slice') {
      const chosen = bestFitCards(usage, gpu);
      for (const card of chosen) left[card.index] = 0;
      return { score: scoreAfter(left), chosen };
    }
    let score = -1;
    let chosen: CardUsage[] = [];
    for (const card of usage.cards) {
      if (!cardFits(card, gpu)) continue;
      left[card.index] = leftOn(card) - gpu.memoryMiB;
      const cardScore = scoreAfter(left);
      left[card.index] = leftOn(card);
      if (cardScore <= score) continue;
      score = cardScore;
      chosen = [card];
    }
    return { score, chosen };
  }

  #fragmentationBefore(usage: HostUsage, left: readonly number[]): number {
    const known = this.#before.get(usage);
    if (known?.revision === usage.revision) return known.fragmentation;
    const fragmentation = this.#fragmentation(usage, usage.free.cpuMilli, left);
    this.#before.set(usage, { revision: usage.revision, fragmentation });
    return fragmentation;
  }

  #fragmentation(usage: HostUsage, freeCpuMilli: number, left: readonly number[]): number {
    const model = usage.cards[0]?.card.model ?? '';
    let total = 0;
    let idle = 0;
    let most = 0;
    for (const milli of left) {
      total += milli;
      if (milli === 1000) idle++;
      if (milli > most) most = milli;
    }
    let fragmentation = 0;
    for (const { cpuMilli, count, milli, models, frequency } of this.#typical) {
      const room = milli === 1000 ? idle >= count : most >= milli;
      if (count === 0 || cpuMilli > freeCpuMilli || !room || models?.has(model) === false) {
        fragmentation += frequency * total;
        continue;
      }
      let unusable = 0;
      for (const free of left) if (free < milli) unusable += free;
      fragmentation += frequency * unusable;
    }
    return fragmentation;
  }
}

function typicalPods(pods: readonly Pod[]): TypicalPod[] {
  const classes = new Map<string, { pod: Pod; count: number }>();
  for (const pod of pods) {
    const key = [pod.cpuMilli, pod.gpu?.count ?? 0, pod.gpuMilliPerCard, pod.gpu?.models?.join('|')].join(
      ',',
    );
    const known = classes.get(key);
    if (known !== undefined) known.count++;
    else classes.set(key, { pod, count: 1 });
  }
  const kept: { pod: Pod; count: number }[] = [];
  let sum = 0;
  for (const known of [...classes.values()].sort((a, b) => b.count - a.count)) {
    if (sum >= typicalShare * pods.length) break;
    sum += known.count;
    kept.push(known);
  }
  return kept.map(({ pod, count }) => ({
    cpuMilli: pod.cpuMilli,
    count: pod.gpu?.count ?? 0,
    milli: pod.gpuMilliPerCard,
    models: pod.gpu?.models === undefined ? undefined : new Set(pod.gpu.models),
    frequency: count / sum,
  }));
}
