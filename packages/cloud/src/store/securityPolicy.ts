import { isDeepStrictEqual } from 'node:util';
import { groupBy } from '../domain/collections.js';
import type { PrefixListId, VpcId } from '../domain/ids.js';
import type {
  PortRange,
  PrefixList,
  SecurityGroup,
  SecurityPeer,
  SecurityPolicy,
  SecurityProtocol,
  SecurityRule,
} from '../domain/network/security.js';
import type { Reader } from './store.js';
import type { SecurityGroupRule } from './tables.js';

/**
 * The security groups of a VPC with their rules, as the compiler of packet filters wants them. Groups that
 * are as in `known` stay the same objects: the compiler keeps the work it did for them.
 */
export async function readSecurityPolicy(
  db: Reader,
  vpcId: VpcId,
  known: SecurityPolicy | undefined,
): Promise<SecurityPolicy> {
  const groups = await db.selectFrom('securityGroups').selectAll().where('vpcId', '=', vpcId).execute();
  const rules = await db
    .selectFrom('securityGroupRules as rule')
    .innerJoin('securityGroups as securityGroup', 'securityGroup.id', 'rule.securityGroupId')
    .selectAll('rule')
    .where('securityGroup.vpcId', '=', vpcId)
    .orderBy('rule.sequence')
    .execute();
  const rulesOf = groupBy(rules, (rule) => rule.securityGroupId);
  const knownGroups = new Map(known?.groups.map((group) => [group.id, group]));
  return {
    groups: groups.map((row): SecurityGroup => {
      const group: SecurityGroup = {
        id: row.id,
        type: row.type === 'enterprise' ? 'enterprise' : 'basic',
        innerAccessPolicy: row.innerAccessPolicy === 'Accept' ? 'accept' : 'drop',
        rules: (rulesOf.get(row.id) ?? []).map(toSecurityRule),
      };
      const same = knownGroups.get(row.id);
      return same && isDeepStrictEqual(same, group) ? same : group;
    }),
    prefixLists: await readPrefixLists(db, vpcId),
  };
}

/** The prefix lists that rules of the VPC's groups name, with all of their ranges. */
async function readPrefixLists(db: Reader, vpcId: VpcId): Promise<PrefixList[]> {
  const rows = await db
    .selectFrom('prefixLists as list')
    .leftJoin('prefixListEntries as entry', 'entry.prefixListId', 'list.id')
    .select(['list.id', 'entry.cidr'])
    .where('list.id', 'in', (eb) =>
      eb
        .selectFrom('securityGroupRules as rule')
        .innerJoin('securityGroups as securityGroup', 'securityGroup.id', 'rule.securityGroupId')
        .select('rule.peerPrefixListId')
        .$castTo<{ peerPrefixListId: PrefixListId }>()
        .where('securityGroup.vpcId', '=', vpcId)
        .where('rule.peerPrefixListId', 'is not', null),
    )
    .orderBy('list.id')
    .orderBy('entry.cidr')
    .execute();
  return [...groupBy(rows, (row) => row.id)].map(([id, entries]) => ({
    id,
    cidrs: entries.flatMap(({ cidr }) => cidr ?? []),
  }));
}

function toSecurityRule(rule: SecurityGroupRule): SecurityRule {
  const portRange = toPortRange(rule.portRange);
  const sourcePortRange = rule.sourcePortRange === null ? undefined : toPortRange(rule.sourcePortRange);
  return {
    id: rule.id,
    direction: rule.direction,
    policy: rule.policy === 'Accept' ? 'accept' : 'drop',
    priority: rule.priority,
    protocol: toProtocol(rule.protocol),
    ...(portRange ? { portRange } : {}),
    ...(sourcePortRange ? { sourcePortRange } : {}),
    peer: toPeer(rule),
    ...(rule.localCidr === null ? {} : { localCidr: rule.localCidr }),
  };
}

function toPeer(rule: SecurityGroupRule): SecurityPeer {
  if (rule.peerGroupId !== null) return { kind: 'group', securityGroupId: rule.peerGroupId };
  if (rule.peerPrefixListId !== null) {
    return { kind: 'prefixList', prefixListId: rule.peerPrefixListId as PrefixListId };
  }
  return { kind: 'cidr', cidr: rule.peerCidr ?? '0.0.0.0/0' };
}

function toProtocol(text: string): SecurityProtocol {
  const protocol = text.toLowerCase();
  if (protocol === 'tcp' || protocol === 'udp' || protocol === 'gre') return protocol;
  return protocol.startsWith('icmp') ? 'icmp' : 'all';
}

/** `-1/-1` is every port. */
function toPortRange(text: string): PortRange | undefined {
  const [first = -1, last = -1] = text.split('/').map(Number);
  return first < 0 ? undefined : { first, last };
}
