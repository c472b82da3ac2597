import { ecs } from '@openegs/schema';
import type { ErrorCode } from '../../../domain/errors.js';
import type { InstanceId } from '../../../domain/ids.js';
import { isIpv4Cidr } from '../../../domain/network/cidr.js';
import {
  givePublicAddress,
  isPoolAddress,
  setPublicBandwidth,
  unassociateEips,
} from '../../../store/eips.js';
import { findInstance, getInstance } from '../../../store/instances.js';
import type { Instance } from '../../../store/tables.js';
import { type ChangeContext, defineAction } from '../../action.js';

/*
 * Public addresses that belong to an instance (PublicIpAddress), not to the account as EIPs do.
 */

/** Most Mbit/s towards and from the internet (ModifyInstanceNetworkSpec). */
const maxBandwidthOut = 100;
const maxBandwidthIn = 200;

/** Gives an instance that has none a public address. */
export async function allocatePublicAddress(
  id: InstanceId,
  context: ChangeContext<'InvalidOperation.PublicIpAddressNoStock', unknown>,
): Promise<string> {
  const { tx, cloud, caller, regionId, fail } = context;
  const instance = await findInstance(tx.db, caller.accountId, id);
  if (!instance) throw new Error(`no instance ${id}`);
  const { code } = cloud.catalog.getRegion(regionId);
  const address = await givePublicAddress(tx, cloud.config.network.eipPools, code, instance);
  if (address === undefined) return fail('InvalidOperation.PublicIpAddressNoStock');
  await recordAddress(instance, address, 'AllocatePublicIpAddress', context);
  return address;
}

async function recordAddress(
  instance: Instance,
  publicIpAddress: string,
  action: string,
  { tx }: ChangeContext<never, unknown>,
): Promise<void> {
  await tx.record({
    resourceType: 'instance',
    resourceId: instance.id,
    action,
    ...(action === 'ReleasePublicIpAddress'
      ? { before: { publicIpAddress } }
      : { after: { publicIpAddress } }),
  });
}

const stateErrors = ['AllocatedAlready', 'IncorrectInstanceStatus'] as const satisfies readonly ErrorCode[];

/** An address can be had in a settled state, and only by an instance that has neither one nor an EIP. */
async function checkHasNone(
  instance: Instance,
  { tx, fail }: ChangeContext<(typeof stateErrors)[number], unknown>,
): Promise<void> {
  const { id, status } = instance;
  if (status !== 'Running' && status !== 'Stopped') {
    fail('IncorrectInstanceStatus', { id, status, needed: 'Running or Stopped' });
  }
  const held = await tx.db.selectFrom('eips').select('id').where('instanceId', '=', id).executeTakeFirst();
  if (held) fail('AllocatedAlready', { id });
}

export const allocatePublicIpAddress = defineAction(ecs.AllocatePublicIpAddress, {
  errors: [
    ...stateErrors,
    'InsufficientPublicIp',
    'InvalidInstanceId.NotFound',
    'InvalidIpAddress.Malformed',
    'InvalidIpAddress.NotFound',
    'IpInUse',
  ],
  async change({ instanceId, ipAddress: wished }, context) {
    const { tx, caller, regionId, cloud, fail } = context;
    const instance = await getInstance(tx.db, caller.accountId, instanceId, fail);
    await checkHasNone(instance, context);
    const pools = cloud.config.network.eipPools;
    if (wished !== undefined) {
      if (wished.includes('/') || !isIpv4Cidr(wished))
        fail('InvalidIpAddress.Malformed', { address: wished });
      if (!isPoolAddress(pools, wished)) fail('InvalidIpAddress.NotFound', { address: wished });
      const held = await tx.db
        .selectFrom('eips')
        .select('id')
        .where('address', '=', wished)
        .executeTakeFirst();
      if (held) fail('IpInUse', { address: wished });
    }
    const { code } = cloud.catalog.getRegion(regionId);
    const ipAddress =
      (await givePublicAddress(tx, pools, code, instance, wished)) ?? fail('InsufficientPublicIp');
    await recordAddress(instance, ipAddress, 'AllocatePublicIpAddress', context);
    return { ipAddress };
  },
});

