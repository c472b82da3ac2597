import type { ErrorCode } from '../../../domain/errors.js';
import type { InstanceId, SecurityGroupId, VSwitchId, ZoneId } from '../../../domain/ids.js';
import { ensureDefaultNetwork } from '../../../store/accounts.js';
import { createNetworkInterface } from '../../../store/networkInterfaces.js';
import type { NetworkInterface, VSwitch } from '../../../store/tables.js';
import type { ChangeContext } from '../../action.js';

export const launchNetworkErrors = [
  'InvalidPrivateIpAddress',
  'InvalidSecurityGroup.VpcMismatch',
  'InvalidSecurityGroupId.NotFound',
  'InvalidSecurityGroupId.SingleIdAndMultiIdConflict',
  'InvalidVSwitchId.NotFound',
  'InvalidVpcZone.NotSupported',
  'InvalidZoneId.NotFound',
  'QuotaExceeded.PrivateIpAddress',
] as const satisfies readonly ErrorCode[];

type LaunchContext = ChangeContext<(typeof launchNetworkErrors)[number], unknown>;

/** Where a launch says that its instances are plugged in. */
export interface LaunchNetworkInput {
  readonly zoneId?: string | undefined;
  readonly vSwitchId?: string | undefined;
  readonly privateIpAddress?: string | undefined;
  readonly securityGroupId?: string | undefined;
  readonly securityGroupIds?: readonly string[] | undefined;
}

/** A place where an instance may be plugged in. */
export interface LaunchNetwork {
  readonly vSwitch: VSwitch;
  readonly securityGroupIds: readonly SecurityGroupId[];
}

/** The vSwitches that will do, best first: the named one, or the default ones of the zones that will do. */
export async function readLaunchNetworks(
  input: LaunchNetworkInput,
  context: LaunchContext,
): Promise<LaunchNetwork[]> {
  const { tx, caller, regionId, cloud, fail } = context;
  if (input.zoneId !== undefined && !cloud.catalog.hasZone(regionId, input.zoneId)) {
    fail('InvalidZoneId.NotFound', { id: input.zoneId });
  }
  const own = tx.db
    .selectFrom('vSwitches')
    .selectAll()
    .where('accountId', '=', caller.accountId)
    .where('regionId', '=', regionId)
    .where('status', '<>', 'Deleted');
  let vSwitches: VSwitch[];
  if (input.vSwitchId !== undefined) {
    vSwitches = await own.where('id', '=', input.vSwitchId as VSwitchId).execute();
    const [vSwitch] = vSwitches;
    if (!vSwitch) return fail('InvalidVSwitchId.NotFound', { id: input.vSwitchId });
    if (input.zoneId !== undefined && vSwitch.zoneId !== input.zoneId) {
      fail('InvalidVpcZone.NotSupported', { id: vSwitch.id, zone: input.zoneId });
    }
  } else {
    const region = cloud.catalog.getRegion(regionId);
    const groups = await readSecurityGroups(input, context);
    const vpcId =
      groups[0]?.vpcId ?? (await ensureDefaultNetwork(tx, caller.accountId, region, cloud.config));
    vSwitches = await own
      .where('vpcId', '=', vpcId)
      .$if(input.zoneId !== undefined, (query) => query.where('zoneId', '=', input.zoneId as ZoneId))
      .orderBy('isDefault', 'desc')
      .orderBy('sequence')
      .execute();
    if (vSwitches.length === 0) return fail('MissingParameter', { parameter: 'VSwitchId' });
  }
  const securityGroupIds = await readGroupIds(input, vSwitches, context);
  return vSwitches.map((vSwitch) => ({ vSwitch, securityGroupIds }));
}

/** The groups that a launch, or one interface of it, names. */
export async function readSecurityGroups(
  input: Pick<LaunchNetworkInput, 'securityGroupId' | 'securityGroupIds'>,
  { tx, caller, regionId, fail }: LaunchContext,
): Promise<{ id: SecurityGroupId; vpcId: VSwitch['vpcId'] }[]> {
  if (input.securityGroupId !== undefined && input.securityGroupIds !== undefined) {
    fail('InvalidSecurityGroupId.SingleIdAndMultiIdConflict');
  }
  const wished = input.securityGroupIds ?? (input.securityGroupId ? [input.securityGroupId] : []);
  const groups = [];
  for (const id of wished) {
    const group = await tx.db
      .selectFrom('securityGroups')
      .select(['id', 'vpcId'])
      .where('id', '=', id as SecurityGroupId)
      .where('accountId', '=', caller.accountId)
      .where('regionId', '=', regionId)
      .executeTakeFirst();
    groups.push(group ?? fail('InvalidSecurityGroupId.NotFound', { id }));
  }
  return groups;
}

async function readGroupIds(
  input: LaunchNetworkInput,
  [vSwitch]: readonly VSwitch[],
  context: LaunchContext,
): Promise<SecurityGroupId[]> {
  const { tx, fail } = context;
  const groups = await readSecurityGroups(input, context);
  for (const group of groups) {
    if (group.vpcId !== vSwitch?.vpcId) fail('InvalidSecurityGroup.VpcMismatch', { id: group.id });
  }
  if (groups.length > 0) return groups.map((group) => group.id);
  const byDefault = await tx.db
    .selectFrom('securityGroups')
    .select('id')
    .where('vpcId', '=', vSwitch?.vpcId ?? fail('MissingParameter', { parameter: 'VSwitchId' }))
    .where('isDefault', '=', 1)
    .executeTakeFirst();
  return [byDefault?.id ?? fail('MissingParameter', { parameter: 'SecurityGroupId' })];
}

/** Makes the network interface with which the instance is born: eth0. */
export async function createPrimaryInterface(
  instanceId: InstanceId,
  vSwitch: VSwitch,
  securityGroupIds: readonly SecurityGroupId[],
  wished: string | undefined,
  { tx, regionId, cloud, fail }: LaunchContext,
): Promise<NetworkInterface> {
  const nic = await createNetworkInterface(
    tx,
    cloud.catalog.getRegion(regionId).code,
    vSwitch,
    { instanceId, type: 'Primary', deviceIndex: 0, status: 'InUse', deleteOnRelease: 1 },
    { securityGroupIds, primaryAddress: wished },
  );
  if (nic !== undefined) return nic;
  return wished === undefined
    ? fail('QuotaExceeded.PrivateIpAddress', { id: vSwitch.id })
    : fail('InvalidPrivateIpAddress', { address: wished });
}
