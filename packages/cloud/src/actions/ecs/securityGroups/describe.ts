import { ecs } from '@openegs/schema';
import type { SecurityGroupId, VpcId } from '../../../domain/ids.js';
import { readTagFilters } from '../../../domain/tags.js';
import { countRows } from '../../../store/countRows.js';
import { matchesPattern } from '../../../store/patterns.js';
import type { Reader } from '../../../store/store.js';
import type { SecurityGroupRule } from '../../../store/tables.js';
import { queryTagged, readTags } from '../../../store/tags.js';
import { onPage, pageAnswer, readPage, readTokenPage } from '../../../wire/paging.js';
import { defineAction } from '../../action.js';

/** Private addresses that a group may hold, by its type (guide on limits of security groups). */
const groupCapacity = { normal: 2000, enterprise: 65_536 } as const;

export const describeSecurityGroups = defineAction(ecs.DescribeSecurityGroups, {
  errors: ['InvalidParameter.SecurityGroupType'],
  async read(input, { db, caller, regionId, fail }) {
    const page = readPage(input, { maxPageSize: 100 });
    const scope = { accountId: caller.accountId, regionId, resourceType: 'securitygroup' } as const;
    let query = db
      .selectFrom('securityGroups')
      .where('accountId', '=', caller.accountId)
      .where('regionId', '=', regionId);
    const ids = [
      ...(input.securityGroupIds ?? []),
      ...(input.securityGroupId ? [input.securityGroupId] : []),
    ];
    if (input.securityGroupIds !== undefined || ids.length > 0) {
      if (ids.length > 100) {
        fail('InvalidParameter', { parameter: 'SecurityGroupIds', reason: 'it has more than 100 members.' });
      }
      query = query.where('id', 'in', ids as SecurityGroupId[]);
    }
    if (input.vpcId !== undefined) query = query.where('vpcId', '=', input.vpcId as VpcId);
    if (input.securityGroupName !== undefined) {
      const name = input.securityGroupName;
      query = query.where(matchesPattern('name', input.fuzzyQuery === true ? `*${name}*` : name));
    }
    const type = input.securityGroupType;
    if (type !== undefined) {
      if (type !== 'normal' && type !== 'enterprise') {
        return fail('InvalidParameter.SecurityGroupType', { type });
      }
      query = query.where('type', '=', type);
    }
    if (input.resourceGroupId !== undefined) {
      query = query.where('resourceGroupId', '=', input.resourceGroupId);
    }
    const filters = readTagFilters(input.tag, fail);
    if (filters.length > 0) {
      query = query.where('id', 'in', queryTagged<SecurityGroupId>(db, scope, filters));
    }
    if (input.networkType === 'classic' || input.serviceManaged === true) query = query.where('id', 'in', []);

    const total = await countRows(query);
    const rows = await query.selectAll().$call(onPage(page, 'newest first')).execute();
    const counts = await countUse(
      db,
      rows.map((row) => row.id),
    );
    const tags = await readTags(
      db,
      'securitygroup',
      rows.map((row) => row.id),
    );
    return {
      ...pageAnswer(page, rows, total),
      regionId,
      securityGroups: {
        securityGroup: rows.map((row): ecs.DescribeSecurityGroupsResponseSecurityGroupsSecurityGroup => {
          const ecsCount = counts.instances.get(row.id) ?? 0;
          return {
            securityGroupId: row.id,
            securityGroupName: row.name,
            securityGroupType: row.type,
            description: row.description,
            vpcId: row.vpcId,
            creationTime: row.creationTime,
            resourceGroupId: row.resourceGroupId,
            serviceManaged: false,
            ecsCount,
            availableInstanceAmount: groupCapacity[row.type] - ecsCount,
            ruleCount: counts.rules.get(row.id) ?? 0,
            groupToGroupRuleCount: counts.groupRules.get(row.id) ?? 0,
            tags: {
              tag: (tags.get(row.id) ?? []).map(({ key, value }) => ({ tagKey: key, tagValue: value })),
            },
          };
        }),
      },
    };
  },
});

/** How many instances are in each group, and how many rules it has, of which some name another group. */
async function countUse(db: Reader, ids: readonly SecurityGroupId[]) {
  const instances = await db
    .selectFrom('securityGroupMembers as member')
    .innerJoin('networkInterfaces as nic', 'nic.id', 'member.networkInterfaceId')
    .select((eb) => ['member.securityGroupId', eb.fn.count<number>('nic.instanceId').distinct().as('total')])
    .where('member.securityGroupId', 'in', ids)
    .groupBy('member.securityGroupId')
    .execute();
  const rules = await db
    .selectFrom('securityGroupRules')
    .select((eb) => [
      'securityGroupId',
      eb.fn.countAll<number>().as('total'),
      eb.fn.count<number>('peerGroupId').as('groups'),
    ])
    .where('securityGroupId', 'in', ids)
    .groupBy('securityGroupId')
    .execute();
  return {
    instances: new Map(instances.map((row) => [row.securityGroupId, row.total])),
    rules: new Map(rules.map((row) => [row.securityGroupId, row.total])),
    groupRules: new Map(rules.map((row) => [row.securityGroupId, row.groups])),
  };
}

