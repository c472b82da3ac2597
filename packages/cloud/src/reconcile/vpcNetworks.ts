import type { CloudParts } from '../cloud.js';
import { groupBy } from '../domain/collections.js';
import type { FaultPoints } from '../domain/faults.js';
import type { NetworkInterfaceId, VpcId, VSwitchId } from '../domain/ids.js';
import { fabricAddress } from '../domain/network/addresses.js';
import type { NetworkDriver, VpcEip, VpcNetwork, VpcPort } from '../drivers/network/driver.js';
import { settleEips } from '../store/eips.js';
import type { Reader } from '../store/store.js';
import { readVpcFrame, type VpcFrame } from './vpcFrame.js';

interface VpcState {
  frame: VpcFrame | undefined;
  /** Something of the VPC itself changed: the frame is to be read again. */
  isFrameStale: boolean;
  ports: Map<NetworkInterfaceId, VpcPort> | undefined;
  /** The ports as the driver was told of them last: the same array until one changes. */
  portList: readonly VpcPort[];
  readonly changedPorts: Set<NetworkInterfaceId>;
  /** The host may be otherwise than the driver believes: the next attempt compares. */
  isDoubtful: boolean;
  /** What was found otherwise. */
  readonly mended: string[];
  /** The attempt that runs now, and the one that starts when it ends. */
  running: Promise<void> | undefined;
  next: Promise<void> | undefined;
}

/**
 * Keeps the host's networks as the store says. An apply covers every change that was committed before it
 * was asked for; whoever asks while one runs shares the next one. Only what changed is read again, so
 * that a launch into a VPC of thousands costs one port. What did not change stays the same object from one
 * apply to the next: the driver goes by that.
 */
export class VpcNetworks {
  private readonly states = new Map<VpcId, VpcState>();
  /** VPCs of which something is on the host, or may be. */
  private readonly onHost = new Set<VpcId>();

