import type {
  EipId,
  NatGatewayId,
  NetworkInterfaceId,
  RouteTableId,
  SecurityGroupId,
  VpcId,
  VSwitchId,
} from '../../domain/ids.js';
import type { NetworkNames } from '../../domain/network/names.js';
import type { SecurityPolicy } from '../../domain/network/security.js';

/** Everything that shall be so in one VPC on one host. Plain data, derived from the store. */
export interface VpcNetwork {
  readonly id: VpcId;
  /** From 0, unique among the VPCs of the cloud: numbers the link between the VPC and the host. */
  readonly index: number;
  /** Primary and secondary ranges. Other VPCs may have the same. */
  readonly cidrs: readonly string[];
  readonly vSwitches: readonly VpcVSwitch[];
  readonly ports: readonly VpcPort[];
  readonly security: SecurityPolicy;
  readonly routeTables: readonly VpcRouteTable[];
  readonly eips: readonly VpcEip[];
  readonly natGateways: readonly VpcNatGateway[];
  /** Whether everything in the VPC may go out through the host's own address, without EIP or NAT gateway. */
  readonly outboundNat: boolean;
  /** Names that resolve inside the VPC, beside the host names of the ports. */
  readonly dnsNames: readonly { readonly name: string; readonly address: string }[];
}

export interface VpcVSwitch {
  readonly id: VSwitchId;
  readonly cidr: string;
  /** The router's address: where guests send what is not for their own subnet. DHCP and DNS answer there. */
  readonly gateway: string;
}

/**
 * A network interface attached to an instance. The driver opens the way for it; the compute driver plugs
 * the veth named `names.hostDevice(networkInterfaceId)` into `names.bridge(vSwitchId)`, isolated, when the
 * instance starts. Apply the VPC first: a port that the rules do not know yet is shut.
 */
export interface VpcPort {
  readonly networkInterfaceId: NetworkInterfaceId;
  readonly vSwitchId: VSwitchId;
  /** Six hexadecimal pairs with colons. */
  readonly macAddress: string;
  /** Given out by DHCP. */
  readonly primaryAddress: string;
  /** Set up by the guest itself. */
  readonly secondaryAddresses: readonly string[];
  /** Given out by DHCP and resolved by DNS in the VPC. Absent for secondary network interfaces. */
  readonly hostName?: string;
  /** Unique on the host: what the metadata service sees as the caller, whatever the private address is. */
  readonly fabricAddress: string;
  readonly securityGroupIds: readonly SecurityGroupId[];
  /** Bandwidth towards the instance. Absent: unlimited. */
  readonly ingressKbits?: number;
  /** Bandwidth from the instance. Absent: unlimited. */
  readonly egressKbits?: number;
}

/** Route table with the vSwitches that use it. vSwitches in none have the local routes only. */
export interface VpcRouteTable {
  readonly id: RouteTableId;
  readonly vSwitchIds: readonly VSwitchId[];
  /** Custom entries; the local ones (the VPC's own subnets) are always there. */
  readonly entries: readonly VpcRouteEntry[];
}

export interface VpcRouteEntry {
  readonly destinationCidr: string;
  /** A network interface that is not among the ports (stopped or detached) makes the destination unreachable. */
  readonly nextHop:
    | { readonly kind: 'networkInterface'; readonly networkInterfaceId: NetworkInterfaceId }
    | { readonly kind: 'natGateway'; readonly natGatewayId: NatGatewayId };
}

/** An elastic IP that is associated with something in the VPC. */
export interface VpcEip {
  readonly id: EipId;
  readonly address: string;
  /** Limit in each direction. Absent: unlimited. */
  readonly bandwidthKbits?: number;
  readonly target:
    | {
        readonly kind: 'networkInterface';
        readonly networkInterfaceId: NetworkInterfaceId;
        /** One of the interface's addresses. */
        readonly privateAddress: string;
      }
    | { readonly kind: 'natGateway'; readonly natGatewayId: NatGatewayId };
}

/** A NAT gateway. Works for a vSwitch when a route of its table leads to the gateway. */
export interface VpcNatGateway {
  readonly id: NatGatewayId;
  /** Outgoing: sources in the range leave with one of the addresses (EIPs of this gateway). */
  readonly snatEntries: readonly { readonly sourceCidr: string; readonly addresses: readonly string[] }[];
  readonly dnatEntries: readonly VpcDnatEntry[];
}

export interface VpcDnatEntry {
  /** `all` forwards every protocol and port of the address. */
  readonly protocol: 'tcp' | 'udp' | 'all';
  /** An EIP of this gateway. */
  readonly externalAddress: string;
  /** First and last; as many internal ports follow `internalPort`. Ignored for `all`. */
  readonly externalPorts: { readonly first: number; readonly last: number };
  readonly internalAddress: string;
  readonly internalPort: number;
}

/**
 * The network of one host. Level-triggered: every call says the whole of what shall be, and the driver
 * makes the difference. Calls are idempotent, and may be repeated after any failure; calls for the same
 * VPC wait for each other.
 *
 * Only what carries this cloud's tag is ever listed, changed or removed.
 */
export interface NetworkDriver {
  /** How bridges and ports are called on the host; the compute driver plugs instances in by these names. */
  readonly names: NetworkNames;

  /** Where the metadata service must listen on the host for instances to reach it at 100.100.100.200. */
  readonly metadataEndpoint: { readonly address: string; readonly port: number };

  /**
   * Makes the VPC so. Costs only the difference to the last call; the first call of a process compares
   * with what is on the host. Established flows that the rules no longer allow are cut. Rejects with
   * `NetworkError`: `invalid` for a value that contradicts itself, `failed` when the host refused.
   */
  applyVpc(network: VpcNetwork): Promise<void>;

  /**
   * As `applyVpc`, but compares with what is really on the host and mends what differs, leaving alone what
   * is right. Answers with one line for each thing that was mended; empty: all was well.
   */
  resyncVpc(network: VpcNetwork): Promise<readonly string[]>;

  /** Removes everything of the VPC from the host. Instances should be gone: their ports lose the network. */
  removeVpc(id: VpcId): Promise<void>;

  /** The VPCs of which something is on the host, half made and forgotten ones too. */
  listVpcs(): Promise<readonly VpcId[]>;

  /** Removes every VPC, and what the host has for all of them together. The driver is closed then. */
  removeAll(): Promise<void>;

  /** Lets go of the host without changing it: packets keep flowing. */
  close(): Promise<void>;
}

export class NetworkError extends Error {
  constructor(
    readonly code: 'invalid' | 'failed',
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'NetworkError';
  }
}
