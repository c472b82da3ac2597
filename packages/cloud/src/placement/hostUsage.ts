import { cardKind } from './cardKind.js';
import type { Allocation, Amounts, Card, CardShare, Host } from './host.js';
import { linkKey } from './linkKey.js';

/** A card with what is free on it. */
export interface CardUsage {
  readonly card: Card;
  /** Its place in the host's list. */
  readonly index: number;
  /** See `cardKind`. */
  readonly kind: string;
  freeMemoryMiB: number;
  freeComputePercent: number;
  slices: number;
  /** Held whole by one owner. */
  exclusive: boolean;
  /** The part of the card that can still be given away, 0 to 100, rounded down. */
  freePercent: number;
}

/** Tells why an allocation cannot be taken; thrown before anything has changed. */
export class CapacityError extends Error {}

/** True when nothing holds any part of the card. */
export function isIdle(usage: CardUsage): boolean {
  return !usage.exclusive && usage.slices === 0;
}

/** A host with what is free on it; changed only by `take` and `release`. */
export class HostUsage {
  readonly free: { cpuMilli: number; memoryMiB: number; diskGiB: number };
  readonly cards: readonly CardUsage[];
  /** Of its cards, each once. */
  readonly models: readonly string[];
  /** How many owners compute here; those that only have disks do not count. */
  owners = 0;
  /** Counts the changes. */
  revision = 0;
  /** Equal for hosts that are alike while they run nothing. */
  readonly shape: string;
  /** By `linkKey`. */
  readonly linkBandwidth: ReadonlyMap<string, number>;
  readonly #cardById: ReadonlyMap<string, CardUsage>;

  constructor(readonly host: Host) {
    this.free = { cpuMilli: host.cpuMilli, memoryMiB: host.memoryMiB, diskGiB: host.diskGiB };
    this.cards = host.cards.map((card, index) => ({
      card,
      index,
      kind: cardKind(card),
      freeMemoryMiB: card.memoryMiB,
      freeComputePercent: card.computePercent,
      slices: 0,
      exclusive: false,
      freePercent: card.healthy ? 100 : 0,
    }));
    this.models = [...new Set(host.cards.map((card) => card.model))];
    this.shape = shapeOf(host);
    this.linkBandwidth = new Map(
      (host.links ?? []).map(({ between: [one, other], bandwidth }) => [linkKey(one, other), bandwidth]),
    );
    this.#cardById = new Map(this.cards.map((usage) => [usage.card.id, usage]));
  }

  /** What stands against taking `allocation` now, or undefined. */
  obstacle(allocation: Allocation): string | undefined {
    const { free } = this;
    for (const name of ['cpuMilli', 'memoryMiB', 'diskGiB'] satisfies (keyof Amounts)[]) {
      if (allocation[name] > free[name]) return `${name}: ${allocation[name]} asked, ${free[name]} free`;
    }
    const seen = new Set<string>();
    for (const share of allocation.cards) {
      const usage = this.#cardById.get(share.cardId);
      if (usage === undefined) return `card ${share.cardId} is not on host ${this.host.id}`;
      if (seen.has(share.cardId)) return `card ${share.cardId} is named twice`;
      seen.add(share.cardId);
      if (usage.exclusive) return `card ${share.cardId} is held whole`;
      if (share.exclusive && usage.slices > 0) return `card ${share.cardId} is shared`;
      if (!share.exclusive && usage.slices >= usage.card.maxSlices)
        return `card ${share.cardId} has ${usage.slices} slices, the most it may have`;
      if (share.memoryMiB > usage.freeMemoryMiB)
        return `card ${share.cardId}: ${share.memoryMiB} MiB asked, ${usage.freeMemoryMiB} free`;
      if (share.computePercent > usage.freeComputePercent)
        return `card ${share.cardId}: ${share.computePercent} % asked, ${usage.freeComputePercent} free`;
    }
    return undefined;
  }

  /**
   * Takes without asking: the ledger is the truth, also where an operator has since lowered a
   * total, so free amounts may become negative. Shares of cards that are gone are left out.
   */
  take(allocation: Allocation): void {
    this.#change(allocation, 1);
  }

  release(allocation: Allocation): void {
    this.#change(allocation, -1);
  }

  #change(allocation: Allocation, sign: 1 | -1): void {
    this.revision++;
    if (allocation.cpuMilli > 0) this.owners += sign;
    this.free.cpuMilli -= sign * allocation.cpuMilli;
    this.free.memoryMiB -= sign * allocation.memoryMiB;
    this.free.diskGiB -= sign * allocation.diskGiB;
    for (const share of allocation.cards) {
      const usage = this.#cardById.get(share.cardId);
      if (usage !== undefined) changeCard(usage, share, sign);
    }
  }
}

function changeCard(usage: CardUsage, share: CardShare, sign: 1 | -1): void {
  usage.freeMemoryMiB -= sign * share.memoryMiB;
  usage.freeComputePercent -= sign * share.computePercent;
  if (share.exclusive) usage.exclusive = sign === 1;
  else usage.slices += sign;
  usage.freePercent = freePercentOf(usage);
}

function freePercentOf(usage: CardUsage): number {
  const { card } = usage;
  if (!card.healthy || usage.exclusive || usage.slices >= card.maxSlices) return 0;
  const free = Math.min(usage.freeMemoryMiB / card.memoryMiB, usage.freeComputePercent / card.computePercent);
  // The millionth keeps 0.57 * 100 = 56.99… at 57.
  return Math.max(0, Math.floor(free * 100 + 1e-6));
}

/** The part of a card that a slice takes: the larger of memory and compute, in percent, rounded up. */
export function slicePercent(card: Card, slice: { memoryMiB: number; computePercent: number }): number {
  const share = Math.max(slice.memoryMiB / card.memoryMiB, slice.computePercent / card.computePercent);
  return Math.ceil(share * 100 - 1e-6);
}

function shapeOf(host: Host): string {
  const { zoneId, state, cpuMilli, memoryMiB, diskGiB, cards, links } = host;
  const kinds = cards.map((card) => `${cardKind(card)}|${card.healthy}|${card.maxSlices}|${card.numaNode}`);
  return [zoneId, state, cpuMilli, memoryMiB, diskGiB, ...kinds, JSON.stringify(links ?? [])].join(';');
}
