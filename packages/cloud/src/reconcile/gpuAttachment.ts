import type { CloudParts } from '../cloud.js';
import type { GpuAttachment } from '../domain/gpu.js';
import { attachGpus } from '../drivers/gpu/sharing/attachGpus.js';
import { parseInventory } from '../store/hosts.js';
import type { Instance } from '../store/tables.js';

/** What an instance gets of the cards that it holds; `undefined` without cards, or with cards of no hardware. */
export async function readGpuAttachment(
  { store, catalog, config, placement }: CloudParts,
  { id, hostId }: Pick<Instance, 'id' | 'hostId'>,
): Promise<GpuAttachment | undefined> {
  const shares = placement.findAllocation(id)?.cards ?? [];
  if (shares.length === 0) return undefined;
  const { gpus } = await store.reader
    .selectFrom('hosts')
    .select('gpus')
    .where('id', '=', hostId)
    .executeTakeFirstOrThrow();
  const inventory = parseInventory(gpus);
  const offered = new Map(catalog.gpuModels.offer(inventory).cards.map((card) => [card.id, card]));
  const parts = shares.map((share) => {
    const card = inventory.cards.find((each) => each.id === share.cardId);
    if (!card) throw new Error(`host ${hostId} has no card ${share.cardId} any more`);
    // The ledger counts in what the maker says, the driver in what it has left of that.
    const counted = offered.get(card.id)?.memoryMiB ?? card.memoryMiB;
    return {
      card,
      memoryMiB: Math.floor((share.memoryMiB * card.memoryMiB) / counted),
      computePercent: share.computePercent,
      isWhole: share.exclusive,
    };
  });
  const host = config.hosts.find((each) => each.id === hostId);
  return attachGpus(parts, {
    forSlices: host?.gpuSharing ?? 'none',
    policy: host?.gpuPolicy ?? 'weighted',
    usesNvidiaRuntime: host?.nvidiaRuntime ?? true,
  });
}
