import type { GpuModels } from '../catalog/gpuModels.js';
import { type GpuFault, type GpuInventory, noGpus } from '../domain/gpu.js';
import type { ComputeDriver } from '../drivers/compute/driver.js';
import { ConfiguredGpuDriver } from '../drivers/gpu/configuredGpus.js';
import { parseEngineCards } from '../drivers/gpu/engineCards.js';
import { NvidiaGpuDriver } from '../drivers/gpu/NvidiaGpuDriver.js';
import type { HostEndpoint } from './hostPlan.js';

/**
 * The cards of a host as they are now: those that its configuration declares; else, on this machine, what
 * NVIDIA's own program tells; else what the engine tells.
 */
export async function readGpus(
  { engine, gpus }: HostEndpoint,
  driver: ComputeDriver,
  models: GpuModels,
): Promise<GpuInventory> {
  if (gpus.length > 0) {
    const { vcpus } = await driver.getResources();
    return new ConfiguredGpuDriver(gpus, vcpus).readInventory();
  }
  if (engine.driver === 'fake') return noGpus;
  if (engine.url === undefined) {
    try {
      return await new NvidiaGpuDriver().readInventory();
    } catch (error) {
      const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
      if (!isMissing) throw error;
    }
  }
  const { gpuResources } = await driver.getResources();
  return { cards: parseEngineCards(gpuResources, (product) => models.findMemoryMiB(product)), links: [] };
}

/**
 * What a new reading makes of the one before. A card that is not there any more stays, as lost, while an
 * instance holds it; nothing new is placed on it. `failure`: the cards could not be read at all, so that no
 * card can be trusted.
 */
export function mergeGpus(
  before: GpuInventory,
  now: GpuInventory | { readonly failure: string },
  isHeld: (cardId: string) => boolean,
): GpuInventory {
  if ('failure' in now) {
    return { ...before, cards: before.cards.map((card) => ({ ...card, faults: [lost(now.failure)] })) };
  }
  const ids = new Set(now.cards.map((card) => card.id));
  const missing = before.cards
    .filter((card) => !ids.has(card.id) && isHeld(card.id))
    .map((card) => ({ ...card, faults: [lost('the card is not there any more')] }));
  return { ...now, cards: [...now.cards, ...missing] };
}

function lost(message: string): GpuFault {
  return { code: 'lost', message };
}
