import { sql } from 'kysely';
import { groupBy } from '../domain/collections.js';
import type { Fail } from '../domain/errors.js';
import type { AccountId, RegionId } from '../domain/ids.js';
import { maxTagsPerResource, type Tag, type TagFilter, type TagResourceType } from '../domain/tags.js';
import type { Reader, Transaction } from './store.js';

/** A resource whose tags are meant. */
export interface TaggedResource {
  readonly resourceType: TagResourceType;
  readonly resourceId: string;
  readonly accountId: AccountId;
  readonly regionId: RegionId;
}

/**
 * Puts tags on a resource; a key that it has gets the new value. Ends the request when the resource would
 * have more than 20. Nothing is recorded: the caller knows whether this is a change of its own.
 */
export async function putTags(
  tx: Transaction,
  resource: TaggedResource,
  tags: readonly Tag[],
  fail: Fail<'QuotaExceed.Tags'>,
): Promise<void> {
  if (tags.length === 0) return;
  await tx.db
    .insertInto('tags')
    .values(tags.map((tag) => ({ ...resource, ...tag })))
    .onConflict((conflict) =>
      conflict.columns(['resourceType', 'resourceId', 'key']).doUpdateSet((eb) => ({
        value: eb.ref('excluded.value'),
      })),
    )
    .execute();
  const { total } = await tx.db
    .selectFrom('tags')
    .select((eb) => eb.fn.countAll<number>().as('total'))
    .where('resourceType', '=', resource.resourceType)
    .where('resourceId', '=', resource.resourceId)
    .executeTakeFirstOrThrow();
  if (total > maxTagsPerResource) {
    fail('QuotaExceed.Tags', { id: resource.resourceId, limit: maxTagsPerResource });
  }
}

/** Takes the tags of a resource that goes. */
export async function deleteTags(
  tx: Transaction,
  resourceType: TagResourceType,
  resourceIds: readonly string[],
): Promise<void> {
  await tx.db
    .deleteFrom('tags')
    .where('resourceType', '=', resourceType)
    .where('resourceId', 'in', resourceIds)
    .execute();
}

/** The tags of resources by their ids, ordered by key; no entry for a resource without tags. */
export async function readTags(
  db: Reader,
  resourceType: TagResourceType,
  resourceIds: readonly string[],
): Promise<Map<string, Tag[]>> {
  if (resourceIds.length === 0) return new Map();
  const rows = await db
    .selectFrom('tags')
    .select(['resourceId', 'key', 'value'])
    .where('resourceType', '=', resourceType)
    .where('resourceId', 'in', resourceIds)
    .orderBy('resourceId')
    .orderBy('key')
    .execute();
  return groupBy(rows, (row) => row.resourceId);
}

/**
 * A query for the ids of the resources that match every one of the filters (at least one), to be put into
 * a `where('id', 'in', …)`.
 */
export function queryTagged<Id extends string>(
  db: Reader,
  scope: Omit<TaggedResource, 'resourceId'>,
  filters: readonly TagFilter[],
) {
  return db
    .selectFrom('tags')
    .select(sql.ref<Id>('resourceId').as('resourceId'))
    .where('resourceType', '=', scope.resourceType)
    .where('accountId', '=', scope.accountId)
    .where('regionId', '=', scope.regionId)
    .where((eb) =>
      eb.or(
        filters.map(({ key, value }) =>
          value === undefined ? eb('key', '=', key) : eb.and([eb('key', '=', key), eb('value', '=', value)]),
        ),
      ),
    )
    .groupBy('resourceId')
    .having((eb) => eb.fn.countAll<number>(), '=', filters.length);
}

/** Where a listing of tags goes on: behind this tag of this resource. */
export interface TagPosition {
  readonly resourceId: string;
  readonly key: string;
}

export interface TagListing {
  /** Only these resources, by stored id. Absent: all. */
  readonly resourceIds?: readonly string[];
  /** Only resources that have all of these. */
  readonly tags: readonly TagFilter[];
  readonly after?: TagPosition;
  readonly limit: number;
}

/** Tags of resources of a kind in the order of resource and key, and where the next page begins, if there is one. */
export async function listTags(
  db: Reader,
  scope: Omit<TaggedResource, 'resourceId'>,
  { resourceIds, tags, after, limit }: TagListing,
) {
  const rows = await db
    .selectFrom('tags')
    .select(['resourceId', 'key', 'value'])
    .where('resourceType', '=', scope.resourceType)
    .where('accountId', '=', scope.accountId)
    .where('regionId', '=', scope.regionId)
    .$if(resourceIds !== undefined, (query) => query.where('resourceId', 'in', [...(resourceIds ?? [])]))
    .$if(tags.length > 0, (query) => query.where('resourceId', 'in', queryTagged<string>(db, scope, tags)))
    .$if(after !== undefined, (query) =>
      query.where((eb) =>
        eb.or([
          eb('resourceId', '>', after?.resourceId ?? ''),
          eb.and([eb('resourceId', '=', after?.resourceId ?? ''), eb('key', '>', after?.key ?? '')]),
        ]),
      ),
    )
    .orderBy('resourceId')
    .orderBy('key')
    .limit(limit + 1)
    .execute();
  const page = rows.slice(0, limit);
  return { rows: page, next: rows.length > limit ? page.at(-1) : undefined };
}

/** The token by which a client asks for what is behind a tag. */
export function writeTagPosition({ resourceId, key }: TagPosition): string {
  return Buffer.from(JSON.stringify([resourceId, key])).toString('base64url');
}

/** `undefined` for a token that is not one of `writeTagPosition`. */
export function readTagPosition(token: string): TagPosition | undefined {
  try {
    const position: unknown = JSON.parse(Buffer.from(token, 'base64url').toString());
    if (!Array.isArray(position)) return undefined;
    const [resourceId, key]: unknown[] = position;
    return typeof resourceId === 'string' && typeof key === 'string' ? { resourceId, key } : undefined;
  } catch {
    return undefined;
  }
}
