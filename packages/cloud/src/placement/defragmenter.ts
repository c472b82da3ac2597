import type { HostId } from '../domain/ids.js';
import type { ClusterModel } from './clusterModel.js';
import { hostFits } from './filter.js';
import type { Allocation, CardShare } from './host.js';
import { exceptHosts, type GpuRequest, type PlacementRequest } from './request.js';

/** An owner that would move, and what that frees. */
export interface Move {
  readonly owner: string;
  readonly from: HostId;
  readonly to: HostId;
  /** What it would hold on the new host. */
  readonly cards: readonly CardShare[];
  /** Cards of the old host that nobody uses afterwards. */
  readonly idleCards: readonly string[];
  /** What the free room gains in worth to the requests that usually come, in cards. */
  readonly gainCards: number;
}

export interface DefragmentationOptions {
  /** Owners that may be moved; those that must not be stopped may not. */
  readonly movable: (allocation: Allocation) => boolean;
  readonly maxMoves: number;
  /** What an owner needs elsewhere. Default: the same as now, on the same models of card, in its zone. */
  readonly requestOf?: (allocation: Allocation) => PlacementRequest;
}

/** A move has to gain so much to be worth the interruption. */
const minGainCards = 0.25;

/**
 * Proposes moves that make the free room worth more, the most rewarding first, each as things stand
 * after those before it. Nothing is changed.
 */
export function proposeMoves(model: ClusterModel, options: DefragmentationOptions): Move[] {
  const trial = model.copy();
  const candidates = [...trial.allocations()]
    .filter((allocation) => allocation.cards.length > 0 && options.movable(allocation))
    .map((allocation) => ({ allocation, gainCards: tryMove(trial, allocation, options)?.gainCards ?? 0 }))
    .sort((a, b) => b.gainCards - a.gainCards);
  const moves: Move[] = [];
  for (const { allocation, gainCards } of candidates) {
    if (moves.length >= options.maxMoves || gainCards < minGainCards) break;
    // Earlier moves may have taken the room or the reason.
    const move = tryMove(trial, allocation, options);
    if (move === undefined || move.gainCards < minGainCards) continue;
    carryOut(trial, allocation, move);
    moves.push(move);
  }
  return moves;
}

/**
 * Proposes the fewest moves after which a request fits that now fits nowhere: none when it fits,
 * undefined when no host can be cleared in `maxMoves`. Nothing is changed.
 */
export function proposeRoom(
  model: ClusterModel,
  request: PlacementRequest,
  options: DefragmentationOptions,
): Move[] | undefined {
  if (model.choose(request).placed) return [];
  const trial = model.copy();
  const byHost = new Map<HostId, Allocation[]>();
  for (const allocation of model.allocations()) {
    if (!options.movable(allocation)) continue;
    const others = byHost.get(allocation.hostId);
    if (others !== undefined) others.push(allocation);
    else byHost.set(allocation.hostId, [allocation]);
  }
  let best: Move[] | undefined;
  for (const [hostId, allocations] of byHost) {
    const moves = clearHost(trial, hostId, allocations, request, options);
    if (moves !== undefined && (best === undefined || moves.length < best.length)) best = moves;
    if (best?.length === 1) break;
  }
  return best;
}

/** Moves the smallest owners off the host until the request fits there; the trial is put back. */
function clearHost(
  trial: ClusterModel,
  hostId: HostId,
  allocations: readonly Allocation[],
  request: PlacementRequest,
  options: DefragmentationOptions,
): Move[] | undefined {
  const usage = trial.findHost(hostId);
  const objection = request.constraints?.some((constraint) => constraint.objection(hostId) !== undefined);
  if (usage === undefined || objection === true) return undefined;
  const moved: Allocation[] = [];
  const moves: Move[] = [];
  for (const allocation of [...allocations].sort((a, b) => sizeOf(a) - sizeOf(b))) {
    if (hostFits(usage, request) || moves.length >= options.maxMoves) break;
    const move = tryMove(trial, allocation, options);
    if (move === undefined) continue;
    carryOut(trial, allocation, move);
    moved.push(allocation);
    moves.push(move);
  }
  const fits = hostFits(usage, request);
  for (const allocation of moved) trial.restore(allocation);
  return fits ? moves : undefined;
}

/** What it would be to move an owner to the best other host; the trial is put back. */
function tryMove(
  trial: ClusterModel,
  allocation: Allocation,
  options: DefragmentationOptions,
): Move | undefined {
  const { owner, hostId } = allocation;
  const usage = trial.findHost(hostId);
  if (usage === undefined) return undefined;
  const request = (options.requestOf ?? ((held) => sameRequest(trial, held)))(allocation);
  const elsewhere = exceptHosts([hostId], 'the owner is there now');
  const worthBefore = trial.freeWorth(hostId);
  trial.release(owner);
  const gainHere = trial.freeWorth(hostId) - worthBefore;
  const held = new Set(allocation.cards.map((share) => share.cardId));
  const idleCards = usage.cards
    .filter(({ card, slices, exclusive }) => held.has(card.id) && slices === 0 && !exclusive)
    .map(({ card }) => card.id);
  const target = trial.choose({ ...request, constraints: [...(request.constraints ?? []), elsewhere] });
  if (!target.placed) {
    trial.restore(allocation);
    return undefined;
  }
  const { hostId: to, cards } = target;
  const worthThere = trial.freeWorth(to);
  trial.restore({ ...allocation, hostId: to, cards });
  const gainCards = gainHere + trial.freeWorth(to) - worthThere;
  trial.restore(allocation);
  return { owner, from: hostId, to, cards, idleCards, gainCards };
}

function carryOut(trial: ClusterModel, allocation: Allocation, move: Move): void {
  trial.restore({ ...allocation, hostId: move.to, cards: move.cards });
}

/** The request that an allocation would be an answer to. */
function sameRequest(model: ClusterModel, allocation: Allocation): PlacementRequest {
  const { cpuMilli, memoryMiB, diskGiB, hostId, cards } = allocation;
  const { host } = model.getHost(hostId);
  const gpu = gpuOf(allocation, new Map(host.cards.map((card) => [card.id, card.model])));
  return {
    cpuMilli,
    memoryMiB,
    diskGiB,
    zoneId: host.zoneId,
    ...(cards.length === 0 ? {} : { gpu }),
    ...(host.dedication === undefined ? {} : { tenancy: host.dedication }),
  };
}

function gpuOf({ cards }: Allocation, modelOf: ReadonlyMap<string, string>): GpuRequest {
  const models = [...new Set(cards.map((share) => modelOf.get(share.cardId) ?? ''))];
  const [first] = cards;
  return first === undefined || first.exclusive
    ? { kind: 'whole', count: cards.length, models }
    : {
        kind: 'slice',
        count: cards.length,
        memoryMiB: Math.max(...cards.map((share) => share.memoryMiB)),
        computePercent: Math.max(...cards.map((share) => share.computePercent)),
        models,
      };
}

/** Orders owners by how much has to be moved. */
function sizeOf(allocation: Allocation): number {
  const card = allocation.cards.reduce((sum, share) => sum + share.computePercent, 0);
  return card * 1e6 + allocation.memoryMiB;
}
