import { ecs } from '@openegs/schema';
import { ApiError, type Fail } from '../../../domain/errors.js';
import {
  assertTransition,
  type InstanceStatus,
  requireStatus,
  type StoppedMode,
} from '../../../domain/instance.js';
import { claimOf } from '../../../store/claim.js';
import { unassociateEips } from '../../../store/eips.js';
import { getInstance } from '../../../store/instances.js';
import { hasReleasedCompute, resizeAllocation } from '../../../store/ledger.js';
import type { Instance, InstanceChange } from '../../../store/tables.js';
import { type ChangeContext, defineAction } from '../../action.js';

/** Most instances that one batch request takes (StartInstances and its kin, parameter InstanceId.N). */
const maxBatch = 100;

const startErrors = [
  'InvalidInstanceId.NotFound',
  'IncorrectInstanceStatus',
  'OperationDenied.NoStock',
] as const;
const stopErrors = ['InvalidInstanceId.NotFound', 'IncorrectInstanceStatus'] as const;
const deleteErrors = [
  'InvalidInstanceId.NotFound',
  'IncorrectInstanceStatus',
  'IncorrectInstanceStatus.Initializing',
  'InvalidOperation.DeletionProtection',
] as const;

export const startInstance = defineAction(ecs.StartInstance, {
  errors: startErrors,
  async change({ instanceId }, context) {
    await start(await get(context, instanceId), context);
    return {};
  },
});

export const stopInstance = defineAction(ecs.StopInstance, {
  errors: stopErrors,
  async change(input, context) {
    const instance = await get(context, input.instanceId);
    if (input.hibernate) {
      context.fail('InvalidParameter', { parameter: 'Hibernate', reason: 'hibernation is not built yet.' });
    }
    await stop(instance, input, context);
    return {};
  },
});

export const rebootInstance = defineAction(ecs.RebootInstance, {
  errors: stopErrors,
  async change(input, context) {
    await reboot(await get(context, input.instanceId), input.forceStop, context);
    return {};
  },
});

export const deleteInstance = defineAction(ecs.DeleteInstance, {
  errors: deleteErrors,
  async change(input, context) {
    await remove(await get(context, input.instanceId), input.force, context);
    return {};
  },
});

export const startInstances = defineAction(ecs.StartInstances, {
  errors: [...startErrors, 'InvalidParameter.TooManyInstanceIds'],
  async change(input, context) {
    return eachInstance(input, context, 'Starting', (instance) => start(instance, context));
  },
});

export const stopInstances = defineAction(ecs.StopInstances, {
  errors: [...stopErrors, 'InvalidParameter.TooManyInstanceIds'],
  async change(input, context) {
    return eachInstance(input, context, 'Stopping', (instance) => stop(instance, input, context));
  },
});

export const rebootInstances = defineAction(ecs.RebootInstances, {
  errors: [...stopErrors, 'InvalidParameter.TooManyInstanceIds'],
  async change(input, context) {
    // The original spells this one `ForceReboot`.
    return eachInstance(input, context, 'Starting', (instance) =>
      reboot(instance, input.forceReboot, context),
    );
  },
});

export const deleteInstances = defineAction(ecs.DeleteInstances, {
  errors: [...deleteErrors, 'InvalidParameter.TooManyInstanceIds'],
  async change(input, context) {
    requireBatch(input.instanceId, context.fail);
    // All or nothing: the first instance that cannot be deleted ends the request.
    for (const id of new Set(input.instanceId)) await remove(await get(context, id), input.force, context);
    return {};
  },
});

function get(
  { tx, caller, fail }: ChangeContext<'InvalidInstanceId.NotFound'>,
  id: string,
): Promise<Instance> {
  return getInstance(tx.db, caller.accountId, id, fail);
}

function requireBatch(ids: readonly string[], fail: Fail<'InvalidParameter.TooManyInstanceIds'>): void {
  if (ids.length > maxBatch) fail('InvalidParameter.TooManyInstanceIds', { limit: maxBatch });
}

interface BatchInput {
  readonly instanceId: readonly string[];
  readonly batchOptimization?: string | undefined;
}

/**
 * Works on each instance of a batch. `AllTogether` (the default) ends the request at the first instance
 * that cannot go along; `SuccessFirst` goes on with the others and tells each one's code.
 */
