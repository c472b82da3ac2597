import { ecs } from '@openegs/schema';
import type { Fail } from '../../../domain/errors.js';
import { checkTags } from '../../../domain/tags.js';
import { countRows } from '../../../store/countRows.js';
import { createNetworkInterface as createInterface } from '../../../store/networkInterfaces.js';
import { putTags } from '../../../store/tags.js';
import { findVSwitch } from '../../../store/vpcs.js';
import { type ChangeContext, defineAction } from '../../action.js';
import { describeRows } from './describe.js';
import {
  addressErrors,
  checkAddresses,
  checkTexts,
  failNotTaken,
  type GroupProblem,
  maxFreeSecondaryAddresses,
  readAddressWishes,
  readInterfaceGroups,
  requireSourceCheck,
  scopeOf,
  takeSecondaryAddresses,
} from './rules.js';

/** Parameters that would change the result, and that the cloud does not have. */
const notOffered = {
  ipv6Address: 'Ipv6Address',
  ipv6AddressCount: 'Ipv6AddressCount',
  ipv4Prefix: 'Ipv4Prefix',
  ipv4PrefixCount: 'Ipv4PrefixCount',
  ipv6Prefix: 'Ipv6Prefix',
  ipv6PrefixCount: 'Ipv6PrefixCount',
} as const;

export const createNetworkInterface = defineAction(ecs.CreateNetworkInterface, {
  errors: [
    ...addressErrors,
    'Duplicate.TagKey',
    'EnterpriseGroupLimited.MutliGroupType',
    'InvalidOperation.HighPerformanceTrafficModeIsNotAllowed',
    'InvalidOperation.TrunkingIsNotAllowed',
    'InvalidOperation.VpcMismatch',
    'InvalidParameter.SecurityGroupIdRepeated',
    'InvalidParams.NetworkInterfaceName',
    'InvalidSecurityGroupId.NotFound',
    'InvalidSecurityGroupId.SingleIdAndMultiIdConflict',
    'InvalidTagKey.Malformed',
    'InvalidTagValue.Malformed',
    'InvalidVSwitchId.NotFound',
    'JoinedGroupLimitExceed',
    'MaxEniCountExceeded',
    'MaxEniPrivateIpsCountExceeded',
    'QuotaExceed.Tags',
  ],
  async change(input, context) {
    const { tx, regionId, cloud, fail } = context;
    const scope = scopeOf(context);
    refuseNotOffered(input, fail);
    checkTexts(input, fail);
    const vSwitch =
      (await findVSwitch(tx.db, scope, input.vSwitchId)) ??
      fail('InvalidVSwitchId.NotFound', { id: input.vSwitchId });
    const securityGroupIds = await readInterfaceGroups(
      readGroupIds(input, fail),
      vSwitch.vpcId,
      context,
      (problem) => refuseGroups(problem, fail),
    );
    const wishes = readAddressWishes(input, fail);
    if (wishes.length > maxFreeSecondaryAddresses) {
      fail('MaxEniPrivateIpsCountExceeded', { limit: maxFreeSecondaryAddresses });
    }
    checkAddresses(vSwitch, [input.primaryIpAddress, ...wishes], fail);
    const tags = checkTags(input.tag, fail);
    await checkQuota(context);

    const nic =
      (await createInterface(
        tx,
        cloud.catalog.getRegion(regionId).code,
        vSwitch,
        {
          instanceId: null,
          type: 'Secondary',
          deviceIndex: 0,
          status: 'Available',
          name: input.networkInterfaceName ?? '',
          description: input.description ?? '',
          deleteOnRelease: input.deleteOnRelease ? 1 : 0,
          resourceGroupId: input.resourceGroupId ?? '',
        },
        { securityGroupIds, primaryAddress: input.primaryIpAddress },
      )) ?? failNotTaken(vSwitch, input.primaryIpAddress, fail);
    await takeSecondaryAddresses(nic, vSwitch, wishes, context);
    await putTags(tx, { ...scope, resourceType: 'eni', resourceId: nic.id }, tags, fail);
    await tx.record({
      resourceType: 'networkInterface',
      resourceId: nic.id,
      action: 'CreateNetworkInterface',
      after: { vSwitchId: vSwitch.id },
    });
    const [described] = await describeRows(tx.db, [nic]);
    return { ...described };
  },
});

