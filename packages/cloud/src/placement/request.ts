import type { AccountId, HostId, ZoneId } from '../domain/ids.js';
import type { Amounts } from './host.js';

/** Cards for the instance alone. */
export interface WholeCards {
  readonly kind: 'whole';
  readonly count: number;
  /** Models that will do; absent: any. */
  readonly models?: readonly string[];
}

/** The same slice of `count` different cards of one host. */
export interface CardSlices {
  readonly kind: 'slice';
  readonly count: number;
  /** Of each card. */
  readonly memoryMiB: number;
  /** Of each card. */
  readonly computePercent: number;
  readonly models?: readonly string[];
}

export type GpuRequest = WholeCards | CardSlices;

/**
 * How to choose among hosts that fit. `fragmentation` keeps what is left usable for the requests
 * that usually come; `spread` takes the least used host and card; `binpack` the most used.
 */
export type Strategy = 'fragmentation' | 'spread' | 'binpack';

/** Which hosts may serve a request at all, and why another may not. */
export interface HostConstraint {
  /** Undefined: the host may serve. */
  readonly objection: (hostId: HostId) => string | undefined;
}

/** Asks for a dedicated host of the account: the named one, or any that takes instances unasked. */
export interface DedicatedTenancy {
  readonly accountId: AccountId;
  readonly dedicatedHostId?: string;
}

/** What an instance needs from its host. */
export interface PlacementRequest extends Amounts {
  readonly zoneId?: ZoneId;
  readonly gpu?: GpuRequest;
  /** Default: `fragmentation`, which spreads requests without GPU over the hosts without cards. */
  readonly strategy?: Strategy;
  /** Absent: a host that nobody has for himself. */
  readonly tenancy?: DedicatedTenancy;
  readonly constraints?: readonly HostConstraint[];
  /** Taken before all others when they have room. */
  readonly preferredHosts?: ReadonlySet<HostId>;
}

/** Allows only the given hosts (one chosen by the caller, a dedicated host). */
export function onlyHosts(hostIds: Iterable<HostId>, why: string): HostConstraint {
  const allowed = new Set(hostIds);
  return { objection: (hostId) => (allowed.has(hostId) ? undefined : why) };
}

/** Forbids the given hosts (those of the other members of a strict group). */
export function exceptHosts(hostIds: Iterable<HostId>, why: string): HostConstraint {
  const forbidden = new Set(hostIds);
  return { objection: (hostId) => (forbidden.has(hostId) ? why : undefined) };
}
