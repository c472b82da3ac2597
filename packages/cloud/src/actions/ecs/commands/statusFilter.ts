import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Fail } from '../../../domain/errors.js';
import type { InvocationId } from '../../../domain/ids.js';
import {
  type LegacyStatus,
  type OverallStatus,
  openRunStatuses,
  type RunStatus,
  runStatusesOf,
} from '../../../domain/invocation.js';
import type { Reader } from '../../../store/store.js';

/** States by which clients select: the older scale, and `Success` from the newer one. */
export type StatusFilter = LegacyStatus | 'Success';

const statusFilters: readonly StatusFilter[] = [
  'Running',
  'Stopping',
  'Finished',
  'Success',
  'Failed',
  'PartialFailed',
  'Stopped',
];

export function readStatusFilter(
  parameter: string,
  value: string | undefined,
  fail: Fail<'InvalidParameter'>,
): StatusFilter | undefined {
  if (value === undefined) return undefined;
  const known = statusFilters.find((status) => status === value);
  return (
    known ?? fail('InvalidParameter', { parameter, reason: `it is not one of ${statusFilters.join(', ')}.` })
  );
}

/** The states of single instances that a filter means (DescribeInvocationResults, InvokeRecordStatus). */
export function selectRunStatuses(filter: StatusFilter): readonly RunStatus[] {
  return filter === 'Success' ? ['Success'] : runStatusesOf(filter);
}

/** How many runs of an invocation are in one of the states. */
function count(...statuses: readonly RunStatus[]) {
  return sql`sum(status in (${sql.join(statuses)}))`;
}

function queryHaving(db: Reader, condition: RawBuilder<SqlBool>) {
  return db
    .selectFrom('invocationRuns')
    .select(sql.ref<InvocationId>('invocationId').as('invocationId'))
    .groupBy('invocationId')
    .having(condition);
}

/** The ids of invocations that are in this state as a whole: in SQL what `summarizeLegacyStatus` says. */
export function queryByStatus(db: Reader, filter: StatusFilter) {
  const running = count(...runStatusesOf('Running'));
  const stopping = count(...runStatusesOf('Stopping'));
  const failed = count(...runStatusesOf('Failed'));
  const stopped = count(...runStatusesOf('Stopped'));
  const isOver = sql<SqlBool>`${running} = 0 and ${stopping} = 0`;
  switch (filter) {
    case 'Running':
      return queryHaving(db, sql`${running} > 0`);
    case 'Stopping':
      return queryHaving(db, sql`${running} = 0 and ${stopping} > 0`);
    case 'Finished':
      return queryHaving(db, sql`${isOver} and ${failed} = 0 and ${stopped} < count(*)`);
    case 'Failed':
      return queryHaving(db, sql`${failed} = count(*)`);
    case 'PartialFailed':
      return queryHaving(db, sql`${isOver} and ${failed} > 0 and ${failed} < count(*)`);
    case 'Stopped':
      return queryHaving(db, sql`${stopped} = count(*)`);
    case 'Success':
      return queryBySummary(db, filter);
  }
}

/** The same on the newer scale: in SQL what `summarizeStatus` says. */
export function queryBySummary(db: Reader, status: OverallStatus) {
  const open = count(...openRunStatuses);
  const success = count('Success');
  const stopped = count(...runStatusesOf('Stopped'));
  switch (status) {
    case 'Pending':
      return queryHaving(db, sql`${count('Pending')} > 0`);
    case 'Running':
      return queryHaving(db, sql`${count('Pending')} = 0 and ${count('Running')} > 0`);
    case 'Stopping':
      return queryHaving(db, sql`${open} > 0 and ${count('Pending', 'Running')} = 0`);
    case 'Success':
      return queryHaving(db, sql`${success} > 0 and ${success} + ${stopped} = count(*)`);
    case 'Failed':
      return queryHaving(db, sql`${open} = 0 and ${success} = 0 and ${stopped} < count(*)`);
    case 'PartialFailed':
      return queryHaving(db, sql`${open} = 0 and ${success} > 0 and ${success} + ${stopped} < count(*)`);
    case 'Stopped':
      return queryHaving(db, sql`${stopped} = count(*)`);
  }
}
