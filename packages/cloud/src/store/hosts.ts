import { z } from 'zod';
import type { GpuModels } from '../catalog/gpuModels.js';
import type { GpuInventory } from '../domain/gpu.js';
import type { HostId, RegionId, ZoneId } from '../domain/ids.js';
import type { Allocation, Host } from '../placement/index.js';
import type { Reader, Transaction } from './store.js';
import type { HostTable } from './tables.js';

const shares = z.array(
  z.object({
    cardId: z.string(),
    memoryMiB: z.number(),
    computePercent: z.number(),
    exclusive: z.boolean(),
  }),
);

const inventoryShape = z.object({
  cards: z.array(
    z.object({
      id: z.string(),
      kind: z.enum(['nvidia', 'software', 'fake']),
      product: z.string(),
      memoryMiB: z.number(),
      pciAddress: z.string().exactOptional(),
      minor: z.number().exactOptional(),
      numaNode: z.number().exactOptional(),
      mig: z
        .object({
          gpuInstanceId: z.number(),
          computeInstanceId: z.number(),
          profile: z.string().exactOptional(),
        })
        .exactOptional(),
      processorMilli: z.number().exactOptional(),
      faults: z.array(
        z.object({
          code: z.enum(['ecc', 'memoryRepair', 'reset', 'xid', 'lost']),
          message: z.string(),
        }),
      ),
    }),
  ),
  links: z.array(z.object({ between: z.tuple([z.string(), z.string()]), bandwidth: z.number() })),
});

/** Reads the column `gpus`. */
export function parseInventory(text: string): GpuInventory {
  return inventoryShape.parse(JSON.parse(text));
}

/** The hosts as placement sees them. */
export async function listHosts(db: Reader, gpuModels: GpuModels): Promise<Host[]> {
  const rows = await db
    .selectFrom('hosts')
    .selectAll()
    .where('state', '<>', 'removed')
    .orderBy('id')
    .execute();
  return rows.map((row) => ({
    id: row.id,
    zoneId: row.zoneId,
    state: row.state === 'draining' ? 'draining' : 'active',
    cpuMilli: row.cpuMilli,
    memoryMiB: row.memoryMiB,
    diskGiB: row.diskGiB,
    ...gpuModels.offer(parseInventory(row.gpus)),
  }));
}

/** Every line of the ledger. */
export async function listAllocations(db: Reader): Promise<Allocation[]> {
  const rows = await db.selectFrom('allocations').selectAll().execute();
  return rows.map(({ cards, ...row }) => ({
    ...row,
    cards: shares.parse(JSON.parse(cards)),
  }));
}

/** Adds a host, or renews what it offers. */
export async function putHost(tx: Transaction, host: Omit<HostRecord, 'state'>): Promise<void> {
  const offered = {
    regionId: host.regionId,
    zoneId: host.zoneId,
    cpuMilli: host.cpuMilli,
    memoryMiB: host.memoryMiB,
    diskGiB: host.diskGiB,
    endpoint: host.endpoint,
    gpus: JSON.stringify(host.gpus),
  };
  await tx.db
    .insertInto('hosts')
    .values({ ...offered, id: host.id, state: 'active' })
    .onConflict((conflict) => conflict.column('id').doUpdateSet(offered))
    .execute();
}

/** A host as the operator sees it. */
export interface HostRecord {
  readonly id: HostId;
  readonly regionId: RegionId;
  readonly zoneId: ZoneId;
  readonly state: HostTable['state'];
  readonly cpuMilli: number;
  readonly memoryMiB: number;
  readonly diskGiB: number;
  /** How to reach it, see `HostEndpoint`. */
  readonly endpoint: string;
  readonly gpus: GpuInventory;
}

/** All hosts that were not removed, those that do not answer too. */
export async function listHostRecords(db: Reader): Promise<HostRecord[]> {
  const rows = await db
    .selectFrom('hosts')
    .selectAll()
    .where('state', '<>', 'removed')
    .orderBy('id')
    .execute();
  return rows.map((row) => ({ ...row, gpus: parseInventory(row.gpus) }));
}

/** Moves a host between taking new instances, only keeping what it has, and being gone. */
export async function setHostState(tx: Transaction, id: HostId, state: HostTable['state']): Promise<void> {
  await tx.db.updateTable('hosts').set({ state }).where('id', '=', id).execute();
  await tx.record({ resourceType: 'host', resourceId: id, action: 'SetHostState', after: { state } });
}

/** The cards of a host of which some instance holds a part. */
export async function listHeldCards(db: Pick<Reader, 'selectFrom'>, hostId: HostId): Promise<Set<string>> {
  const rows = await db.selectFrom('allocations').select('cards').where('hostId', '=', hostId).execute();
  return new Set(rows.flatMap((row) => shares.parse(JSON.parse(row.cards)).map((share) => share.cardId)));
}

/** What a host holds for tenants. */
export interface HostTenants {
  readonly instances: number;
  /** Data disks, snapshots and custom images. */
  readonly volumes: number;
}

/** What each host holds for tenants; no entry for one that holds nothing. */
export async function countTenantsByHost(
  db: Pick<Reader, 'selectFrom'>,
): Promise<ReadonlyMap<HostId, HostTenants>> {
  const tenants = new Map<HostId, HostTenants>();
  const add = (hostId: HostId, instances: number, volumes: number): void => {
    const before = tenants.get(hostId) ?? { instances: 0, volumes: 0 };
    tenants.set(hostId, { instances: before.instances + instances, volumes: before.volumes + volumes });
  };
  for (const table of ['instances', 'disks', 'snapshots', 'images'] as const) {
    let query = db.selectFrom(table).select(({ fn }) => ['hostId', fn.countAll<number>().as('total')]);
    if (table === 'disks') query = query.where('type', '=', 'data');
    for (const { hostId, total } of await query.groupBy('hostId').execute()) {
      add(hostId, table === 'instances' ? total : 0, table === 'instances' ? 0 : total);
    }
  }
  return tenants;
}
