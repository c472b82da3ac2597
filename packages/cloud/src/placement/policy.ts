import type { CardUsage, HostUsage } from './hostUsage.js';
import type { PlacementRequest } from './request.js';

/** Scores hosts for requests that ask for the same. */
export interface HostScorer {
  /**
   * How good a host is that has room; larger wins, and of equal hosts the one that joined first.
   * The cards that would be used are appended to `cards` when it is given.
   */
  score(usage: HostUsage, cards?: CardUsage[]): number;
}

/** How to choose among the hosts that have room. A policy never refuses a host. */
export interface PlacementPolicy {
  /** Changes when scores given earlier no longer hold. */
  readonly version: number;
  /** Told of each request before it is placed. */
  observe(request: PlacementRequest, hosts: () => Iterable<HostUsage>): void;
  scorer(request: PlacementRequest): HostScorer;
  /** What a host's free room is worth to later requests, in cards; a policy need not tell. */
  worth?(usage: HostUsage): number;
}