function refuseNotOffered(
  input: ecs.CreateNetworkInterfaceRequest,
  fail: Fail<
    | 'InvalidParameter'
    | 'InvalidOperation.HighPerformanceTrafficModeIsNotAllowed'
    | 'InvalidOperation.TrunkingIsNotAllowed'
  >,
): void {
  for (const [key, parameter] of Object.entries(notOffered)) {
    const value = input[key as keyof typeof notOffered];
    if (value !== undefined && !(Array.isArray(value) && value.length === 0)) {
      fail('InvalidParameter', { parameter, reason: 'this cloud has neither IPv6 nor address prefixes.' });
    }
  }
  const type = input.instanceType ?? 'Secondary';
  if (type === 'Trunk') fail('InvalidOperation.TrunkingIsNotAllowed');
  if (type !== 'Secondary') {
    fail('InvalidParameter', { parameter: 'InstanceType', reason: 'it is Secondary.' });
  }
  const mode =
    input.networkInterfaceTrafficMode ?? input.networkInterfaceTrafficConfig?.networkInterfaceTrafficMode;
  if (mode === 'HighPerformance') fail('InvalidOperation.HighPerformanceTrafficModeIsNotAllowed');
  requireSourceCheck(input.sourceDestCheck, fail);
}

function readGroupIds(
  input: ecs.CreateNetworkInterfaceRequest,
  fail: Fail<'MissingParameter' | 'InvalidSecurityGroupId.SingleIdAndMultiIdConflict'>,
): readonly string[] {
  const { securityGroupId, securityGroupIds } = input;
  if (securityGroupId !== undefined && securityGroupIds !== undefined) {
    fail('InvalidSecurityGroupId.SingleIdAndMultiIdConflict');
  }
  const ids = securityGroupIds ?? (securityGroupId ? [securityGroupId] : []);
  return ids.length > 0 ? ids : fail('MissingParameter', { parameter: 'SecurityGroupId' });
}

function refuseGroups(
  problem: GroupProblem,
  fail: Fail<
    | 'EnterpriseGroupLimited.MutliGroupType'
    | 'InvalidOperation.VpcMismatch'
    | 'InvalidParameter.SecurityGroupIdRepeated'
    | 'InvalidSecurityGroupId.NotFound'
    | 'JoinedGroupLimitExceed'
  >,
): never {
  switch (problem.kind) {
    case 'missing':
      return fail('InvalidSecurityGroupId.NotFound', { id: problem.id });
    case 'repeated':
      return fail('InvalidParameter.SecurityGroupIdRepeated', { id: problem.id });
    case 'otherVpc':
      return fail('InvalidOperation.VpcMismatch', { id: problem.id });
    case 'mixedTypes':
      return fail('EnterpriseGroupLimited.MutliGroupType');
    case 'tooMany':
      return fail('JoinedGroupLimitExceed', { limit: problem.limit });
  }
}

async function checkQuota({
  tx,
  caller,
  regionId,
  cloud,
  fail,
}: ChangeContext<'MaxEniCountExceeded'>): Promise<void> {
  const total = await countRows(
    tx.db
      .selectFrom('networkInterfaces')
      .where('accountId', '=', caller.accountId)
      .where('regionId', '=', regionId)
      .where('type', '=', 'Secondary'),
  );
  const quota = cloud.config.quotas.networkInterfaces;
  if (total >= quota) fail('MaxEniCountExceeded', { quota });
}
