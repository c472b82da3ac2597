import { execFile as execFileWithCallback } from 'node:child_process';
import { promisify } from 'node:util';
import * as Ecs from '@alicloud/ecs20140526';
import * as Vpc from '@alicloud/vpc20160428';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Clients, connectClients } from '../../testing/clients.js';
import { HostCloud } from '../../testing/hostCloud.js';
import { VpcFixture } from '../../testing/vpcFixture.js';

const execFile = promisify(execFileWithCallback);
vi.setConfig({ testTimeout: 60_000 });

const isRoot = process.getuid?.() === 0;
if (!isRoot && process.env['CI'] === 'true') throw new Error('The packet tests of VPCs need root');

const regionId = 'cn-hangzhou';
const port = 8080;

/** Answers every request with the address that it came from. */
const whoAsks = `
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.client_address[0].encode())
    def log_message(self, *_):
        pass
ThreadingHTTPServer(("0.0.0.0", ${port}), Handler).serve_forever()
`;

/** A part of the world behind this machine: a network namespace that a pair of devices leads to. */
class World {
  /** Of the namespace and, with one letter more, of the devices; this run's own. */
  private readonly name = `w${(process.pid % 46_656).toString(36)}`;
  private readonly subnet = `198.19.${128 + (process.pid % 120)}.0`;
  private server: AbortController | undefined;

  private nth(index: number): string {
    const parts = this.subnet.split('.').map(Number);
    return [...parts.slice(0, 3), (parts[3] ?? 0) + index].join('.');
  }

  get address(): string {
    return this.nth(2);
  }

  /** The machine's own address towards this part of the world. */
  get hostAddress(): string {
    return this.nth(1);
  }

  async start(): Promise<void> {
    const { name } = this;
    for (const line of [
      `netns add ${name}`,
      `link add ${name}h type veth peer name ${name}w netns ${name}`,
      `addr add ${this.hostAddress}/30 dev ${name}h`,
      `link set ${name}h up`,
      `-n ${name} addr add ${this.address}/30 dev ${name}w`,
      `-n ${name} link set ${name}w up`,
    ]) {
      await execFile('ip', line.split(' '));
    }
    this.server = new AbortController();
    execFile('ip', ['netns', 'exec', name, 'python3', '-c', whoAsks], { signal: this.server.signal }).catch(
      () => undefined,
    );
    await vi.waitUntil(() => ask(this.address), { timeout: 10_000 });
  }

  async stop(): Promise<void> {
    this.server?.abort();
    await execFile('ip', ['link', 'del', `${this.name}h`]).catch(() => undefined);
    await execFile('ip', ['netns', 'del', this.name]).catch(() => undefined);
  }
}

/** What a server says about who asks it from this machine; `undefined` when it cannot be reached. */
async function ask(address: string, atPort = port): Promise<string | undefined> {
  try {
    const { stdout } = await execFile('curl', ['-sS', '-m', '2', `http://${address}:${atPort}/`]);
    return stdout;
  } catch {
    return undefined;
  }
}

