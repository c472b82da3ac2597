import { intersectCidrs, normalizeCidr, prefixLength } from '../../../domain/network/cidr.js';
import { addressesOf } from '../../../domain/network/compiler.js';
import {
  type NftChain,
  type NftElement,
  type NftHook,
  type NftSet,
  type NftTable,
  nftRule,
} from './nftables.js';
import { type HostSettings, metadataAddress, uplinkInside, type VpcPlan } from './plan.js';

/** The table in a VPC's namespace. The namespace is the VPC's own, so the name need not be special. */
export const vpcTable = { family: 'ip', name: 'vpc' } as const;

/** Where every instance finds its metadata. */
const metadataServiceAddress = '100.100.100.200';

/** The addresses at which guests of the original cloud expect DNS. */
const dnsServiceAddresses = ['100.100.2.136', '100.100.2.138'];

const leaves = `oifname "${uplinkInside}"`;
const arrives = `iifname "${uplinkInside}"`;
/** Interfaces of the router towards vSwitches all begin with this letter. */
const fromInside = 'iifname "s*"';
const toInside = 'oifname "s*"';

/**
 * Everything that the router of a VPC decides about packets, without the chains and sets of the security
 * groups: what may reach the router itself, address translation, which chains and which traffic class a
 * packet belongs to. Of IPv4 alone: the ports let nothing else in, and the router has no other.
 */
export function renderRouterTable(plan: VpcPlan, settings: HostSettings): NftTable {
  const metadata = { address: metadataAddress(settings), port: settings.metadataPort };
  const toMetadata = `ip daddr ${metadata.address} tcp dport ${metadata.port}`;
  const chains = new Map<string, NftChain>([
    [
      'forward',
      chain(hook('filter', 'forward', 0, 'drop'), [
        'ct state vmap { established : accept, related : accept, invalid : drop }',
        `${fromInside} jump egress`,
        // The next hop is the destination itself, or the interface that a custom route leads to.
        `${toInside} rt ip nexthop vmap @ingress_of`,
        `${toInside} drop`,
        `${fromInside} ${leaves} accept`,
      ]),
    ],
    [
      'egress',
      chain(undefined, [
        // The original cloud does not filter metadata either.
        `${leaves} ${toMetadata} accept`,
        // By hardware address, which the bridge has checked: also for packets that an interface forwards.
        'ether saddr vmap @egress_of',
        'drop',
      ]),
    ],
    [
      'input',
      chain(hook('filter', 'input', 0, 'drop'), [
        'iifname "lo" accept',
        'ct state established,related accept',
        `${fromInside} udp dport { 53, 67 } accept`,
        `${fromInside} tcp dport 53 accept`,
        `${fromInside} icmp type echo-request accept`,
      ]),
    ],
    [
      'translate_in',
      chain(hook('nat', 'prerouting', -100, 'accept'), [
        `${fromInside} ip daddr ${metadataServiceAddress} tcp dport 80 dnat ip to ${metadata.address}:${metadata.port}`,
        `${fromInside} ip daddr { ${dnsServiceAddresses.join(', ')} } udp dport 53 redirect`,
        `${fromInside} ip daddr { ${dnsServiceAddresses.join(', ')} } tcp dport 53 redirect`,
        `${arrives} dnat ip to meta l4proto . ip daddr . th dport map @public_ports`,
        `${arrives} dnat ip to ip daddr map @public_in`,
      ]),
    ],
    [
      'translate_out',
      chain(hook('nat', 'postrouting', 100, 'accept'), [
        `${leaves} ${toMetadata} snat ip to ip saddr map @fabric`,
        `${leaves} ${toMetadata} accept`,
        `${leaves} snat ip to ip saddr map @public_out`,
        `${leaves} jump source_nat`,
      ]),
    ],
    ['source_nat', chain(undefined, renderSourceNat(plan))],
    [
      'leave',
      // Behind the translation: sees packets as they leave.
      chain(hook('filter', 'postrouting', 110, 'accept'), [
        `${leaves} ip saddr != @leaving drop`,
        `${leaves} meta priority set ip saddr map @eip_class`,
        `${toInside} meta priority set rt ip nexthop map @port_class`,
      ]),
    ],
  ]);
  return { ...vpcTable, chains, sets: renderMaps(plan, settings) };
}

