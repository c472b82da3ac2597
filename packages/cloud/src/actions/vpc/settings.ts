import { vpc } from '@openegs/schema';
import type { EipId, NatGatewayId, VpcId } from '../../domain/ids.js';
import { findVpc } from '../../store/vpcs.js';
import { defineAction } from '../action.js';

/*
 * Single switches of resources that have an action of their own: protection from deletion, resource group,
 * classic link.
 */

export const deletionProtection = defineAction(vpc.DeletionProtection, {
  errors: ['DeletionProtection.ResourceNotExist', 'DeletionProtection.TypeNotSupport'],
  async change({ instanceId: id, protectionEnable, type }, { tx, caller, regionId, fail }) {
    const change = { deletionProtection: protectionEnable ? (1 as const) : (0 as const) };
    const query =
      type === 'EIP'
        ? tx.db
            .updateTable('eips')
            .set(change)
            .where('id', '=', id as EipId)
            .where('owner', '=', 'account')
            .where('accountId', '=', caller.accountId)
            .where('regionId', '=', regionId)
        : type === 'NATGW'
          ? tx.db
              .updateTable('natGateways')
              .set(change)
              .where('id', '=', id as NatGatewayId)
              .where('accountId', '=', caller.accountId)
              .where('regionId', '=', regionId)
          : fail('DeletionProtection.TypeNotSupport', { type });
    const { numUpdatedRows } = await query.executeTakeFirst();
    if (numUpdatedRows === 0n) fail('DeletionProtection.ResourceNotExist', { id });
    await tx.record({
      resourceType: type === 'EIP' ? 'eip' : 'natGateway',
      resourceId: id,
      action: 'DeletionProtection',
      after: { deletionProtection: protectionEnable },
    });
    return {};
  },
});

export const moveResourceGroup = defineAction(vpc.MoveResourceGroup, {
  errors: ['IllegalParam.ResourceType', 'InvalidResourceId.NotFound'],
  async change(input, { tx, caller, regionId, fail }) {
    const { resourceId: id, newResourceGroupId: resourceGroupId } = input;
    const type = input.resourceType.toLowerCase();
    const query =
      type === 'vpc'
        ? tx.db
            .updateTable('vpcs')
            .set({ resourceGroupId })
            .where('id', '=', id as VpcId)
            .where('accountId', '=', caller.accountId)
            .where('regionId', '=', regionId)
            .where('status', '<>', 'Deleted')
        : type === 'eip'
          ? tx.db
              .updateTable('eips')
              .set({ resourceGroupId })
              .where('id', '=', id as EipId)
              .where('owner', '=', 'account')
              .where('accountId', '=', caller.accountId)
              .where('regionId', '=', regionId)
          : fail('IllegalParam.ResourceType', { type: input.resourceType });
    const { numUpdatedRows } = await query.executeTakeFirst();
    if (numUpdatedRows === 0n) fail('InvalidResourceId.NotFound', { id });
    await tx.record({
      resourceType: type,
      resourceId: id,
      action: 'MoveResourceGroup',
      after: { resourceGroupId },
    });
    return {};
  },
});

/** There is no classic network whose instances could come in. */
export const enableVpcClassicLink = defineAction(vpc.EnableVpcClassicLink, {
  errors: ['Forbidden.EnableClassicLink', 'InvalidVpcId.NotFound'],
  async change({ vpcId: id }, { tx, caller, regionId, fail }) {
    const found = await findVpc(tx.db, { accountId: caller.accountId, regionId }, id);
    if (!found) fail('InvalidVpcId.NotFound', { id });
    return fail('Forbidden.EnableClassicLink');
  },
});

/** It is never enabled, so that there is nothing to do. */
export const disableVpcClassicLink = defineAction(vpc.DisableVpcClassicLink, {
  errors: ['InvalidVpcId.NotFound'],
  async change({ vpcId: id }, { tx, caller, regionId, fail }) {
    const found = await findVpc(tx.db, { accountId: caller.accountId, regionId }, id);
    if (!found) fail('InvalidVpcId.NotFound', { id });
    return {};
  },
});