describe.skipIf(!isRoot)(`VPCs with real packets${isRoot ? '' : ' (left out: needs root)'}`, () => {
  const world = new World();
  let host: HostCloud;
  let clients: Clients;
  /** Two VPCs with the same range. */
  let one: VpcFixture;
  let other: VpcFixture;
  /** In `one`: in its first vSwitch, in its second. In `other`: with the address of the first. */
  let first: string;
  let second: string;
  let twin: string;
  let secondVSwitchId: string;
  let secondAddress: string;

  beforeAll(async () => {
    await world.start();
    host = await HostCloud.start();
    clients = connectClients(host.cloud);
    one = await VpcFixture.create(clients);
    other = await VpcFixture.create(clients);
    secondVSwitchId = await one.createVSwitch('10.0.2.0/24');
    for (const { securityGroupId } of [one, other]) {
      await clients.ecs.authorizeSecurityGroup(
        new Ecs.AuthorizeSecurityGroupRequest({
          regionId,
          securityGroupId,
          permissions: [
            new Ecs.AuthorizeSecurityGroupRequestPermissions({
              ipProtocol: 'TCP',
              portRange: `${port}/${port}`,
              sourceCidrIp: '0.0.0.0/0',
            }),
          ],
        }),
      );
    }
    const image = { imageId: host.image.name };
    first = await one.runInstance({ ...image, privateIpAddress: '10.0.1.10' });
    second = await one.runInstance({ ...image, vSwitchId: secondVSwitchId });
    twin = await other.runInstance({ ...image, privateIpAddress: '10.0.1.10' });
    await host.cloud.reconciler.idle();
    ({ address: secondAddress } = await one.primaryOf(second));
    for (const id of [first, second, twin]) {
      await inside(id, '/usr/lib/egs/wait-online');
      await inside(id, 'systemd-run', '--collect', 'python3', '-c', whoAsks);
      await vi.waitUntil(() => askFrom(id, '127.0.0.1'), { timeout: 20_000 });
    }
  }, 300_000);
  afterAll(async () => {
    await host?.stop();
    await world.stop();
  }, 120_000);

  async function inside(id: string, ...command: string[]): Promise<string> {
    const chunks: Uint8Array[] = [];
    const { exitCode } = await host.compute.exec(id, {
      command,
      onOutput: (_, chunk) => chunks.push(chunk),
    });
    const output = Buffer.concat(chunks).toString();
    if (exitCode !== 0) throw new Error(`${command.join(' ')} ended with ${exitCode}: ${output}`);
    return output;
  }

  /** What a server says about an instance that asks it; `undefined` when it cannot be reached. */
  async function askFrom(id: string, address: string, atPort = port): Promise<string | undefined> {
    return inside(id, 'curl', '-sS', '-m', '2', `http://${address}:${atPort}/`).catch(() => undefined);
  }

  const settle = () => host.cloud.reconciler.idle();

  async function associate(home: VpcFixture, id: string, type?: string) {
    const eip = await home.allocateEip({ bandwidth: '100' });
    await home.associateEip(eip.allocationId, id, type);
    await settle();
    expect((await home.describeEip(eip.allocationId))?.status).toBe('InUse');
    return eip;
  }

  async function unassociate(home: VpcFixture, allocationId: string): Promise<void> {
    await home.unassociateEip(allocationId);
    await settle();
    await home.releaseEip(allocationId);
  }

  it('leads from one vSwitch to another, and never into a VPC with the same range', async () => {
    expect(await askFrom(first, secondAddress)).toBe('10.0.1.10');
    expect(await askFrom(second, '10.0.1.10')).toBe(secondAddress);
    expect(await askFrom(twin, secondAddress)).toBeUndefined();
  });

  it('has no way out without EIP and NAT gateway', async () => {
    expect(await askFrom(first, world.address)).toBeUndefined();
  });

  it('leads in and out by an EIP, as long as it is associated', async () => {
    const { allocationId, eipAddress } = await associate(one, first);
    const own = await associate(other, twin);
    expect(await ask(eipAddress)).toBeDefined();
    expect(await ask(eipAddress, 22)).toBeUndefined();
    // The pool is known to this machine only: the world sees the machine.
    expect(await askFrom(first, world.address)).toBe(world.hostAddress);
    expect(await askFrom(twin, eipAddress)).toBe(own.eipAddress);
    expect(await askFrom(second, world.address)).toBeUndefined();
    await unassociate(one, allocationId);
    await unassociate(other, own.allocationId);
    expect(await ask(eipAddress)).toBeUndefined();
    expect(await askFrom(first, world.address)).toBeUndefined();
  });

  it('gives an instance with a bandwidth a public address of its own', async () => {
    await clients.ecs.modifyInstanceNetworkSpec(
      new Ecs.ModifyInstanceNetworkSpecRequest({
        instanceId: first,
        internetMaxBandwidthOut: 50,
        allocatePublicIp: true,
      }),
    );
    await settle();
    const [publicIpAddress = ''] = (await one.describeInstance(first))?.publicIpAddress?.ipAddress ?? [];
    expect(await ask(publicIpAddress)).toBeDefined();
    expect(await askFrom(first, world.address)).toBe(world.hostAddress);
    await clients.ecs.releasePublicIpAddress(
      new Ecs.ReleasePublicIpAddressRequest({ regionId, publicIpAddress }),
    );
    await settle();
    expect(await ask(publicIpAddress)).toBeUndefined();
  });

  it('translates by a NAT gateway: out for the vSwitches of its entries, in for its ports', async () => {
    const gateway = await one.createNatGateway();
    const eip = await associate(one, gateway.natGatewayId, 'Nat');
    const target = await associate(other, twin);
    await clients.vpc.createSnatEntry(
      new Vpc.CreateSnatEntryRequest({
        regionId,
        snatTableId: gateway.snatTableId,
        snatIp: eip.eipAddress,
        sourceVSwitchId: secondVSwitchId,
      }),
    );
    const { body } = await clients.vpc.createForwardEntry(
      new Vpc.CreateForwardEntryRequest({
        regionId,
        forwardTableId: gateway.forwardTableId,
        externalIp: eip.eipAddress,
        externalPort: '80',
        internalIp: secondAddress,
        internalPort: String(port),
        ipProtocol: 'TCP',
      }),
    );
    await settle();
    expect(await askFrom(second, world.address)).toBe(world.hostAddress);
    expect(await askFrom(second, target.eipAddress)).toBe(eip.eipAddress);
    expect(await askFrom(first, world.address)).toBeUndefined();
    expect(await ask(eip.eipAddress, 80)).toBeDefined();
    expect(await ask(eip.eipAddress)).toBeUndefined();
    await clients.vpc.deleteForwardEntry(
      new Vpc.DeleteForwardEntryRequest({
        regionId,
        forwardTableId: gateway.forwardTableId,
        forwardEntryId: body?.forwardEntryId ?? '',
      }),
    );
    await settle();
    expect(await ask(eip.eipAddress, 80)).toBeUndefined();
    await clients.vpc.deleteNatGateway(
      new Vpc.DeleteNatGatewayRequest({ regionId, natGatewayId: gateway.natGatewayId, force: true }),
    );
    await settle();
    expect(await askFrom(second, world.address)).toBeUndefined();
    await one.releaseEip(eip.allocationId);
    await unassociate(other, target.allocationId);
  });

  it('routes by a custom table through an instance', async () => {
    const routeTableId =
      (await clients.vpc.createRouteTable(new Vpc.CreateRouteTableRequest({ regionId, vpcId: one.vpcId })))
        .body?.routeTableId ?? '';
    const pair = { regionId, routeTableId, vSwitchId: one.vSwitchId };
    await clients.vpc.associateRouteTable(new Vpc.AssociateRouteTableRequest(pair));
    await inside(second, 'ip', 'addr', 'add', '172.31.0.1/32', 'dev', 'lo');
    await settle();
    expect(await askFrom(first, '172.31.0.1')).toBeUndefined();
    const entry = { regionId, routeTableId, destinationCidrBlock: '172.31.0.0/24' };
    await clients.vpc.createRouteEntry(
      new Vpc.CreateRouteEntryRequest({ ...entry, nextHopType: 'Instance', nextHopId: second }),
    );
    await settle();
    expect(await askFrom(first, '172.31.0.1')).toBe('10.0.1.10');
    await clients.vpc.deleteRouteEntry(new Vpc.DeleteRouteEntryRequest(entry));
    await clients.vpc.unassociateRouteTable(new Vpc.UnassociateRouteTableRequest(pair));
    await clients.vpc.deleteRouteTable(new Vpc.DeleteRouteTableRequest({ regionId, routeTableId }));
    await settle();
    expect(await askFrom(first, '172.31.0.1')).toBeUndefined();
  });

  it('keeps its EIP and what is under way over a restart of the control plane', async () => {
    const { allocationId, eipAddress } = await one.allocateEip();
    await one.associateEip(allocationId, first);
    await host.stopControlPlane();
    await host.startControlPlane();
    clients = connectClients(host.cloud);
    await vi.waitUntil(async () => (await ask(eipAddress)) !== undefined, { timeout: 20_000 });
  });

  it('leaves nothing of a VPC that is deleted', async () => {
    const namespaces = async () => (await execFile('ip', ['netns', 'list'])).stdout;
    const namespace = host.namespaceOf(other.vpcId);
    expect(await namespaces()).toContain(namespace);
    await clients.ecs.deleteInstance(
      new Ecs.DeleteInstanceRequest({ regionId, instanceId: twin, force: true }),
    );
    await settle();
    await clients.ecs.deleteSecurityGroup(
      new Ecs.DeleteSecurityGroupRequest({ regionId, securityGroupId: other.securityGroupId }),
    );
    await clients.vpc.deleteVSwitch(new Vpc.DeleteVSwitchRequest({ regionId, vSwitchId: other.vSwitchId }));
    await clients.vpc.deleteVpc(new Vpc.DeleteVpcRequest({ regionId, vpcId: other.vpcId }));
    await settle();
    expect(await namespaces()).not.toContain(namespace);
    const rows = await host.cloud.parts.store.reader.selectFrom('vpcs').select('id').execute();
    expect(rows.map(({ id }) => id)).not.toContain(other.vpcId);
    expect(await askFrom(first, secondAddress)).toBe('10.0.1.10');
  });
});
