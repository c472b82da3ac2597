import { ecs } from '@openegs/schema';
import {
  getNetworkInterface,
  listInterfacesOf,
  nextDeviceIndex,
  wakeForPlugging,
  wakeNetworkInterface,
} from '../../../store/networkInterfaces.js';
import type { NetworkInterface } from '../../../store/tables.js';
import { type ChangeContext, defineAction } from '../../action.js';
import { getPluggableInstance, requireEniStatus, scopeOf, typeOf } from './rules.js';

export const attachNetworkInterface = defineAction(ecs.AttachNetworkInterface, {
  errors: [
    'EniPerInstanceLimitExceeded',
    'InvalidEcsId.NotFound',
    'InvalidEniId.NotFound',
    'InvalidOperation.AvailabilityZoneMismatch',
    'InvalidOperation.InvalidEcsState',
    'InvalidOperation.InvalidEniState',
    'InvalidOperation.InvalidEniType',
    'InvalidOperation.Ipv4CountExceeded',
    'InvalidOperation.TrunkingIsNotAllowed',
    'InvalidOperation.VpcMismatch',
    'InvalidParameter.NetworkCardIndexInvalid',
  ],
  async change(input, context) {
    const { tx, fail } = context;
    if (input.trunkNetworkInstanceId !== undefined) fail('InvalidOperation.TrunkingIsNotAllowed');
    if ((input.networkCardIndex ?? 0) !== 0) fail('InvalidParameter.NetworkCardIndexInvalid');
    const nic = await getNetworkInterface(tx.db, scopeOf(context), input.networkInterfaceId, fail);
    if (nic.type === 'Primary') fail('InvalidOperation.InvalidEniType', { id: nic.id });
    requireEniStatus(nic, ['Available'], fail);
    const instance = await getPluggableInstance(input.instanceId, context);
    if (nic.zoneId !== instance.zoneId) {
      fail('InvalidOperation.AvailabilityZoneMismatch', { id: nic.id, zone: nic.zoneId });
    }
    if (nic.vpcId !== instance.vpcId) fail('InvalidOperation.VpcMismatch', { id: nic.id });
    const type = typeOf(context, instance);
    const present = await listInterfacesOf(tx.db, instance.id);
    if (present.length >= type.networkInterfaces) {
      fail('EniPerInstanceLimitExceeded', { type: type.id, limit: type.networkInterfaces });
    }
    const { addresses } = await tx.db
      .selectFrom('privateAddresses')
      .select((eb) => eb.fn.countAll<number>().as('addresses'))
      .where('networkInterfaceId', '=', nic.id)
      .executeTakeFirstOrThrow();
    if (addresses > type.privateAddressesPerInterface) {
      fail('InvalidOperation.Ipv4CountExceeded', { type: type.id, limit: type.privateAddressesPerInterface });
    }
    await replug(nic, context, 'AttachNetworkInterface', {
      status: 'Attaching',
      instanceId: instance.id,
      deviceIndex: nextDeviceIndex(present),
    });
    await wakeForPlugging(tx, instance.id);
    return {};
  },
});

export const detachNetworkInterface = defineAction(ecs.DetachNetworkInterface, {
  errors: [
    'InvalidEcsId.NotFound',
    'InvalidEniId.NotFound',
    'InvalidOperation.DetachPrimaryEniNotAllowed',
    'InvalidOperation.InvalidEcsState',
    'InvalidOperation.InvalidEniState',
    'InvalidOperation.TrunkingIsNotAllowed',
    'InvalidParameter.EniNotBelongEcs',
  ],
  async change(input, context) {
    const { tx, fail } = context;
    if (input.trunkNetworkInstanceId !== undefined) fail('InvalidOperation.TrunkingIsNotAllowed');
    const nic = await getNetworkInterface(tx.db, scopeOf(context), input.networkInterfaceId, fail);
    if (nic.type === 'Primary') fail('InvalidOperation.DetachPrimaryEniNotAllowed', { id: nic.id });
    const instance = await getPluggableInstance(input.instanceId, context);
    // One that is on its way off may be asked for again (DetachNetworkInterface, notes).
    requireEniStatus(nic, ['InUse', 'Detaching'], fail);
    if (nic.instanceId !== instance.id) {
      fail('InvalidParameter.EniNotBelongEcs', { id: nic.id, instance: instance.id });
    }
    await replug(nic, context, 'DetachNetworkInterface', { status: 'Detaching' });
    await wakeForPlugging(tx, instance.id);
    return {};
  },
});

/** Writes down what the instance's loop shall do with the interface. */
async function replug(
  nic: NetworkInterface,
  { tx }: ChangeContext,
  action: string,
  values: Pick<NetworkInterface, 'status'> & Partial<Pick<NetworkInterface, 'instanceId' | 'deviceIndex'>>,
): Promise<void> {
  await tx.db.updateTable('networkInterfaces').set(values).where('id', '=', nic.id).execute();
  await tx.record({
    resourceType: 'networkInterface',
    resourceId: nic.id,
    action,
    before: { status: nic.status, instanceId: nic.instanceId },
    after: values,
  });
  wakeNetworkInterface(tx, nic);
}
