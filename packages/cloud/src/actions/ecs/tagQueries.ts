import { ecs } from '@openegs/schema';
import type { ErrorCode, Fail } from '../../domain/errors.js';
import { readTagFilters } from '../../domain/tags.js';
import { matchesPattern } from '../../store/patterns.js';
import type { Reader } from '../../store/store.js';
import { findTaggable } from '../../store/taggableResources.js';
import { queryTagged, readTagPosition, type TaggedResource, writeTagPosition } from '../../store/tags.js';
import { pageAnswer, readNumberedPage, sliceOnPage } from '../../wire/paging.js';
import { defineAction } from '../action.js';
import { maxResources, readResourceType } from './tags.js';

/** Tags in one answer of ListTagResources, which takes no page size. */
const pageSize = 50;

const listErrors = [
  'BothEmpty.TagsAndResources',
  'Invalid.NextToken',
  'InvalidResourceType.NotFound',
  'InvalidTagFilter.Malformed',
  'InvalidTags.MalFormed',
  'NumberExceed.ResourceIds',
] as const satisfies readonly ErrorCode[];

export const listTagResources = defineAction(ecs.ListTagResources, {
  errors: listErrors,
  async read(input, { db, caller, regionId, fail }) {
    const scope = {
      resourceType: readResourceType(input.resourceType, fail),
      accountId: caller.accountId,
      regionId,
    };
    const ids = input.resourceId ?? [];
    const tags = readTagFilters(input.tag, fail);
    const wildcards = readWildcards(input.tagFilter, fail);
    if (tags.length > 0 && wildcards.length > 0) fail('InvalidTags.MalFormed');
    if (ids.length + tags.length + wildcards.length === 0) fail('BothEmpty.TagsAndResources');
    if (ids.length > maxResources) fail('NumberExceed.ResourceIds', { limit: maxResources });

    let query = db
      .selectFrom('tags')
      .select(['resourceId', 'key', 'value'])
      .where('resourceType', '=', scope.resourceType)
      .where('accountId', '=', scope.accountId)
      .where('regionId', '=', scope.regionId);
    if (ids.length > 0) {
      const named = await findTaggable(db, scope, ids);
      query = query.where(
        'resourceId',
        'in',
        named.map((resource) => resource.storedId),
      );
    }
    if (tags.length > 0) query = query.where('resourceId', 'in', queryTagged<string>(db, scope, tags));
    for (const wildcard of wildcards) {
      query = query.where('resourceId', 'in', queryMatching(db, scope, wildcard));
    }
    if (input.nextToken !== undefined) {
      const { resourceId, key } = readTagPosition(input.nextToken) ?? fail('Invalid.NextToken');
      query = query.where((eb) =>
        eb.or([
          eb('resourceId', '>', resourceId),
          eb.and([eb('resourceId', '=', resourceId), eb('key', '>', key)]),
        ]),
      );
    }
    const rows = await query
      .orderBy('resourceId')
      .orderBy('key')
      .limit(pageSize + 1)
      .execute();
    const page = rows.slice(0, pageSize);
    const last = rows.length > pageSize ? page.at(-1) : undefined;
    const named = await findTaggable(db, scope, [...new Set(page.map((row) => row.resourceId))]);
    const names = new Map(named.map((resource) => [resource.storedId, resource.id]));
    return {
      nextToken: last ? writeTagPosition(last) : '',
      tagResources: {
        tagResource: page.map((row) => ({
          resourceType: scope.resourceType,
          resourceId: names.get(row.resourceId) ?? row.resourceId,
          tagKey: row.key,
          tagValue: row.value,
        })),
      },
    };
  },
});

/** A key and values with `*` in them: one of the values, or any when there is none. */
interface Wildcard {
  readonly key: string;
  readonly values: readonly string[];
}

function readWildcards(
  filters: readonly { tagKey?: string | undefined; tagValues?: string[] | undefined }[] | undefined,
  fail: Fail<'InvalidTagFilter.Malformed'>,
): Wildcard[] {
  return (filters ?? []).map(({ tagKey, tagValues }) => ({
    key: tagKey ?? fail('InvalidTagFilter.Malformed', { reason: 'it has no TagKey.' }),
    values: tagValues ?? [],
  }));
}

