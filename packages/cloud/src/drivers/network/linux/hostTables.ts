import type { NetworkInterfaceId } from '../../../domain/ids.js';
import {
  type Ipv4Range,
  normalizeCidr,
  parseIpv4Cidr,
  subtractRanges,
} from '../../../domain/network/cidr.js';
import { addressesOf } from '../../../domain/network/compiler.js';
import { matchHopLimit, maxHopLimit, tcpHeaderBytes } from '../../../domain/network/hopLimit.js';
import type { VpcNetwork } from '../driver.js';
import { type NftChain, type NftElement, type NftSet, type NftTable, nftRule } from './nftables.js';
import { type HostSettings, metadataAddress, type VpcPlan } from './plan.js';
import { renderRange } from './security.js';

/** Elements that one VPC has in the host's sets, by set. */
export type HostElements = ReadonlyMap<string, ReadonlyMap<string, NftElement>>;

/** The two tables in the host's namespace, without the elements of the VPCs. */
export interface HostTables {
  /** Bridge family: nobody sends under a foreign name. */
  readonly ports: NftTable;
  /** What comes from VPCs reaches neither the host nor each other, except what is meant to. */
  readonly guard: NftTable;
}

const portSets: ReadonlyMap<string, NftSet> = new Map([
  // Interface, hardware address and IP address that belong together.
  ['sources', emptySet('ifname . ether_addr . ipv4_addr')],
  ['hardware', emptySet('ifname . ether_addr')],
  // What a custom route leads to may answer for the destinations of the route.
  ['routed', { ...emptySet('ifname . ether_addr . ipv4_addr'), interval: true }],
  ['port_class', { ...emptySet('ifname'), valueType: 'classid' }],
]);

const guardSets: ReadonlyMap<string, NftSet> = new Map([
  ['eips', emptySet('ipv4_addr')],
  ['eip_class', { ...emptySet('ipv4_addr'), valueType: 'classid' }],
]);

export function renderHostTables(settings: HostSettings): HostTables {
  const { names } = settings;
  const port = `"${names.hostDevicePrefix}*"`;
  const uplink = `"${names.uplinkPrefix}*"`;
  const metadata = metadataAddress(settings);
  const cidrList = (cidrs: readonly string[]): string => `{ ${cidrs.map(normalizeCidr).join(', ')} }`;
  const localCidrs = settings.masqueradeCidrs.filter((cidr) => cidr !== settings.transitCidr);
  // An EIP that the world does not know is never asked for there, also while it belongs to nothing.
  const stayHere =
    localCidrs.length === 0
      ? []
      : [`oifname != "lo" oifname != ${uplink} ip daddr ${cidrList(localCidrs)} drop`];
  return {
    ports: {
      family: 'bridge',
      name: `${names.tag}_ports`,
      sets: portSets,
      chains: new Map<string, NftChain>([
        [
          'received',
          {
            hook: { type: 'filter', hook: 'prerouting', priority: -300, policy: 'accept' },
            rules: [
              `iifname != ${port} accept`,
              'meta priority set iifname map @port_class',
              'ether type ip iifname . ether saddr . ip saddr @sources accept',
              'iifname . ether saddr != @hardware drop',
              'ether type arp arp saddr ip 0.0.0.0 iifname . arp saddr ether @hardware accept',
              'ether type arp iifname . arp saddr ether . arp saddr ip @sources accept',
              'ether type ip ip saddr 0.0.0.0 ip daddr 255.255.255.255 udp sport 68 udp dport 67 accept',
              'ether type ip iifname . ether saddr . ip saddr @routed accept',
              'drop',
            ].map(nftRule),
          },
        ],
      ]),
    },
    guard: {
      family: 'inet',
      name: `${names.tag}_guard`,
      sets: guardSets,
      chains: new Map<string, NftChain>([
        [
          'input',
          {
            hook: { type: 'filter', hook: 'input', priority: -10, policy: 'accept' },
            rules: [
              `iifname ${uplink} ct state established,related accept`,
              `iifname ${uplink} ip saddr ${normalizeCidr(settings.fabricCidr)} ip daddr ${metadata} tcp dport ${settings.metadataPort} accept`,
              `iifname ${uplink} drop`,
              `iifname != "lo" ip daddr ${metadata} drop`,
            ].map(nftRule),
          },
        ],
        [
          'forward',
          {
            hook: { type: 'filter', hook: 'forward', priority: -10, policy: 'accept' },
            rules: [
              'ct state established,related accept',
              `iifname ${uplink} ip daddr @eips accept`,
              ...settings.dnsServers.map(
                (server) =>
                  `iifname ${uplink} ip saddr ${normalizeCidr(settings.transitCidr)} ip daddr ${server} meta l4proto { tcp, udp } th dport 53 accept`,
              ),
              `iifname ${uplink} ip daddr ${cidrList(settings.blockedCidrs)} drop`,
              `oifname ${uplink} ip daddr ${cidrList([settings.transitCidr, settings.fabricCidr])} drop`,
              ...stayHere,
            ].map(nftRule),
          },
        ],
        [
          'output',
          {
            hook: { type: 'filter', hook: 'output', priority: -10, policy: 'accept' },
            rules: [
              ...stayHere,
              ...tcpHeaderBytes.map(
                (headerBytes) =>
                  `ip saddr ${metadata} tcp sport ${settings.metadataPort} ${matchHopLimit(headerBytes)} goto hop_limit_${headerBytes}`,
              ),
            ].map(nftRule),
          },
        ],
        ...tcpHeaderBytes.map((headerBytes): [string, NftChain] => [
          `hop_limit_${headerBytes}`,
          {
            // One hop more: the VPC's router is none that the instance knows of.
            rules: Array.from({ length: maxHopLimit }, (_, index) =>
              nftRule(`${matchHopLimit(headerBytes, index + 1)} ip ttl set ${index + 2}`),
            ),
          },
        ]),
        [
          'leave',
          {
            hook: { type: 'nat', hook: 'postrouting', priority: 100, policy: 'accept' },
            rules: [
              `iifname ${uplink} oifname != ${uplink} ip saddr ${cidrList(settings.masqueradeCidrs)} masquerade`,
            ].map(nftRule),
          },
        ],
        [
          'classify',
          {
            hook: { type: 'filter', hook: 'postrouting', priority: 110, policy: 'accept' },
            rules: [nftRule(`oifname ${uplink} meta priority set ip daddr map @eip_class`)],
          },
        ],
      ]),
    },
  };
}