export const describeSecurityGroupAttribute = defineAction(ecs.DescribeSecurityGroupAttribute, {
  errors: ['InvalidNicType.ValueNotSupported', 'InvalidSecurityGroupId.NotFound'],
  async read(input, { db, caller, regionId, fail }) {
    const page = readTokenPage(input, { maxPageSize: 1000, minResults: 10, defaultSize: 500 });
    const { direction = 'all', nicType } = input;
    if (!['ingress', 'egress', 'all'].includes(direction)) {
      fail('InvalidParameter', { parameter: 'Direction', reason: 'it is not ingress, egress or all.' });
    }
    if (nicType !== undefined && !['intranet', 'internet'].includes(nicType)) {
      fail('InvalidNicType.ValueNotSupported', { type: nicType });
    }
    const group =
      (await db
        .selectFrom('securityGroups')
        .selectAll()
        .where('id', '=', input.securityGroupId as SecurityGroupId)
        .where('accountId', '=', caller.accountId)
        .where('regionId', '=', regionId)
        .executeTakeFirst()) ?? fail('InvalidSecurityGroupId.NotFound', { id: input.securityGroupId });
    const rules = await db
      .selectFrom('securityGroupRules')
      .selectAll()
      .where('securityGroupId', '=', group.id)
      .$if(direction !== 'all', (query) =>
        query.where('direction', '=', direction === 'egress' ? 'egress' : 'ingress'),
      )
      .$call(onPage(page))
      .execute();
    const names = await readGroupNames(db, rules);
    return {
      nextToken: pageAnswer(page, rules, 0).nextToken,
      regionId,
      securityGroupId: group.id,
      securityGroupName: group.name,
      description: group.description,
      vpcId: group.vpcId,
      innerAccessPolicy: group.innerAccessPolicy,
      permissions: { permission: rules.map((rule) => describeRule(rule, names)) },
    };
  },
});

/** Names of the groups that rules speak about, also those of other accounts. */
async function readGroupNames(
  db: Reader,
  rules: readonly SecurityGroupRule[],
): Promise<ReadonlyMap<string, string>> {
  const ids = rules.flatMap((rule) => (rule.peerGroupId === null ? [] : [rule.peerGroupId]));
  const groups = await db
    .selectFrom('securityGroups')
    .select(['id', 'name'])
    .where('id', 'in', ids)
    .execute();
  return new Map(groups.map((group) => [group.id, group.name]));
}

/**
 * A rule as the API shows it: the peer stands on the side that the direction has it, and what does not
 * apply is there as an empty text, since clients compare rules field by field.
 */
function describeRule(
  rule: SecurityGroupRule,
  groupNames: ReadonlyMap<string, string>,
): ecs.DescribeSecurityGroupAttributeResponsePermissionsPermission {
  const peer = describePeer(rule, groupNames);
  const near = { ...noPeer, cidr: rule.localCidr ?? '' };
  const [source, destination] = rule.direction === 'ingress' ? [peer, near] : [near, peer];
  return {
    securityGroupRuleId: rule.id,
    direction: rule.direction,
    policy: rule.policy,
    priority: String(rule.priority),
    ipProtocol: rule.protocol,
    portRange: rule.portRange,
    sourcePortRange: rule.sourcePortRange ?? '',
    nicType: 'intranet',
    description: rule.description,
    createTime: rule.creationTime,
    sourceCidrIp: source.cidr,
    ipv6SourceCidrIp: source.ipv6Cidr,
    sourceGroupId: source.groupId,
    sourceGroupName: source.groupName,
    sourceGroupOwnerAccount: source.groupOwner,
    sourcePrefixListId: source.prefixListId,
    sourcePrefixListName: '',
    destCidrIp: destination.cidr,
    ipv6DestCidrIp: destination.ipv6Cidr,
    destGroupId: destination.groupId,
    destGroupName: destination.groupName,
    destGroupOwnerAccount: destination.groupOwner,
    destPrefixListId: destination.prefixListId,
    destPrefixListName: '',
  };
}

const noPeer = { cidr: '', ipv6Cidr: '', groupId: '', groupName: '', groupOwner: '', prefixListId: '' };

function describePeer(rule: SecurityGroupRule, groupNames: ReadonlyMap<string, string>): typeof noPeer {
  const cidr = rule.peerCidr ?? '';
  const isIpv6 = cidr.includes(':');
  return {
    cidr: isIpv6 ? '' : cidr,
    ipv6Cidr: isIpv6 ? cidr : '',
    groupId: rule.peerGroupId ?? '',
    groupName: groupNames.get(rule.peerGroupId ?? '') ?? '',
    groupOwner: rule.peerGroupOwner ?? '',
    prefixListId: rule.peerPrefixListId ?? '',
  };
}
