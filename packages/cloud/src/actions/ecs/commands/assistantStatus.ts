import { ecs } from '@openegs/schema';
import type { InstanceId } from '../../../domain/ids.js';
import { openRunStatuses } from '../../../domain/invocation.js';
import type { Reader } from '../../../store/store.js';
import type { Instance } from '../../../store/tables.js';
import { toSecondsTime } from '../../../store/times.js';
import { onPage, pageAnswer, readPage } from '../../../wire/paging.js';
import { defineAction } from '../../action.js';
import { findTargetsById, targetErrors } from './targets.js';

/**
 * The agent version from which on clients expect all that is built here. There is no agent: commands come
 * in through the engine.
 */
const agentVersion = '2.2.3.344';

const maxInstances = 100;

export const describeCloudAssistantStatus = defineAction(ecs.DescribeCloudAssistantStatus, {
  errors: targetErrors,
  async read(input, { db, caller, regionId, now, fail }) {
    const { instanceId: ids, OSType: osType } = input;
    const page =
      ids === undefined
        ? readPage(input, { maxPageSize: 50 })
        : readPage({ pageSize: maxInstances }, { maxPageSize: maxInstances });
    const own = db
      .selectFrom('instances')
      .where('accountId', '=', caller.accountId)
      .where('regionId', '=', regionId)
      .where('status', '<>', 'Deleted');
    const named =
      ids === undefined
        ? undefined
        : await findTargetsById(ids, maxInstances, undefined, { db, caller, regionId, fail });
    // Every instance runs Linux.
    const isMatching = osType === undefined || osType.toLowerCase() === 'linux';
    const instances = isMatching ? (named ?? (await own.selectAll().$call(onPage(page)).execute())) : [];
    const { total } = named
      ? { total: named.length }
      : await own.select((eb) => eb.fn.countAll<number>().as('total')).executeTakeFirstOrThrow();
    const counts = await countRuns(db, instances);
    return {
      ...pageAnswer(page, instances, isMatching ? total : 0),
      instanceCloudAssistantStatusSet: {
        instanceCloudAssistantStatus: instances.map((instance) => {
          const isRunning = instance.status === 'Running';
          const runs = counts.get(instance.id);
          return {
            instanceId: instance.id,
            cloudAssistantStatus: String(isRunning),
            cloudAssistantVersion: isRunning ? agentVersion : '',
            OSType: 'Linux',
            supportSessionManager: false,
            activeTaskCount: runs?.open ?? 0,
            invocationCount: runs?.ended ?? 0,
            lastInvokedTime: runs?.lastStartTime ?? '',
            lastHeartbeatTime: isRunning ? toSecondsTime(now) : '',
          };
        }),
      },
    };
  },
});

interface RunCounts {
  readonly open: number;
  readonly ended: number;
  readonly lastStartTime: string | null;
}

async function countRuns(db: Reader, instances: readonly Instance[]): Promise<Map<InstanceId, RunCounts>> {
  if (instances.length === 0) return new Map();
  const rows = await db
    .selectFrom('invocationRuns')
    .select((eb) => [
      'instanceId',
      eb.fn.countAll<number>().filterWhere('status', 'in', openRunStatuses).as('open'),
      eb.fn.countAll<number>().filterWhere('status', 'not in', openRunStatuses).as('ended'),
      eb.fn.max('startTime').as('lastStartTime'),
    ])
    .where(
      'instanceId',
      'in',
      instances.map((instance) => instance.id),
    )
    .groupBy('instanceId')
    .execute();
  return new Map(rows.map((row) => [row.instanceId, row]));
}
