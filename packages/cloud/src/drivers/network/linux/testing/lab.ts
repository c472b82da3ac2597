import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { NetworkNames } from '../../../../domain/network/names.js';
import type { VpcNetwork, VpcPort } from '../../driver.js';
import { namespacePath, runBatch, runInNamespace, runProgram } from '../commands.js';

const agentPath = fileURLToPath(new URL('agent.mjs', import.meta.url));

/** How long a test waits before it takes a packet for lost. */
const lostAfterMs = 400;

/** Why packets cannot be tested on this machine; `undefined` when they can. */
export function missingForPacketTests(): string | undefined {
  if (process.getuid?.() !== 0) return 'needs root';
  const tools = ['ip', 'tc', 'bridge', 'nft', 'conntrack', 'dnsmasq', 'nsenter', 'sysctl', 'busybox'];
  const missing = tools.filter(
    (tool) => !['/usr/sbin', '/usr/bin', '/sbin', '/bin'].some((dir) => existsSync(join(dir, tool))),
  );
  return missing.length > 0 ? `needs ${missing.join(', ')}` : undefined;
}

/** A network namespace with a helper process in it that connects and listens. */
export class TestHost {
  private sequence = 0;
  private readonly waiting = new Map<
    number,
    { resolve: (value: unknown) => void; reject: (error: Error) => void }
  >();

  private constructor(
    readonly name: string,
    readonly namespace: string | undefined,
    private readonly agent: ChildProcess,
  ) {
    agent.on('message', (message: { sequence?: number; result?: unknown; error?: string }) => {
      const waiter = this.waiting.get(message.sequence ?? -1);
      if (message.error !== undefined) waiter?.reject(new Error(message.error));
      else waiter?.resolve(message.result);
    });
  }

  /** With a namespace that exists; without, in the host's own. */
  static async start(name: string, namespace?: string): Promise<TestHost> {
    const enter = namespace === undefined ? [] : [`--net=${namespacePath(namespace)}`];
    const agent = spawn('nsenter', [...enter, process.execPath, agentPath], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    await once(agent, 'message');
    return new TestHost(name, namespace, agent);
  }

  async stop(): Promise<void> {
    if (this.agent.exitCode !== null) return;
    const ended = once(this.agent, 'exit');
    this.agent.disconnect();
    await ended;
  }

  async listenTcp(port: number): Promise<void> {
    await this.ask('listenTcp', { port, name: this.name });
  }

  async listenUdp(port: number): Promise<void> {
    await this.ask('listenUdp', { port, name: this.name });
  }

  /** `<name of the server> <address it saw>`, or `blocked`. */
  connectTcp(
    host: string,
    port: number,
    options: { localAddress?: string; id?: string } = {},
  ): Promise<unknown> {
    return this.ask('connectTcp', { host, port, timeoutMs: lostAfterMs, ...options });
  }

  sendUdp(host: string, port: number): Promise<unknown> {
    return this.ask('sendUdp', { host, port, timeoutMs: lostAfterMs });
  }

  /** Over a connection that was opened with the id: `echoed` or `cut`. */
  exchange(id: string): Promise<unknown> {
    return this.ask('exchange', { id, timeoutMs: lostAfterMs });
  }

  resolve(server: string, name: string): Promise<unknown> {
    return this.ask('resolve', { server, name });
  }

  /** Whether one of three echo requests is answered. */
  async ping(address: string): Promise<boolean> {
    return runInNamespace(this.namespace, 'busybox', ['ping', '-c', '1', '-W', '1', address]).then(
      () => true,
      () => false,
    );
  }

  private ask(command: string, options: Record<string, unknown>): Promise<unknown> {
    this.sequence += 1;
    const sequence = this.sequence;
    return new Promise((resolve, reject) => {
      this.waiting.set(sequence, { resolve, reject });
      this.agent.send({ sequence, command, options });
    });
  }
}

/**
 * Guests as the compute driver makes them, without an engine: namespaces whose veth has the port's name and
 * is plugged into the vSwitch's bridge, isolated.
 */
export class TestLab {
  private readonly hosts: TestHost[] = [];
  private readonly namespaces: string[] = [];
  private readonly devices = new Set<string>();

  private constructor(
    private readonly names: NetworkNames,
    readonly directory: string,
  ) {}

  static async create(names: NetworkNames): Promise<TestLab> {
    return new TestLab(names, await mkdtemp(join(tmpdir(), 'egs-network-')));
  }

