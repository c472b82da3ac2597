import { ecs } from '@openegs/schema';
import type { ErrorCode } from '../../../domain/errors.js';
import { createId, type SecurityGroupId } from '../../../domain/ids.js';
import {
  checkRuleDescription,
  type RuleInput,
  type RuleText,
  readLocalCidr,
  readPeer,
  readPolicy,
  readPortRange,
  readPriority,
  readProtocol,
  readSourcePortRange,
  ruleErrors,
} from '../../../domain/network/ruleText.js';
import { getSecurityGroup } from '../../../store/securityGroups.js';
import type { SecurityGroup, SecurityGroupRule } from '../../../store/tables.js';
import { toSecondsTime } from '../../../store/times.js';
import { type ChangeContext, defineAction } from '../../action.js';

/** Rules of one group, both directions together (guide on limits of security groups). */
const maxRulesPerGroup = 200;
/** Rules in one request (AuthorizeSecurityGroup, parameter Permissions.N). */
const maxPermissions = 100;

type Direction = 'ingress' | 'egress';

const commonErrors = [
  ...ruleErrors,
  'InvalidNicType.ValueNotSupported',
  'InvalidPrefixListId.NotFound',
  'InvalidSecurityGroupId.NotFound',
] as const satisfies readonly ErrorCode[];

const ingressErrors = [
  ...commonErrors,
  'InvalidSourceGroupId.NotFound',
  'MissingParameter.Source',
] as const satisfies readonly ErrorCode[];

const egressErrors = [
  ...commonErrors,
  'InvalidDestGroupId.NotFound',
  'MissingParameter.Dest',
] as const satisfies readonly ErrorCode[];

type RuleContext = ChangeContext<(typeof ingressErrors)[number] | (typeof egressErrors)[number]>;

/** The spelling of a rule that both directions of the API share; which side is the far end differs. */
interface WireRule {
  readonly ipProtocol?: string | undefined;
  readonly portRange?: string | undefined;
  readonly sourcePortRange?: string | undefined;
  readonly policy?: string | undefined;
  readonly priority?: string | undefined;
  readonly description?: string | undefined;
  readonly nicType?: string | undefined;
  readonly sourceCidrIp?: string | undefined;
  readonly ipv6SourceCidrIp?: string | undefined;
  readonly sourceGroupId?: string | undefined;
  readonly sourceGroupOwnerAccount?: string | undefined;
  readonly sourcePrefixListId?: string | undefined;
  readonly destCidrIp?: string | undefined;
  readonly ipv6DestCidrIp?: string | undefined;
  readonly destGroupId?: string | undefined;
  readonly destGroupOwnerAccount?: string | undefined;
  readonly destPrefixListId?: string | undefined;
}

function toRuleInput(rule: WireRule, direction: Direction): RuleInput {
  const { ipProtocol, portRange, sourcePortRange, policy, priority, description } = rule;
  const common = { ipProtocol, portRange, sourcePortRange, policy, priority, description };
  return direction === 'ingress'
    ? {
        ...common,
        peerCidr: rule.sourceCidrIp,
        peerIpv6Cidr: rule.ipv6SourceCidrIp,
        peerGroupId: rule.sourceGroupId,
        peerGroupOwner: rule.sourceGroupOwnerAccount,
        peerPrefixListId: rule.sourcePrefixListId,
        localCidr: rule.destCidrIp ?? rule.ipv6DestCidrIp,
      }
    : {
        ...common,
        peerCidr: rule.destCidrIp,
        peerIpv6Cidr: rule.ipv6DestCidrIp,
        peerGroupId: rule.destGroupId,
        peerGroupOwner: rule.destGroupOwnerAccount,
        peerPrefixListId: rule.destPrefixListId,
        localCidr: rule.sourceCidrIp ?? rule.ipv6SourceCidrIp,
      };
}

