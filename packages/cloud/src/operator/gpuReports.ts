import type { CloudParts } from '../cloud.js';
import type { ZoneId } from '../domain/ids.js';
import { modeOf } from '../drivers/gpu/sharing/attachGpus.js';
import { claimOf } from '../store/claim.js';
import { listHostRecords } from '../store/hosts.js';
import { HostError } from './hostRegistry.js';
import type { GpuDescription, PlacementExplanation } from './operatorApi.js';

/** All cards of the cloud, with what is free on them and who holds the rest. */
export async function describeGpus({ store, placement, config }: CloudParts): Promise<GpuDescription[]> {
  const holders = new Map<string, GpuDescription['holders'][number][]>();
  for (const { owner, hostId, cards } of placement.allocations()) {
    for (const { cardId, ...share } of cards) {
      const key = `${hostId}/${cardId}`;
      holders.set(key, [...(holders.get(key) ?? []), { instanceId: owner, ...share }]);
    }
  }
  return (await listHostRecords(store.reader)).flatMap(({ id: hostId, gpus }) => {
    const usages = new Map((placement.findHost(hostId)?.cards ?? []).map((usage) => [usage.card.id, usage]));
    const host = config.hosts.find((each) => each.id === hostId);
    const sharing = { forSlices: host?.gpuSharing ?? 'none', policy: host?.gpuPolicy ?? 'weighted' } as const;
    return gpus.cards.map((card) => {
      const usage = usages.get(card.id);
      const mode = modeOf(card, false, sharing);
      const { memory, compute, faults, summary } = mode;
      return {
        id: card.id,
        hostId,
        kind: card.kind,
        product: card.product,
        model: usage?.card.model ?? card.product,
        memoryMiB: usage?.card.memoryMiB ?? card.memoryMiB,
        reportedMemoryMiB: card.memoryMiB,
        ...(card.pciAddress === undefined ? {} : { pciAddress: card.pciAddress }),
        ...(card.numaNode === undefined ? {} : { numaNode: card.numaNode }),
        faults: card.faults.map((fault) => fault.message),
        sharing: { mode: mode.name, memory, compute, faults, summary },
        freeMemoryMiB: usage?.freeMemoryMiB ?? 0,
        freeComputePercent: usage?.freeComputePercent ?? 0,
        holders: holders.get(`${hostId}/${card.id}`) ?? [],
      };
    });
  });
}

/** What placement would say to an instance of a type, host by host and card by card. Nothing is taken. */
export function explainPlacement(
  cloud: CloudParts,
  wish: { readonly instanceType: string; readonly zone?: string | undefined; readonly diskGiB: number },
): PlacementExplanation {
  const type = cloud.catalog.instanceTypes.get(wish.instanceType);
  if (!type) throw new HostError('HostInvalid', `there is no instance type "${wish.instanceType}"`);
  const { request } = claimOf(cloud, type, wish.diskGiB);
  const zoned = wish.zone === undefined ? request : { ...request, zoneId: wish.zone as ZoneId };
  const chosen = cloud.placement.choose(zoned);
  return {
    ...(chosen.placed
      ? { hostId: chosen.hostId, cards: chosen.cards.map((share) => share.cardId) }
      : { refusal: chosen.summary }),
    hosts: cloud.placement.explain(zoned).map(({ hostId, text, cards }) => ({
      hostId,
      text,
      cards: cards.map((card) => ({ cardId: card.cardId, text: card.text })),
    })),
  };
}
