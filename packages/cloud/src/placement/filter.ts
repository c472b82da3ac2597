import type { ZoneId } from '../domain/ids.js';
import type { Host } from './host.js';
import { type CardUsage, type HostUsage, isIdle } from './hostUsage.js';
import type { GpuRequest, PlacementRequest } from './request.js';

/** Why a card cannot serve a GPU request. */
export type CardMisfit =
  | { readonly reason: 'model'; readonly model: string }
  | { readonly reason: 'unhealthy' }
  | { readonly reason: 'heldWhole' }
  | { readonly reason: 'shared'; readonly slices: number }
  | { readonly reason: 'slices'; readonly slices: number }
  | { readonly reason: 'cardMemory'; readonly askedMiB: number; readonly freeMiB: number }
  | { readonly reason: 'compute'; readonly askedPercent: number; readonly freePercent: number };

/** Why a host cannot serve a request. */
export type HostMisfit =
  | { readonly reason: 'zone'; readonly zoneId: ZoneId }
  | { readonly reason: 'state'; readonly state: 'draining' | 'lost' }
  | { readonly reason: 'dedicated' }
  | { readonly reason: 'notDedicated' }
  | { readonly reason: 'constraint'; readonly why: string }
  | { readonly reason: 'cpu'; readonly askedMilli: number; readonly freeMilli: number }
  | { readonly reason: 'memory'; readonly askedMiB: number; readonly freeMiB: number }
  | { readonly reason: 'disk'; readonly askedGiB: number; readonly freeGiB: number }
  | { readonly reason: 'cards'; readonly asked: number; readonly fitting: number; readonly cards: number };

/** Undefined when the card can serve its part of the request now. */
export function cardMisfit(usage: CardUsage, gpu: GpuRequest): CardMisfit | undefined {
  const { card } = usage;
  if (gpu.models !== undefined && !gpu.models.includes(card.model))
    return { reason: 'model', model: card.model };
  if (!card.healthy) return { reason: 'unhealthy' };
  if (usage.exclusive) return { reason: 'heldWhole' };
  if (gpu.kind === 'whole') {
    return isIdle(usage) ? undefined : { reason: 'shared', slices: usage.slices };
  }
  if (usage.slices >= card.maxSlices) return { reason: 'slices', slices: usage.slices };
  if (gpu.memoryMiB > usage.freeMemoryMiB)
    return { reason: 'cardMemory', askedMiB: gpu.memoryMiB, freeMiB: usage.freeMemoryMiB };
  if (gpu.computePercent > usage.freeComputePercent)
    return { reason: 'compute', askedPercent: gpu.computePercent, freePercent: usage.freeComputePercent };
  return undefined;
}

/** Whether `cardMisfit` finds nothing; asked too often to make reasons each time. */
export function cardFits(usage: CardUsage, gpu: GpuRequest): boolean {
  if (usage.freePercent === 0 || (gpu.kind === 'whole' && usage.slices > 0)) return false;
  if (gpu.models !== undefined && !gpu.models.includes(usage.card.model)) return false;
  return (
    gpu.kind === 'whole' ||
    (gpu.memoryMiB <= usage.freeMemoryMiB && gpu.computePercent <= usage.freeComputePercent)
  );
}

/** Dedicated hosts take only what asks for them, and what asks for one goes nowhere else. */
function tenancyFits(host: Host, { tenancy }: PlacementRequest): boolean {
  const { dedication } = host;
  if (tenancy === undefined || dedication === undefined)
    return tenancy === undefined && dedication === undefined;
  if (tenancy.accountId !== dedication.accountId) return false;
  return tenancy.dedicatedHostId === undefined
    ? dedication.autoPlacement
    : tenancy.dedicatedHostId === dedication.dedicatedHostId;
}

/** Whether `capacityMisfit` finds nothing. */
export function hostFits(usage: HostUsage, request: PlacementRequest): boolean {
  const { host, free } = usage;
  const { gpu } = request;
  if (request.cpuMilli > free.cpuMilli || request.memoryMiB > free.memoryMiB) return false;
  if (request.diskGiB > free.diskGiB || host.state !== 'active') return false;
  if (request.zoneId !== undefined && request.zoneId !== host.zoneId) return false;
  if (!tenancyFits(host, request)) return false;
  if (gpu === undefined) return true;
  const { models } = gpu;
  if (models !== undefined && !usage.models.some((model) => models.includes(model))) return false;
  let missing = gpu.count;
  for (const card of usage.cards) if (cardFits(card, gpu) && --missing === 0) return true;
  return missing <= 0;
}

/** Undefined when the host can serve the request now, its caller's constraints left aside. */
export function capacityMisfit(usage: HostUsage, request: PlacementRequest): HostMisfit | undefined {
  const { host, free } = usage;
  if (request.zoneId !== undefined && request.zoneId !== host.zoneId)
    return { reason: 'zone', zoneId: host.zoneId };
  if (host.state !== 'active') return { reason: 'state', state: host.state };
  if (!tenancyFits(host, request))
    return { reason: request.tenancy === undefined ? 'dedicated' : 'notDedicated' };
  if (request.gpu !== undefined) {
    const { gpu } = request;
    let fitting = 0;
    for (const card of usage.cards) if (cardMisfit(card, gpu) === undefined) fitting++;
    if (fitting < gpu.count) return { reason: 'cards', asked: gpu.count, fitting, cards: usage.cards.length };
  }
  if (request.cpuMilli > free.cpuMilli)
    return { reason: 'cpu', askedMilli: request.cpuMilli, freeMilli: free.cpuMilli };
  if (request.memoryMiB > free.memoryMiB)
    return { reason: 'memory', askedMiB: request.memoryMiB, freeMiB: free.memoryMiB };
  if (request.diskGiB > free.diskGiB)
    return { reason: 'disk', askedGiB: request.diskGiB, freeGiB: free.diskGiB };
  return undefined;
}

/** The first objection of the request's own constraints. */
export function constraintMisfit(usage: HostUsage, request: PlacementRequest): HostMisfit | undefined {
  for (const constraint of request.constraints ?? []) {
    const why = constraint.objection(usage.host.id);
    if (why !== undefined) return { reason: 'constraint', why };
  }
  return undefined;
}
