import type { Insertable } from 'kysely';
import type { Fail } from '../../../domain/errors.js';
import type { InvocationId } from '../../../domain/ids.js';
import { endedBy, openRunStatuses, type RunEnd } from '../../../domain/invocation.js';
import { checkTags, maxTagsPerResource, type Tag, type TagInput } from '../../../domain/tags.js';
import type { Transaction } from '../../../store/store.js';
import type { Instance, InvocationTable } from '../../../store/tables.js';
import { putTags } from '../../../store/tags.js';
import { toSecondsTime } from '../../../store/times.js';

/** Runs that one instance has open at a time; more are refused with TaskConcurrencyLimit. */
const maxOpenRuns = 32;

/** Values of a list that holds the tags of an invocation or command. */
export function toWireTags(tags: readonly Tag[] | undefined): {
  tag: { tagKey: string; tagValue: string }[];
} {
  return { tag: (tags ?? []).map(({ key, value }) => ({ tagKey: key, tagValue: value })) };
}

/** The tags of a new invocation or command. */
export function readNewTags(
  tags: readonly TagInput[] | undefined,
  fail: Fail<
    'Duplicate.TagKey' | 'InvalidTagKey.Malformed' | 'InvalidTagValue.Malformed' | 'NumberExceed.Tags'
  >,
): Tag[] {
  if ((tags?.length ?? 0) > maxTagsPerResource) fail('NumberExceed.Tags', { limit: maxTagsPerResource });
  return checkTags(tags, fail);
}

/**
 * Stores an invocation with a run for each instance, and has the loop take it up. Instances that cannot
 * take it now have their run ended at once; that is no error of the request.
 */
export async function startInvocation(
  tx: Transaction,
  invocation: Omit<Insertable<InvocationTable>, 'creationTime'> & { readonly id: InvocationId },
  instances: readonly Instance[],
  tags: readonly Tag[],
  fail: Fail<'QuotaExceed.Tags'>,
): Promise<void> {
  const now = toSecondsTime(tx.now);
  const openRuns = await countOpenRuns(tx, instances);
  await tx.db
    .insertInto('invocations')
    .values({ ...invocation, creationTime: now })
    .execute();
  await tx.db
    .insertInto('invocationRuns')
    .values(
      instances.map((instance) => {
        const end = refuse(instance, openRuns.get(instance.id) ?? 0);
        return {
          invocationId: invocation.id,
          instanceId: instance.id,
          status: end?.status ?? 'Pending',
          errorCode: end?.errorCode ?? '',
          errorInfo: end?.errorInfo ?? '',
          finishTime: end ? now : null,
          updateTime: now,
        };
      }),
    )
    .execute();
  const { id, accountId, regionId } = invocation;
  await putTags(tx, { resourceType: 'invocation', resourceId: id, accountId, regionId }, tags, fail);
  tx.wake({ kind: 'invocation', id });
}

function refuse(instance: Instance, openRuns: number): RunEnd | undefined {
  if (instance.status !== 'Running') return endedBy('Aborted', 'InstanceNotRunning');
  return openRuns >= maxOpenRuns ? endedBy('Aborted', 'TaskConcurrencyLimit') : undefined;
}

async function countOpenRuns(tx: Transaction, instances: readonly Instance[]): Promise<Map<string, number>> {
  const rows = await tx.db
    .selectFrom('invocationRuns')
    .select((eb) => ['instanceId', eb.fn.countAll<number>().as('total')])
    .where('status', 'in', openRunStatuses)
    .where(
      'instanceId',
      'in',
      instances.map((instance) => instance.id),
    )
    .groupBy('instanceId')
    .execute();
  return new Map(rows.map((row) => [row.instanceId, row.total]));
}