/** Checks a rule of a request and gives it the spelling in which it is kept. */
async function readRule(wire: WireRule, direction: Direction, context: RuleContext): Promise<RuleText> {
  const { fail } = context;
  // VPCs have one kind of interface. Packer 1.6 says `internet` all the same.
  if (wire.nicType !== undefined && !['intranet', 'internet'].includes(wire.nicType)) {
    fail('InvalidNicType.ValueNotSupported', { type: wire.nicType });
  }
  const input = toRuleInput(wire, direction);
  const protocol = readProtocol(input.ipProtocol, fail);
  const peer =
    readPeer(input, direction, fail) ??
    fail(direction === 'ingress' ? 'MissingParameter.Source' : 'MissingParameter.Dest');
  checkRuleDescription(input.description, fail);
  await requirePeer(peer, direction, context);
  return {
    ...peer,
    protocol,
    portRange: readPortRange(protocol, input.portRange, fail),
    sourcePortRange: readSourcePortRange(protocol, input.sourcePortRange, fail),
    policy: readPolicy(input.policy, fail),
    priority: readPriority(input.priority, fail),
    localCidr: readLocalCidr(input, direction, fail),
  };
}

async function requirePeer(
  peer: Pick<RuleText, 'peerGroupId' | 'peerPrefixListId'>,
  direction: Direction,
  { tx, caller, regionId, fail }: RuleContext,
): Promise<void> {
  if (peer.peerGroupId !== null) {
    const group = await tx.db
      .selectFrom('securityGroups')
      .select('id')
      .where('id', '=', peer.peerGroupId as SecurityGroupId)
      .where('regionId', '=', regionId)
      .executeTakeFirst();
    if (!group) {
      fail(direction === 'ingress' ? 'InvalidSourceGroupId.NotFound' : 'InvalidDestGroupId.NotFound', {
        id: peer.peerGroupId,
      });
    }
  }
  if (peer.peerPrefixListId !== null) {
    const list = await tx.db
      .selectFrom('prefixLists')
      .select('id')
      .where('id', '=', peer.peerPrefixListId as never)
      .where('accountId', '=', caller.accountId)
      .where('regionId', '=', regionId)
      .executeTakeFirst();
    if (!list) fail('InvalidPrefixListId.NotFound', { id: peer.peerPrefixListId });
  }
}

interface RulesInput extends WireRule {
  readonly securityGroupId: string;
  readonly permissions?: readonly WireRule[] | undefined;
}

/** The rules that a request names: one in its own parameters, or a list of them. */
function listWireRules(
  input: RulesInput,
  { fail }: ChangeContext<'InvalidParam.Permissions'>,
): readonly WireRule[] {
  if (input.permissions === undefined) return [input];
  const { length } = input.permissions;
  if (length === 0 || length > maxPermissions || input.ipProtocol !== undefined) {
    fail('InvalidParam.Permissions', { limit: maxPermissions });
  }
  return input.permissions;
}

type AuthorizeContext = ChangeContext<
  | (typeof ingressErrors)[number]
  | (typeof egressErrors)[number]
  | 'AuthorizationLimitExceed'
  | 'InvalidGroupAuthParameter.OperationDenied'
  | 'InvalidParam.Permissions'
>;

async function authorize(input: RulesInput, direction: Direction, context: AuthorizeContext): Promise<void> {
  const { tx, caller, regionId, cloud, fail } = context;
  const group = await getSecurityGroup(tx.db, caller.accountId, regionId, input.securityGroupId, fail);
  const present = await listRules(group, context);
  let total = present.length;
  for (const wire of listWireRules(input, context)) {
    const rule = await readRule(wire, direction, context);
    if (rule.peerGroupId !== null && group.type === 'enterprise') {
      fail('InvalidGroupAuthParameter.OperationDenied');
    }
    // A rule that is there is authorized already.
    if (present.some((known) => known.direction === direction && isSameRule(known, rule))) continue;
    total += 1;
    if (total > maxRulesPerGroup) fail('AuthorizationLimitExceed', { limit: maxRulesPerGroup });
    const inserted = await tx.db
      .insertInto('securityGroupRules')
      .values({
        ...rule,
        id: createId('securityGroupRule', cloud.catalog.getRegion(regionId).code),
        securityGroupId: group.id,
        direction,
        peerGroupId: rule.peerGroupId as SecurityGroupId | null,
        peerGroupOwner: rule.peerGroupId === null ? null : caller.accountId,
        description: wire.description ?? '',
        creationTime: toSecondsTime(tx.now),
      })
      .returningAll()
      .executeTakeFirstOrThrow();
    present.push(inserted);
    await recordRule(context, group, 'AuthorizeSecurityGroup', undefined, inserted);
  }
}

