import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface, type Interface } from 'node:readline';
import type { NetworkInterfaceId } from '@openegs/cloud/domain/ids';
import type { NetworkNames } from '@openegs/cloud/domain/network/names';
import type { VpcVSwitch } from '@openegs/cloud/drivers/network/driver';
import { namespacePath, runBatch, runProgram } from '@openegs/cloud/drivers/network/linux/commands';

/** A program in a guest that answers lines with lines. */
interface GuestProgram {
  ask(line: string): Promise<string>;
}

/** Network namespaces in the places of instances, and programs in them. */
export class Guests {
  private readonly namespaces: string[] = [];
  private readonly devices: string[] = [];
  private readonly programs: ChildProcess[] = [];

  constructor(private readonly names: NetworkNames) {}

  async add(name: string): Promise<string> {
    const namespace = `${this.names.tag}-guest-${name}`;
    await runProgram('ip', ['netns', 'add', namespace]);
    this.namespaces.push(namespace);
    await runBatch('ip', namespace, ['link set lo up']);
    return namespace;
  }

  /** Plugs a guest into its vSwitch's bridge as the compute driver plugs in instances. */
  async plug(
    namespace: string,
    port: {
      readonly networkInterfaceId: NetworkInterfaceId;
      readonly macAddress: string;
      readonly address: string;
      readonly vSwitch: VpcVSwitch;
    },
  ): Promise<void> {
    const device = this.names.hostDevice(port.networkInterfaceId);
    this.devices.push(device);
    await runBatch('ip', undefined, [
      `link add ${device} type veth peer name eth0 address ${port.macAddress} netns ${namespace}`,
      `link set ${device} master ${this.names.bridge(port.vSwitch.id)} up`,
    ]);
    await runProgram('bridge', ['link', 'set', 'dev', device, 'isolated', 'on']);
    await runBatch('ip', namespace, [
      `address add ${port.address}/${port.vSwitch.cidr.split('/')[1]} dev eth0`,
      'link set eth0 up',
      `route add default via ${port.vSwitch.gateway}`,
    ]);
  }

  /** Joins guests by a bridge that does nothing else. */
  async joinPlainly(
    guests: readonly { readonly namespace: string; readonly address: string }[],
  ): Promise<void> {
    // Not named as the cloud's own devices are: those are filtered.
    const bridge = `plain-${this.names.tag}`;
    this.devices.push(bridge);
    await runBatch('ip', undefined, [
      `link add ${bridge} type bridge stp_state 0 forward_delay 0 mcast_snooping 0`,
      `link set ${bridge} up`,
      ...guests.flatMap(({ namespace }, index) => [
        `link add ${bridge}${index} type veth peer name eth0 netns ${namespace}`,
        `link set ${bridge}${index} master ${bridge} up`,
      ]),
    ]);
    for (const { namespace, address } of guests) {
      await runBatch('ip', namespace, [`address add ${address}/24 dev eth0`, 'link set eth0 up']);
    }
  }

  /** Starts a program and waits until it has said its first line. */
  async start(namespace: string, file: string, args: readonly string[]): Promise<GuestProgram> {
    const child = spawn('nsenter', [`--net=${namespacePath(namespace)}`, file, ...args], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.programs.push(child);
    const lines = createInterface({ input: child.stdout });
    await nextLine(lines);
    return {
      ask(line) {
        const answer = nextLine(lines);
        child.stdin.write(`${line}\n`);
        return answer;
      },
    };
  }

  async remove(): Promise<void> {
    for (const program of this.programs) program.kill('SIGKILL');
    for (const device of this.devices) await runProgram('ip', ['link', 'del', device]).catch(() => {});
    for (const name of this.namespaces) await runProgram('ip', ['netns', 'del', name]).catch(() => {});
  }
}

function nextLine(lines: Interface): Promise<string> {
  return new Promise((resolve) => lines.once('line', resolve));
}