  constructor(
    private readonly parts: CloudParts,
    private readonly driver: NetworkDriver,
    private readonly faults: FaultPoints,
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

  /**
   * Compares every VPC with what is really on the host and mends it, and removes what is there without
   * being wanted. Tells what was mended, and the VPCs for which that failed and is to be tried again.
   */
  async resync(): Promise<{ readonly mended: readonly string[]; readonly failed: readonly VpcId[] }> {
    const rows = await this.parts.store.reader.selectFrom('vpcs').select('id').execute();
    const known = new Set(rows.map((vpc) => vpc.id));
    for (const id of await this.driver.listVpcs()) {
      if (known.has(id)) this.onHost.add(id);
      else await this.driver.removeVpc(id);
    }
    const mended: string[] = [];
    const failed: VpcId[] = [];
    for (const id of known) {
      const state = this.stateOf(id);
      state.isDoubtful = true;
      forget(state);
      try {
        await this.apply(id);
        mended.push(...state.mended.splice(0));
      } catch {
        failed.push(id);
      }
    }
    return { mended, failed };
  }

  private stateOf(id: VpcId): VpcState {
    let state = this.states.get(id);
    if (!state) {
      state = {
        frame: undefined,
        isFrameStale: true,
        ports: undefined,
        portList: [],
        isDoubtful: false,
        mended: [],
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
      if (!network) return await this.remove(id);
      if (this.isNeeded(network)) {
        this.onHost.add(id);
        if (state.isDoubtful) state.mended.push(...(await this.driver.resyncVpc(network)));
        else await this.driver.applyVpc(network);
        this.faults.reach('vpc.appliedOnHost');
      }
      state.isDoubtful = false;
      await this.settle(state);
    } catch (error) {
      // What was read may not have reached the host: read all of it again.
      forget(state);
      throw error;
    }
  }

  /** A VPC has nothing on the host until its first instance; then it stays. */
  private isNeeded(network: VpcNetwork): boolean {
    return network.ports.length > 0 || this.onHost.has(network.id);
  }

  /** The host is as the frame says: public addresses work now, or nobody has them any more. */
  private async settle(state: VpcState): Promise<void> {
    const { frame } = state;
    if (!frame || frame.unsettledEips.length === 0) return;
    await this.parts.store.transaction(
      { name: 'vpc-loop' },
      (tx) => settleEips(tx, frame.unsettledEips),
      'derived',
    );
    this.faults.reach('vpc.settledInStore');
    state.frame = { ...frame, unsettledEips: [] };
  }

  private async remove(id: VpcId): Promise<void> {
    await this.driver.removeVpc(id);
    this.faults.reach('vpc.removedOnHost');
    await this.parts.store.transaction(
      { name: 'vpc-loop' },
      async ({ db }) => {
        await db.deleteFrom('vpcs').where('id', '=', id).where('status', '=', 'Deleted').execute();
      },
      'derived',
    );
    this.faults.reach('vpc.removedInStore');
    this.onHost.delete(id);
    this.states.delete(id);
  }

  private async read(id: VpcId, state: VpcState): Promise<VpcNetwork | undefined> {
    const isFrameStale = state.isFrameStale;
    const changed = [...state.changedPorts];
    state.isFrameStale = false;
    state.changedPorts.clear();
    // One transaction: what is read belongs together.
    await this.parts.store.reader.transaction().execute(async (db) => {
      if (isFrameStale) {
        const { defaultOutbound } = this.parts.config.network;
        state.frame = await readVpcFrame(db, id, { known: state.frame, defaultOutbound });
      }
      if (!state.frame) return;
      if (!state.ports) {
        state.portList = await this.readPorts(db, id);
        state.ports = new Map(state.portList.map((port) => [port.networkInterfaceId, port]));
        return;
      }
      for (const portId of changed) {
        const [port] = await this.readPorts(db, id, portId);
        if (port) state.ports.set(portId, port);
        else state.ports.delete(portId);
      }
      if (changed.length > 0) state.portList = [...state.ports.values()];
    });
    const { frame, ports } = state;
    if (!frame || !ports) return undefined;
    // An address can belong to an interface that is attached to no instance now.
    const isInUse = ({ target }: VpcEip): boolean => {
      if (target.kind === 'natGateway') return true;
      const port = ports.get(target.networkInterfaceId);
      if (port === undefined) return false;
      return [port.primaryAddress, ...port.secondaryAddresses].includes(target.privateAddress);
    };
    const { eips } = frame.network;
    return {
      ...frame.network,
      ports: state.portList,
      eips: eips.every(isInUse) ? eips : eips.filter(isInUse),
    };
  }

  private async readPorts(db: Reader, vpcId: VpcId, only?: NetworkInterfaceId): Promise<VpcPort[]> {
    const interfaces = await db
      .selectFrom('networkInterfaces as nic')
      .innerJoin('instances as instance', 'instance.id', 'nic.instanceId')
      .select([
        'nic.id',
        'nic.vSwitchId',
        'nic.macAddress',
        'nic.fabricIndex',
        'nic.type',
        'instance.hostName',
        'instance.instanceType',
      ])
      .where('nic.vpcId', '=', vpcId)
      .$if(only !== undefined, (query) => query.where('nic.id', '=', only as NetworkInterfaceId))
      .execute();
    if (interfaces.length === 0) return [];
    const addresses = await db
      .selectFrom('privateAddresses as address')
      .innerJoin('networkInterfaces as nic', 'nic.id', 'address.networkInterfaceId')
      .select(['address.networkInterfaceId', 'address.address', 'address.isPrimary'])
      .where('nic.vpcId', '=', vpcId)
      .$if(only !== undefined, (query) => query.where('nic.id', '=', only as NetworkInterfaceId))
      .execute();
    const members = await db
      .selectFrom('securityGroupMembers as member')
      .innerJoin('networkInterfaces as nic', 'nic.id', 'member.networkInterfaceId')
      .select(['member.networkInterfaceId', 'member.securityGroupId'])
      .where('nic.vpcId', '=', vpcId)
      .$if(only !== undefined, (query) => query.where('nic.id', '=', only as NetworkInterfaceId))
      .orderBy('member.position')
      .execute();
    const { fabricCidr } = this.parts.config.network;
    const addressesOf = groupBy(addresses, (row) => row.networkInterfaceId);
    const groupsOf = groupBy(members, (row) => row.networkInterfaceId);
    return interfaces.flatMap((nic): VpcPort[] => {
      const own = addressesOf.get(nic.id) ?? [];
      const primary = own.find((row) => row.isPrimary === 1);
      if (!primary) return [];
      // Of the type as a whole; the documentation does not say how interfaces share it, so each has it.
      const limitKbits = this.parts.catalog.instanceTypes.get(nic.instanceType)?.bandwidthKbps;
      return [
        {
          networkInterfaceId: nic.id,
          vSwitchId: nic.vSwitchId as VSwitchId,
          macAddress: nic.macAddress,
          primaryAddress: primary.address,
          secondaryAddresses: own.filter((row) => row.isPrimary === 0).map((row) => row.address),
          ...(nic.type === 'Primary' ? { hostName: nic.hostName } : {}),
          fabricAddress: fabricAddress(fabricCidr, nic.fabricIndex),
          securityGroupIds: (groupsOf.get(nic.id) ?? []).map((row) => row.securityGroupId),
          ...(limitKbits === undefined ? {} : { ingressKbits: limitKbits, egressKbits: limitKbits }),
        },
      ];
    });
  }
}

/** Has all of the VPC read again. */
function forget(state: VpcState): void {
  state.isFrameStale = true;
  state.ports = undefined;
}
