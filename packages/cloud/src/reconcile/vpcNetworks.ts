import type { CloudParts } from '../cloud.js';
import { groupBy } from '../domain/collections.js';
import type { NetworkInterfaceId, VpcId, VSwitchId } from '../domain/ids.js';
import { gatewayAddress } from '../domain/network/addresses.js';
import { formatIpv4, parseIpv4Cidr } from '../domain/network/cidr.js';
import type { NetworkDriver, VpcNetwork, VpcPort } from '../drivers/network/driver.js';
import { readSecurityPolicy } from '../store/securityPolicy.js';

/** The first addresses of the fabric range are the host's own: the metadata service listens on one. */
const reservedFabricAddresses = 16;

interface VpcState {
  /** All but the ports. */
  frame: Omit<VpcNetwork, 'ports'> | undefined;
  /** Something of the VPC itself changed: the frame is to be read again. */
  isFrameStale: boolean;
  ports: Map<NetworkInterfaceId, VpcPort> | undefined;
  readonly changedPorts: Set<NetworkInterfaceId>;
  /** The attempt that runs now, and the one that starts when it ends. */
  running: Promise<void> | undefined;
  next: Promise<void> | undefined;
}

/**
 * Keeps the host's networks as the store says. An apply covers every change that was committed before it
 * was asked for; whoever asks while one runs shares the next one. Only what changed is read again, so
 * that a launch into a VPC of thousands costs one port.
 */
export class VpcNetworks {
  private readonly states = new Map<VpcId, VpcState>();

  constructor(
    private readonly parts: CloudParts,
    private readonly driver: NetworkDriver,
  ) {}

  /** The VPC itself changed: its vSwitches, groups, rules, or whether it exists. */
  noteVpc(id: VpcId): void {
    this.stateOf(id).isFrameStale = true;
  }

  /** A network interface of the VPC changed or is gone. */
  notePort(vpcId: VpcId, id: NetworkInterfaceId): void {
    this.stateOf(vpcId).changedPorts.add(id);
  }

  /** Resolves when the host is as the store was at the time of the call, or later. */
  apply(id: VpcId): Promise<void> {
    const state = this.stateOf(id);
    if (!state.running) {
      state.running = this.applyOnce(id, state).finally(() => {
        state.running = undefined;
      });
      return state.running;
    }
    state.next ??= state.running
      .catch(() => undefined)
      .then(() => {
        state.next = undefined;
        return this.apply(id);
      });
    return state.next;
  }

  /** Compares with what is really on the host and mends it; forgets what it believed to know. */
  async resync(): Promise<readonly string[]> {
    const wanted = await this.parts.store.reader
      .selectFrom('vpcs')
      .select('id')
      .where('status', '<>', 'Deleted')
      .execute();
    const known = new Set(wanted.map((vpc) => vpc.id));
    for (const id of await this.driver.listVpcs()) {
      if (!known.has(id)) await this.driver.removeVpc(id);
    }
    const mended: string[] = [];
    for (const id of known) {
      this.states.delete(id);
      const network = await this.read(id, this.stateOf(id));
      // A VPC without ports has nothing on the host until its first instance.
      if (network && network.ports.length > 0) mended.push(...(await this.driver.resyncVpc(network)));
    }
    return mended;
  }

  private stateOf(id: VpcId): VpcState {
    let state = this.states.get(id);
    if (!state) {
      state = {
        frame: undefined,
        isFrameStale: true,
        ports: undefined,
        changedPorts: new Set(),
        running: undefined,
        next: undefined,
      };
      this.states.set(id, state);
    }
    return state;
  }

  private async applyOnce(id: VpcId, state: VpcState): Promise<void> {
    try {
      const network = await this.read(id, state);
      if (network) {
        await this.driver.applyVpc(network);
      } else {
        await this.driver.removeVpc(id);
        this.states.delete(id);
      }
    } catch (error) {
      // What was read may not have reached the host: read all of it again.
      state.isFrameStale = true;
      state.ports = undefined;
      throw error;
    }
  }

