import { ecs } from '@openegs/schema';
import { checkHostName, isWellFormedName, isWellFormedPassword } from '../../../domain/instance.js';
import { hashPassword } from '../../../domain/password.js';
import { claimOf } from '../../../store/claim.js';
import { setPublicBandwidth } from '../../../store/eips.js';
import { getInstance } from '../../../store/instances.js';
import { hasReleasedCompute, resizeAllocation } from '../../../store/ledger.js';
import { listInterfacesOf, wakeNetworkInterface } from '../../../store/networkInterfaces.js';
import type { Instance, InstanceChange } from '../../../store/tables.js';
import { type ChangeContext, defineAction } from '../../action.js';
import { checkAutoReleaseTime, checkMetadataOptions, checkUserData } from './attributes.js';

export const modifyInstanceAttribute = defineAction(ecs.ModifyInstanceAttribute, {
  errors: [
    'InvalidInstanceId.NotFound',
    'InvalidInstanceName.Malformed',
    'InvalidDescription.Malformed',
    'InvalidHostName.Malformed',
    'InvalidPassword.Malformed',
    'InvalidUserData.Base64FormatInvalid',
    'InvalidUserData.SizeExceeded',
    'IncorrectInstanceStatus',
  ],
  async prepare({ password }, { fail }) {
    if (password === undefined) return undefined;
    if (!isWellFormedPassword(password)) fail('InvalidPassword.Malformed');
    return hashPassword(password);
  },
  async change(input, context) {
    const { tx, caller, fail, prepared: passwordHash } = context;
    const instance = await getInstance(tx.db, caller.accountId, input.instanceId, fail);
    if (input.instanceName !== undefined && !isWellFormedName(input.instanceName)) {
      fail('InvalidInstanceName.Malformed');
    }
    if (input.description !== undefined && !isWellFormedName(input.description, 2, 256)) {
      fail('InvalidDescription.Malformed');
    }
    if (input.hostName !== undefined) checkHostName(input.hostName, fail);
    if (input.userData !== undefined) checkUserData(input.userData, fail);
    if (instance.status === 'Pending') {
      fail('IncorrectInstanceStatus', { id: instance.id, status: 'Pending', needed: 'Running or Stopped' });
    }
    // Host name and password are read by the guest at its next boot, as on the original.
    const reachesGuest = input.hostName !== undefined || passwordHash !== undefined;
    await apply(instance, context, {
      ...(input.instanceName === undefined ? {} : { name: input.instanceName }),
      ...(input.description === undefined ? {} : { description: input.description }),
      ...(input.hostName === undefined ? {} : { hostName: input.hostName }),
      ...(passwordHash === undefined ? {} : { passwordHash }),
      ...(input.userData === undefined ? {} : { userData: input.userData }),
      ...(input.creditSpecification === undefined ? {} : { creditSpecification: input.creditSpecification }),
      ...(input.deletionProtection === undefined
        ? {}
        : { deletionProtection: input.deletionProtection ? 1 : 0 }),
      ...(input.recyclable === undefined ? {} : { recyclable: input.recyclable ? 1 : 0 }),
      ...(reachesGuest ? { generation: instance.generation + 1 } : {}),
    });
    return {};
  },
});

