import * as Ecs from '@alicloud/ecs20140526';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Clients, connectClients } from '../../../testing/clients.js';
import { HostCloud } from '../../../testing/hostCloud.js';
import { VpcFixture } from '../../../testing/vpcFixture.js';

vi.setConfig({ testTimeout: 180_000 });

const isRoot = process.getuid?.() === 0;
if (!isRoot && process.env['CI'] === 'true') throw new Error('The tests of network interfaces need root');
const regionId = 'cn-hangzhou';

describe.skipIf(!isRoot)(`network interfaces of instances${isRoot ? '' : ' (left out: needs root)'}`, () => {
  let host: HostCloud;
  let clients: Clients;
  let vpc: VpcFixture;
  let otherVSwitchId: string;
  /** Two instances in 10.0.1.0/24: one gets a second interface, the other looks at it from outside. */
  let first: string;
  let second: string;
  let firstAddress: string;
  let secondAddress: string;
  let networkInterfaceId: string;
  const eniAddress = '10.0.2.50';

  beforeAll(async () => {
    host = await HostCloud.start();
    clients = connectClients(host.cloud);
    vpc = await VpcFixture.create(clients);
    otherVSwitchId = await vpc.createVSwitch('10.0.2.0/24');
    first = await vpc.runInstance();
    second = await vpc.runInstance();
    await idle();
    firstAddress = (await vpc.primaryOf(first)).address;
    secondAddress = (await vpc.primaryOf(second)).address;
    for (const id of [first, second]) await inside(id, '/usr/lib/egs/wait-online');
    const { body } = await clients.ecs.createNetworkInterface(
      new Ecs.CreateNetworkInterfaceRequest({
        regionId,
        vSwitchId: otherVSwitchId,
        securityGroupId: vpc.securityGroupId,
        primaryIpAddress: eniAddress,
      }),
    );
    networkInterfaceId = body?.networkInterfaceId ?? '';
  }, 300_000);
  afterAll(() => host?.stop(), 120_000);

  const idle = () => host.cloud.reconciler.idle();

  async function run(id: string, ...command: string[]): Promise<{ exitCode: number; output: string }> {
    const chunks: Uint8Array[] = [];
    const onOutput = (_: string, chunk: Uint8Array): void => void chunks.push(chunk);
    const { exitCode } = await host.compute.exec(id, { command, onOutput });
    return { exitCode, output: Buffer.concat(chunks).toString() };
  }

  /** Runs a program in an instance that must end well; answers with what it prints. */
  async function inside(id: string, ...command: string[]): Promise<string> {
    const { exitCode, output } = await run(id, ...command);
    if (exitCode !== 0) throw new Error(`${command.join(' ')} ended with ${exitCode}: ${output}`);
    return output;
  }

  /** Waits in the guest for an address that it sets up by itself. */
  const awaitAddress = (id: string, card: string, address: string): Promise<string> =>
    inside(
      id,
      'sh',
      '-c',
      `for _ in $(seq 200); do ip -4 address show dev ${card} 2>/dev/null | grep -q "inet ${address}/" && exit 0; sleep 0.1; done; ip address; exit 1`,
    );

  /** Whether an address answers one of a few questions of an instance. */
  async function answers(from: string, address: string, source?: string): Promise<boolean> {
    const by = source === undefined ? [] : ['-I', source];
    const { exitCode } = await run(from, 'ping', '-c', '3', '-i', '0.3', '-W', '2', ...by, address);
    return exitCode === 0;
  }

  const attach = (instanceId: string) =>
    clients.ecs.attachNetworkInterface(
      new Ecs.AttachNetworkInterfaceRequest({ regionId, networkInterfaceId, instanceId }),
    );
  async function statusOf(): Promise<string | undefined> {
    const { body } = await clients.ecs.describeNetworkInterfaceAttribute(
      new Ecs.DescribeNetworkInterfaceAttributeRequest({ regionId, networkInterfaceId }),
    );
    return body?.status;
  }

  it('come up by themselves when they are plugged into a running instance', async () => {
    await attach(first);
    await idle();
    expect(await statusOf()).toBe('InUse');
    await awaitAddress(first, 'eth1', eniAddress);
  });

  it('answer other subnets by a route of their own', async () => {
    expect(await answers(second, eniAddress)).toBe(true);
    expect(await answers(first, secondAddress, eniAddress)).toBe(true);
    expect(await answers(second, firstAddress)).toBe(true);
  });

  it('let no packet out with the address of another interface, though it is the same instance', async () => {
    // Past the guest's own rule: the address of eth1 leaves by eth0.
    const rule = ['from', eniAddress, 'table', 'main', 'priority', '50'];
    await inside(first, 'ip', 'rule', 'add', ...rule);
    expect(await answers(first, secondAddress, eniAddress)).toBe(false);
    await inside(first, 'ip', 'rule', 'del', ...rule);
    expect(await answers(first, secondAddress, eniAddress)).toBe(true);
  });

  it('answer under a secondary address as long as it is assigned', async () => {
    const address = '10.0.1.99';
    const primary = await vpc.primaryOf(first);
    await inside(first, 'ip', 'address', 'add', `${address}/24`, 'dev', 'eth0');
    expect(await answers(second, address)).toBe(false);
    await clients.ecs.assignPrivateIpAddresses(
      new Ecs.AssignPrivateIpAddressesRequest({
        regionId,
        networkInterfaceId: primary.networkInterfaceId,
        privateIpAddress: [address],
      }),
    );
    await idle();
    expect(await answers(second, address)).toBe(true);
    await clients.ecs.unassignPrivateIpAddresses(
      new Ecs.UnassignPrivateIpAddressesRequest({
        regionId,
        networkInterfaceId: primary.networkInterfaceId,
        privateIpAddress: [address],
      }),
    );
    await idle();
    expect(await answers(second, address)).toBe(false);
    await inside(first, 'ip', 'address', 'del', `${address}/24`, 'dev', 'eth0');
  });

  it('keep working over a restart of the instance', async () => {
    await clients.ecs.rebootInstance(new Ecs.RebootInstanceRequest({ instanceId: first }));
    await idle();
    await awaitAddress(first, 'eth1', eniAddress);
    expect(await answers(second, eniAddress)).toBe(true);
  });

  it('are unplugged from a running instance', async () => {
    await clients.ecs.detachNetworkInterface(
      new Ecs.DetachNetworkInterfaceRequest({ regionId, networkInterfaceId, instanceId: first }),
    );
    await idle();
    expect(await statusOf()).toBe('Available');
    expect((await run(first, 'ip', 'link', 'show', 'dev', 'eth1')).exitCode).not.toBe(0);
    expect(await answers(second, eniAddress)).toBe(false);
    expect(await answers(second, firstAddress)).toBe(true);
  });

  it('are plugged into another instance, also when the control plane goes in between', async () => {
    await attach(second);
    await host.stopControlPlane();
    await host.startControlPlane();
    clients = connectClients(host.cloud);
    await idle();
    expect(await statusOf()).toBe('InUse');
    await awaitAddress(second, 'eth1', eniAddress);
    expect(await answers(first, eniAddress)).toBe(true);
  });

  it('take a stopped instance to another vSwitch', async () => {
    await clients.ecs.stopInstance(new Ecs.StopInstanceRequest({ instanceId: first, forceStop: true }));
    await idle();
    await clients.ecs.modifyInstanceVpcAttribute(
      new Ecs.ModifyInstanceVpcAttributeRequest({
        instanceId: first,
        vSwitchId: otherVSwitchId,
        privateIpAddress: '10.0.2.60',
      }),
    );
    await clients.ecs.startInstance(new Ecs.StartInstanceRequest({ instanceId: first }));
    await idle();
    await awaitAddress(first, 'eth0', '10.0.2.60');
    expect(await answers(second, '10.0.2.60')).toBe(true);
    expect(await answers(first, eniAddress)).toBe(true);
    // The answer leaves by the first card, though the second one is in the asker's subnet.
    expect(await answers(first, secondAddress)).toBe(true);
  });
});
