import type { AccountId, HostId, ZoneId } from '../domain/ids.js';

/** Amounts that every instance takes from its host. */
export interface Amounts {
  readonly cpuMilli: number;
  readonly memoryMiB: number;
  readonly diskGiB: number;
}

/** `draining` and `lost` hosts keep what they run and take nothing new. */
export type HostState = 'active' | 'draining' | 'lost';

/** A GPU as placement sees it. Capacity belongs to the card: cards of one host may differ. */
export interface Card {
  /** Unique on its host: the PCI address or the UUID. */
  readonly id: string;
  readonly model: string;
  readonly memoryMiB: number;
  /** 100 is the card's whole compute; more where the operator allows over-commit. */
  readonly computePercent: number;
  /** Slices that may share the card. */
  readonly maxSlices: number;
  /** A failed card keeps its slices and takes nothing new. */
  readonly healthy: boolean;
  readonly numaNode?: number;
}

/** How fast two cards of a host talk to each other, in one unit for the whole cloud (GB/s). */
export interface CardLink {
  readonly between: readonly [string, string];
  readonly bandwidth: number;
}

/** Says that one account has a host for itself: a dedicated host. */
export interface Dedication {
  readonly dedicatedHostId: string;
  readonly accountId: AccountId;
  /** Whether it also takes the account's instances that ask for some dedicated host and name none. */
  readonly autoPlacement: boolean;
}

/** A machine with what it offers: totals, already multiplied by the operator's over-commit ratios. */
export interface Host extends Amounts {
  readonly id: HostId;
  readonly zoneId: ZoneId;
  readonly state: HostState;
  readonly cards: readonly Card[];
  readonly links?: readonly CardLink[];
  readonly dedication?: Dedication;
}

/** What an instance takes from one card. A whole card is `exclusive` and takes all of it. */
export interface CardShare {
  readonly cardId: string;
  readonly memoryMiB: number;
  readonly computePercent: number;
  readonly exclusive: boolean;
}

/** A line of the ledger: what one owner (an instance) holds on one host. */
export interface Allocation extends Amounts {
  readonly owner: string;
  readonly hostId: HostId;
  readonly cards: readonly CardShare[];
}
