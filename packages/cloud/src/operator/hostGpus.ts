import type { Logger } from 'pino';
import type { GpuModels } from '../catalog/gpuModels.js';
import type { GpuInventory } from '../domain/gpu.js';
import type { ComputeDriver } from '../drivers/compute/driver.js';
import { type HostRecord, listHeldCards, putHost } from '../store/hosts.js';
import type { Store } from '../store/store.js';
import { parseHostEndpoint } from './hostPlan.js';
import { mergeGpus, readGpus } from './readGpus.js';

export interface HostGpusOptions {
  readonly store: Store;
  readonly log: Logger;
  readonly gpuModels: GpuModels;
}

const actor = { name: 'gpu-watch' };

/** Keeps what the store says of the hosts' cards in step with the hosts. */
export class HostGpus {
  constructor(private readonly options: HostGpusOptions) {}

  /** Writes down which cards the host has now, and as an event what became of each that changed. */
  async update(record: HostRecord, driver: ComputeDriver): Promise<HostRecord> {
    const { store, log, gpuModels } = this.options;
    const read = await readGpus(parseHostEndpoint(record.endpoint), driver, gpuModels).catch(
      (error: unknown) => ({ failure: error instanceof Error ? error.message : String(error) }),
    );
    if ('failure' in read) log.error({ hostId: record.id, failure: read.failure }, 'cards cannot be read');
    else if (JSON.stringify(read) === JSON.stringify(record.gpus)) return record;
    return store.transaction(actor, async (tx) => {
      const held = await listHeldCards(tx.db, record.id);
      const gpus = mergeGpus(record.gpus, read, (cardId) => held.has(cardId));
      if (JSON.stringify(gpus) === JSON.stringify(record.gpus)) return record;
      await putHost(tx, { ...record, gpus });
      for (const { cardId, action, faults } of changesOf(record.gpus, gpus)) {
        const after = { cardId, faults };
        await tx.record({ resourceType: 'host', resourceId: record.id, action, after });
      }
      return { ...record, gpus };
    });
  }
}

/** What became of single cards between two readings. */
function changesOf(before: GpuInventory, now: GpuInventory) {
  const faultsOf = ({ cards }: GpuInventory): Map<string, string[]> =>
    new Map(cards.map((card) => [card.id, card.faults.map((fault) => fault.message)]));
  const [was, is] = [faultsOf(before), faultsOf(now)];
  const removed = [...was.keys()].filter((id) => !is.has(id));
  return [
    ...removed.map((cardId) => ({ cardId, action: 'GpuRemoved', faults: [] as string[] })),
    ...[...is].flatMap(([cardId, faults]) => {
      const earlier = was.get(cardId);
      if (earlier?.join() === faults.join()) return [];
      const action = earlier === undefined ? 'GpuFound' : faults.length > 0 ? 'GpuFailed' : 'GpuRecovered';
      return [{ cardId, action, faults }];
    }),
  ];
}
