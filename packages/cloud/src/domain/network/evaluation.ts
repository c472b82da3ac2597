import type { NetworkInterfaceId } from '../ids.js';
import { findIpv4Range, parseIpv4, rangeContains } from './cidr.js';
import {
  addressesOf,
  type ChainMatch,
  type CompiledSecurity,
  defaultVerdict,
  hasInnerAccess,
  type SecurityChain,
  type SecurityMember,
} from './compiler.js';
import type { PortRange, SecurityDirection, SecurityPolicy, SecurityRule } from './security.js';

/** The first packet of a flow, as the VPC's router sees it: with the private addresses of both ends. */
export interface Packet {
  readonly source: string;
  readonly destination: string;
  /** Other names than those of the rules match only rules for `all`. */
  readonly protocol: string;
  /** Absent for protocols without ports. */
  readonly sourcePort?: number;
  readonly destinationPort?: number;
  /** The interface it comes from. Absent: from outside the VPC. */
  readonly from?: NetworkInterfaceId;
  /** The interface it goes to. Absent: out of the VPC. */
  readonly to?: NetworkInterfaceId;
}

/** Whether a packet passes the compiled groups of both its ends. */
export function passes(compiled: CompiledSecurity, packet: Packet): boolean {
  const out = packet.from === undefined || passesChain(compiled, packet, packet.from, 'egress');
  return out && (packet.to === undefined || passesChain(compiled, packet, packet.to, 'ingress'));
}

function passesChain(
  compiled: CompiledSecurity,
  packet: Packet,
  networkInterfaceId: NetworkInterfaceId,
  direction: SecurityDirection,
): boolean {
  const name = compiled.chainsOf.get(networkInterfaceId)?.[direction];
  const chain = name === undefined ? undefined : compiled.chains.get(name);
  return chain !== undefined && evaluateChain(compiled, chain, packet) === 'accept';
}

function evaluateChain(compiled: CompiledSecurity, chain: SecurityChain, packet: Packet): 'accept' | 'drop' {
  const [peer, local] = ends(chain.direction, packet);
  const fits = (match: ChainMatch): boolean =>
    (match.protocol === undefined || match.protocol === packet.protocol) &&
    inPorts(match.ports, packet.destinationPort) &&
    inPorts(match.sourcePorts, packet.sourcePort) &&
    (match.local === undefined || rangeContains(match.local, local)) &&
    isPeer(compiled, match, peer);
  return chain.matches.find(fits)?.verdict ?? chain.otherwise;
}

function isPeer(compiled: CompiledSecurity, match: ChainMatch, address: number): boolean {
  if (match.peer === undefined) return true;
  if (!('set' in match.peer)) return rangeContains(match.peer, address);
  const set = compiled.sets.get(match.peer.set);
  if (set === undefined) return false;
  return set.kind === 'addresses'
    ? set.addresses.includes(address)
    : set.ranges.some((range) => rangeContains(range, address));
}

/** The far and the near end of a packet, seen from the interface whose groups are asked. */
function ends(direction: SecurityDirection, packet: Packet): [peer: number, local: number] {
  const source = parseIpv4(packet.source);
  const destination = parseIpv4(packet.destination);
  return direction === 'ingress' ? [source, destination] : [destination, source];
}

function inPorts(range: PortRange | undefined, port: number | undefined): boolean {
  return range === undefined || (port !== undefined && port >= range.first && port <= range.last);
}

/**
 * What the documentation says about a packet, word for word and rule for rule: slow, and the measure of the
 * compiler.
 */
export function passesByTheBook(
  policy: SecurityPolicy,
  members: readonly SecurityMember[],
  packet: Packet,
): boolean {
  const memberOf = (id: NetworkInterfaceId): SecurityMember | undefined =>
    members.find(({ networkInterfaceId }) => networkInterfaceId === id);
  const isMemberAddress = (groupId: string, address: string): boolean =>
    members.some(
      (member) =>
        addressesOf(member).includes(address) && member.securityGroupIds.some((id) => id === groupId),
    );

  const judge = (direction: SecurityDirection, id: NetworkInterfaceId): boolean => {
    const groups = policy.groups.filter((group) => memberOf(id)?.securityGroupIds.includes(group.id));
    const [peer, local] =
      direction === 'ingress' ? [packet.source, packet.destination] : [packet.destination, packet.source];
    const inRange = (cidr: string, address: string): boolean => {
      const range = findIpv4Range(cidr);
      return range !== undefined && rangeContains(range, parseIpv4(address));
    };
    const isPeer = ({ peer: wanted }: SecurityRule): boolean => {
      switch (wanted.kind) {
        case 'cidr':
          return inRange(wanted.cidr, peer);
        case 'group':
          return isMemberAddress(wanted.securityGroupId, peer);
        case 'prefixList': {
          const list = policy.prefixLists.find((candidate) => candidate.id === wanted.prefixListId);
          return list?.cidrs.some((cidr) => inRange(cidr, peer)) ?? false;
        }
      }
    };
    if (groups.some((group) => hasInnerAccess(group) && isMemberAddress(group.id, peer))) return true;
    const matching = groups
      .flatMap((group) => group.rules)
      .filter((rule) => rule.direction === direction)
      .filter((rule) => rule.protocol === 'all' || rule.protocol === packet.protocol)
      .filter(
        (rule) =>
          (rule.protocol !== 'tcp' && rule.protocol !== 'udp') ||
          (inPorts(rule.portRange, packet.destinationPort) &&
            inPorts(rule.sourcePortRange, packet.sourcePort)),
      )
      .filter((rule) => rule.localCidr === undefined || inRange(rule.localCidr, local))
      .filter(isPeer);
    if (matching.length === 0) return defaultVerdict(direction, groups) === 'accept';
    const first = Math.min(...matching.map(({ priority }) => priority));
    return !matching.some(({ priority, policy: verdict }) => priority === first && verdict === 'drop');
  };

  return (
    (packet.from === undefined || judge('egress', packet.from)) &&
    (packet.to === undefined || judge('ingress', packet.to))
  );
}