function renderMaps(plan: VpcPlan, settings: HostSettings): Map<string, NftSet> {
  const { network, compiled } = plan;
  const ingress: [string, string][] = [];
  const egress: [string, string][] = [];
  const fabric: [string, string][] = [];
  const portClass: [string, string][] = [];
  for (const port of network.ports) {
    const chains = compiled.chainsOf.get(port.networkInterfaceId);
    const trafficClass = plan.portClasses.get(port.networkInterfaceId);
    if (chains !== undefined) egress.push([port.macAddress, `goto ${chains.egress}`]);
    for (const address of addressesOf(port)) {
      if (chains !== undefined) ingress.push([address, `goto ${chains.ingress}`]);
      fabric.push([address, port.fabricAddress]);
      if (trafficClass !== undefined && port.ingressKbits !== undefined)
        portClass.push([address, trafficClass]);
    }
  }
  const publicIn: [string, string][] = [];
  const publicOut: [string, string][] = [];
  const publicPorts: [string, string][] = [];
  for (const gateway of network.natGateways) {
    for (const entry of gateway.dnatEntries) {
      if (entry.protocol === 'all') {
        publicIn.push([entry.externalAddress, entry.internalAddress]);
        publicOut.push([entry.internalAddress, entry.externalAddress]);
        continue;
      }
      const { first, last } = entry.externalPorts;
      for (let port = first; port <= last; port += 1) {
        publicPorts.push([
          `${entry.protocol} . ${entry.externalAddress} . ${port}`,
          `${entry.internalAddress} . ${entry.internalPort + port - first}`,
        ]);
      }
    }
  }
  // Behind those of the gateways: an interface's own EIP goes first.
  for (const { address, target } of network.eips) {
    if (target.kind !== 'networkInterface') continue;
    publicIn.push([address, target.privateAddress]);
    publicOut.push([target.privateAddress, address]);
  }
  const leaving = [
    normalizeCidr(settings.fabricCidr),
    plan.routerAddress,
    ...network.eips.map(({ address }) => address),
  ];
  return new Map<string, NftSet>([
    ['ingress_of', map('ipv4_addr', 'verdict', ingress)],
    ['egress_of', map('ether_addr', 'verdict', egress)],
    ['fabric', map('ipv4_addr', 'ipv4_addr', fabric)],
    ['public_in', map('ipv4_addr', 'ipv4_addr', publicIn)],
    ['public_out', map('ipv4_addr', 'ipv4_addr', publicOut)],
    ['public_ports', map('inet_proto . ipv4_addr . inet_service', 'ipv4_addr . inet_service', publicPorts)],
    ['port_class', map('ipv4_addr', 'classid', portClass)],
    ['eip_class', map('ipv4_addr', 'classid', [...plan.eipClasses])],
    ['leaving', { type: 'ipv4_addr', interval: true, elements: new Map(leaving.map((key) => [key, {}])) }],
  ]);
}

/**
 * SNAT entries work for what a route leads to their gateway: source range and vSwitch, destination of the
 * route. The narrowest first, as routes and SNAT entries are chosen.
 */
function renderSourceNat({ network, routerAddress }: VpcPlan): string[] {
  const cidrOf = new Map(network.vSwitches.map(({ id, cidr }) => [id, cidr]));
  const rules: { readonly source: string; readonly destination: string; readonly text: string }[] = [];
  for (const table of network.routeTables) {
    for (const { destinationCidr, nextHop } of table.entries) {
      if (nextHop.kind !== 'natGateway') continue;
      const gateway = network.natGateways.find(({ id }) => id === nextHop.natGatewayId);
      for (const { sourceCidr, addresses } of gateway?.snatEntries ?? []) {
        for (const vSwitchId of table.vSwitchIds) {
          const vSwitchCidr = cidrOf.get(vSwitchId);
          const source = vSwitchCidr === undefined ? undefined : intersectCidrs(sourceCidr, vSwitchCidr);
          if (source === undefined) continue;
          const destination = normalizeCidr(destinationCidr);
          const far = prefixLength(destination) === 0 ? '' : ` ip daddr ${destination}`;
          rules.push({ source, destination, text: `ip saddr ${source}${far} ${renderSnat(addresses)}` });
        }
      }
    }
  }
  rules.sort(
    (one, other) =>
      prefixLength(other.destination) - prefixLength(one.destination) ||
      prefixLength(other.source) - prefixLength(one.source) ||
      (one.text < other.text ? -1 : 1),
  );
  const host = network.outboundNat
    ? network.cidrs.map((cidr) => `ip saddr ${normalizeCidr(cidr)} snat ip to ${routerAddress}`)
    : [];
  return [...rules.map(({ text }) => text), ...host];
}

function renderSnat(addresses: readonly string[]): string {
  if (addresses.length === 1) return `snat ip to ${addresses[0]}`;
  const choices = addresses.map((address, index) => `${index} : ${address}`).join(', ');
  return `snat ip to jhash ip saddr . ip daddr mod ${addresses.length} map { ${choices} }`;
}

function hook(
  type: NftHook['type'],
  at: NftHook['hook'],
  priority: number,
  policy: NftHook['policy'],
): NftHook {
  return { type, hook: at, priority, policy };
}

function chain(at: NftHook | undefined, rules: readonly string[]): NftChain {
  return { ...(at !== undefined && { hook: at }), rules: rules.map(nftRule) };
}

function map(type: string, valueType: string, entries: readonly (readonly [string, string])[]): NftSet {
  return {
    type,
    valueType,
    interval: false,
    elements: new Map<string, NftElement>(entries.map(([key, value]) => [key, { value }])),
  };
}