type RevokeContext = ChangeContext<
  | (typeof ingressErrors)[number]
  | (typeof egressErrors)[number]
  | 'InvalidParam.Permissions'
  | 'InvalidParam.SecurityGroupRuleId'
  | 'InvalidSecurityGroupRuleId.NotFound'
>;

async function revoke(
  input: RulesInput & { readonly securityGroupRuleId?: readonly string[] | undefined },
  direction: Direction,
  context: RevokeContext,
): Promise<void> {
  const { tx, caller, regionId, fail } = context;
  const group = await getSecurityGroup(tx.db, caller.accountId, regionId, input.securityGroupId, fail);
  const present = (await listRules(group, context)).filter((rule) => rule.direction === direction);
  const revoked: SecurityGroupRule[] = [];
  if (input.securityGroupRuleId !== undefined) {
    if (input.permissions !== undefined || input.ipProtocol !== undefined) {
      fail('InvalidParam.SecurityGroupRuleId');
    }
    for (const id of new Set(input.securityGroupRuleId)) {
      const rule = present.find((known) => known.id === id);
      revoked.push(rule ?? fail('InvalidSecurityGroupRuleId.NotFound', { id }));
    }
  } else {
    for (const wire of listWireRules(input, context)) {
      const rule = await readRule(wire, direction, context);
      // Revoking what is not there succeeds, as on the original: clients repeat themselves.
      revoked.push(...present.filter((known) => isSameRule(known, rule)));
    }
  }
  for (const rule of revoked) {
    await tx.db.deleteFrom('securityGroupRules').where('id', '=', rule.id).execute();
    await recordRule(context, group, 'RevokeSecurityGroup', rule, undefined);
  }
}

type ModifyContext = ChangeContext<
  | (typeof ingressErrors)[number]
  | (typeof egressErrors)[number]
  | 'InvalidParam.InvalidModifyRuleRequest'
  | 'InvalidSecurityGroupRuleId.NotFound'
  | 'SecurityGroupRule.NotFound'
>;

/** With the rule's id everything of it may change; without, its own values find it and its description changes. */
async function modify(
  input: WireRule & { readonly securityGroupId: string; readonly securityGroupRuleId?: string | undefined },
  direction: Direction,
  context: ModifyContext,
): Promise<void> {
  const { tx, caller, regionId, fail } = context;
  const group = await getSecurityGroup(tx.db, caller.accountId, regionId, input.securityGroupId, fail);
  const present = (await listRules(group, context)).filter((rule) => rule.direction === direction);
  const id = input.securityGroupRuleId;
  let rule: SecurityGroupRule;
  let wished: RuleText;
  if (id === undefined) {
    wished = await readRule(input, direction, context);
    rule = present.find((known) => isSameRule(known, wished)) ?? fail('SecurityGroupRule.NotFound');
  } else {
    rule = present.find((known) => known.id === id) ?? fail('InvalidSecurityGroupRuleId.NotFound', { id });
    wished = await readRule(completeFrom(rule, input, direction), direction, context);
  }
  const after = { ...wished, description: input.description ?? rule.description };
  if (isSameRule(rule, wished) && after.description === rule.description) {
    fail('InvalidParam.InvalidModifyRuleRequest');
  }
  const modified = await tx.db
    .updateTable('securityGroupRules')
    .set({ ...after, peerGroupId: after.peerGroupId as SecurityGroupId | null })
    .where('id', '=', rule.id)
    .returningAll()
    .executeTakeFirstOrThrow();
  await recordRule(context, group, 'ModifySecurityGroupRule', rule, modified);
}

