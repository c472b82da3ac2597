import type { Catalog } from '../catalog/catalog.js';
import type { AccountId, ImageId, RegionId } from '../domain/ids.js';
import type { Reader, Transaction } from './store.js';
import type { Image } from './tables.js';
import { deleteTags } from './tags.js';

interface Scope {
  readonly accountId: AccountId;
  readonly regionId: RegionId;
}

/** The account's own images in the region, oldest first. */
export async function listOwnImages(db: Reader, { accountId, regionId }: Scope): Promise<Image[]> {
  return db
    .selectFrom('images')
    .selectAll()
    .where('accountId', '=', accountId)
    .where('regionId', '=', regionId)
    .where('status', '<>', 'Deleted')
    .orderBy('sequence')
    .execute();
}

export async function findOwnImage(
  db: Reader,
  { accountId, regionId }: Scope,
  id: string,
): Promise<Image | undefined> {
  return db
    .selectFrom('images')
    .selectAll()
    .where('id', '=', id as ImageId)
    .where('accountId', '=', accountId)
    .where('regionId', '=', regionId)
    .where('status', '<>', 'Deleted')
    .executeTakeFirst();
}

/** The public images that custom ones descend from, by the ids of all of them that the account has had. */
export async function readBaseImages(
  db: Reader,
  catalog: Catalog,
  imageIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const custom = imageIds.filter((id) => !catalog.images.has(id)) as ImageId[];
  if (custom.length === 0) return new Map();
  const rows = await db
    .selectFrom('images')
    .select(['id', 'baseImageId'])
    .where('id', 'in', custom)
    .execute();
  return new Map(rows.map((row) => [row.id, row.baseImageId]));
}

/** Has the loop remove an image. Instances that were made from it go on. */
export async function deleteImage(tx: Transaction, image: Image): Promise<void> {
  await tx.db.updateTable('images').set({ status: 'Deleted' }).where('id', '=', image.id).execute();
  await deleteTags(tx, 'image', [image.id]);
  await tx.record({ resourceType: 'image', resourceId: image.id, action: 'DeleteImage' });
  tx.wake({ kind: 'image', id: image.id });
}
