import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseConfig } from '@openegs/cloud/config';
import { noGpus } from '@openegs/cloud/domain/gpu';
import type { HostId, NetworkInterfaceId, RegionId, VSwitchId, ZoneId } from '@openegs/cloud/domain/ids';
import { FakeComputeDriver } from '@openegs/cloud/drivers/compute/fake/FakeComputeDriver';
import { LinuxNetworkDriver } from '@openegs/cloud/drivers/network/linux/driver';
import { Cloud } from '@openegs/cloud/server';
import { putHost } from '@openegs/cloud/store/hosts';
import { Store } from '@openegs/cloud/store/store';
import { pino } from 'pino';
import { SignedClient } from '../lib/signedClient.js';
import { Guests } from './guests.js';

const regionId = 'cn-hangzhou';
const zoneId = 'cn-hangzhou-a';
const firstPort = 30_000;
const transitCidr = '100.98.0.0/16';
const fabricCidr = '100.99.0.0/16';

/** Echoes datagrams on many ports. */
const echoScript = `
const { createSocket } = require('node:dgram');
const [first, count] = process.argv.slice(1).map(Number);
let bound = 0;
for (let port = first; port < first + count; port += 1) {
  const socket = createSocket('udp4');
  socket.on('message', (data, { address, port: from }) => socket.send(data, from, address));
  socket.bind(port, () => { bound += 1; if (bound === count) console.log('ready'); });
}`;

/** For each port on standard input: sends every millisecond until an answer comes, then says when it came. */
const knockScript = `
const { createSocket } = require('node:dgram');
const { createInterface } = require('node:readline');
const [server] = process.argv.slice(1);
createInterface({ input: process.stdin }).on('line', (port) => {
  const socket = createSocket('udp4');
  const timer = setInterval(() => socket.send('x', Number(port), server), 1);
  socket.once('message', () => {
    console.log(String(process.hrtime.bigint()));
    clearInterval(timer);
    socket.close();
  });
});
console.log('ready');`;

/**
 * From the answer of AuthorizeSecurityGroup until the first packet that the new rule lets through, in ms;
 * 0 when it was there before the answer. A whole cloud with its API, store and network; its engine is the
 * simulated one, with network namespaces in the places of instances.
 */
export async function measurePropagation(options: {
  readonly tag: string;
  readonly rounds: number;
}): Promise<number[]> {
  const directory = await mkdtemp(join(tmpdir(), 'openegs-bench-'));
  const store = Store.open(directory);
  const hostId = 'bench' as HostId;
  await store.transaction({ name: 'bench' }, (tx) =>
    putHost(tx, {
      id: hostId,
      regionId: regionId as RegionId,
      zoneId: zoneId as ZoneId,
      cpuMilli: 64_000,
      memoryMiB: 256 * 1024,
      diskGiB: 4096,
      gpus: noGpus,
      endpoint: '',
    }),
  );
  const compute = new FakeComputeDriver({ hostId });
  await compute.importImage('debian_12_x64_egs', { metadata: '', rootfs: '' });
  const network = await LinuxNetworkDriver.open({ tag: options.tag, transitCidr, fabricCidr });
  const cloud = await Cloud.start({
    dataDirectory: directory,
    store,
    config: parseConfig({ network: { transitCidr, fabricCidr } }),
    computeDrivers: new Map([[hostId, compute]]),
    network,
    log: pino({ level: 'silent' }),
  });
  const guests = new Guests(network.names);
  const client = new SignedClient(cloud.endpoint, cloud.credentials, 4);
  const call = async <Answer>(action: string, parameters: Record<string, string>): Promise<Answer> =>
    (await client.call(action, { RegionId: regionId, ...parameters })) as Answer;
  try {
    const { VpcId } = await call<{ VpcId: string }>('CreateVpc', { CidrBlock: '10.0.0.0/16' });
    const { VSwitchId } = await call<{ VSwitchId: string }>('CreateVSwitch', {
      VpcId,
      ZoneId: zoneId,
      CidrBlock: '10.0.1.0/24',
    });
    const [clientGroup, serverGroup] = [await createGroup(), await createGroup()];
    const knocker = await launch('knocker', clientGroup);
    const server = await launch('server', serverGroup);
    await guests.start(server.namespace, process.execPath, [
      ...['-e', echoScript, `${firstPort}`, `${options.rounds}`],
    ]);
    const knock = await guests.start(knocker.namespace, process.execPath, [
      '-e',
      knockScript,
      server.address,
    ]);

    const samplesMs: number[] = [];
    for (let round = 0; round < options.rounds; round += 1) {
      const port = firstPort + round;
      const passed = knock.ask(`${port}`);
      await call('AuthorizeSecurityGroup', {
        SecurityGroupId: serverGroup,
        IpProtocol: 'udp',
        PortRange: `${port}/${port}`,
        SourceCidrIp: '10.0.0.0/16',
      });
      const answeredAt = process.hrtime.bigint();
      const passedAt = BigInt(await passed);
      samplesMs.push(Math.max(0, Number(passedAt - answeredAt) / 1e6));
    }
    return samplesMs;

    async function createGroup(): Promise<string> {
      return (await call<{ SecurityGroupId: string }>('CreateSecurityGroup', { VpcId })).SecurityGroupId;
    }

    async function launch(name: string, group: string): Promise<{ namespace: string; address: string }> {
      const { InstanceIdSets } = await call<{ InstanceIdSets: { InstanceIdSet: string[] } }>('RunInstances', {
        ImageId: 'debian_12_x64_egs',
        InstanceType: 'ecs.c6.large',
        VSwitchId,
        SecurityGroupId: group,
      });
      await cloud.reconciler.idle();
      const { NetworkInterfaceSets } = await call<{
        NetworkInterfaceSets: {
          NetworkInterfaceSet: { NetworkInterfaceId: string; MacAddress: string; PrivateIpAddress: string }[];
        };
      }>('DescribeNetworkInterfaces', { InstanceId: InstanceIdSets.InstanceIdSet[0] ?? '' });
      const [nic] = NetworkInterfaceSets.NetworkInterfaceSet;
      if (nic === undefined) throw new Error(`${name} has no network interface`);
      const namespace = await guests.add(name);
      await guests.plug(namespace, {
        networkInterfaceId: nic.NetworkInterfaceId as NetworkInterfaceId,
        macAddress: nic.MacAddress,
        address: nic.PrivateIpAddress,
        vSwitch: { id: VSwitchId as VSwitchId, cidr: '10.0.1.0/24', gateway: '10.0.1.253' },
      });
      return { namespace, address: nic.PrivateIpAddress };
    }
  } finally {
    await guests.remove();
    await client.close();
    await cloud.stop();
    await network.removeAll();
    await rm(directory, { recursive: true });
  }
}