function queryMatching(db: Reader, scope: Omit<TaggedResource, 'resourceId'>, { key, values }: Wildcard) {
  return db
    .selectFrom('tags')
    .select('resourceId')
    .where('resourceType', '=', scope.resourceType)
    .where('accountId', '=', scope.accountId)
    .where('regionId', '=', scope.regionId)
    .where(matchesPattern('key', key))
    .$if(values.length > 0, (query) =>
      query.where((eb) => eb.or(values.map((value) => matchesPattern('value', value)))),
    );
}

/** How each type is called in ResourceTypeCount. */
const countNames: Readonly<Record<string, string>> = {
  instance: 'instance',
  disk: 'disk',
  volume: 'volume',
  image: 'image',
  snapshot: 'snapshot',
  securitygroup: 'securitygroup',
  eni: 'eni',
  ddh: 'ddh',
  keypair: 'keyPair',
  launchtemplate: 'launchTemplate',
  reservedinstance: 'reservedInstance',
  snapshotpolicy: 'snapshotPolicy',
};

/** Number of resources by the names of `countNames`. */
type Counts = Record<string, number>;

export const describeTags = defineAction(ecs.DescribeTags, {
  errors: ['Invalid.TagCategory', 'InvalidResourceType.NotFound'],
  async read(input, { db, caller, regionId, fail }) {
    const page = readNumberedPage(input, { maxPageSize: 100, defaultSize: 50 });
    const { category } = input;
    if (category !== undefined && !['custom', 'system', 'public', 'all'].includes(category.toLowerCase())) {
      fail('Invalid.TagCategory', { category });
    }
    const resourceType =
      input.resourceType === undefined ? undefined : readResourceType(input.resourceType, fail);
    const filters = readTagFilters(input.tag, fail);
    let query = db
      .selectFrom('tags')
      .select((eb) => ['key', 'value', 'resourceType', eb.fn.countAll<number>().as('total')])
      .where('accountId', '=', caller.accountId)
      .where('regionId', '=', regionId);
    if (resourceType !== undefined) query = query.where('resourceType', '=', resourceType);
    if (input.resourceId !== undefined) {
      const type = resourceType ?? fail('MissingParameter', { parameter: 'ResourceType' });
      const scope = { resourceType: type, accountId: caller.accountId, regionId };
      const [resource] = await findTaggable(db, scope, [input.resourceId]);
      query = query.where('resourceId', '=', resource?.storedId ?? input.resourceId);
    }
    if (filters.length > 0) {
      query = query.where((eb) =>
        eb.or(
          filters.map(({ key, value }) =>
            value === undefined
              ? eb('key', '=', key)
              : eb.and([eb('key', '=', key), eb('value', '=', value)]),
          ),
        ),
      );
    }
    const rows = await query
      .groupBy(['key', 'value', 'resourceType'])
      .orderBy('key')
      .orderBy('value')
      .execute();
    const tags = sumUp(rows);
    const onPage = sliceOnPage(tags, page);
    return { ...pageAnswer(page, onPage, tags.length), tags: { tag: onPage.map(({ item }) => item) } };
  },
});

/** One entry for each key and value, with the number of resources of each type that carry it. */
function sumUp(
  rows: readonly { key: string; value: string; resourceType: string; total: number }[],
): { tagKey: string; tagValue: string; resourceTypeCount: Counts }[] {
  const tags = new Map<string, { tagKey: string; tagValue: string; resourceTypeCount: Counts }>();
  for (const { key, value, resourceType, total } of rows) {
    const identity = JSON.stringify([key, value]);
    let tag = tags.get(identity);
    if (!tag) {
      const none = Object.fromEntries(Object.values(countNames).map((name) => [name, 0]));
      tag = { tagKey: key, tagValue: value, resourceTypeCount: none };
      tags.set(identity, tag);
    }
    const name = countNames[resourceType];
    if (name !== undefined) tag.resourceTypeCount[name] = total;
  }
  return [...tags.values()];
}
