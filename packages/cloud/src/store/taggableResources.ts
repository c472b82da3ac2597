import { sql } from 'kysely';
import type { TagResourceType } from '../domain/tags.js';
import type { Reader } from './store.js';
import type { TaggedResource } from './tags.js';

/** A resource as tags know it (`storedId`) and as clients name it (`id`). */
export interface TaggableResource {
  readonly storedId: string;
  readonly id: string;
}

interface Source {
  readonly table: string;
  /** Column of the name that clients use; the id does as well. */
  readonly name: 'id' | 'name';
  readonly mayBeDeleted?: true;
}

/** Where the resources are that carry tags. No entry: this cloud has none of the kind. */
const sources: Partial<Record<TagResourceType, Source>> = {
  instance: { table: 'instances', name: 'id', mayBeDeleted: true },
  disk: { table: 'disks', name: 'id', mayBeDeleted: true },
  image: { table: 'images', name: 'id', mayBeDeleted: true },
  snapshot: { table: 'snapshots', name: 'id', mayBeDeleted: true },
  // Terraform and the console tag key pairs by their names.
  keypair: { table: 'keyPairs', name: 'name' },
  securitygroup: { table: 'securityGroups', name: 'id' },
  eni: { table: 'networkInterfaces', name: 'id' },
  command: { table: 'commands', name: 'id' },
  invocation: { table: 'invocations', name: 'id' },
  prefixlist: { table: 'prefixLists', name: 'id' },
  vpc: { table: 'vpcs', name: 'id', mayBeDeleted: true },
  vswitch: { table: 'vSwitches', name: 'id' },
  eip: { table: 'eips', name: 'id' },
  routetable: { table: 'routeTables', name: 'id' },
  natgateway: { table: 'natGateways', name: 'id' },
};

/** Those of the account's resources of a kind that the ids name. */
export async function findTaggable(
  db: Reader,
  { resourceType, accountId, regionId }: Omit<TaggedResource, 'resourceId'>,
  ids: readonly string[],
): Promise<TaggableResource[]> {
  const source = sources[resourceType];
  if (source === undefined || ids.length === 0) return [];
  const name = sql.ref(source.name);
  const wished = sql.join(ids);
  const { rows } = await sql<TaggableResource>`
    SELECT id AS "storedId", ${name} AS "id" FROM ${sql.table(source.table)}
    WHERE "accountId" = ${accountId} AND "regionId" = ${regionId}
      AND (id IN (${wished}) OR ${name} IN (${wished}))
      ${source.mayBeDeleted ? sql`AND status <> 'Deleted'` : sql``}
  `.execute(db);
  return rows;
}