  private async read(id: VpcId, state: VpcState): Promise<VpcNetwork | undefined> {
    if (state.isFrameStale) {
      state.isFrameStale = false;
      state.frame = await this.readFrame(id, state.frame);
    }
    const { frame } = state;
    if (!frame) return undefined;
    const changed = [...state.changedPorts];
    state.changedPorts.clear();
    if (!state.ports) {
      state.ports = new Map((await this.readPorts(id)).map((port) => [port.networkInterfaceId, port]));
    } else {
      for (const portId of changed) {
        const [port] = await this.readPorts(id, portId);
        if (port) state.ports.set(portId, port);
        else state.ports.delete(portId);
      }
    }
    return { ...frame, ports: [...state.ports.values()] };
  }

  private async readFrame(
    id: VpcId,
    known: VpcState['frame'],
  ): Promise<Omit<VpcNetwork, 'ports'> | undefined> {
    const { reader } = this.parts.store;
    const vpc = await reader
      .selectFrom('vpcs')
      .selectAll()
      .where('id', '=', id)
      .where('status', '<>', 'Deleted')
      .executeTakeFirst();
    if (!vpc) return undefined;
    const vSwitches = await reader
      .selectFrom('vSwitches')
      .selectAll()
      .where('vpcId', '=', id)
      .where('status', '<>', 'Deleted')
      .orderBy('sequence')
      .execute();
    return {
      id,
      index: vpc.networkIndex,
      cidrs: [vpc.cidrBlock],
      vSwitches: vSwitches.map((vSwitch) => ({
        id: vSwitch.id,
        cidr: vSwitch.cidrBlock,
        gateway: gatewayAddress(vSwitch.cidrBlock),
      })),
      security: await readSecurityPolicy(reader, id, known?.security),
      routeTables: [],
      eips: [],
      natGateways: [],
      outboundNat: true,
      dnsNames: [],
    };
  }

  private async readPorts(vpcId: VpcId, only?: NetworkInterfaceId): Promise<VpcPort[]> {
    const { reader } = this.parts.store;
    const interfaces = await reader
      .selectFrom('networkInterfaces as nic')
      .innerJoin('instances as instance', 'instance.id', 'nic.instanceId')
      .select([
        'nic.id',
        'nic.vSwitchId',
        'nic.macAddress',
        'nic.fabricIndex',
        'nic.type',
        'instance.hostName',
      ])
      .where('nic.vpcId', '=', vpcId)
      .$if(only !== undefined, (query) => query.where('nic.id', '=', only as NetworkInterfaceId))
      .execute();
    if (interfaces.length === 0) return [];
    const addresses = await reader
      .selectFrom('privateAddresses as address')
      .innerJoin('networkInterfaces as nic', 'nic.id', 'address.networkInterfaceId')
      .select(['address.networkInterfaceId', 'address.address', 'address.isPrimary'])
      .where('nic.vpcId', '=', vpcId)
      .$if(only !== undefined, (query) => query.where('nic.id', '=', only as NetworkInterfaceId))
      .execute();
    const members = await reader
      .selectFrom('securityGroupMembers as member')
      .innerJoin('networkInterfaces as nic', 'nic.id', 'member.networkInterfaceId')
      .select(['member.networkInterfaceId', 'member.securityGroupId'])
      .where('nic.vpcId', '=', vpcId)
      .$if(only !== undefined, (query) => query.where('nic.id', '=', only as NetworkInterfaceId))
      .orderBy('member.position')
      .execute();
    const fabric = parseIpv4Cidr(this.parts.config.network.fabricCidr);
    const addressesOf = groupBy(addresses, (row) => row.networkInterfaceId);
    const groupsOf = groupBy(members, (row) => row.networkInterfaceId);
    return interfaces.flatMap((nic): VpcPort[] => {
      const own = addressesOf.get(nic.id) ?? [];
      const primary = own.find((row) => row.isPrimary === 1);
      if (!primary) return [];
      return [
        {
          networkInterfaceId: nic.id,
          vSwitchId: nic.vSwitchId as VSwitchId,
          macAddress: nic.macAddress,
          primaryAddress: primary.address,
          secondaryAddresses: own.filter((row) => row.isPrimary === 0).map((row) => row.address),
          ...(nic.type === 'Primary' ? { hostName: nic.hostName } : {}),
          fabricAddress: formatIpv4(fabric.first + reservedFabricAddresses + nic.fabricIndex),
          securityGroupIds: (groupsOf.get(nic.id) ?? []).map((row) => row.securityGroupId),
        },
      ];
    });
  }
}
