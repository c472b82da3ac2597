import { isIPv4 } from 'node:net';
import { ecs } from '@openegs/schema';
import type { ErrorCode } from '../../../domain/errors.js';
import type { SecurityGroupId } from '../../../domain/ids.js';
import { requireStatus } from '../../../domain/instance.js';
import { isUsableAddress } from '../../../domain/network/addresses.js';
import { takePrivateAddress } from '../../../store/addresses.js';
import { getInstance } from '../../../store/instances.js';
import {
  listInterfacesOf,
  putSecurityGroups,
  wakeForPlugging,
  wakeNetworkInterface,
} from '../../../store/networkInterfaces.js';
import type { Instance, NetworkInterface, VSwitch } from '../../../store/tables.js';
import { findVpc, findVSwitch } from '../../../store/vpcs.js';
import { type ChangeContext, defineAction } from '../../action.js';
import { type GroupProblem, readInterfaceGroups, scopeOf } from '../networkInterfaces/rules.js';

const errors = [
  'EnterpriseGroupLimited.MutliGroupType',
  'IncorrectInstanceStatus',
  'InvalidDependence.NextHopOfCustomRouter',
  'InvalidInstance.AttachedEni',
  'InvalidInstanceId.NotFound',
  'InvalidIp.MultiPrimaryIp',
  'InvalidOperation.VswAndEcsAvailabilityZoneMismatch',
  'InvalidParameter.AlreadyInTargetVpc',
  'InvalidParameter.MustBeEmpty',
  'InvalidParameter.NotEnoughIpInVSwitch',
  'InvalidParameter.SecurityGroupId',
  'InvalidParameter.SecurityGroupIdRepeated',
  'InvalidPrivateIpAddress.Duplicated',
  'InvalidPrivateIpAddress.Malformed',
  'InvalidPrivateIpAddress.Mismatch',
  'InvalidSecurityGroupId.NotFound',
  'InvalidVSwitch.NotBelongToVpc',
  'InvalidVSwitchId.NotFound',
  'JoinedGroupLimitExceed',
  'PrimaryEniHasSubIp',
] as const satisfies readonly ErrorCode[];

type MoveContext = ChangeContext<(typeof errors)[number]>;

/**
 * Moves a Stopped instance to another private address, vSwitch or VPC. Its public addresses come along; its
 * secondary interfaces cannot leave the VPC.
 */
export const modifyInstanceVpcAttribute = defineAction(ecs.ModifyInstanceVpcAttribute, {
  errors,
  async change(input, context) {
    const { tx, caller, fail } = context;
    const instance = await getInstance(tx.db, caller.accountId, input.instanceId, fail);
    requireStatus(instance, ['Stopped'], fail);
    const vSwitch = await readVSwitch(input, instance, context);
    const [primary, ...others] = await listInterfacesOf(tx.db, instance.id);
    if (!primary) throw new Error(`instance ${instance.id} has no network interface`);
    const addresses = await tx.db
      .selectFrom('privateAddresses')
      .select(['address', 'isPrimary'])
      .where('networkInterfaceId', '=', primary.id)
      .orderBy('isPrimary', 'desc')
      .execute();
    const before = addresses[0]?.address ?? '';
    const isSamePlace = vSwitch.id === primary.vSwitchId;
    if (isSamePlace && input.privateIpAddress === before) return {};

    let groups: SecurityGroupId[] | undefined;
    if (vSwitch.vpcId !== instance.vpcId) {
      if (others.length > 0) fail('InvalidInstance.AttachedEni');
      if (addresses.length > 1) fail('InvalidIp.MultiPrimaryIp');
      await requireNoRoute(primary, context);
      groups = await readGroups(input, vSwitch, context);
    } else {
      if ((input.securityGroupId?.length ?? 0) > 0) fail('InvalidParameter.MustBeEmpty');
      if (addresses.length > 1) fail('PrimaryEniHasSubIp');
    }
    const after = await retakeAddress(primary, vSwitch, before, input.privateIpAddress, context);
    await move(instance, primary, vSwitch, context);
    if (groups) await putSecurityGroups(tx, primary.id, groups);
    await tx.db
      .updateTable('eips')
      .set({ privateAddress: after, vpcId: vSwitch.vpcId })
      .where('networkInterfaceId', '=', primary.id)
      .where('privateAddress', '=', before)
      .execute();
    await tx.record({
      resourceType: 'instance',
      resourceId: instance.id,
      action: 'ModifyInstanceVpcAttribute',
      before: { vSwitchId: instance.vSwitchId, privateAddress: before },
      after: { vSwitchId: vSwitch.id, privateAddress: after },
    });
    return {};
  },
});

