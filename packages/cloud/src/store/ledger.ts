import type { HostId, InstanceId } from '../domain/ids.js';
import type { Allocation, ClusterModel, PlacementRequest } from '../placement/index.js';
import type { Transaction } from './store.js';

/*
 * The capacity ledger: what each instance holds on its host. Rows and the in-memory model change together;
 * when the transaction fails, the model takes back what it did.
 */

/** What an instance needs: from its type, and from the size of its system disk. */
export interface InstanceSize {
  readonly vcpus: number;
  readonly memoryMiB: number;
  readonly diskGiB: number;
}

export function amountsOf(size: InstanceSize): Pick<Allocation, 'cpuMilli' | 'memoryMiB' | 'diskGiB'> {
  return { cpuMilli: size.vcpus * 1000, memoryMiB: size.memoryMiB, diskGiB: size.diskGiB };
}

/** Chooses a host for a new instance and takes what it needs there. Refusals say why. */
export async function placeInstance(
  tx: Transaction,
  model: ClusterModel,
  owner: InstanceId,
  request: PlacementRequest,
): Promise<{ readonly hostId: HostId } | { readonly refusal: string }> {
  const placement = model.place(request);
  if (!placement.placed) return { refusal: placement.summary };
  const { cpuMilli, memoryMiB, diskGiB } = request;
  const { hostId, cards } = placement;
  model.take({ owner, hostId, cards, cpuMilli, memoryMiB, diskGiB });
  tx.onRollback(() => model.release(owner));
  await tx.db
    .insertInto('allocations')
    .values({ instanceId: owner, hostId, cpuMilli, memoryMiB, diskGiB, cards: JSON.stringify(cards) })
    .execute();
  return { hostId };
}

/** Gives back all that an instance holds. */
export async function releaseAll(tx: Transaction, model: ClusterModel, owner: InstanceId): Promise<void> {
  const held = model.findAllocation(owner);
  if (!held) return;
  model.release(owner);
  tx.onRollback(() => model.restore(held));
  await tx.db.deleteFrom('allocations').where('instanceId', '=', owner).execute();
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

/** Changes what an instance holds on its host. Answers with what is missing there for the new size. */
export async function resizeAllocation(
  tx: Transaction,
  model: ClusterModel,
  owner: InstanceId,
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
    .where('instanceId', '=', wished.owner as InstanceId)
    .execute();
}
