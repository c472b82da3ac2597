import type { RouteTableId } from '../domain/ids.js';
import type { Reader } from './store.js';
import type { RouteTable } from './tables.js';
import type { Scope } from './vpcs.js';

/** The account's route table with this id. */
export async function findRouteTable(
  db: Reader,
  { accountId, regionId }: Scope,
  id: string,
): Promise<RouteTable | undefined> {
  return db
    .selectFrom('routeTables')
    .selectAll()
    .where('id', '=', id as RouteTableId)
    .where('accountId', '=', accountId)
    .where('regionId', '=', regionId)
    .executeTakeFirst();
}