  /** A process in the host's own namespace. */
  async addOnHost(name: string): Promise<TestHost> {
    const host = await TestHost.start(name);
    this.hosts.push(host);
    return host;
  }

  /** Plugs in a guest for the port, with its primary address unless `dhcp` is to give it. */
  async addGuest(
    network: VpcNetwork,
    port: VpcPort,
    options: { name: string; dhcp?: boolean },
  ): Promise<TestHost> {
    const namespace = await this.addNamespace(options.name);
    await this.plug(network, port, namespace, 'eth0');
    if (options.dhcp !== true) {
      const vSwitch = vSwitchOf(network, port);
      await runBatch('ip', namespace, [
        `address add ${port.primaryAddress}/${vSwitch.cidr.split('/')[1]} dev eth0`,
        `route add default via ${vSwitch.gateway}`,
      ]);
    }
    return this.startIn(options.name, namespace);
  }

  /** Makes the port's veth anew, as a restart of the instance does. */
  async plug(network: VpcNetwork, port: VpcPort, namespace: string, device: string): Promise<void> {
    const hostDevice = this.names.hostDevice(port.networkInterfaceId);
    const bridge = this.names.bridge(vSwitchOf(network, port).id);
    this.devices.add(hostDevice);
    await runBatch('ip', undefined, [
      `link add ${hostDevice} type veth peer name ${device} address ${port.macAddress} netns ${namespace}`,
      `link set ${hostDevice} master ${bridge} up`,
    ]);
    await runProgram('bridge', ['link', 'set', 'dev', hostDevice, 'isolated', 'on']);
    await runBatch('ip', namespace, [`link set ${device} up`]);
  }

  /** A host outside, behind the machine: knows the machine as the way to everything. */
  async addOutside(name: string, device: string, hostAddress: string, ownAddress: string): Promise<TestHost> {
    const namespace = await this.addNamespace(name);
    this.devices.add(device);
    await runBatch('ip', undefined, [
      `link add ${device} type veth peer name eth0 netns ${namespace}`,
      `address add ${hostAddress}/30 dev ${device}`,
      `link set ${device} up`,
    ]);
    await runBatch('ip', namespace, [
      `address add ${ownAddress}/30 dev eth0`,
      'link set eth0 up',
      `route add default via ${hostAddress}`,
    ]);
    return this.startIn(name, namespace);
  }

  /** What a DHCP server offers the guest, as the variables of udhcpc. */
  async askForLease(guest: TestHost): Promise<Map<string, string>> {
    const script = join(this.directory, 'lease.sh');
    await writeFile(script, '#!/bin/sh\n[ "$1" = bound ] && env\nexit 0\n', { mode: 0o755 });
    const output = await runInNamespace(guest.namespace, 'busybox', [
      ...['udhcpc', '-i', 'eth0', '-f', '-q', '-n', '-t', '5', '-T', '1'],
      ...['-s', script],
    ]);
    return new Map([...output.matchAll(/^(\w+)=(.*)$/gm)].map(([, key = '', value = '']) => [key, value]));
  }

  async close(): Promise<void> {
    await Promise.all(this.hosts.map((host) => host.stop()));
    // A namespace lives on while a connection that was cut in it waits for an answer; its devices shall not.
    for (const device of this.devices) await runProgram('ip', ['link', 'del', device]).catch(() => {});
    for (const namespace of this.namespaces)
      await runProgram('ip', ['netns', 'del', namespace]).catch(() => {});
    await rm(this.directory, { recursive: true, force: true });
  }

  private async addNamespace(name: string): Promise<string> {
    const namespace = `guest-${this.names.tag}-${name}`;
    await runProgram('ip', ['netns', 'add', namespace]);
    this.namespaces.push(namespace);
    await runBatch('ip', namespace, ['link set lo up']);
    return namespace;
  }

  private async startIn(name: string, namespace: string): Promise<TestHost> {
    const host = await TestHost.start(name, namespace);
    this.hosts.push(host);
    return host;
  }
}

function vSwitchOf(network: VpcNetwork, port: VpcPort): VpcNetwork['vSwitches'][number] {
  const vSwitch = network.vSwitches.find(({ id }) => id === port.vSwitchId);
  if (vSwitch === undefined) throw new Error(`no vSwitch ${port.vSwitchId}`);
  return vSwitch;
}
