import type { DiskId, HostId, InstanceId, ZoneId } from '../domain/ids.js';
import type { Allocation, ClusterModel, PlacementRequest } from '../placement/index.js';
import type { Transaction } from './store.js';

/*
 * The capacity ledger: what each instance and each data disk holds on its host. Rows and the in-memory model change together;
 * when the transaction fails, the model takes back what it did.
 */

export type AllocationOwner = InstanceId | DiskId;

/** What an instance needs: from its type, and from the size of its system disk. */
export interface InstanceSize {
  readonly vcpus: number;
  readonly memoryMiB: number;
  readonly diskGiB: number;
}

export function amountsOf(size: InstanceSize): Pick<Allocation, 'cpuMilli' | 'memoryMiB' | 'diskGiB'> {
  return { cpuMilli: size.vcpus * 1000, memoryMiB: size.memoryMiB, diskGiB: size.diskGiB };
}

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
  request: PlacementRequest,
  dataDisks: readonly DiskShare[] = [],
): Promise<{ readonly hostId: HostId } | { readonly refusal: string }> {
  const { cpuMilli, memoryMiB, diskGiB } = request;
  const dataGiB = dataDisks.reduce((sum, disk) => sum + disk.diskGiB, 0);
  const placement = model.place({ ...request, diskGiB: diskGiB + dataGiB });
  if (!placement.placed) return { refusal: placement.summary };
  const { hostId, cards } = placement;
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

/**
 * Takes back, on the instance's own host, what it gave away while it was stopped without charge. Answers
 * with what is missing there; `undefined` when all is well.
 */
export async function retakeCapacity(
  tx: Transaction,
  model: ClusterModel,
  instance: { readonly id: InstanceId; readonly vcpus: number; readonly memoryMiB: number },
): Promise<string | undefined> {
  const held = model.findAllocation(instance.id);
  if (!held || held.cpuMilli > 0) return undefined;
  return resizeAllocation(tx, model, instance.id, {
    vcpus: instance.vcpus,
    memoryMiB: instance.memoryMiB,
    diskGiB: held.diskGiB,
  });
}

/** Changes what an instance or a data disk holds on its host. Answers with what is missing there for the new size. */
export async function resizeAllocation(
  tx: Transaction,
  model: ClusterModel,
  owner: AllocationOwner,
  size: InstanceSize,
): Promise<string | undefined> {
  const held = model.findAllocation(owner);
  if (!held) throw new Error(`${owner} holds nothing in the ledger`);
  const wished = { ...held, ...amountsOf(size) };
  model.release(owner);
  const obstacle = model.getHost(held.hostId).obstacle(wished);
  model.restore(held);
  if (obstacle !== undefined) return obstacle;
  await replace(tx, model, held, wished);
  return undefined;
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
