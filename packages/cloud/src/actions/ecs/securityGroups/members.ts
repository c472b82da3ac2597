import { ecs } from '@openegs/schema';
import type { ErrorCode } from '../../../domain/errors.js';
import type { NetworkInterfaceId } from '../../../domain/ids.js';
import { requireStatus } from '../../../domain/instance.js';
import { getInstance } from '../../../store/instances.js';
import { getSecurityGroup } from '../../../store/securityGroups.js';
import type { NetworkInterface } from '../../../store/tables.js';
import { type ChangeContext, defineAction } from '../../action.js';

/** Groups that one network interface may be in (guide on limits of security groups). */
export const maxGroupsPerInterface = 5;

const targetErrors = [
  'IncorrectInstanceStatus',
  'InvalidEniId.NotFound',
  'InvalidInstanceId.NotFound',
  'InvalidParam.EniIdAndInstanceId.Conflict',
  'InvalidSecurityGroupId.NotFound',
] as const satisfies readonly ErrorCode[];

interface MemberInput {
  readonly instanceId?: string | undefined;
  readonly networkInterfaceId?: string | undefined;
}

/** The interface that is meant: itself, or the primary one of an instance. */
async function readInterface(
  input: MemberInput,
  { tx, caller, regionId, fail }: ChangeContext<(typeof targetErrors)[number]>,
): Promise<NetworkInterface> {
  const { instanceId, networkInterfaceId } = input;
  const interfaces = tx.db.selectFrom('networkInterfaces').selectAll();
  if (instanceId !== undefined) {
    if (networkInterfaceId !== undefined) fail('InvalidParam.EniIdAndInstanceId.Conflict');
    const instance = await getInstance(tx.db, caller.accountId, instanceId, fail);
    requireStatus(instance, ['Running', 'Stopped'], fail);
    return interfaces
      .where('instanceId', '=', instance.id)
      .where('type', '=', 'Primary')
      .executeTakeFirstOrThrow();
  }
  const id = networkInterfaceId ?? fail('MissingParameter', { parameter: 'InstanceId' });
  const found = await interfaces
    .where('id', '=', id as NetworkInterfaceId)
    .where('accountId', '=', caller.accountId)
    .where('regionId', '=', regionId)
    .executeTakeFirst();
  return found ?? fail('InvalidEniId.NotFound', { id });
}

export const joinSecurityGroup = defineAction(ecs.JoinSecurityGroup, {
  errors: [
    ...targetErrors,
    'InstanceSecurityGroupLimitExceeded',
    'InvalidInstanceId.AlreadyExists',
    'InvalidOperation.MultiGroupType',
    'InvalidOperation.VpcMismatch',
  ],
  async change(input, context) {
    const { tx, caller, regionId, fail } = context;
    const group = await getSecurityGroup(tx.db, caller.accountId, regionId, input.securityGroupId, fail);
    const nic = await readInterface(input, context);
    const id = input.instanceId ?? nic.id;
    if (nic.vpcId !== group.vpcId) fail('InvalidOperation.VpcMismatch', { id });
    const present = await tx.db
      .selectFrom('securityGroupMembers as member')
      .innerJoin('securityGroups as securityGroup', 'securityGroup.id', 'member.securityGroupId')
      .select(['securityGroup.id', 'securityGroup.type', 'member.position'])
      .where('member.networkInterfaceId', '=', nic.id)
      .execute();
    if (present.some((each) => each.id === group.id)) fail('InvalidInstanceId.AlreadyExists', { id });
    if (present.some((each) => each.type !== group.type)) fail('InvalidOperation.MultiGroupType');
    if (present.length >= maxGroupsPerInterface) {
      fail('InstanceSecurityGroupLimitExceeded', { limit: maxGroupsPerInterface });
    }
    await tx.db
      .insertInto('securityGroupMembers')
      .values({
        securityGroupId: group.id,
        networkInterfaceId: nic.id,
        position: Math.max(-1, ...present.map((each) => each.position)) + 1,
      })
      .execute();
    await recordMembership(context, nic, 'JoinSecurityGroup', group.id);
    return {};
  },
});

export const leaveSecurityGroup = defineAction(ecs.LeaveSecurityGroup, {
  errors: [
    ...targetErrors,
    'InstanceLastSecurityGroup',
    'InstanceNotInSecurityGroup',
    'InvalidOperation.AtLeastInOneGroup',
    'InvalidSecurityGroupAssociation.NotFound',
  ],
  async change(input, context) {
    const { tx, caller, regionId, fail } = context;
    const group = await getSecurityGroup(tx.db, caller.accountId, regionId, input.securityGroupId, fail);
    const nic = await readInterface(input, context);
    const present = await tx.db
      .selectFrom('securityGroupMembers')
      .select('securityGroupId')
      .where('networkInterfaceId', '=', nic.id)
      .execute();
    // Instances and network interfaces have codes of their own for the same two mistakes.
    const byInstance = input.instanceId !== undefined;
    const id = input.instanceId ?? nic.id;
    if (!present.some((each) => each.securityGroupId === group.id)) {
      fail(byInstance ? 'InstanceNotInSecurityGroup' : 'InvalidSecurityGroupAssociation.NotFound', { id });
    }
    if (present.length === 1) {
      fail(byInstance ? 'InstanceLastSecurityGroup' : 'InvalidOperation.AtLeastInOneGroup', { id });
    }
    await tx.db
      .deleteFrom('securityGroupMembers')
      .where('networkInterfaceId', '=', nic.id)
      .where('securityGroupId', '=', group.id)
      .execute();
    await recordMembership(context, nic, 'LeaveSecurityGroup', group.id);
    return {};
  },
});

async function recordMembership(
  { tx }: ChangeContext,
  nic: NetworkInterface,
  action: string,
  securityGroupId: string,
): Promise<void> {
  await tx.record({
    resourceType: 'networkInterface',
    resourceId: nic.id,
    action,
    after: { securityGroupId },
  });
  tx.wake({ kind: 'networkInterface', id: nic.id, vpcId: nic.vpcId });
}
