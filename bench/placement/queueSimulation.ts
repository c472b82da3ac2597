import type { HostId } from '@openegs/cloud/domain/ids';
import { hostFits } from '@openegs/cloud/placement/filter';
import { ClusterModel, type Host, type PlacementRequest, proposeRoom } from '@openegs/cloud/placement/index';
import { percentile } from '../lib/statistics.js';
import type { PolicyUnderTest } from './arrivals.js';
import { EventQueue } from './eventQueue.js';
import type { Pod } from './openb.js';

const daySeconds = 86_400;
/** Moves are looked for so often, for the one that waits longest. */
const moveEverySeconds = 600;
const maxMovesAtOnce = 3;

/** A pod with its place in the time of a simulation. */
export interface TimedPod extends Pod {
  readonly arrivesAt: number;
  readonly runsSeconds: number;
}

export interface QueueResult {
  readonly allocatedPercent: number;
  readonly waitedPercent: number;
  readonly meanWaitMinutes: number;
  readonly p99WaitMinutes: number;
  readonly movesPerDay: number;
}

export interface QueueOptions {
  readonly spanSeconds: number;
  /** The cloud begins empty: what happens before is not counted. */
  readonly measuredFrom: number;
  /** Whether running instances may be moved to make room for a waiting one. */
  readonly moves: boolean;
}

/** One cloud in time: pods come, wait where they must, run and end. */
export class QueueSimulation {
  readonly #model: ClusterModel;
  readonly #ends = new EventQueue<{ readonly owner: string; readonly gpuMilli: number }>();
  readonly #capacityMilli: number;
  #waiting: TimedPod[] = [];
  #now = 0;
  #allocatedMilli = 0;
  #allocatedMilliSeconds = 0;
  #owners = 0;
  #moves = 0;
  #nextMoves = 0;
  readonly #waitsSeconds: number[] = [];

  constructor(
    hosts: readonly Host[],
    private readonly policy: PolicyUnderTest,
    private readonly options: QueueOptions,
  ) {
    this.#model = new ClusterModel({ fragmentation: policy });
    for (const host of hosts) this.#model.putHost(host);
    this.#capacityMilli = hosts.reduce((sum, host) => sum + 1000 * host.cards.length, 0);
  }

  run(pods: readonly TimedPod[]): QueueResult {
    for (const pod of pods) {
      this.#runUntil(pod.arrivesAt);
      if (!this.#start(pod)) this.#waiting.push(pod);
    }
    this.#runUntil(this.options.spanSeconds);
    for (const pod of this.#waiting) this.#waited(pod);
    const { spanSeconds, measuredFrom } = this.options;
    const waits = this.#waitsSeconds.sort((a, b) => a - b);
    const measuredSeconds = spanSeconds - measuredFrom;
    return {
      allocatedPercent: (100 * this.#allocatedMilliSeconds) / (this.#capacityMilli * measuredSeconds),
      waitedPercent: (100 * waits.filter((wait) => wait > 0).length) / waits.length,
      meanWaitMinutes: waits.reduce((sum, wait) => sum + wait, 0) / waits.length / 60,
      p99WaitMinutes: percentile(waits, 0.99) / 60,
      movesPerDay: this.#moves / (measuredSeconds / daySeconds),
    };
  }

  /** Lets everything end that ends until then, and starts what waits for it. */
  #runUntil(until: number): void {
    while (this.#ends.nextAt <= until) {
      this.#advance(this.#ends.nextAt);
      const ended = this.#ends.pop();
      if (ended === undefined) break;
      const hostId = this.#model.findAllocation(ended.owner)?.hostId;
      this.#model.release(ended.owner);
      this.#allocatedMilli -= ended.gpuMilli;
      if (hostId !== undefined) this.#startWaiting(hostId);
      if (this.options.moves && this.#now >= this.#nextMoves) this.#makeRoom();
    }
    this.#advance(until);
  }

  #advance(to: number): void {
    const measured = Math.max(0, to - Math.max(this.#now, this.options.measuredFrom));
    this.#allocatedMilliSeconds += this.#allocatedMilli * measured;
    this.#now = to;
  }

  /** Only where something has ended can there be room that was not there before. */
  #startWaiting(hostId: HostId): void {
    const usage = this.#model.getHost(hostId);
    this.#waiting = this.#waiting.filter((pod) => !hostFits(usage, requestOf(pod)) || !this.#start(pod));
  }

  #start(pod: TimedPod): boolean {
    const request = requestOf(pod);
    const isNew = pod.arrivesAt === this.#now;
    // A request is learnt from when it comes, not each time it is tried again.
    const result = isNew ? this.#model.place(request) : this.#model.choose(request);
    if (!result.placed) return false;
    const { hostId, cards } = result;
    const { cpuMilli, memoryMiB, diskGiB } = request;
    const owner = `i-${this.#owners++}`;
    this.#model.take({ owner, hostId, cards, cpuMilli, memoryMiB, diskGiB });
    this.policy.placed?.(hostId, request);
    this.#allocatedMilli += pod.gpuMilli;
    this.#ends.push(this.#now + pod.runsSeconds, { owner, gpuMilli: pod.gpuMilli });
    this.#waited(pod);
    return true;
  }

  #waited(pod: TimedPod): void {
    if (pod.arrivesAt >= this.options.measuredFrom) this.#waitsSeconds.push(this.#now - pod.arrivesAt);
  }

  #makeRoom(): void {
    this.#nextMoves = this.#now + moveEverySeconds;
    const [first] = this.#waiting;
    if (first === undefined) return;
    const moves = proposeRoom(this.#model, requestOf(first), {
      movable: () => true,
      maxMoves: maxMovesAtOnce,
    });
    if (moves === undefined) return;
    for (const { owner, to, cards } of moves) {
      const held = this.#model.findAllocation(owner);
      if (held !== undefined) this.#model.restore({ ...held, hostId: to, cards });
    }
    this.#moves += moves.length;
    for (const hostId of new Set(moves.flatMap(({ from, to }) => [from, to]))) this.#startWaiting(hostId);
  }
}

function requestOf({ cpuMilli, memoryMiB, gpu }: Pod): PlacementRequest {
  return { cpuMilli, memoryMiB, diskGiB: 0, ...(gpu === undefined ? {} : { gpu }) };
}
