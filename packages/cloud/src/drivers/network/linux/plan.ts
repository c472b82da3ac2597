import { createHash } from 'node:crypto';
import type { VSwitchId } from '../../../domain/ids.js';
import { nthAddress } from '../../../domain/network/addresses.js';
import { formatIpv4, parseIpv4, parseIpv4Cidr, prefixLength } from '../../../domain/network/cidr.js';
import type { CompiledSecurity, SecurityCompiler } from '../../../domain/network/compiler.js';
import type { NetworkNames } from '../../../domain/network/names.js';
import { NetworkError, type VpcNetwork } from '../driver.js';

/** What all VPCs of a host have in common. */
export interface HostSettings {
  readonly names: NetworkNames;
  /** Of each four addresses in a row, the second is the host's and the third the VPC's. */
  readonly transitCidr: string;
  /** What instances are told apart by at the metadata service. Its first address is the service's. */
  readonly fabricCidr: string;
  readonly metadataPort: number;
  /** Where the VPCs' DNS servers ask for names that are not the VPC's own. Empty: nowhere. */
  readonly dnsServers: readonly string[];
  /** Sources that leave the machine under the machine's own address, see `LinuxNetworkOptions`. */
  readonly masqueradeCidrs: readonly string[];
  /** Destinations that instances never reach through the host. */
  readonly blockedCidrs: readonly string[];
  /** Whether the kernel has IPv6, so that it can be switched off per device. */
  readonly hasIpv6: boolean;
}

/** The router's interface towards the host, inside every VPC's namespace. */
export const uplinkInside = 'up0';

/** Address of the metadata service on the host: the second of the fabric range. */
export function metadataAddress(settings: Pick<HostSettings, 'fabricCidr'>): string {
  return nthAddress(settings.fabricCidr, 1);
}

/** A VPC with everything that follows from it and is needed in more than one place. */
export interface VpcPlan {
  readonly network: VpcNetwork;
  readonly namespace: string;
  /** Host side of the link between host and VPC. */
  readonly uplink: string;
  readonly hostAddress: string;
  readonly routerAddress: string;
  readonly compiled: CompiledSecurity;
  /** Traffic class of each interface with a limit, on the devices of its vSwitch. */
  readonly portClasses: ReadonlyMap<string, string>;
  /** Traffic class of each EIP with a limit, on the devices of the uplink. */
  readonly eipClasses: ReadonlyMap<string, string>;
}

export function planVpc(network: VpcNetwork, settings: HostSettings, compiler: SecurityCompiler): VpcPlan {
  const { first, last } = parseIpv4Cidr(settings.transitCidr);
  const base = first + network.index * 4;
  if (base + 3 > last)
    throw new NetworkError('invalid', `${network.id}: index ${network.index} is too large`);
  return {
    network,
    namespace: settings.names.namespace(network.id),
    uplink: settings.names.uplink(network.id),
    hostAddress: formatIpv4(base + 1),
    routerAddress: formatIpv4(base + 2),
    compiled: compiler.compile(network.security, network.ports),
    portClasses: planPortClasses(network),
    eipClasses: planEipClasses(network),
  };
}

/** Number of a routing table, which follows from the id, so that a restart finds it again. */
export function routingTableNumber(id: string): number {
  // Above the tables that distributions name, within 31 bits.
  return 1000 + (createHash('sha256').update(id).digest().readUInt32BE() % 2_000_000_000);
}

/** The router's hardware address in a vSwitch: locally administered, the same after every restart. */
export function routerMacAddress(id: VSwitchId): string {
  const bytes = createHash('sha256').update(id).digest().subarray(0, 4);
  return ['02', 'ec', ...[...bytes].map((byte) => byte.toString(16).padStart(2, '0'))].join(':');
}

function trafficClass(minor: number): string {
  return `1:${minor.toString(16)}`;
}

function planPortClasses(network: VpcNetwork): Map<string, string> {
  const firstOf = new Map(network.vSwitches.map(({ id, cidr }) => [id, parseIpv4Cidr(cidr).first]));
  return new Map(
    network.ports
      .filter((port) => port.ingressKbits !== undefined || port.egressKbits !== undefined)
      // A vSwitch has at most 16 bits of addresses, a device at most 16 bits of classes.
      .map((port) => [
        port.networkInterfaceId,
        trafficClass((parseIpv4(port.primaryAddress) - (firstOf.get(port.vSwitchId) ?? 0)) % 0x10000),
      ]),
  );
}

function planEipClasses(network: VpcNetwork): Map<string, string> {
  const taken = new Set<number>([0]);
  const classes = new Map<string, string>();
  const addresses = network.eips.filter((eip) => eip.bandwidthKbits !== undefined).map((eip) => eip.address);
  for (const address of addresses.sort()) {
    let minor = parseIpv4(address) % 0x10000;
    while (taken.has(minor)) minor = (minor + 1) % 0x10000;
    taken.add(minor);
    classes.set(address, trafficClass(minor));
  }
  return classes;
}

/** An address with the length of the range that it is in, as `ip address` spells it. */
export function withPrefixLength(address: string, cidr: string): string {
  return `${address}/${prefixLength(cidr)}`;
}
