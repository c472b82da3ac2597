import { vpc } from '@openegs/schema';
import type { ErrorCode, Fail } from '../../domain/errors.js';
import {
  maxTagsPerResource,
  readTagFilters,
  type TagResourceType,
  vpcTagResourceTypes,
} from '../../domain/tags.js';
import { findTaggable } from '../../store/taggableResources.js';
import { listTags, readTagPosition, writeTagPosition } from '../../store/tags.js';
import { type ChangeContext, defineAction } from '../action.js';
import { checkVpcTagKey, checkVpcTags, putVpcTags, vpcTagErrors } from './tagRules.js';

/** Most resources in one request. */
const maxResources = 50;

const targetErrors = [
  'InvalidInstanceIds.NotFound',
  'InvalidInstanceType.NotFound',
  'SizeLimitExceeded.ResourceId',
  'SizeLimitExceeded.TagNum',
] as const satisfies readonly ErrorCode[];

/** Capitals do not matter. */
function readResourceType(text: string, fail: Fail<'InvalidInstanceType.NotFound'>): TagResourceType {
  const type = vpcTagResourceTypes.find((known) => known === text.toLowerCase());
  return type ?? fail('InvalidInstanceType.NotFound', { id: text });
}

/** The resources that a request names, all of which must exist. */
async function readTargets(
  input: { readonly resourceType: string; readonly resourceId: readonly string[] },
  { tx, caller, regionId, fail }: ChangeContext<(typeof targetErrors)[number]>,
) {
  const resourceType = readResourceType(input.resourceType, fail);
  const ids = [...new Set(input.resourceId)];
  if (ids.length === 0) fail('MissingParameter', { parameter: 'ResourceId.1' });
  if (ids.length > maxResources) fail('SizeLimitExceeded.ResourceId', { limit: maxResources });
  const scope = { resourceType, accountId: caller.accountId, regionId };
  const found = await findTaggable(tx.db, scope, ids);
  const missing = ids.find((id) => !found.some((resource) => resource.id === id));
  if (missing !== undefined) fail('InvalidInstanceIds.NotFound', { id: missing });
  return { scope, ids };
}

export const tagResources = defineAction(vpc.TagResources, {
  errors: [...targetErrors, ...vpcTagErrors],
  async change(input, context) {
    const { tx, fail } = context;
    if (input.tag.length > maxTagsPerResource)
      fail('SizeLimitExceeded.TagNum', { limit: maxTagsPerResource });
    const tags = checkVpcTags(input.tag, fail);
    if (tags.length === 0) fail('MissingParameter', { parameter: 'Tag.1.Key' });
    const { scope, ids } = await readTargets(input, context);
    for (const resourceId of ids) {
      await putVpcTags(tx, scope, { resourceType: scope.resourceType, resourceId }, tags, fail);
      await tx.record({
        resourceType: scope.resourceType,
        resourceId,
        action: 'TagResources',
        after: { tags: Object.fromEntries(tags.map(({ key, value }) => [key, value])) },
      });
    }
    return {};
  },
});

export const unTagResources = defineAction(vpc.UnTagResources, {
  errors: [...targetErrors, ...vpcTagErrors],
  async change(input, context) {
    const { tx, fail } = context;
    const keys = (input.tagKey ?? []).map((key) => checkVpcTagKey(key, fail));
    if (keys.length > maxTagsPerResource) fail('SizeLimitExceeded.TagNum', { limit: maxTagsPerResource });
    if (keys.length === 0 && input.all !== true) fail('MissingParameter', { parameter: 'TagKey.1' });
    const { scope, ids } = await readTargets(input, context);
    for (const resourceId of ids) {
      const removed = await tx.db
        .deleteFrom('tags')
        .where('resourceType', '=', scope.resourceType)
        .where('resourceId', '=', resourceId)
        .$if(keys.length > 0, (query) => query.where('key', 'in', keys))
        .returning(['key', 'value'])
        .execute();
      if (removed.length === 0) continue;
      await tx.record({
        resourceType: scope.resourceType,
        resourceId,
        action: 'UnTagResources',
        before: { tags: Object.fromEntries(removed.map(({ key, value }) => [key, value])) },
      });
    }
    return {};
  },
});

export const listTagResources = defineAction(vpc.ListTagResources, {
  errors: ['BothEmpty.TagsAndResources', 'InvalidInstanceType.NotFound', 'SizeLimitExceeded.ResourceId'],
  async read(input, { db, caller, regionId, fail }) {
    const resourceType = readResourceType(input.resourceType, fail);
    const tags = readTagFilters(input.tag, fail);
    const resourceIds = input.resourceId ?? [];
    if (resourceIds.length + tags.length === 0) fail('BothEmpty.TagsAndResources');
    if (resourceIds.length > maxResources) fail('SizeLimitExceeded.ResourceId', { limit: maxResources });
    const after =
      input.nextToken &&
      (readTagPosition(input.nextToken) ??
        fail('InvalidParameter', { parameter: 'NextToken', reason: 'it is not a token of this action.' }));
    const limit = Math.min(Math.max(input.maxResults ?? maxResources, 1), maxResources);
    const { rows, next } = await listTags(
      db,
      { resourceType, accountId: caller.accountId, regionId },
      { ...(resourceIds.length > 0 ? { resourceIds } : {}), tags, limit, ...(after ? { after } : {}) },
    );
    return {
      nextToken: next ? writeTagPosition(next) : '',
      tagResources: {
        tagResource: rows.map((row) => ({
          resourceId: row.resourceId,
          resourceType: resourceType.toUpperCase(),
          tagKey: row.key,
          tagValue: row.value,
        })),
      },
    };
  },
});
