import { createHash } from 'node:crypto';
import type { NetworkInterfaceId, SecurityGroupId } from '../ids.js';
import { findIpv4Range, type Ipv4Range, mergeRanges, parseIpv4 } from './cidr.js';
import type {
  PortRange,
  PrefixList,
  SecurityDirection,
  SecurityGroup,
  SecurityPolicy,
  SecurityProtocol,
  SecurityRule,
} from './security.js';

/** A network interface as the compiler sees it. */
export interface SecurityMember {
  readonly networkInterfaceId: NetworkInterfaceId;
  readonly addresses: readonly string[];
  readonly securityGroupIds: readonly SecurityGroupId[];
}

/** One line of a chain. What is absent matches everything. */
export interface ChainMatch {
  readonly protocol?: Exclude<SecurityProtocol, 'all'>;
  readonly ports?: PortRange;
  readonly sourcePorts?: PortRange;
  /** The far end: a range of addresses, or the name of a set. */
  readonly peer?: Ipv4Range | { readonly set: string };
  readonly local?: Ipv4Range;
  readonly verdict: 'accept' | 'drop';
}

/** Matches in order, the first that fits decides; then `otherwise`. */
export interface SecurityChain {
  readonly direction: SecurityDirection;
  readonly matches: readonly ChainMatch[];
  readonly otherwise: 'accept' | 'drop';
}

/** Addresses that a chain speaks of: single ones (members of a group), or joined ranges in ascending order. */
export type CompiledSet =
  | { readonly kind: 'addresses'; readonly addresses: readonly number[] }
  | { readonly kind: 'ranges'; readonly ranges: readonly Ipv4Range[] };

/**
 * Security groups as a packet filter carries them out: one chain per distinct set of groups and direction,
 * and sets of addresses for peers, so that the cost of a packet depends neither on the number of interfaces
 * nor on that of groups. A change of members is a change of set elements, a change of rules one of chains.
 */
export interface CompiledSecurity {
  readonly chains: ReadonlyMap<string, SecurityChain>;
  readonly sets: ReadonlyMap<string, CompiledSet>;
  /** The chains of each network interface. */
  readonly chainsOf: ReadonlyMap<NetworkInterfaceId, Readonly<Record<SecurityDirection, string>>>;
}

/** Short and stable, in the alphabet of a packet filter's names. */
function nameOf(kind: string, id: string): string {
  return `${kind}_${createHash('sha256').update(id).digest('hex').slice(0, 16)}`;
}

/** Compiles the groups that have members among the interfaces. Throws when an interface names an unknown group. */
export function compileSecurity(
  policy: SecurityPolicy,
  members: readonly SecurityMember[],
): CompiledSecurity {
  const groups = new Map(policy.groups.map((group) => [group.id, group]));
  const prefixLists = new Map<string, PrefixList>(policy.prefixLists.map((list) => [list.id, list]));
  const addressesOf = new Map<string, Set<number>>();
  for (const { addresses, securityGroupIds } of members) {
    for (const id of securityGroupIds) {
      const known = addressesOf.get(id) ?? new Set();
      for (const address of addresses) known.add(parseIpv4(address));
      addressesOf.set(id, known);
    }
  }

  const chains = new Map<string, SecurityChain>();
  const sets = new Map<string, CompiledSet>();
  const chainsOf = new Map<NetworkInterfaceId, Record<SecurityDirection, string>>();

  const groupSet = (id: SecurityGroupId): { readonly set: string } => {
    const set = nameOf('group', id);
    if (!sets.has(set)) sets.set(set, { kind: 'addresses', addresses: [...(addressesOf.get(id) ?? [])] });
    return { set };
  };
  const prefixListSet = (id: string): { readonly set: string } => {
    const set = nameOf('list', id);
    const ranges = (prefixLists.get(id)?.cidrs ?? []).flatMap((cidr) => findIpv4Range(cidr) ?? []);
    sets.set(set, { kind: 'ranges', ranges: mergeRanges(ranges) });
    return { set };
  };
  const compileChain = (direction: SecurityDirection, together: readonly SecurityGroup[]): SecurityChain => {
    const insiders = together
      .filter(hasInnerAccess)
      .map(({ id }): ChainMatch => ({ peer: groupSet(id), verdict: 'accept' }));
    const rules = together
      .flatMap((group) => group.rules)
      .filter((rule) => rule.direction === direction)
      .sort(byPrecedence)
      .flatMap((rule): ChainMatch[] => {
        const match = compileRule(rule, groupSet, prefixListSet);
        return match === undefined ? [] : [match];
      });
    return {
      direction,
      matches: dropShadowed([...insiders, ...rules]),
      otherwise: defaultVerdict(direction, together),
    };
  };

  for (const { networkInterfaceId, securityGroupIds } of members) {
    const ids = [...new Set(securityGroupIds)].sort();
    const names = { ingress: nameOf('in', ids.join()), egress: nameOf('out', ids.join()) };
    chainsOf.set(networkInterfaceId, names);
    if (chains.has(names.ingress)) continue;
    const together = ids.map((id) => {
      const group = groups.get(id);
      if (group === undefined) throw new Error(`no security group ${id}`);
      return group;
    });
    chains.set(names.ingress, compileChain('ingress', together));
    chains.set(names.egress, compileChain('egress', together));
  }
  return { chains, sets, chainsOf };
}

