import { ecs } from '@openegs/schema';
import type { Fail } from '../../../domain/errors.js';
import {
  deleteNetworkInterface as deleteInterface,
  getNetworkInterface,
  putSecurityGroups,
  wakeNetworkInterface,
} from '../../../store/networkInterfaces.js';
import type { NetworkInterface } from '../../../store/tables.js';
import { defineAction } from '../../action.js';
import {
  checkTexts,
  type GroupProblem,
  readInterfaceGroups,
  requireEniStatus,
  requireSourceCheck,
  scopeOf,
} from './rules.js';

export const modifyNetworkInterfaceAttribute = defineAction(ecs.ModifyNetworkInterfaceAttribute, {
  errors: [
    'InvalidEniId.NotFound',
    'InvalidOperation.InvalidEniState',
    'InvalidOperation.MultiGroupType',
    'InvalidOperation.PrimaryEniOnlySupportModifyNameAndDesc',
    'InvalidOperation.VpcMismatch',
    'InvalidParams.NetworkInterfaceName',
    'InvalidSecurityGroupId.NotFound',
    'JoinedGroupLimitExceed',
  ],
  async change(input, context) {
    const { tx, fail } = context;
    const nic = await getNetworkInterface(tx.db, scopeOf(context), input.networkInterfaceId, fail);
    refuseNotOffered(input, fail);
    checkTexts(input, fail);
    const { securityGroupId: groups, deleteOnRelease } = input;
    if (nic.type === 'Primary' && (groups !== undefined || deleteOnRelease !== undefined)) {
      fail('InvalidOperation.PrimaryEniOnlySupportModifyNameAndDesc', { id: nic.id });
    }
    requireEniStatus(nic, ['Available', 'InUse'], fail);
    const after: Partial<Pick<NetworkInterface, 'name' | 'description' | 'deleteOnRelease'>> = {
      ...(input.networkInterfaceName === undefined ? {} : { name: input.networkInterfaceName }),
      ...(input.description === undefined ? {} : { description: input.description }),
      ...(deleteOnRelease === undefined ? {} : { deleteOnRelease: deleteOnRelease ? 1 : 0 }),
    };
    if (Object.keys(after).length > 0) {
      await tx.db.updateTable('networkInterfaces').set(after).where('id', '=', nic.id).execute();
    }
    if (groups !== undefined && groups.length > 0) {
      const ids = await readInterfaceGroups(groups, nic.vpcId, context, (problem) =>
        refuseGroups(problem, fail),
      );
      await putSecurityGroups(tx, nic.id, ids);
      wakeNetworkInterface(tx, nic);
    }
    await tx.record({
      resourceType: 'networkInterface',
      resourceId: nic.id,
      action: 'ModifyNetworkInterfaceAttribute',
      after: { ...after, ...(groups === undefined ? {} : { securityGroupIds: groups }) },
    });
    return {};
  },
});

function refuseNotOffered(
  input: ecs.ModifyNetworkInterfaceAttributeRequest,
  fail: Fail<'InvalidParameter'>,
): void {
  if (input.networkInterfaceTrafficConfig?.networkInterfaceTrafficMode === 'HighPerformance') {
    fail('InvalidParameter', {
      parameter: 'NetworkInterfaceTrafficConfig.NetworkInterfaceTrafficMode',
      reason: 'this cloud has no RDMA interfaces.',
    });
  }
  requireSourceCheck(input.sourceDestCheck, fail);
}

function refuseGroups(
  problem: GroupProblem,
  fail: Fail<
    | 'InvalidOperation.MultiGroupType'
    | 'InvalidOperation.VpcMismatch'
    | 'InvalidParameter'
    | 'InvalidSecurityGroupId.NotFound'
    | 'JoinedGroupLimitExceed'
  >,
): never {
  switch (problem.kind) {
    case 'missing':
      return fail('InvalidSecurityGroupId.NotFound', { id: problem.id });
    case 'repeated':
      return fail('InvalidParameter', {
        parameter: 'SecurityGroupId',
        reason: `${problem.id} is named twice.`,
      });
    case 'otherVpc':
      return fail('InvalidOperation.VpcMismatch', { id: problem.id });
    case 'mixedTypes':
      return fail('InvalidOperation.MultiGroupType');
    case 'tooMany':
      return fail('JoinedGroupLimitExceed', { limit: problem.limit });
  }
}

export const deleteNetworkInterface = defineAction(ecs.DeleteNetworkInterface, {
  errors: ['InvalidEniId.NotFound', 'InvalidOperation.InvalidEniState', 'InvalidOperation.InvalidEniType'],
  async change({ networkInterfaceId }, context) {
    const { tx, fail } = context;
    const nic = await getNetworkInterface(tx.db, scopeOf(context), networkInterfaceId, fail);
    if (nic.type === 'Primary') fail('InvalidOperation.InvalidEniType', { id: nic.id });
    requireEniStatus(nic, ['Available'], fail);
    await deleteInterface(tx, nic);
    await tx.record({
      resourceType: 'networkInterface',
      resourceId: nic.id,
      action: 'DeleteNetworkInterface',
    });
    return {};
  },
});
