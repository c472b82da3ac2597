import { ecs } from '@openegs/schema';
import type { Fail } from '../../../domain/errors.js';
import { createId, type VpcId } from '../../../domain/ids.js';
import { isWellFormedName } from '../../../domain/instance.js';
import { checkTags } from '../../../domain/tags.js';
import { ensureDefaultNetwork } from '../../../store/accounts.js';
import { countRows } from '../../../store/countRows.js';
import { getSecurityGroup } from '../../../store/securityGroups.js';
import { deleteTags, putTags } from '../../../store/tags.js';
import { toSecondsTime } from '../../../store/times.js';
import { type ChangeContext, defineAction } from '../../action.js';

export const createSecurityGroup = defineAction(ecs.CreateSecurityGroup, {
  errors: [
    'Duplicate.TagKey',
    'InvalidParams.GroupType',
    'InvalidSecurityGroupDiscription.Malformed',
    'InvalidSecurityGroupName.Malformed',
    'InvalidTagKey.Malformed',
    'InvalidTagValue.Malformed',
    'InvalidVpcId.NotFound',
    'QuotaExceed.SecurityGroup',
    'QuotaExceed.Tags',
  ],
  async change(input, context) {
    const { tx, caller, regionId, cloud, fail } = context;
    checkTexts(input, fail);
    const type = input.securityGroupType ?? 'normal';
    if (type !== 'normal' && type !== 'enterprise') return fail('InvalidParams.GroupType', { type });
    const tags = checkTags(input.tag, fail);
    await checkQuota(context);
    const vpcId = await readVpc(input.vpcId, context);

    const id = createId('securityGroup', cloud.catalog.getRegion(regionId).code);
    const scope = { accountId: caller.accountId, regionId };
    await tx.db
      .insertInto('securityGroups')
      .values({
        ...scope,
        id,
        vpcId,
        type,
        name: input.securityGroupName ?? '',
        description: input.description ?? '',
        innerAccessPolicy: type === 'normal' ? 'Accept' : 'Drop',
        creationTime: toSecondsTime(tx.now),
        resourceGroupId: input.resourceGroupId ?? '',
      })
      .execute();
    await putTags(tx, { ...scope, resourceType: 'securitygroup', resourceId: id }, tags, fail);
    await tx.record({
      resourceType: 'securityGroup',
      resourceId: id,
      action: 'CreateSecurityGroup',
      after: { vpcId, type },
    });
    tx.wake({ kind: 'vpc', id: vpcId });
    return { securityGroupId: id };
  },
});

/** A group without a VPC would be one of the classic network; there is none, so the default VPC is meant. */
async function readVpc(
  id: string | undefined,
  { tx, caller, regionId, cloud, fail }: ChangeContext<'InvalidVpcId.NotFound'>,
): Promise<VpcId> {
  if (id === undefined) {
    return ensureDefaultNetwork(tx, caller.accountId, cloud.catalog.getRegion(regionId), cloud.config);
  }
  const vpc = await tx.db
    .selectFrom('vpcs')
    .select('id')
    .where('id', '=', id as VpcId)
    .where('accountId', '=', caller.accountId)
    .where('regionId', '=', regionId)
    .where('status', '<>', 'Deleted')
    .executeTakeFirst();
  return vpc?.id ?? fail('InvalidVpcId.NotFound', { id });
}

async function checkQuota({
  tx,
  caller,
  regionId,
  cloud,
  fail,
}: ChangeContext<'QuotaExceed.SecurityGroup'>): Promise<void> {
  const total = await countRows(
    tx.db
      .selectFrom('securityGroups')
      .where('accountId', '=', caller.accountId)
      .where('regionId', '=', regionId),
  );
  const quota = cloud.config.quotas.securityGroups;
  if (total >= quota) fail('QuotaExceed.SecurityGroup', { quota });
}

function checkTexts(
  input: { readonly securityGroupName?: string | undefined; readonly description?: string | undefined },
  fail: Fail<'InvalidSecurityGroupName.Malformed' | 'InvalidSecurityGroupDiscription.Malformed'>,
): void {
  if (input.securityGroupName !== undefined && !isWellFormedName(input.securityGroupName)) {
    fail('InvalidSecurityGroupName.Malformed');
  }
  if (input.description !== undefined && !isWellFormedName(input.description, 2, 256)) {
    fail('InvalidSecurityGroupDiscription.Malformed');
  }
}

