import type { HostId } from '../domain/ids.js';
import { fittingCards, sharesOf } from './cardChoice.js';
import { gpuKey } from './demand.js';
import { explainHost, type HostVerdict, summarize } from './explanation.js';
import { capacityMisfit, constraintMisfit } from './filter.js';
import { FragmentationPolicy } from './fragmentationPolicy.js';
import type { Allocation, CardShare, Host, HostState } from './host.js';
import { HostSlots } from './hostSlots.js';
import { CapacityError, type CardUsage, HostUsage } from './hostUsage.js';
import type { PlacementPolicy } from './policy.js';
import type { PlacementRequest, Strategy } from './request.js';
import { ScoreTable } from './scoreTable.js';
import { UsedSharePolicy } from './usedSharePolicy.js';

/** Where a request goes. Nothing is taken yet: see `ClusterModel.take`. */
export interface Placement {
  readonly placed: true;
  readonly hostId: HostId;
  readonly cards: readonly CardShare[];
}

export interface Refusal {
  readonly placed: false;
  /**
   * One sentence for people: what no host has. `explain` gives the rest. It is made when it is read,
   * from the model as it is then.
   */
  readonly summary: string;
}

function strategyOf(request: PlacementRequest): Strategy {
  return request.strategy ?? 'fragmentation';
}

class Refused implements Refusal {
  readonly placed = false;

  constructor(
    private readonly hosts: HostSlots,
    private readonly request: PlacementRequest,
  ) {}

  get summary(): string {
    return summarize(this.hosts, this.request);
  }
}

/** Tables kept; the one used longest ago goes first. A table of 10,000 hosts takes 80 KB. */
const maxTables = 512;

/**
 * All hosts with what is free on them, in memory: a cache of the ledger, rebuilt from it at start
 * and changed in step with it. It decides and counts; it does no I/O.
 *
 * Use within one synchronous turn: `place`, then `take` for the owner; then write the ledger, and
 * `release` the owner if that fails. So concurrent requests never see the same room as free.
 */
export class ClusterModel {
  readonly #hosts = new HostSlots();
  readonly #allocations = new Map<string, Allocation>();
  readonly #ownersOf = new Map<HostId, Set<string>>();
  readonly #policies: Record<Strategy, PlacementPolicy>;
  readonly #tables = new Map<string, ScoreTable>();