/** Whether the members of a group reach each other whatever its rules say. */
export function hasInnerAccess(group: SecurityGroup): boolean {
  return group.type === 'basic' && group.innerAccessPolicy === 'accept';
}

/** What happens to a packet that no rule of the groups matches. No group at all: nothing passes. */
export function defaultVerdict(
  direction: SecurityDirection,
  groups: readonly SecurityGroup[],
): 'accept' | 'drop' {
  return direction === 'egress' && groups.some(({ type }) => type === 'basic') ? 'accept' : 'drop';
}

function byPrecedence(one: SecurityRule, other: SecurityRule): number {
  return one.priority - other.priority || Number(one.policy === 'accept') - Number(other.policy === 'accept');
}

const everything: Ipv4Range = { first: 0, last: 2 ** 32 - 1 };

function isEverything(range: Ipv4Range): boolean {
  return range.first === everything.first && range.last === everything.last;
}

/** `undefined` for a rule that no IPv4 packet matches. */
function compileRule(
  rule: SecurityRule,
  groupSet: (id: SecurityGroupId) => { readonly set: string },
  prefixListSet: (id: string) => { readonly set: string },
): ChainMatch | undefined {
  const local = rule.localCidr === undefined ? everything : findIpv4Range(rule.localCidr);
  const peer = findPeer();
  if (peer === undefined || local === undefined) return undefined;
  const hasPorts = rule.protocol === 'tcp' || rule.protocol === 'udp';
  return {
    ...(rule.protocol !== 'all' && { protocol: rule.protocol }),
    ...(hasPorts && rule.portRange !== undefined && { ports: rule.portRange }),
    ...(hasPorts && rule.sourcePortRange !== undefined && { sourcePorts: rule.sourcePortRange }),
    ...(!('first' in peer && isEverything(peer)) && { peer }),
    ...(!isEverything(local) && { local }),
    verdict: rule.policy,
  };

  function findPeer(): Ipv4Range | { readonly set: string } | undefined {
    switch (rule.peer.kind) {
      case 'cidr':
        return findIpv4Range(rule.peer.cidr);
      case 'group':
        return groupSet(rule.peer.securityGroupId);
      case 'prefixList':
        return prefixListSet(rule.peer.prefixListId);
    }
  }
}

/** Leaves out what comes behind a match of the same packets, or of all packets. */
function dropShadowed(matches: readonly ChainMatch[]): ChainMatch[] {
  const kept: ChainMatch[] = [];
  const seen = new Set<string>();
  for (const match of matches) {
    const { verdict, ...condition } = match;
    const key = JSON.stringify(condition);
    if (seen.has(key)) continue;
    seen.add(key);
    kept.push(match);
    if (key === '{}') break;
  }
  return kept;
}