export const deleteSecurityGroup = defineAction(ecs.DeleteSecurityGroup, {
  errors: ['InvalidSecurityGroupId.NotFound', 'DependencyViolation'],
  async change({ securityGroupId }, { tx, caller, regionId, fail }) {
    const group = await getSecurityGroup(tx.db, caller.accountId, regionId, securityGroupId, fail);
    const member = await tx.db
      .selectFrom('securityGroupMembers')
      .select('networkInterfaceId')
      .where('securityGroupId', '=', group.id)
      .executeTakeFirst();
    if (member) {
      fail('DependencyViolation', { id: group.id, reason: `${member.networkInterfaceId} is in it.` });
    }
    const reference = await tx.db
      .selectFrom('securityGroupRules')
      .select(['id', 'securityGroupId'])
      .where('peerGroupId', '=', group.id)
      .where('securityGroupId', '<>', group.id)
      .executeTakeFirst();
    if (reference) {
      fail('DependencyViolation', {
        id: group.id,
        reason: `a rule of ${reference.securityGroupId} names it.`,
      });
    }
    await tx.db.deleteFrom('securityGroups').where('id', '=', group.id).execute();
    await deleteTags(tx, 'securitygroup', [group.id]);
    await tx.record({ resourceType: 'securityGroup', resourceId: group.id, action: 'DeleteSecurityGroup' });
    tx.wake({ kind: 'vpc', id: group.vpcId });
    return {};
  },
});

export const modifySecurityGroupAttribute = defineAction(ecs.ModifySecurityGroupAttribute, {
  errors: [
    'InvalidSecurityGroupId.NotFound',
    'InvalidSecurityGroupName.Malformed',
    'InvalidSecurityGroupDiscription.Malformed',
  ],
  async change(input, { tx, caller, regionId, fail }) {
    const group = await getSecurityGroup(tx.db, caller.accountId, regionId, input.securityGroupId, fail);
    checkTexts(input, fail);
    const after = {
      name: input.securityGroupName ?? group.name,
      description: input.description ?? group.description,
    };
    await tx.db.updateTable('securityGroups').set(after).where('id', '=', group.id).execute();
    await tx.record({
      resourceType: 'securityGroup',
      resourceId: group.id,
      action: 'ModifySecurityGroupAttribute',
      before: { name: group.name, description: group.description },
      after,
    });
    return {};
  },
});

export const modifySecurityGroupPolicy = defineAction(ecs.ModifySecurityGroupPolicy, {
  errors: ['InvalidSecurityGroupId.NotFound', 'InvalidPolicy.Malformed'],
  async change(input, { tx, caller, regionId, fail }) {
    const group = await getSecurityGroup(tx.db, caller.accountId, regionId, input.securityGroupId, fail);
    const policy = { accept: 'Accept', drop: 'Drop' } as const;
    const wished = input.innerAccessPolicy.toLowerCase();
    if (wished !== 'accept' && wished !== 'drop') {
      return fail('InvalidPolicy.Malformed', { words: 'Accept or Drop' });
    }
    // Members of an enterprise group reach each other by rules alone.
    if (group.type === 'enterprise' && wished === 'accept') {
      fail('InvalidPolicy.Malformed', { words: 'Drop for enterprise security groups' });
    }
    const after = { innerAccessPolicy: policy[wished] };
    await tx.db.updateTable('securityGroups').set(after).where('id', '=', group.id).execute();
    await tx.record({
      resourceType: 'securityGroup',
      resourceId: group.id,
      action: 'ModifySecurityGroupPolicy',
      before: { innerAccessPolicy: group.innerAccessPolicy },
      after,
    });
    tx.wake({ kind: 'vpc', id: group.vpcId });
    return {};
  },
});

export const describeSecurityGroupReferences = defineAction(ecs.DescribeSecurityGroupReferences, {
  errors: ['InvalidSecurityGroupId.NotFound'],
  async read(input, { db, caller, regionId, fail }) {
    const references: ecs.DescribeSecurityGroupReferencesResponseSecurityGroupReferencesSecurityGroupReference[] =
      [];
    for (const id of new Set(input.securityGroupId)) {
      const group = await getSecurityGroup(db, caller.accountId, regionId, id, fail);
      const naming = await db
        .selectFrom('securityGroupRules as rule')
        .innerJoin('securityGroups as other', 'other.id', 'rule.securityGroupId')
        .select(['other.id', 'other.accountId'])
        .distinct()
        .where('rule.peerGroupId', '=', group.id)
        .where('other.id', '<>', group.id)
        .execute();
      if (naming.length === 0) continue;
      references.push({
        securityGroupId: group.id,
        referencingSecurityGroups: {
          referencingSecurityGroup: naming.map((other) => ({
            securityGroupId: other.id,
            aliUid: other.accountId,
          })),
        },
      });
    }
    return { securityGroupReferences: { securityGroupReference: references } };
  },
});