export const releasePublicIpAddress = defineAction(ecs.ReleasePublicIpAddress, {
  errors: ['InvalidInstanceId.NotFound', 'InvalidIpAddress.NotFound'],
  async change({ instanceId, publicIpAddress }, context) {
    const { tx, caller, fail } = context;
    const held =
      (await tx.db
        .selectFrom('eips')
        .select(['id', 'instanceId'])
        .where('address', '=', publicIpAddress)
        .where('owner', '=', 'instance')
        .where('accountId', '=', caller.accountId)
        .where('status', '<>', 'Unassociating')
        .executeTakeFirst()) ?? fail('InvalidIpAddress.NotFound', { address: publicIpAddress });
    if (instanceId !== undefined && instanceId !== held.instanceId) {
      fail('InvalidInstanceId.NotFound', { id: instanceId });
    }
    const instance = await getInstance(tx.db, caller.accountId, held.instanceId ?? '', fail);
    await unassociateEips(tx, { eipId: held.id });
    await recordAddress(instance, publicIpAddress, 'ReleasePublicIpAddress', context);
    return {};
  },
});

export const modifyInstanceNetworkSpec = defineAction(ecs.ModifyInstanceNetworkSpec, {
  errors: [
    ...stateErrors,
    'InvalidInstanceId.NotFound',
    'InvalidInternetChargeType.ValueNotSupported',
    'InvalidInternetMaxBandwidthIn.ValueNotSupported',
    'InvalidInternetMaxBandwidthOut.ValueNotSupported',
    'InvalidOperation.PublicIpAddressNoStock',
  ],
  async change(input, context) {
    const { tx, caller, fail } = context;
    const instance = await getInstance(tx.db, caller.accountId, input.instanceId, fail);
    const { internetMaxBandwidthIn, internetMaxBandwidthOut, networkChargeType } = input;
    if (internetMaxBandwidthOut !== undefined && !isBetween(internetMaxBandwidthOut, 0, maxBandwidthOut)) {
      fail('InvalidInternetMaxBandwidthOut.ValueNotSupported', { max: maxBandwidthOut });
    }
    if (internetMaxBandwidthIn !== undefined && !isBetween(internetMaxBandwidthIn, 1, maxBandwidthIn)) {
      fail('InvalidInternetMaxBandwidthIn.ValueNotSupported', { max: maxBandwidthIn });
    }
    if (networkChargeType !== undefined && !['PayByBandwidth', 'PayByTraffic'].includes(networkChargeType)) {
      fail('InvalidInternetChargeType.ValueNotSupported', { value: networkChargeType });
    }
    if (input.startTime !== undefined || input.endTime !== undefined) {
      fail('InvalidParameter', {
        parameter: 'StartTime',
        reason: 'this cloud has not built bandwidth for a time.',
      });
    }
    const after = {
      ...(internetMaxBandwidthIn === undefined ? {} : { internetMaxBandwidthIn }),
      ...(internetMaxBandwidthOut === undefined ? {} : { internetMaxBandwidthOut }),
      ...(networkChargeType === undefined ? {} : { internetChargeType: networkChargeType }),
    };
    if (Object.keys(after).length > 0) {
      await tx.db.updateTable('instances').set(after).where('id', '=', instance.id).execute();
      await tx.record({
        resourceType: 'instance',
        resourceId: instance.id,
        action: 'ModifyInstanceNetworkSpec',
        after,
      });
    }
    if (internetMaxBandwidthOut !== undefined) {
      await setPublicBandwidth(tx, instance.id, internetMaxBandwidthOut);
    }
    // Pay-as-you-go instances get an address only where the request asks for it, as on the original.
    if (input.allocatePublicIp === true) {
      await checkHasNone(instance, context);
      await allocatePublicAddress(instance.id, context);
    }
    return { orderId: '' };
  },
});

function isBetween(value: number, min: number, max: number): boolean {
  return value >= min && value <= max;
}