async function eachInstance(
  input: BatchInput,
  context: ChangeContext<'InvalidInstanceId.NotFound' | 'InvalidParameter.TooManyInstanceIds'>,
  currentStatus: InstanceStatus,
  work: (instance: Instance) => Promise<void>,
): Promise<ecs.StopInstancesResponse> {
  requireBatch(input.instanceId, context.fail);
  const mode = input.batchOptimization ?? 'AllTogether';
  if (mode !== 'AllTogether' && mode !== 'SuccessFirst') {
    context.fail('InvalidParameter', {
      parameter: 'BatchOptimization',
      reason: 'it is AllTogether or SuccessFirst.',
    });
  }
  const responses: ecs.StopInstancesResponseInstanceResponsesInstanceResponse[] = [];
  for (const id of new Set(input.instanceId)) {
    try {
      const instance = await get(context, id);
      await work(instance);
      responses.push({
        instanceId: id,
        code: '200',
        message: 'success',
        previousStatus: instance.status,
        currentStatus,
      });
    } catch (error) {
      if (mode === 'AllTogether' || !(error instanceof ApiError)) throw error;
      responses.push({ instanceId: id, code: error.code, message: error.message });
    }
  }
  return { instanceResponses: { instanceResponse: responses } };
}

async function start(
  instance: Instance,
  context: ChangeContext<'IncorrectInstanceStatus' | 'OperationDenied.NoStock'>,
): Promise<void> {
  if (instance.status === 'Pending' && instance.targetStatus === 'Stopped') {
    // Libcloud starts what CreateInstance has just given it, without a look at the status.
    await move(instance, context, 'StartInstance', { status: 'Pending', targetStatus: 'Running' });
    return;
  }
  requireStatus(instance, ['Stopped'], context.fail);
  const { cloud, tx } = context;
  let { generation } = instance;
  if (hasReleasedCompute(cloud.placement, instance.id)) {
    const { diskGiB = 0 } = cloud.placement.findAllocation(instance.id) ?? {};
    const type = cloud.catalog.instanceTypes.get(instance.instanceType) ?? { ...instance, gpu: undefined };
    const obstacle = await resizeAllocation(tx, cloud.placement, instance.id, claimOf(cloud, type, diskGiB));
    if (obstacle !== undefined) {
      context.fail('OperationDenied.NoStock', { id: instance.instanceType, reason: obstacle });
    }
    // Its cards may be others than before.
    if (type.gpu !== undefined) generation += 1;
  }
  await move(instance, context, 'StartInstance', {
    status: 'Starting',
    targetStatus: 'Running',
    generation,
  });
}

async function stop(
  instance: Instance,
  input: { readonly forceStop?: boolean | undefined; readonly stoppedMode?: string | undefined },
  context: ChangeContext<'IncorrectInstanceStatus'>,
): Promise<void> {
  const stoppedMode = readStoppedMode(input.stoppedMode, context.fail);
  requireStatus(instance, ['Running'], context.fail);
  await move(instance, context, 'StopInstance', {
    status: 'Stopping',
    stoppedMode,
    forceStop: input.forceStop ? 1 : 0,
  });
}

function readStoppedMode(text: string | undefined, fail: Fail<'InvalidParameter'>): StoppedMode {
  // `Not-applicable` is what Terraform reads back for instances that run, and sends as it is.
  if (text === undefined || text === 'KeepCharging' || text === 'Not-applicable') return 'KeepCharging';
  if (text === 'StopCharging') return 'StopCharging';
  return fail('InvalidParameter', {
    parameter: 'StoppedMode',
    reason: 'it is KeepCharging or StopCharging.',
  });
}

async function reboot(
  instance: Instance,
  force: boolean | undefined,
  context: ChangeContext<'IncorrectInstanceStatus'>,
): Promise<void> {
  requireStatus(instance, ['Running'], context.fail);
  await move(instance, context, 'RebootInstance', {
    status: 'Starting',
    targetStatus: 'Running',
    rebootsWanted: instance.rebootsWanted + 1,
    forceStop: force ? 1 : 0,
  });
}

async function remove(
  instance: Instance,
  force: boolean | undefined,
  context: ChangeContext<(typeof deleteErrors)[number]>,
): Promise<void> {
  if (instance.deletionProtection) context.fail('InvalidOperation.DeletionProtection', { id: instance.id });
  if (instance.status === 'Pending' || (instance.status === 'Starting' && instance.startTime === null)) {
    context.fail('IncorrectInstanceStatus.Initializing', { id: instance.id });
  }
  requireStatus(instance, force ? ['Running', 'Stopped'] : ['Stopped'], context.fail);
  await move(instance, context, 'DeleteInstance', { status: 'Deleted' });
  await unassociateEips(context.tx, { instanceId: instance.id });
}

async function move(
  instance: Instance,
  { tx }: ChangeContext,
  action: string,
  change: InstanceChange & Pick<Instance, 'status'>,
): Promise<void> {
  assertTransition(instance.status, change.status);
  await tx.db.updateTable('instances').set(change).where('id', '=', instance.id).execute();
  await tx.record({
    resourceType: 'instance',
    resourceId: instance.id,
    action,
    before: { status: instance.status },
    after: { status: change.status },
  });
  tx.wake({ kind: 'instance', id: instance.id });
}
