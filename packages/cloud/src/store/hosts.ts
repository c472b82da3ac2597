import { z } from 'zod';
import type { RegionId } from '../domain/ids.js';
import type { Allocation, Host } from '../placement/index.js';
import type { Reader, Transaction } from './store.js';

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
  return rows.map(({ instanceId, cards, ...row }) => ({
    ...row,
    owner: instanceId,
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
