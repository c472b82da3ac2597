import { cardFits } from '@openegs/cloud/placement/filter';
import type { HostUsage, PlacementRequest } from '@openegs/cloud/placement/index';
import type { SeededRandom } from '../random.js';
import { bestFitCards, idleCards, leftOn, leftOnHost, maxHost, milliOf, Peer, type Rating } from './peer.js';

/** Uniform among feasible hosts and cards. */
export class RandomPeer extends Peer {
  override version = 0;

  constructor(private readonly random: SeededRandom) {
    super();
  }

  override observe(): void {
    this.version++;
  }

  protected rate(usage: HostUsage, { gpu }: PlacementRequest): Rating {
    const score = this.random.next();
    if (gpu?.kind !== 'slice') return { score, chosen: bestFitCards(usage, gpu) };
    const fitting = usage.cards.filter((card) => cardFits(card, gpu));
    return { score, chosen: this.random.shuffled(fitting).slice(0, gpu.count) };
  }
}

/** The smallest product of what is free and what is asked. */
export class DotProdPeer extends Peer {
  protected rate(usage: HostUsage, { cpuMilli, gpu }: PlacementRequest): Rating {
    const cpu = (usage.free.cpuMilli / maxHost.cpuMilli) * (cpuMilli / maxHost.cpuMilli);
    const cards = (leftOnHost(usage) / 1000 / maxHost.cards) * (milliOf(gpu) / 1000 / maxHost.cards);
    return { score: Math.floor(100 * (1 - (cpu + cards) / 2)), chosen: bestFitCards(usage, gpu) };
  }
}

/** The least CPU and GPU left, half and half. */
export class BestFitPeer extends Peer {
  protected rate(usage: HostUsage, { cpuMilli, gpu }: PlacementRequest): Rating {
    const cpu = (usage.free.cpuMilli - cpuMilli) / maxHost.cpuMilli;
    const cards = (leftOnHost(usage) - milliOf(gpu)) / 1000 / maxHost.cards;
    return { score: Math.floor(100 * (1 - 0.5 * cpu - 0.5 * cards)), chosen: bestFitCards(usage, gpu) };
  }
}

/** Shared cards first, then idle cards of used hosts, then idle hosts. */
export class PackingPeer extends Peer {
  protected rate(usage: HostUsage, { gpu }: PlacementRequest): Rating {
    const chosen = bestFitCards(usage, gpu);
    if (gpu === undefined) return { score: 0, chosen };
    const idle = idleCards(usage);
    const [card] = chosen;
    if (gpu.kind === 'slice' && card !== undefined && leftOn(card) < 1000)
      return { score: Math.floor(100 - leftOn(card) / 100), chosen };
    return { score: idle < usage.cards.length ? 50 - gpu.count : 33 - idle, chosen };
  }
}

/** Hosts that run only, also or no pods of the same number of cards. */
export class ClusteringPeer extends Peer {
  readonly #classesOn = new Map<string, Map<string, number>>();

  override placed(hostId: string, { gpu }: PlacementRequest): void {
    if (gpu === undefined) return;
    const classes = this.#classesOn.get(hostId) ?? new Map<string, number>();
    this.#classesOn.set(hostId, classes);
    classes.set(classOf(gpu), (classes.get(classOf(gpu)) ?? 0) + 1);
  }

  protected rate(usage: HostUsage, { gpu }: PlacementRequest): Rating {
    const chosen = bestFitCards(usage, gpu);
    if (gpu === undefined) return { score: 0, chosen };
    const classes = this.#classesOn.get(usage.host.id);
    const same = classes?.has(classOf(gpu)) ?? false;
    const others = (classes?.size ?? 0) - (same ? 1 : 0);
    const affinity = same ? (others === 0 ? 75 : 50) : others === 0 ? 25 : 0;
    const used = maxHost.cards - leftOnHost(usage) / 1000;
    return { score: Math.floor(affinity + (25 * used) / maxHost.cards), chosen };
  }
}

function classOf(gpu: { readonly kind: string; readonly count: number }): string {
  return gpu.kind === 'slice' ? 'slice' : String(gpu.count);
}
