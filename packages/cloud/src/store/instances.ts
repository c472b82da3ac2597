import type { Fail } from '../domain/errors.js';
import type { AccountId, InstanceId, RegionId } from '../domain/ids.js';
import type { Reader } from './store.js';
import type { Instance } from './tables.js';

/** The account's instance with this id; one that is being released does not exist any more. */
export async function findInstance(
  db: Reader,
  accountId: AccountId,
  id: string,
): Promise<Instance | undefined> {
  return db
    .selectFrom('instances')
    .selectAll()
    .where('id', '=', id as InstanceId)
    .where('accountId', '=', accountId)
    .where('status', '<>', 'Deleted')
    .executeTakeFirst();
}

/** As `findInstance`, but ends the request when there is none. */
export async function getInstance(
  db: Reader,
  accountId: AccountId,
  id: string,
  fail: Fail<'InvalidInstanceId.NotFound'>,
): Promise<Instance> {
  return (await findInstance(db, accountId, id)) ?? fail('InvalidInstanceId.NotFound', { id });
}

/** How many instances and vCPUs the account has in the region. */
export async function totalInstances(
  db: Reader,
  accountId: AccountId,
  regionId: RegionId,
): Promise<{ readonly instances: number; readonly vcpus: number }> {
  const totals = await db
    .selectFrom('instanceTotals')
    .select(['instances', 'vcpus'])
    .where('accountId', '=', accountId)
    .where('regionId', '=', regionId)
    .executeTakeFirst();
  return totals ?? { instances: 0, vcpus: 0 };
}
