import type { InstanceType } from '../../../catalog/instanceTypes.js';
import type { ErrorCode } from '../../../domain/errors.js';
import type { InstanceId } from '../../../domain/ids.js';
import { isWellFormedName } from '../../../domain/instance.js';
import { takePrivateAddress } from '../../../store/addresses.js';
import { countRows } from '../../../store/countRows.js';
import { createNetworkInterface, findNetworkInterface } from '../../../store/networkInterfaces.js';
import type { NetworkInterface, VSwitch } from '../../../store/tables.js';
import { findVSwitch } from '../../../store/vpcs.js';
import type { ChangeContext } from '../../action.js';
import {
  createPrimaryInterface,
  type LaunchNetwork,
  type LaunchNetworkInput,
  launchNetworkErrors,
  readSecurityGroups,
} from './launchNetwork.js';

export const launchInterfaceErrors = [
  ...launchNetworkErrors,
  'InvalidEniId.NotFound',
  'InvalidOperation.InvalidNetworkInterfaceId',
  'InvalidOperation.Ipv4CountExceeded',
  'InvalidParameter.EniNumExceededWithLaunchEcs',
  'InvalidParameter.NetworkInterface',
] as const satisfies readonly ErrorCode[];

type LaunchContext = ChangeContext<(typeof launchInterfaceErrors)[number], unknown>;

/** A secondary interface with which instances are born: one that there is, or a new one. */
export interface SecondaryInterfaceInput {
  readonly networkInterfaceId?: string | undefined;
  readonly vSwitchId?: string | undefined;
  readonly primaryIpAddress?: string | undefined;
  readonly secondaryPrivateIpAddressCount?: number | undefined;
  readonly securityGroupId?: string | undefined;
  readonly securityGroupIds?: readonly string[] | undefined;
  readonly networkInterfaceName?: string | undefined;
  readonly description?: string | undefined;
  readonly deleteOnRelease?: boolean | undefined;
}

export interface LaunchInterfacesInput {
  /** Secondary addresses of the primary interface. */
  readonly secondaryPrivateIpAddressCount?: number | undefined;
  readonly secondaryInterface?: SecondaryInterfaceInput | undefined;
}

const secondary = { type: 'Secondary', deviceIndex: 1, status: 'InUse' } as const;

/** Makes the network interfaces of a new instance: eth0, and eth1 where the launch wishes one. */
export async function createInterfaces(
  id: InstanceId,
  type: InstanceType,
  { vSwitch, securityGroupIds }: LaunchNetwork,
  input: LaunchNetworkInput & LaunchInterfacesInput,
  context: LaunchContext,
): Promise<void> {
  const primary = await createPrimaryInterface(
    id,
    vSwitch,
    securityGroupIds,
    input.privateIpAddress,
    context,
  );
  await addAddresses(primary, vSwitch, input.secondaryPrivateIpAddressCount, type, context);
  const wished = input.secondaryInterface;
  if (wished === undefined) return;
  if (type.networkInterfaces < 2) {
    context.fail('InvalidParameter.EniNumExceededWithLaunchEcs', {
      type: type.id,
      limit: type.networkInterfaces,
    });
  }
  if (wished.networkInterfaceId !== undefined) {
    await attach(wished.networkInterfaceId, id, type, vSwitch, context);
  } else {
    await createSecondaryInterface(id, type, { vSwitch, securityGroupIds }, wished, context);
  }
}

async function createSecondaryInterface(
  instanceId: InstanceId,
  type: InstanceType,
  network: LaunchNetwork,
  wished: SecondaryInterfaceInput,
  context: LaunchContext,
): Promise<void> {
  const { tx, regionId, cloud, fail } = context;
  checkTexts(wished, context);
  const vSwitch = await readVSwitch(wished.vSwitchId, network.vSwitch, context);
  const groups = await readSecurityGroups(wished, context);
  for (const group of groups) {
    if (group.vpcId !== vSwitch.vpcId) fail('InvalidSecurityGroup.VpcMismatch', { id: group.id });
  }
  const nic = await createNetworkInterface(
    tx,
    cloud.catalog.getRegion(regionId).code,
    vSwitch,
    {
      ...secondary,
      instanceId,
      name: wished.networkInterfaceName ?? '',
      description: wished.description ?? '',
      // As the API says, unlike for interfaces that are made by themselves.
      deleteOnRelease: (wished.deleteOnRelease ?? true) ? 1 : 0,
    },
    {
      securityGroupIds: groups.length > 0 ? groups.map((group) => group.id) : network.securityGroupIds,
      primaryAddress: wished.primaryIpAddress,
    },
  );
  if (nic !== undefined) {
    return addAddresses(nic, vSwitch, wished.secondaryPrivateIpAddressCount, type, context);
  }
  return wished.primaryIpAddress === undefined
    ? fail('QuotaExceeded.PrivateIpAddress', { id: vSwitch.id })
    : fail('InvalidPrivateIpAddress', { address: wished.primaryIpAddress });
}