  /** `policies` replaces policies of the library, for comparisons. */
  constructor(policies: Partial<Record<Strategy, PlacementPolicy>> = {}) {
    this.#policies = {
      fragmentation: new FragmentationPolicy(),
      spread: new UsedSharePolicy('spread'),
      binpack: new UsedSharePolicy('binpack'),
      ...policies,
    };
  }

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
    for (const owner of this.#ownersOf.get(host.id) ?? []) {
      const allocation = this.#allocations.get(owner);
      if (allocation !== undefined) usage.take(allocation);
    }
    this.#hosts.put(usage);
  }

  setHostState(hostId: HostId, state: HostState): void {
    this.putHost({ ...this.getHost(hostId).host, state });
  }

  /** Forgets a host. What the ledger says it runs stays known and counts again when it returns. */
  removeHost(hostId: HostId): void {
    this.#hosts.remove(hostId);
  }

  findHost(hostId: HostId): HostUsage | undefined {
    return this.#hosts.find(hostId);
  }

  /** @throws Error for a host that the model does not have. */
  getHost(hostId: HostId): HostUsage {
    const usage = this.#hosts.find(hostId);
    if (usage === undefined) throw new Error(`host ${hostId} is not in the model`);
    return usage;
  }

  hosts(): IterableIterator<HostUsage> {
    return this.#hosts[Symbol.iterator]();
  }

  findAllocation(owner: string): Allocation | undefined {
    return this.#allocations.get(owner);
  }

  allocations(): IterableIterator<Allocation> {
    return this.#allocations.values();
  }

  /**
   * Chooses host and cards for a request. A request that fits somewhere is never refused. The
   * policy learns from each request what is usually asked.
   */
  place(request: PlacementRequest): Placement | Refusal {
    this.#policies[strategyOf(request)].observe(request, () => this.#hosts);
    return this.choose(request);
  }

  /** As `place`, but nothing is learnt from the request: for questions of what would be. */
  choose(request: PlacementRequest): Placement | Refusal {
    const strategy = strategyOf(request);
    const policy = this.#policies[strategy];
    const best = this.#table(request, strategy).best(this.#hosts, request);
    if (best === undefined) return new Refused(this.#hosts, request);
    const cards: CardUsage[] = [];
    if (request.gpu !== undefined) policy.scorer(request).score(best, cards);
    return { placed: true, hostId: best.host.id, cards: sharesOf(cards, request.gpu) };
  }

  /** The cards that a request would take on one host, in whatever state it is; undefined: too few fit. */
  cardsOn(hostId: HostId, request: PlacementRequest): readonly CardShare[] | undefined {
    const { gpu } = request;
    if (gpu === undefined) return [];
    const usage = this.getHost(hostId);
    if (fittingCards(usage, gpu).length < gpu.count) return undefined;
    const cards: CardUsage[] = [];
    this.#policies[strategyOf(request)].scorer(request).score(usage, cards);
    return sharesOf(cards, gpu);
  }

  /** Whether a request fits anywhere now. Unlike `place` it teaches the policies nothing. */
  hasRoom(request: PlacementRequest): boolean {
    for (const usage of this.#hosts) {
      if ((capacityMisfit(usage, request) ?? constraintMisfit(usage, request)) === undefined) return true;
    }
    return false;
  }

  /** What a host's free room is worth to the requests that usually come, in cards. */
  freeWorth(hostId: HostId): number {
    return this.#policies.fragmentation.worth?.(this.getHost(hostId)) ?? 0;
  }

  /** Another model of the same state, on which what would be can be tried. */
  copy(): ClusterModel {
    const copy = new ClusterModel(this.#policies);
    for (const { host } of this.#hosts) copy.putHost(host);
    for (const allocation of this.#allocations.values()) copy.restore(allocation);
    return copy;
  }

  /** Says for every host, and for every card of a GPU request, whether it fits and why not. */
  explain(request: PlacementRequest): HostVerdict[] {
    return [...this.#hosts].map((usage) => explainHost(usage, request));
  }

  /**
   * Takes what `allocation` says, once per owner.
   * @throws CapacityError when it is not free, the host takes nothing new, or the owner holds something.
   */
  take(allocation: Allocation): void {
    if (this.#allocations.has(allocation.owner))
      throw new CapacityError(`${allocation.owner} holds an allocation already`);
    const usage = this.#hosts.find(allocation.hostId);
    if (usage === undefined) throw new CapacityError(`host ${allocation.hostId} is not in the model`);
    if (usage.host.state !== 'active')
      throw new CapacityError(`host ${allocation.hostId} is ${usage.host.state}`);
    const obstacle = usage.obstacle(allocation);
    if (obstacle !== undefined) throw new CapacityError(`host ${allocation.hostId}: ${obstacle}`);
    this.restore(allocation);
  }

  /** Takes a line of the ledger as it stands, without checks; replaces what its owner held. */
  restore(allocation: Allocation): void {
    const { owner, hostId } = allocation;
    this.release(owner);
    this.#allocations.set(owner, allocation);
    const owners = this.#ownersOf.get(hostId);
    if (owners !== undefined) owners.add(owner);
    else this.#ownersOf.set(hostId, new Set([owner]));
    this.#hosts.find(hostId)?.take(allocation);
    this.#hosts.changed(hostId);
  }

  /** Gives back all that an owner holds; false when it holds nothing. */
  release(owner: string): boolean {
    const allocation = this.#allocations.get(owner);
    if (allocation === undefined) return false;
    const { hostId } = allocation;
    this.#allocations.delete(owner);
    this.#ownersOf.get(hostId)?.delete(owner);
    this.#hosts.find(hostId)?.release(allocation);
    this.#hosts.changed(hostId);
    return true;
  }

  #table(request: PlacementRequest, strategy: Strategy): ScoreTable {
    const { cpuMilli, memoryMiB, diskGiB, zoneId, tenancy, gpu } = request;
    const asked = gpu === undefined ? '' : gpuKey(gpu);
    const dedicated = tenancy === undefined ? '' : `${tenancy.accountId}/${tenancy.dedicatedHostId ?? ''}`;
    const key = `${strategy}|${cpuMilli}|${memoryMiB}|${diskGiB}|${zoneId ?? ''}|${dedicated}|${asked}`;
    const known = this.#tables.get(key);
    if (known !== undefined) {
      this.#tables.delete(key);
      this.#tables.set(key, known);
      return known;
    }
    const table = new ScoreTable(request, this.#policies[strategy]);
    this.#tables.set(key, table);
    const [oldest] = this.#tables.keys();
    if (this.#tables.size > maxTables && oldest !== undefined) this.#tables.delete(oldest);
    return table;
  }
}
