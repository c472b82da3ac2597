import type { HostId } from '../domain/ids.js';
import { explainHost, type HostVerdict, summarize } from './explanation.js';
import { capacityMisfit, constraintMisfit } from './filter.js';
import type { Allocation, CardShare, Host, HostState } from './host.js';
import { CapacityError, HostUsage } from './hostUsage.js';
import type { PlacementRequest } from './request.js';
import { type Candidate, defaultStrategy, scoreHost, sharesOf } from './score.js';

/** Where a request goes. Nothing is taken yet: see `ClusterModel.take`. */
export interface Placement {
  readonly placed: true;
  readonly hostId: HostId;
  readonly cards: readonly CardShare[];
}

export interface Refusal {
  readonly placed: false;
  /** One sentence for people: what no host has. `explain` gives the rest. */
  readonly summary: string;
}

/**
 * All hosts with what is free on them, in memory: a cache of the ledger, rebuilt from it at start
 * and changed in step with it. It decides and counts; it does no I/O.
 *
 * Use within one synchronous turn: `place`, then `take` for the owner; then write the ledger, and
 * `release` the owner if that fails. So concurrent requests never see the same room as free.
 */
export class ClusterModel {
  readonly #hosts = new Map<HostId, HostUsage>();
  readonly #allocations = new Map<string, Allocation>();

  /** The model of `hosts` with all that the ledger says is taken. */
  static rebuild(hosts: Iterable<Host>, ledger: Iterable<Allocation>): ClusterModel {
    const model = new ClusterModel();
    for (const host of hosts) model.putHost(host);
    for (const allocation of ledger) model.restore(allocation);
    return model;
  }

  /** Adds a host or replaces its description; what runs on it stays taken. */
  putHost(host: Host): void {
    const usage = new HostUsage(host);
    for (const allocation of this.#allocations.values()) {
      if (allocation.hostId === host.id) usage.take(allocation);
    }
    this.#hosts.set(host.id, usage);
  }

  setHostState(hostId: HostId, state: HostState): void {
    this.putHost({ ...this.getHost(hostId).host, state });
  }

  /** Forgets a host. What the ledger says it runs stays known and counts again when it returns. */
  removeHost(hostId: HostId): void {
    this.#hosts.delete(hostId);
  }

  findHost(hostId: HostId): HostUsage | undefined {
    return this.#hosts.get(hostId);
  }

  /** @throws Error for a host that the model does not have. */
  getHost(hostId: HostId): HostUsage {
    const usage = this.#hosts.get(hostId);
    if (usage === undefined) throw new Error(`host ${hostId} is not in the model`);
    return usage;
  }

  hosts(): IterableIterator<HostUsage> {
    return this.#hosts.values();
  }

  findAllocation(owner: string): Allocation | undefined {
    return this.#allocations.get(owner);
  }

  allocations(): IterableIterator<Allocation> {
    return this.#allocations.values();
  }

  /** Chooses host and cards for a request. A request that fits somewhere is never refused. */
  place(request: PlacementRequest): Placement | Refusal {
    const strategy = request.strategy ?? defaultStrategy(request);
    let best: { usage: HostUsage; candidate: Candidate } | undefined;
    for (const usage of this.#hosts.values()) {
      if (capacityMisfit(usage, request) ?? constraintMisfit(usage, request)) continue;
      const candidate = scoreHost(usage, request, strategy);
      if (best === undefined || candidate.score > best.candidate.score) best = { usage, candidate };
    }
    if (best === undefined) return { placed: false, summary: summarize(this.#hosts.values(), request) };
    return {
      placed: true,
      hostId: best.usage.host.id,
      cards: sharesOf(best.candidate.cards, request.gpu),
    };
  }

  /** Whether a request that stands alone fits anywhere now. */
  hasRoom(request: PlacementRequest): boolean {
    for (const usage of this.#hosts.values()) {
      if ((capacityMisfit(usage, request) ?? constraintMisfit(usage, request)) === undefined) return true;
    }
    return false;
  }

  /** Says for every host, and for every card of a GPU request, whether it fits and why not. */
  explain(request: PlacementRequest): HostVerdict[] {
    return [...this.#hosts.values()].map((usage) => explainHost(usage, request));
  }

  /**
   * Takes what `allocation` says, once per owner.
   * @throws CapacityError when it is not free, the host takes nothing new, or the owner holds something.
   */
  take(allocation: Allocation): void {
    if (this.#allocations.has(allocation.owner))
      throw new CapacityError(`${allocation.owner} holds an allocation already`);
    const usage = this.#hosts.get(allocation.hostId);
    if (usage === undefined) throw new CapacityError(`host ${allocation.hostId} is not in the model`);
    if (usage.host.state !== 'active')
      throw new CapacityError(`host ${allocation.hostId} is ${usage.host.state}`);
    const obstacle = usage.obstacle(allocation);
    if (obstacle !== undefined) throw new CapacityError(`host ${allocation.hostId}: ${obstacle}`);
    this.restore(allocation);
  }

  /** Takes a line of the ledger as it stands, without checks; replaces what its owner held. */
  restore(allocation: Allocation): void {
    this.release(allocation.owner);
    this.#allocations.set(allocation.owner, allocation);
    this.#hosts.get(allocation.hostId)?.take(allocation);
  }

  /** Gives back all that an owner holds; false when it holds nothing. */
  release(owner: string): boolean {
    const allocation = this.#allocations.get(owner);
    if (allocation === undefined) return false;
    this.#allocations.delete(owner);
    this.#hosts.get(allocation.hostId)?.release(allocation);
    return true;
  }
}
