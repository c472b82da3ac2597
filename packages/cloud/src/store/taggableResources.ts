import type { TagResourceType } from '../domain/tags.js';
import type { Reader } from './store.js';
import type { TaggedResource } from './tags.js';

/** A resource as tags know it (`storedId`) and as clients name it (`id`). */
export interface TaggableResource {
  readonly storedId: string;
  readonly id: string;
}

/**
 * Those of the account's resources that the ids name, all of them without ids. Key pairs go by their names,
 * as Terraform and the console tag them, and by their ids.
 */
export async function findTaggable(
  db: Reader,
  { resourceType, accountId, regionId }: Omit<TaggedResource, 'resourceId'>,
  ids: readonly string[],
): Promise<TaggableResource[]> {
  switch (resourceType) {
    case 'keypair': {
      const rows = await db
        .selectFrom('keyPairs')
        .select(['id', 'name'])
        .where('accountId', '=', accountId)
        .where('regionId', '=', regionId)
        .where((eb) => eb.or([eb('name', 'in', ids), eb(eb.cast<string>('id', 'text'), 'in', ids)]))
        .execute();
      return rows.map((row) => ({ storedId: row.id, id: row.name }));
    }
    case 'instance':
    case 'disk':
    case 'securitygroup':
    case 'eni':
    case 'vpc':
    case 'vswitch': {
      const table = tableOf[resourceType];
      const rows = await db
        .selectFrom(table)
        .select((eb) => eb.cast<string>('id', 'text').as('id'))
        .where('accountId', '=', accountId)
        .where('regionId', '=', regionId)
        .where((eb) => eb(eb.cast<string>('id', 'text'), 'in', ids))
        .execute();
      return rows.map((row) => ({ storedId: row.id, id: row.id }));
    }
    case 'snapshot':
    case 'image':
      return [];
  }
}
