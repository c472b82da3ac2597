import { createHash } from 'node:crypto';
import type { NetworkInterfaceId, PrefixListId, SecurityGroupId } from '../ids.js';
import { findIpv4Range, type Ipv4Range, mergeRanges, parseIpv4 } from './cidr.js';
import type {
  PortRange,
  PrefixList,
  SecurityDirection,
  SecurityGroup,
  SecurityPeer,
  SecurityPolicy,
  SecurityProtocol,
  SecurityRule,
} from './security.js';

/** A network interface as the compiler sees it. */
export interface SecurityMember {
  readonly networkInterfaceId: NetworkInterfaceId;
  readonly primaryAddress: string;
  readonly secondaryAddresses: readonly string[];
  readonly securityGroupIds: readonly SecurityGroupId[];
}

export function addressesOf(member: SecurityMember): readonly string[] {
  return [member.primaryAddress, ...member.secondaryAddresses];
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

/** A set by what it holds, before the members are known. */
type SetSource =
  | { readonly kind: 'group'; readonly id: SecurityGroupId }
  | { readonly kind: 'prefixList'; readonly id: PrefixListId };

/** The chains of one set of groups, and the sets that they speak of. */
interface CompiledGroups {
  readonly groups: readonly SecurityGroup[];
  readonly names: Readonly<Record<SecurityDirection, string>>;
  readonly chains: Readonly<Record<SecurityDirection, SecurityChain>>;
  readonly sets: ReadonlyMap<string, SetSource>;
}

/** Everything that one compilation leaves to the next. */
interface Memory {
  readonly members: readonly SecurityMember[];
  readonly prefixLists: readonly PrefixList[];
  readonly groups: ReadonlyMap<string, CompiledGroups>;
  readonly result: CompiledSecurity;
}

/**
 * Compiles the groups of one VPC. Pure but for its memory: chains of groups that are the same objects as
 * the last time are not computed again, and are the same objects too; so are sets while the array of the
 * members and that of the prefix lists are the same.
 */
export class SecurityCompiler {
  private last: Memory = {
    members: [],
    prefixLists: [],
    groups: new Map(),
    result: { chains: new Map(), sets: new Map(), chainsOf: new Map() },
  };

  /**
   * Compiles the groups that have members among the interfaces. Throws when an interface names an unknown
   * group.
   */
  compile(policy: SecurityPolicy, members: readonly SecurityMember[]): CompiledSecurity {
    const all = new Map(policy.groups.map((group) => [group.id, group]));
    const groups = new Map<string, CompiledGroups>();
    const chainsOf = new Map<NetworkInterfaceId, CompiledGroups['names']>();
    for (const { networkInterfaceId, securityGroupIds } of members) {
      const ids = securityGroupIds.length < 2 ? securityGroupIds : [...new Set(securityGroupIds)].sort();
      const key = ids.join();
      let known = groups.get(key);
      if (known === undefined) {
        known = this.compileGroups(key, ids, all);
        groups.set(key, known);
      }
      chainsOf.set(networkInterfaceId, known.names);
    }

    const chains = new Map<string, SecurityChain>();
    const sources = new Map<string, SetSource>();
    for (const { names, chains: both, sets } of groups.values()) {
      chains.set(names.ingress, both.ingress);
      chains.set(names.egress, both.egress);
      for (const [name, source] of sets) sources.set(name, source);
    }
    const { last } = this;
    const isKept = members === last.members && policy.prefixLists === last.prefixLists;
    const sets = fillSets(sources, policy.prefixLists, members, isKept ? last.result.sets : new Map());
    const result = { chains, sets, chainsOf };
    this.last = { members, prefixLists: policy.prefixLists, groups, result };
    return result;
  }

  private compileGroups(
    key: string,
    ids: readonly SecurityGroupId[],
    all: ReadonlyMap<SecurityGroupId, SecurityGroup>,
  ): CompiledGroups {
    const groups = ids.map((id) => {
      const group = all.get(id);
      if (group === undefined) throw new Error(`no security group ${id}`);
      return group;
    });
    const last = this.last.groups.get(key);
    if (last !== undefined && groups.every((group, index) => group === last.groups[index])) return last;
    const sets = new Map<string, SetSource>();
    return {
      groups,
      names: last?.names ?? { ingress: nameOf('in', key), egress: nameOf('out', key) },
      chains: {
        ingress: compileChain('ingress', groups, sets),
        egress: compileChain('egress', groups, sets),
      },
      sets,
    };
  }
}

/** Compiles once, without memory. */
export function compileSecurity(
  policy: SecurityPolicy,
  members: readonly SecurityMember[],
): CompiledSecurity {
  return new SecurityCompiler().compile(policy, members);
}

function fillSets(
  sources: ReadonlyMap<string, SetSource>,
  prefixLists: readonly PrefixList[],
  members: readonly SecurityMember[],
  known: ReadonlyMap<string, CompiledSet>,
): Map<string, CompiledSet> {
  const missing = [...sources].filter(([name]) => !known.has(name));
  const addresses = new Map<SecurityGroupId, Set<number>>();
  for (const [, source] of missing) if (source.kind === 'group') addresses.set(source.id, new Set());
  if (addresses.size > 0) {
    for (const member of members) {
      for (const id of member.securityGroupIds) {
        const set = addresses.get(id);
        if (set !== undefined) for (const address of addressesOf(member)) set.add(parseIpv4(address));
      }
    }
  }
  const fill = (source: SetSource): CompiledSet => {
    if (source.kind === 'group') {
      return { kind: 'addresses', addresses: [...(addresses.get(source.id) ?? [])] };
    }
    const list = prefixLists.find(({ id }) => id === source.id);
    const ranges = (list?.cidrs ?? []).flatMap((cidr) => findIpv4Range(cidr) ?? []);
    return { kind: 'ranges', ranges: mergeRanges(ranges) };
  };
  return new Map([...sources].map(([name, source]) => [name, known.get(name) ?? fill(source)]));
}

/** Adds the sets that the chain speaks of to `sets`. */
function compileChain(
  direction: SecurityDirection,
  together: readonly SecurityGroup[],
  sets: Map<string, SetSource>,
): SecurityChain {
  const named = new Map<string, SetSource>();
  const setOf = (source: SetSource): { readonly set: string } => {
    const set = nameOf(source.kind === 'group' ? 'group' : 'list', source.id);
    named.set(set, source);
    return { set };
  };
  const insiders = together
    .filter(hasInnerAccess)
    .map(({ id }): ChainMatch => ({ peer: setOf({ kind: 'group', id }), verdict: 'accept' }));
  const rules = together
    .flatMap((group) => group.rules)
    .filter((rule) => rule.direction === direction)
    .sort(byPrecedence)
    .flatMap((rule) => compileRule(rule, setOf) ?? []);
  const otherwise = defaultVerdict(direction, together);
  const matches = dropRedundant([...insiders, ...rules], otherwise);
  for (const { peer } of matches) {
    if (peer === undefined || !('set' in peer)) continue;
    const source = named.get(peer.set);
    if (source !== undefined) sets.set(peer.set, source);
  }
  return { direction, matches, otherwise };
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
  setOf: (source: SetSource) => { readonly set: string },
): ChainMatch | undefined {
  const local = rule.localCidr === undefined ? everything : findIpv4Range(rule.localCidr);
  const peer = findPeer(rule.peer, setOf);
  if (peer === undefined || local === undefined) return undefined;
  // Filled in place: a large VPC has tens of thousands of them.
  const match: { -readonly [Key in keyof ChainMatch]: ChainMatch[Key] } = { verdict: rule.policy };
  if (rule.protocol !== 'all') match.protocol = rule.protocol;
  if (rule.protocol === 'tcp' || rule.protocol === 'udp') {
    if (rule.portRange !== undefined) match.ports = rule.portRange;
    if (rule.sourcePortRange !== undefined) match.sourcePorts = rule.sourcePortRange;
  }
  if ('set' in peer || !isEverything(peer)) match.peer = peer;
  if (!isEverything(local)) match.local = local;
  return match;
}

function findPeer(
  peer: SecurityPeer,
  setOf: (source: SetSource) => { readonly set: string },
): ChainMatch['peer'] {
  switch (peer.kind) {
    case 'cidr':
      return findIpv4Range(peer.cidr);
    case 'group':
      return setOf({ kind: 'group', id: peer.securityGroupId });
    case 'prefixList':
      return setOf({ kind: 'prefixList', id: peer.prefixListId });
  }
}

/**
 * Leaves out what comes behind a match of the same packets, or of all packets, and what decides at the end
 * as would be decided without it.
 */
function dropRedundant(matches: readonly ChainMatch[], otherwise: 'accept' | 'drop'): ChainMatch[] {
  const kept: ChainMatch[] = [];
  const seen = new Set<string>();
  for (const match of matches) {
    const { protocol, ports, sourcePorts, peer, local } = match;
    const far = peer !== undefined && 'set' in peer ? peer.set : textOf(peer);
    const key = `${protocol ?? ''},${textOf(ports)},${textOf(sourcePorts)},${far},${textOf(local)}`;
    if (seen.has(key)) continue;
    seen.add(key);
    kept.push(match);
    if (key === ',,,,') break;
  }
  while (kept.at(-1)?.verdict === otherwise) kept.pop();
  return kept;
}

function textOf(range: PortRange | Ipv4Range | undefined): string {
  return range === undefined ? '' : `${range.first}-${range.last}`;
}