/** The elements of a VPC in the sets of the host's tables, marked as its own. */
export function renderHostElements(plan: VpcPlan, settings: HostSettings): HostElements {
  const { network } = plan;
  const owner = network.id;
  const elements = new Map<string, Map<string, NftElement>>(
    [...portSets.keys(), ...guardSets.keys()]
      .filter((name) => name !== 'port_class' && name !== 'eip_class')
      .map((name) => [name, new Map()]),
  );
  const add = (set: string, key: string, value?: string): void => {
    const known = elements.get(set) ?? new Map<string, NftElement>();
    known.set(key, { owner, ...(value !== undefined && { value }) });
    elements.set(set, known);
  };
  const routedTo = findRoutedRanges(network);
  for (const port of network.ports) {
    const device = settings.names.hostDevice(port.networkInterfaceId);
    const sender = `${device} . ${port.macAddress}`;
    add('hardware', sender);
    for (const address of addressesOf(port)) add('sources', `${sender} . ${address}`);
    const trafficClass = plan.portClasses.get(port.networkInterfaceId);
    if (trafficClass !== undefined && port.egressKbits !== undefined) add('port_class', device, trafficClass);
    for (const range of routedTo.get(port.networkInterfaceId) ?? []) {
      add('routed', `${sender} . ${renderRange(range)}`);
    }
  }
  for (const { address } of network.eips) add('eips', address);
  for (const [address, trafficClass] of plan.eipClasses) add('eip_class', address, trafficClass);
  return elements;
}

/** What custom routes lead to an interface, without the addresses of the VPC itself. */
function findRoutedRanges(network: VpcNetwork): Map<NetworkInterfaceId, Ipv4Range[]> {
  const inside = network.cidrs.map(parseIpv4Cidr);
  const ranges = new Map<NetworkInterfaceId, Ipv4Range[]>();
  for (const { destinationCidr, nextHop } of network.routeTables.flatMap(({ entries }) => entries)) {
    if (nextHop.kind !== 'networkInterface') continue;
    const known = ranges.get(nextHop.networkInterfaceId) ?? [];
    ranges.set(
      nextHop.networkInterfaceId,
      subtractRanges([...known, parseIpv4Cidr(destinationCidr)], inside),
    );
  }
  return ranges;
}

/** The elements in a table that was read from the kernel, by owner and set. */
export function groupByOwner(table: NftTable | undefined): Map<string, Map<string, Map<string, NftElement>>> {
  const owners = new Map<string, Map<string, Map<string, NftElement>>>();
  for (const [setName, set] of table?.sets ?? []) {
    for (const [key, element] of set.elements) {
      const sets = owners.get(element.owner ?? '') ?? new Map<string, Map<string, NftElement>>();
      const known = sets.get(setName) ?? new Map<string, NftElement>();
      known.set(key, element);
      sets.set(setName, known);
      owners.set(element.owner ?? '', sets);
    }
  }
  return owners;
}

function emptySet(type: string): NftSet {
  return { type, interval: false, elements: new Map() };
}
