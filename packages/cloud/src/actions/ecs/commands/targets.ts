import type { ErrorCode, Fail } from '../../../domain/errors.js';
import type { InstanceId, RegionId } from '../../../domain/ids.js';
import type { TagInput } from '../../../domain/tags.js';
import type { Reader } from '../../../store/store.js';
import type { Instance } from '../../../store/tables.js';
import { queryTagged } from '../../../store/tags.js';
import type { Caller } from '../../action.js';

const maxResourceTags = 10;

export const targetErrors = [
  'InstanceIds.ExceedLimit',
  'InvalidInstance.NotFound',
  'MissingParam.InstanceId',
] as const satisfies readonly ErrorCode[];

export const tagTargetErrors = [
  'Duplicate.ResourceTagKey',
  'InvalidResourceTag.ConflictWithInstanceIds',
  'InvalidResourceTag.InstanceNotFound',
  'MissingParameter.ResourceTagKey',
  'NumberExceed.ResourceTags',
] as const satisfies readonly ErrorCode[];

interface TargetContext<Code extends ErrorCode> {
  readonly db: Reader;
  readonly caller: Caller;
  readonly regionId: RegionId;
  readonly fail: Fail<Code>;
}

/** Instances by their ids, in the order given; each counts once. */
export async function findTargetsById(
  ids: readonly string[] | undefined,
  limit: number,
  resourceGroupId: string | undefined,
  { db, caller, regionId, fail }: TargetContext<(typeof targetErrors)[number]>,
): Promise<Instance[]> {
  if (ids === undefined || ids.length === 0) return fail('MissingParam.InstanceId');
  if (ids.length > limit) fail('InstanceIds.ExceedLimit', { limit });
  const rows = await db
    .selectFrom('instances')
    .selectAll()
    .where('id', 'in', ids as InstanceId[])
    .where('accountId', '=', caller.accountId)
    .where('regionId', '=', regionId)
    .where('status', '<>', 'Deleted')
    .$if(resourceGroupId !== undefined, (query) => query.where('resourceGroupId', '=', resourceGroupId ?? ''))
    .execute();
  const found = new Map<string, Instance>(rows.map((row) => [row.id, row]));
  return [...new Set(ids)].map((id) => found.get(id) ?? fail('InvalidInstance.NotFound', { id }));
}

/** The instances that a command is for: by id, or all that have certain tags. */
export async function findTargets(
  input: {
    readonly instanceId?: readonly string[] | undefined;
    readonly resourceTag?: readonly TagInput[] | undefined;
    readonly resourceGroupId?: string | undefined;
  },
  limit: number,
  context: TargetContext<(typeof targetErrors)[number] | (typeof tagTargetErrors)[number]>,
): Promise<Instance[]> {
  const { db, caller, regionId, fail } = context;
  const { instanceId, resourceTag = [], resourceGroupId } = input;
  if (resourceTag.length === 0) return findTargetsById(instanceId, limit, resourceGroupId, context);
  if (instanceId !== undefined) fail('InvalidResourceTag.ConflictWithInstanceIds');
  if (resourceTag.length > maxResourceTags) fail('NumberExceed.ResourceTags', { limit: maxResourceTags });
  const tags = new Map<string, string | undefined>();
  for (const { key, value } of resourceTag) {
    if (key === undefined) return fail('MissingParameter.ResourceTagKey');
    if (tags.has(key)) fail('Duplicate.ResourceTagKey', { key });
    tags.set(key, value);
  }
  const tagged = queryTagged<InstanceId>(
    db,
    { resourceType: 'instance', accountId: caller.accountId, regionId },
    Array.from(tags, ([key, value]) => ({ key, value })),
  );
  const instances = await db
    .selectFrom('instances')
    .selectAll()
    .where('id', 'in', tagged)
    .where('status', '<>', 'Deleted')
    .$if(resourceGroupId !== undefined, (query) => query.where('resourceGroupId', '=', resourceGroupId ?? ''))
    .orderBy('sequence')
    .limit(limit + 1)
    .execute();
  if (instances.length === 0) fail('InvalidResourceTag.InstanceNotFound');
  if (instances.length > limit) fail('InstanceIds.ExceedLimit', { limit });
  return instances;
}