/** What a request leaves out stays as it is. */
function completeFrom(rule: SecurityGroupRule, input: WireRule, direction: Direction): WireRule {
  const given = toRuleInput(input, direction);
  const hasPeer = [given.peerCidr, given.peerIpv6Cidr, given.peerGroupId, given.peerPrefixListId].some(
    (value) => value !== undefined,
  );
  const peer = hasPeer
    ? {}
    : direction === 'ingress'
      ? {
          sourceCidrIp: rule.peerCidr ?? undefined,
          sourceGroupId: rule.peerGroupId ?? undefined,
          sourcePrefixListId: rule.peerPrefixListId ?? undefined,
        }
      : {
          destCidrIp: rule.peerCidr ?? undefined,
          destGroupId: rule.peerGroupId ?? undefined,
          destPrefixListId: rule.peerPrefixListId ?? undefined,
        };
  const near = given.localCidr ?? rule.localCidr ?? undefined;
  return {
    ...input,
    ...peer,
    ...(direction === 'ingress' ? { destCidrIp: near } : { sourceCidrIp: near }),
    ipProtocol: input.ipProtocol ?? rule.protocol,
    portRange: input.portRange ?? rule.portRange,
    sourcePortRange: input.sourcePortRange ?? rule.sourcePortRange ?? undefined,
    policy: input.policy ?? rule.policy,
    priority: input.priority ?? String(rule.priority),
  };
}

function listRules(group: SecurityGroup, { tx }: ChangeContext): Promise<SecurityGroupRule[]> {
  return tx.db
    .selectFrom('securityGroupRules')
    .selectAll()
    .where('securityGroupId', '=', group.id)
    .orderBy('sequence')
    .execute();
}

function isSameRule(known: SecurityGroupRule, rule: RuleText): boolean {
  return (
    known.protocol === rule.protocol &&
    known.portRange === rule.portRange &&
    known.sourcePortRange === rule.sourcePortRange &&
    known.policy === rule.policy &&
    known.priority === rule.priority &&
    known.peerCidr === rule.peerCidr &&
    known.peerGroupId === rule.peerGroupId &&
    known.peerPrefixListId === rule.peerPrefixListId &&
    known.localCidr === rule.localCidr
  );
}

async function recordRule(
  { tx }: ChangeContext,
  group: SecurityGroup,
  action: string,
  before: SecurityGroupRule | undefined,
  after: SecurityGroupRule | undefined,
): Promise<void> {
  await tx.record({
    resourceType: 'securityGroup',
    resourceId: group.id,
    action,
    ...(before ? { before: { ...before } } : {}),
    ...(after ? { after: { ...after } } : {}),
  });
  tx.wake({ kind: 'vpc', id: group.vpcId });
}

const authorizeErrors = [
  'AuthorizationLimitExceed',
  'InvalidGroupAuthParameter.OperationDenied',
  'InvalidParam.Permissions',
] as const;
const revokeErrors = [
  'InvalidParam.Permissions',
  'InvalidParam.SecurityGroupRuleId',
  'InvalidSecurityGroupRuleId.NotFound',
] as const;
const modifyErrors = [
  'InvalidParam.InvalidModifyRuleRequest',
  'InvalidSecurityGroupRuleId.NotFound',
  'SecurityGroupRule.NotFound',
] as const;

export const authorizeSecurityGroup = defineAction(ecs.AuthorizeSecurityGroup, {
  errors: [...ingressErrors, ...egressErrors, ...authorizeErrors],
  async change(input, context) {
    await authorize(input, 'ingress', context);
    return {};
  },
});

export const authorizeSecurityGroupEgress = defineAction(ecs.AuthorizeSecurityGroupEgress, {
  errors: [...ingressErrors, ...egressErrors, ...authorizeErrors],
  async change(input, context) {
    await authorize(input, 'egress', context);
    return {};
  },
});

export const revokeSecurityGroup = defineAction(ecs.RevokeSecurityGroup, {
  errors: [...ingressErrors, ...egressErrors, ...revokeErrors],
  async change(input, context) {
    await revoke(input, 'ingress', context);
    return {};
  },
});

export const revokeSecurityGroupEgress = defineAction(ecs.RevokeSecurityGroupEgress, {
  errors: [...ingressErrors, ...egressErrors, ...revokeErrors],
  async change(input, context) {
    await revoke(input, 'egress', context);
    return {};
  },
});

export const modifySecurityGroupRule = defineAction(ecs.ModifySecurityGroupRule, {
  errors: [...ingressErrors, ...egressErrors, ...modifyErrors],
  async change(input, context) {
    await modify(input, 'ingress', context);
    return {};
  },
});

export const modifySecurityGroupEgressRule = defineAction(ecs.ModifySecurityGroupEgressRule, {
  errors: [...ingressErrors, ...egressErrors, ...modifyErrors],
  async change(input, context) {
    await modify(input, 'egress', context);
    return {};
  },
});