function checkTexts(wished: SecondaryInterfaceInput, { fail }: LaunchContext): void {
  const { networkInterfaceName: name, description } = wished;
  if (name !== undefined && !isWellFormedName(name)) {
    fail('InvalidParameter.NetworkInterface', { reason: `"${name}" cannot be the name of one.` });
  }
  if (description !== undefined && !isWellFormedName(description, 2, 256)) {
    fail('InvalidParameter.NetworkInterface', { reason: 'the description of one is malformed.' });
  }
}

/** Where the secondary interface is: beside the primary one, or in the same zone of the VPC. */
async function readVSwitch(
  id: string | undefined,
  primary: VSwitch,
  { tx, caller, regionId, fail }: LaunchContext,
): Promise<VSwitch> {
  if (id === undefined || id === primary.id) return primary;
  const vSwitch =
    (await findVSwitch(tx.db, { accountId: caller.accountId, regionId }, id)) ??
    fail('InvalidVSwitchId.NotFound', { id });
  if (vSwitch.vpcId !== primary.vpcId || vSwitch.zoneId !== primary.zoneId) {
    fail('InvalidParameter.NetworkInterface', {
      reason: `${id} is not in the zone ${primary.zoneId} of ${primary.vpcId}, where the primary one is.`,
    });
  }
  return vSwitch;
}

async function attach(
  id: string,
  instanceId: InstanceId,
  type: InstanceType,
  primary: VSwitch,
  context: LaunchContext,
): Promise<void> {
  const { tx, caller, regionId, fail } = context;
  const nic =
    (await findNetworkInterface(tx.db, { accountId: caller.accountId, regionId }, id)) ??
    fail('InvalidEniId.NotFound', { id });
  if (nic.status !== 'Available') {
    fail('InvalidOperation.InvalidNetworkInterfaceId', { id, reason: `it is ${nic.status}.` });
  }
  if (nic.vpcId !== primary.vpcId || nic.zoneId !== primary.zoneId) {
    fail('InvalidOperation.InvalidNetworkInterfaceId', {
      id,
      reason: `it is not in the zone ${primary.zoneId} of ${primary.vpcId}.`,
    });
  }
  await checkAddressCount(nic, type, context);
  await tx.db
    .updateTable('networkInterfaces')
    .set({ ...secondary, instanceId })
    .where('id', '=', nic.id)
    .execute();
  await tx.record({
    resourceType: 'networkInterface',
    resourceId: nic.id,
    action: 'AttachNetworkInterface',
    before: { status: nic.status, instanceId: null },
    after: { status: secondary.status, instanceId },
  });
  tx.wake({ kind: 'networkInterface', id: nic.id, vpcId: nic.vpcId });
}

async function addAddresses(
  nic: NetworkInterface,
  vSwitch: VSwitch,
  count: number | undefined,
  type: InstanceType,
  context: LaunchContext,
): Promise<void> {
  for (let index = 0; index < (count ?? 0); index += 1) {
    const address = await takePrivateAddress(context.tx, vSwitch, nic.id, { isPrimary: false });
    if (address === undefined) context.fail('QuotaExceeded.PrivateIpAddress', { id: vSwitch.id });
    await checkAddressCount(nic, type, context);
  }
}

async function checkAddressCount(
  nic: NetworkInterface,
  type: InstanceType,
  { tx, fail }: LaunchContext,
): Promise<void> {
  const total = await countRows(
    tx.db.selectFrom('privateAddresses').where('networkInterfaceId', '=', nic.id),
  );
  const limit = type.privateAddressesPerInterface;
  if (total > limit) fail('InvalidOperation.Ipv4CountExceeded', { type: type.id, limit });
}
