import { z } from 'zod';
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

/** The hosts as placement sees them. */
export async function listHosts(db: Reader): Promise<Host[]> {
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
    cards: [],
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
export async function putHost(
  tx: Transaction,
  host: Host & { readonly regionId: RegionId; readonly endpoint: string },
): Promise<void> {
  const offered = {
    regionId: host.regionId,
    zoneId: host.zoneId,
    cpuMilli: host.cpuMilli,
    memoryMiB: host.memoryMiB,
    diskGiB: host.diskGiB,
    endpoint: host.endpoint,
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
}

/** All hosts that were not removed, those that do not answer too. */
export function listHostRecords(db: Reader): Promise<HostRecord[]> {
  return db.selectFrom('hosts').selectAll().where('state', '<>', 'removed').orderBy('id').execute();
}

/** Moves a host between taking new instances, only keeping what it has, and being gone. */
export async function setHostState(tx: Transaction, id: HostId, state: HostTable['state']): Promise<void> {
  await tx.db.updateTable('hosts').set({ state }).where('id', '=', id).execute();
  await tx.record({ resourceType: 'host', resourceId: id, action: 'SetHostState', after: { state } });
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