export const modifyInstanceSpec = defineAction(ecs.ModifyInstanceSpec, {
  errors: [
    'InvalidInstanceId.NotFound',
    'InvalidInstanceType.ValueNotSupported',
    'InvalidInstanceStatus.NotStopped',
    'OperationDenied.NoStock',
  ],
  async change(input, context) {
    const { tx, caller, cloud, fail } = context;
    const instance = await getInstance(tx.db, caller.accountId, input.instanceId, fail);
    const change: InstanceChange = {
      ...(input.internetMaxBandwidthIn === undefined
        ? {}
        : { internetMaxBandwidthIn: input.internetMaxBandwidthIn }),
      ...(input.internetMaxBandwidthOut === undefined
        ? {}
        : { internetMaxBandwidthOut: input.internetMaxBandwidthOut }),
    };
    if (input.instanceType !== undefined) {
      const type =
        cloud.catalog.instanceTypes.get(input.instanceType) ??
        fail('InvalidInstanceType.ValueNotSupported', {
          id: input.instanceType,
          reason: 'there is no such type.',
        });
      const before = cloud.catalog.instanceTypes.get(instance.instanceType);
      if ((type.gpu ?? before?.gpu) !== undefined && type.family !== before?.family) {
        fail('InvalidInstanceType.ValueNotSupported', {
          id: type.id,
          reason: 'an instance with GPUs keeps its family, and one without gets none.',
        });
      }
      // A container takes its new size while it runs, where the client asks for that.
      const isLive = instance.status === 'Running' && input.modifyMode === 'Online' && type.gpu === undefined;
      if (instance.status !== 'Stopped' && !isLive) {
        fail('InvalidInstanceStatus.NotStopped', { id: instance.id, status: instance.status });
      }
      const { diskGiB = 0 } = cloud.placement.findAllocation(instance.id) ?? {};
      const obstacle = hasReleasedCompute(cloud.placement, instance.id)
        ? undefined
        : await resizeAllocation(tx, cloud.placement, instance.id, claimOf(cloud, type, diskGiB));
      if (obstacle !== undefined) fail('OperationDenied.NoStock', { id: type.id, reason: obstacle });
      Object.assign(change, {
        instanceType: type.id,
        vcpus: type.vcpus,
        memoryMiB: type.memoryMiB,
        generation: instance.generation + 1,
      } satisfies InstanceChange);
    }
    await apply(instance, context, change);
    if (change.instanceType !== undefined) {
      // Their bandwidth is that of the type.
      for (const nic of await listInterfacesOf(tx.db, instance.id)) wakeNetworkInterface(tx, nic);
    }
    if (change.internetMaxBandwidthOut !== undefined) {
      await setPublicBandwidth(tx, instance.id, change.internetMaxBandwidthOut);
    }
    return {};
  },
});

export const modifyInstanceAutoReleaseTime = defineAction(ecs.ModifyInstanceAutoReleaseTime, {
  errors: ['InvalidInstanceId.NotFound', 'InvalidAutoReleaseTime.Malformed'],
  async change(input, context) {
    const { tx, caller, fail, now } = context;
    const instance = await getInstance(tx.db, caller.accountId, input.instanceId, fail);
    if (input.autoReleaseTime !== undefined) checkAutoReleaseTime(input.autoReleaseTime, now, fail);
    await apply(instance, context, { autoReleaseTime: input.autoReleaseTime ?? null });
    return {};
  },
});

export const modifyInstanceMetadataOptions = defineAction(ecs.ModifyInstanceMetadataOptions, {
  errors: [
    'InvalidInstanceId.NotFound',
    'InvalidHttpEndpoint.NotSupported',
    'InvalidHttpTokens.NotSupported',
    'InvalidHttpPutResponseHopLimit.NotSupported',
  ],
  async change(input, context) {
    const { tx, caller, fail } = context;
    const id = input.instanceId ?? fail('MissingParameter', { parameter: 'InstanceId' });
    const instance = await getInstance(tx.db, caller.accountId, id, fail);
    checkMetadataOptions(input, fail);
    await apply(instance, context, {
      httpEndpoint: input.httpEndpoint ?? instance.httpEndpoint,
      httpTokens: input.httpTokens ?? instance.httpTokens,
      httpPutResponseHopLimit: input.httpPutResponseHopLimit ?? instance.httpPutResponseHopLimit,
    });
    return {};
  },
});

/** Values that are kept out of the event log. */
const secrets = new Set(['passwordHash', 'userData']);

async function apply(
  instance: Instance,
  { tx }: ChangeContext<never, unknown>,
  change: InstanceChange,
): Promise<void> {
  const names = Object.keys(change) as (keyof InstanceChange & keyof Instance)[];
  if (names.length === 0) return;
  await tx.db.updateTable('instances').set(change).where('id', '=', instance.id).execute();
  const shown = names.filter((name) => !secrets.has(name));
  await tx.record({
    resourceType: 'instance',
    resourceId: instance.id,
    action: 'ModifyInstance',
    before: Object.fromEntries(shown.map((name) => [name, instance[name]])),
    after: Object.fromEntries(shown.map((name) => [name, change[name]])),
  });
  if (change.generation !== undefined) tx.wake({ kind: 'instance', id: instance.id });
}
