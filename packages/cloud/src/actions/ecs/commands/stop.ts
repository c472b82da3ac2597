import { ecs } from '@openegs/schema';
import type { InstanceId, InvocationId } from '../../../domain/ids.js';
import { toSecondsTime } from '../../../store/times.js';
import { defineAction } from '../../action.js';

/** Instances that one request can name (StopInvocation, parameter InstanceId). */
const maxInstances = 50;

/** Ends what runs, and keeps from beginning what waits. What has ended stays as it is. */
export const stopInvocation = defineAction(ecs.StopInvocation, {
  errors: ['InstanceIds.ExceedLimit', 'InvalidInvokeId.NotFound'],
  async change({ invokeId, instanceId }, { tx, caller, regionId, fail }) {
    if (instanceId !== undefined && instanceId.length > maxInstances) {
      fail('InstanceIds.ExceedLimit', { limit: maxInstances });
    }
    const invocation = await tx.db
      .selectFrom('invocations')
      .select('id')
      .where('id', '=', invokeId as InvocationId)
      .where('kind', '=', 'command')
      .where('accountId', '=', caller.accountId)
      .where('regionId', '=', regionId)
      .executeTakeFirst();
    if (!invocation) return fail('InvalidInvokeId.NotFound', { id: invokeId });

    const now = toSecondsTime(tx.now);
    const runs = tx.db
      .updateTable('invocationRuns')
      .where('invocationId', '=', invocation.id)
      .$if(instanceId !== undefined, (query) =>
        query.where('instanceId', 'in', (instanceId ?? []) as InstanceId[]),
      );
    await runs
      .set({ status: 'Cancelled', stopTime: now, finishTime: now, updateTime: now })
      .where('status', '=', 'Pending')
      .execute();
    await runs
      .set({ status: 'Stopping', stopTime: now, updateTime: now })
      .where('status', '=', 'Running')
      .execute();
    await tx.record({
      resourceType: 'invocation',
      resourceId: invocation.id,
      action: 'StopInvocation',
      ...(instanceId === undefined ? {} : { after: { instanceIds: instanceId } }),
    });
    tx.wake({ kind: 'invocation', id: invocation.id });
    return {};
  },
});
