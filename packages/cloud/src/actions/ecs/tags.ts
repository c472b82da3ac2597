import { ecs } from '@openegs/schema';
import type { ErrorCode, Fail } from '../../domain/errors.js';
import {
  checkTagKey,
  checkTags,
  ecsTagResourceTypes,
  maxTagsPerResource,
  type Tag,
  type TagResourceType,
} from '../../domain/tags.js';
import { findTaggable, type TaggableResource } from '../../store/taggableResources.js';
import { putTags, type TaggedResource } from '../../store/tags.js';
import { type ChangeContext, defineAction } from '../action.js';

/** Ends the request unless ECS tags this kind of resource. Capitals do not matter. */
export function readResourceType(text: string, fail: Fail<'InvalidResourceType.NotFound'>): TagResourceType {
  const type = ecsTagResourceTypes.find((known) => known === text.toLowerCase());
  return type ?? fail('InvalidResourceType.NotFound', { type: text });
}

/** Most resources in one request of the newer tag actions. */
export const maxResources = 50;

const changeErrors = [
  'InvalidResourceId.NotFound',
  'InvalidResourceType.NotFound',
  'InvalidTagKey.Malformed',
  'NumberExceed.ResourceIds',
  'NumberExceed.Tags',
] as const satisfies readonly ErrorCode[];

const putErrors = [
  ...changeErrors,
  'Duplicate.TagKey',
  'InvalidTagValue.Malformed',
  'QuotaExceed.Tags',
] as const satisfies readonly ErrorCode[];

interface Targets {
  readonly scope: Omit<TaggedResource, 'resourceId'>;
  readonly resources: readonly TaggableResource[];
}

/** The resources that a request names, all of which must exist. */
async function readTargets(
  input: { readonly resourceType: string; readonly resourceId: readonly string[] },
  { tx, caller, regionId, fail }: ChangeContext<(typeof changeErrors)[number]>,
): Promise<Targets> {
  const resourceType = readResourceType(input.resourceType, fail);
  const ids = [...new Set(input.resourceId)];
  if (ids.length === 0) fail('MissingParameter', { parameter: 'ResourceId.1' });
  if (ids.length > maxResources) fail('NumberExceed.ResourceIds', { limit: maxResources });
  const scope = { resourceType, accountId: caller.accountId, regionId };
  const resources = await findTaggable(tx.db, scope, ids);
  const missing = ids.find((id) => !resources.some((found) => found.id === id || found.storedId === id));
  if (missing !== undefined) fail('InvalidResourceId.NotFound', { id: missing });
  return { scope, resources };
}

async function putOnAll(
  { scope, resources }: Targets,
  tags: readonly Tag[],
  action: string,
  { tx, fail }: ChangeContext<(typeof putErrors)[number]>,
): Promise<void> {
  if (tags.length === 0) fail('MissingParameter', { parameter: 'Tag.1.Key' });
  for (const { storedId } of resources) {
    await putTags(tx, { ...scope, resourceId: storedId }, tags, fail);
    await tx.record({
      resourceType: scope.resourceType,
      resourceId: storedId,
      action,
      after: { tags: Object.fromEntries(tags.map(({ key, value }) => [key, value])) },
    });
  }
}

/** Which tags to take off a resource: a key with any value, or with this one. */
interface Removal {
  readonly key: string;
  readonly value?: string | undefined;
}

/** Takes tags off resources, all of them without `removals`. Tags that are not there are passed over. */
async function removeFromAll(
  { scope, resources }: Targets,
  removals: readonly Removal[] | undefined,
  action: string,
  { tx }: ChangeContext<(typeof changeErrors)[number]>,
): Promise<void> {
  for (const { storedId } of resources) {
    const removed = await tx.db
      .deleteFrom('tags')
      .where('resourceType', '=', scope.resourceType)
      .where('resourceId', '=', storedId)
      .$if(removals !== undefined, (query) =>
        query.where((eb) =>
          eb.or(
            (removals ?? []).map(({ key, value }) =>
              value === undefined
                ? eb('key', '=', key)
                : eb.and([eb('key', '=', key), eb('value', '=', value)]),
            ),
          ),
        ),
      )
      .returning(['key', 'value'])
      .execute();
    if (removed.length === 0) continue;
    await tx.record({
      resourceType: scope.resourceType,
      resourceId: storedId,
      action,
      before: { tags: Object.fromEntries(removed.map(({ key, value }) => [key, value])) },
    });
  }
}

export const tagResources = defineAction(ecs.TagResources, {
  errors: putErrors,
  async change(input, context) {
    const { fail } = context;
    if (input.tag.length > maxTagsPerResource) fail('NumberExceed.Tags', { limit: maxTagsPerResource });
    const tags = checkTags(input.tag, fail);
    await putOnAll(await readTargets(input, context), tags, 'TagResources', context);
    return {};
  },
});

export const untagResources = defineAction(ecs.UntagResources, {
  errors: [...changeErrors, 'Param.Conflict'],
  async change(input, context) {
    const { fail } = context;
    const keys = input.tagKey ?? [];
    if (input.all === true && keys.length > 0) fail('Param.Conflict');
    if (input.all !== true && keys.length === 0) fail('MissingParameter', { parameter: 'TagKey.1' });
    if (keys.length > maxTagsPerResource) fail('NumberExceed.Tags', { limit: maxTagsPerResource });
    const removals = input.all === true ? undefined : keys.map((key) => ({ key: checkTagKey(key, fail) }));
    await removeFromAll(await readTargets(input, context), removals, 'UntagResources', context);
    return {};
  },
});

export const addTags = defineAction(ecs.AddTags, {
  errors: putErrors,
  async change(input, context) {
    const tags = checkTags(input.tag, context.fail);
    const targets = await readTargets({ ...input, resourceId: [input.resourceId] }, context);
    await putOnAll(targets, tags, 'AddTags', context);
    return {};
  },
});

export const removeTags = defineAction(ecs.RemoveTags, {
  errors: changeErrors,
  async change(input, context) {
    const { fail } = context;
    const removals = (input.tag ?? []).map(({ key, value }) => ({ key: checkTagKey(key, fail), value }));
    if (removals.length === 0) fail('MissingParameter', { parameter: 'Tag.1.Key' });
    const targets = await readTargets({ ...input, resourceId: [input.resourceId] }, context);
    await removeFromAll(targets, removals, 'RemoveTags', context);
    return {};
  },
});
