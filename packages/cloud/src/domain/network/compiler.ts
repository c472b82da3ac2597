import { createHash } from 'node:crypto';
import type { NetworkInterfaceId, PrefixListId, SecurityGroupId } from '../ids.js';
import { findIpv4Range, type Ipv4Range, mergeRanges, parseIpv4 } from './cidr.js';
import type {
  PortRange,
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

/**
 * Compiles the groups of one VPC. Pure but for its memory: chains of groups that are the same objects as
 * the last time are not computed again, and are the same objects too.
 */
export class SecurityCompiler {
  private compiled: ReadonlyMap<string, CompiledGroups> = new Map();

  /**
   * Compiles the groups that have members among the interfaces. Throws when an interface names an unknown
   * group.
   */
  compile(policy: SecurityPolicy, members: readonly SecurityMember[]): CompiledSecurity {
    const groups = new Map(policy.groups.map((group) => [group.id, group]));
    const compiled = new Map<string, CompiledGroups>();
    const chainsOf = new Map<NetworkInterfaceId, CompiledGroups['names']>();
    for (const { networkInterfaceId, securityGroupIds } of members) {
      const ids = [...new Set(securityGroupIds)].sort();
      const key = ids.join();
      const known = compiled.get(key) ?? this.compileGroups(key, ids, groups);
      compiled.set(key, known);
      chainsOf.set(networkInterfaceId, known.names);
    }
    this.compiled = compiled;

    const chains = new Map<string, SecurityChain>();
    const sources = new Map<string, SetSource>();
    for (const { names, chains: both, sets } of compiled.values()) {
      chains.set(names.ingress, both.ingress);
      chains.set(names.egress, both.egress);
      for (const [name, source] of sets) sources.set(name, source);
    }
    return { chains, sets: fillSets(sources, policy, members), chainsOf };
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
    const last = this.compiled.get(key);
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
  policy: SecurityPolicy,
  members: readonly SecurityMember[],
): Map<string, CompiledSet> {
  const addressesOf = new Map<SecurityGroupId, Set<number>>();
  for (const source of sources.values()) {
    if (source.kind === 'group') addressesOf.set(source.id, new Set());
  }
  for (const { addresses, securityGroupIds } of members) {
    for (const id of securityGroupIds) {
      const known = addressesOf.get(id);
      if (known !== undefined) for (const address of addresses) known.add(parseIpv4(address));
    }
  }
  return new Map(
    [...sources].map(([name, source]): [string, CompiledSet] => {
      if (source.kind === 'group') {
        return [name, { kind: 'addresses', addresses: [...(addressesOf.get(source.id) ?? [])] }];
      }
      const list = policy.prefixLists.find(({ id }) => id === source.id);
      const ranges = (list?.cidrs ?? []).flatMap((cidr) => findIpv4Range(cidr) ?? []);
      return [name, { kind: 'ranges', ranges: mergeRanges(ranges) }];
    }),
  );
}

/** Adds the sets that the chain speaks of to `sets`. */
function compileChain(
  direction: SecurityDirection,
  together: readonly SecurityGroup[],
  sets: Map<string, SetSource>,
): SecurityChain {
  const setOf = (source: SetSource): { readonly set: string } => {
    const set = nameOf(source.kind === 'group' ? 'group' : 'list', source.id);
    sets.set(set, source);
    return { set };
  };
  const insiders = together
    .filter(hasInnerAccess)
    .map(({ id }): ChainMatch => ({ peer: setOf({ kind: 'group', id }), verdict: 'accept' }));
  const rules = together
    .flatMap((group) => group.rules)
    .filter((rule) => rule.direction === direction)
    .sort(byPrecedence)
    .flatMap((rule): ChainMatch[] => {
      const match = compileRule(rule, setOf);
      return match === undefined ? [] : [match];
    });
  return {
    direction,
    matches: dropShadowed([...insiders, ...rules]),
    otherwise: defaultVerdict(direction, together),
  };
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
        return setOf({ kind: 'group', id: rule.peer.securityGroupId });
      case 'prefixList':
        return setOf({ kind: 'prefixList', id: rule.peer.prefixListId });
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
