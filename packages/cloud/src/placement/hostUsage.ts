import type { Allocation, Amounts, Card, CardShare, Host } from './host.js';

/** A card with what is free on it. */
export interface CardUsage {
  readonly card: Card;
  freeMemoryMiB: number;
  freeComputePercent: number;
  slices: number;
  /** Held whole by one owner. */
  exclusive: boolean;
}

/** Tells why an allocation cannot be taken; thrown before anything has changed. */
export class CapacityError extends Error {}

/** True when nothing holds any part of the card. */
export function isIdle(usage: CardUsage): boolean {
  return !usage.exclusive && usage.slices === 0;
}

/** A host with what is free on it; changed only by `take` and `release`. */
export class HostUsage {
  free: { cpuMilli: number; memoryMiB: number; diskGiB: number };
  readonly cards: readonly CardUsage[];
  readonly #cardById: ReadonlyMap<string, CardUsage>;

  constructor(readonly host: Host) {
    this.free = { cpuMilli: host.cpuMilli, memoryMiB: host.memoryMiB, diskGiB: host.diskGiB };
    this.cards = host.cards.map((card) => ({
      card,
      freeMemoryMiB: card.memoryMiB,
      freeComputePercent: card.computePercent,
      slices: 0,
      exclusive: false,
    }));
    this.#cardById = new Map(this.cards.map((usage) => [usage.card.id, usage]));
  }

  /** What stands against taking `allocation` now, or undefined. */
  obstacle(allocation: Allocation): string | undefined {
    for (const [name, free] of Object.entries(this.free) as [keyof Amounts, number][]) {
      if (allocation[name] > free) return `${name}: ${allocation[name]} asked, ${free} free`;
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
}
