import type { HostId, InstanceId } from '../domain/ids.js';
import type { Allocation, ClusterModel, PlacementRequest } from '../placement/index.js';
import type { Claim } from './claim.js';
import type { Transaction } from './store.js';

/*
 * The capacity ledger: what each instance holds on its host. Rows and the in-memory model change together;
 * when the transaction fails, the model takes back what it did.
 */

/** Chooses a host for a new instance and takes what it needs there. Refusals say why. */
export async function placeInstance(
  tx: Transaction,
  model: ClusterModel,
  owner: InstanceId,
  { request, isWholeHost }: Claim,
): Promise<{ readonly hostId: HostId } | { readonly refusal: string }> {
  const placement = model.place(request);
  if (!placement.placed) return { refusal: placement.summary };
  const { hostId, cards } = placement;
  const { cpuMilli, memoryMiB } = isWholeHost ? model.getHost(hostId).host : request;
  const { diskGiB } = request;
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
    .where('instanceId', '=', wished.owner as InstanceId)
    .execute();
}