async function readVSwitch(
  input: ecs.ModifyInstanceVpcAttributeRequest,
  instance: Instance,
  context: MoveContext,
): Promise<VSwitch> {
  const { tx, fail } = context;
  const scope = scopeOf(context);
  const id = input.vSwitchId;
  const vSwitch = (await findVSwitch(tx.db, scope, id)) ?? fail('InvalidVSwitchId.NotFound', { id });
  if (input.vpcId === instance.vpcId) fail('InvalidParameter.AlreadyInTargetVpc');
  const vpc = input.vpcId ?? instance.vpcId;
  if (vSwitch.vpcId !== vpc || !(await findVpc(tx.db, scope, vpc))) {
    fail('InvalidVSwitch.NotBelongToVpc', { id, vpc });
  }
  if (vSwitch.zoneId !== instance.zoneId) {
    fail('InvalidOperation.VswAndEcsAvailabilityZoneMismatch', { id, zone: vSwitch.zoneId });
  }
  return vSwitch;
}

async function requireNoRoute(primary: NetworkInterface, { tx, fail }: MoveContext): Promise<void> {
  const route = await tx.db
    .selectFrom('routeEntries')
    .select('id')
    .where('networkInterfaceId', '=', primary.id)
    .executeTakeFirst();
  if (route) fail('InvalidDependence.NextHopOfCustomRouter', { id: route.id });
}

function readGroups(
  { securityGroupId: ids = [] }: ecs.ModifyInstanceVpcAttributeRequest,
  vSwitch: VSwitch,
  context: MoveContext,
): Promise<SecurityGroupId[]> {
  const { fail } = context;
  if (ids.length === 0) fail('InvalidParameter.SecurityGroupId', { reason: 'none is named.' });
  const refuse = (problem: GroupProblem): never => {
    switch (problem.kind) {
      case 'missing':
        return fail('InvalidSecurityGroupId.NotFound', { id: problem.id });
      case 'repeated':
        return fail('InvalidParameter.SecurityGroupIdRepeated', { id: problem.id });
      case 'otherVpc':
        return fail('InvalidParameter.SecurityGroupId', { reason: `${problem.id} is in another one.` });
      case 'mixedTypes':
        return fail('EnterpriseGroupLimited.MutliGroupType');
      case 'tooMany':
        return fail('JoinedGroupLimitExceed', { limit: problem.limit });
    }
  };
  return readInterfaceGroups(ids, vSwitch.vpcId, context, refuse);
}

/** Gives back the primary address, and takes the wished one of the vSwitch or any. */
async function retakeAddress(
  primary: NetworkInterface,
  vSwitch: VSwitch,
  before: string,
  wished: string | undefined,
  { tx, fail }: MoveContext,
): Promise<string> {
  if (wished !== undefined) {
    if (!isIPv4(wished)) fail('InvalidPrivateIpAddress.Malformed', { address: wished });
    if (!isUsableAddress(vSwitch.cidrBlock, wished)) {
      fail('InvalidPrivateIpAddress.Mismatch', { id: vSwitch.id, address: wished });
    }
  }
  await tx.db
    .deleteFrom('privateAddresses')
    .where('networkInterfaceId', '=', primary.id)
    .where('address', '=', before)
    .execute();
  const taken = await takePrivateAddress(tx, vSwitch, primary.id, { wished, isPrimary: true });
  if (taken !== undefined) return taken;
  return wished === undefined
    ? fail('InvalidParameter.NotEnoughIpInVSwitch', { id: vSwitch.id })
    : fail('InvalidPrivateIpAddress.Duplicated', { address: wished });
}

async function move(
  instance: Instance,
  primary: NetworkInterface,
  vSwitch: VSwitch,
  { tx }: MoveContext,
): Promise<void> {
  const place = { vpcId: vSwitch.vpcId, vSwitchId: vSwitch.id };
  await tx.db.updateTable('networkInterfaces').set(place).where('id', '=', primary.id).execute();
  await tx.db.updateTable('instances').set(place).where('id', '=', instance.id).execute();
  await wakeForPlugging(tx, instance.id);
  wakeNetworkInterface(tx, { id: primary.id, vpcId: instance.vpcId });
  wakeNetworkInterface(tx, { id: primary.id, vpcId: vSwitch.vpcId });
  // Public addresses stand in the VPC itself.
  for (const id of new Set([instance.vpcId, vSwitch.vpcId])) tx.wake({ kind: 'vpc', id });
}
