import type { DiskId, HostId, InstanceId, ZoneId } from '../domain/ids.js';
import type { Allocation, ClusterModel, PlacementRequest } from '../placement/index.js';
import type { Claim } from './claim.js';
import type { Transaction } from './store.js';

/*
 * The capacity ledger: what each instance and each data disk holds on its host. Rows and the in-memory model change together;
 * when the transaction fails, the model takes back what it did.
 */

export type AllocationOwner = InstanceId | DiskId;

/** What a data disk needs on the host where it is. */
export interface DiskShare {
  readonly owner: DiskId;
  readonly diskGiB: number;
}

/** Chooses a host for a new instance and its data disks, and takes what they need there. Refusals say why. */
export async function placeInstance(
  tx: Transaction,
  model: ClusterModel,
  owner: InstanceId,
  { request, isWholeHost }: Claim,
  dataDisks: readonly DiskShare[] = [],
): Promise<{ readonly hostId: HostId } | { readonly refusal: string }> {
  const dataGiB = dataDisks.reduce((sum, disk) => sum + disk.diskGiB, 0);
  const placement = model.place({ ...request, diskGiB: request.diskGiB + dataGiB });
  if (!placement.placed) return { refusal: placement.summary };
  const { hostId, cards } = placement;
  const { cpuMilli, memoryMiB } = isWholeHost ? model.getHost(hostId).host : request;
  const { diskGiB } = request;
  await take(tx, model, { owner, hostId, cards, cpuMilli, memoryMiB, diskGiB });
  for (const disk of dataDisks) await take(tx, model, { ...onlyDisk, ...disk, hostId });
  return { hostId };
}

const onlyDisk = { cpuMilli: 0, memoryMiB: 0, cards: [] };

/** Chooses a host of the zone for a data disk that is attached to nothing, and takes its room there. */
export async function placeDisk(
  tx: Transaction,
  model: ClusterModel,
  { owner, diskGiB }: DiskShare,
  zoneId: ZoneId,
): Promise<{ readonly hostId: HostId } | { readonly refusal: string }> {
  const placement = model.place({ cpuMilli: 0, memoryMiB: 0, diskGiB, zoneId });
  if (!placement.placed) return { refusal: placement.summary };
  await take(tx, model, { ...onlyDisk, owner, diskGiB, hostId: placement.hostId });
  return { hostId: placement.hostId };
}

/**
 * Takes the room of a data disk on one host, and gives back what it had on another. Answers with what is
 * missing there; `undefined` when all is well.
 */
export async function putDiskOnHost(
  tx: Transaction,
  model: ClusterModel,
  disk: DiskShare,
  hostId: HostId,
): Promise<string | undefined> {
  const wished = { ...onlyDisk, ...disk, hostId };
  const obstacle = model.getHost(hostId).obstacle(wished);
  if (obstacle !== undefined) return obstacle;
  await releaseAll(tx, model, disk.owner);
  await take(tx, model, wished);
  return undefined;
}

/**
 * Takes so much more disk space for an instance's system disk or a data disk. Answers with what is missing on
 * its host; `undefined` when all is well.
 */
export async function growDiskSpace(
  tx: Transaction,
  model: ClusterModel,
  owner: AllocationOwner,
  addedGiB: number,
): Promise<string | undefined> {
  const held = model.findAllocation(owner);
  if (!held) throw new Error(`${owner} holds nothing in the ledger`);
  const added = { ...held, ...onlyDisk, diskGiB: addedGiB };
  const obstacle = model.getHost(held.hostId).obstacle(added);
  if (obstacle !== undefined) return obstacle;
  await replace(tx, model, held, { ...held, diskGiB: held.diskGiB + addedGiB });
  return undefined;
}

/** Takes what has been found to be free. */
async function take(tx: Transaction, model: ClusterModel, allocation: Allocation): Promise<void> {
  model.restore(allocation);
  tx.onRollback(() => model.release(allocation.owner));
  const { cards, ...amounts } = allocation;
  await tx.db
    .insertInto('allocations')
    .values({ ...amounts, owner: allocation.owner as AllocationOwner, cards: JSON.stringify(cards) })
    .execute();
}

/** Gives back all that an instance or a data disk holds. */
export async function releaseAll(
  tx: Transaction,
  model: ClusterModel,
  owner: AllocationOwner,
): Promise<void> {
  const held = model.findAllocation(owner);
  if (!held) return;
  model.release(owner);
  tx.onRollback(() => model.restore(held));
  await tx.db.deleteFrom('allocations').where('owner', '=', owner).execute();
}

/** Gives back processors, memory and cards of an instance that was stopped without charge; its disk stays. */
export async function releaseCompute(tx: Transaction, model: ClusterModel, owner: InstanceId): Promise<void> {
  const held = model.findAllocation(owner);
  if (held) await replace(tx, model, held, { ...held, cpuMilli: 0, memoryMiB: 0, cards: [] });
}

/** Whether an instance gave back its processors, memory and cards. */
export function hasReleasedCompute(model: ClusterModel, owner: InstanceId): boolean {
  return model.findAllocation(owner)?.cpuMilli === 0;
}

/**
 * Changes what an instance holds on its host, or takes back what it gave away while it was stopped without
 * charge. Cards that still serve are kept. Answers with what is missing there; `undefined` when all is well.
 */
export async function resizeAllocation(
  tx: Transaction,
  model: ClusterModel,
  owner: InstanceId,
  { request, isWholeHost }: Claim,
): Promise<string | undefined> {
  const held = model.findAllocation(owner);
  if (!held) throw new Error(`${owner} holds nothing in the ledger`);
  model.release(owner);
  let wished: Allocation;
  try {
    const usage = model.getHost(held.hostId);
    const why = request.constraints?.map((each) => each.objection(held.hostId)).find((each) => each);
    if (why !== undefined) return why;
    const cards = keepsCards(held, request) ? held.cards : model.cardsOn(held.hostId, request);
    if (cards === undefined) return 'too few of the GPUs of its host are free';
    const { cpuMilli, memoryMiB } = isWholeHost ? usage.host : request;
    wished = { ...held, cpuMilli, memoryMiB, diskGiB: request.diskGiB, cards };
    const obstacle = usage.obstacle(wished);
    if (obstacle !== undefined) return obstacle;
  } finally {
    model.restore(held);
  }
  await replace(tx, model, held, wished);
  return undefined;
}

/** Whether the cards that are held are what is asked for. */
function keepsCards({ cards }: Allocation, { gpu }: PlacementRequest): boolean {
  if (cards.length !== (gpu?.count ?? 0)) return false;
  return cards.every((share) =>
    gpu?.kind === 'slice'
      ? share.memoryMiB === gpu.memoryMiB && share.computePercent === gpu.computePercent
      : share.exclusive,
  );
}

async function replace(
  tx: Transaction,
  model: ClusterModel,
  held: Allocation,
  wished: Allocation,
): Promise<void> {
  model.restore(wished);
  tx.onRollback(() => model.restore(held));
  await tx.db
    .updateTable('allocations')
    .set({
      cpuMilli: wished.cpuMilli,
      memoryMiB: wished.memoryMiB,
      diskGiB: wished.diskGiB,
      cards: JSON.stringify(wished.cards),
    })
    .where('owner', '=', wished.owner as AllocationOwner)
    .execute();
}
