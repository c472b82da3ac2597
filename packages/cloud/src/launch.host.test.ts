import { execFile as execFileWithCallback } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import * as Ecs from '@alicloud/ecs20140526';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Clients, connectClients } from './testing/clients.js';
import { HostCloud } from './testing/hostCloud.js';

const execFile = promisify(execFileWithCallback);

describe('a real instance', () => {
  let host: HostCloud;
  let clients: Clients;
  let directory: string;
  let instanceId: string;

  beforeAll(async () => {
    host = await HostCloud.start();
    clients = connectClients(host.cloud);
    directory = await mkdtemp(join(tmpdir(), 'egs-keys-'));
    await execFile('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(directory, 'id')]);
    const publicKeyBody = (await readFile(join(directory, 'id.pub'), 'utf8')).trim();
    await clients.ecs.importKeyPair(
      new Ecs.ImportKeyPairRequest({ regionId: host.regionId, keyPairName: 'owner', publicKeyBody }),
    );
  }, 300_000);
  afterAll(async () => {
    await host?.stop();
    if (directory) await rm(directory, { recursive: true });
  }, 120_000);

  async function describeInstance() {
    const { body } = await clients.ecs.describeInstances(
      new Ecs.DescribeInstancesRequest({ regionId: host.regionId }),
    );
    return body?.instances?.instance?.[0];
  }

  it('is running soon after RunInstances', async () => {
    const { body } = await clients.ecs.runInstances(
      new Ecs.RunInstancesRequest({
        regionId: host.regionId,
        imageId: host.image.name,
        instanceType: 'ecs.c6.large',
        hostName: 'first-one',
        keyPairName: 'owner',
      }),
    );
    instanceId = body?.instanceIdSets?.instanceIdSet?.[0] ?? '';
    await host.cloud.reconciler.idle();
    expect(await describeInstance()).toMatchObject({ instanceId, status: 'Running', hostName: 'first-one' });
    expect(await host.compute.findInstance(instanceId)).toMatchObject({
      status: 'running',
      vcpus: 2,
      memoryMiB: 4096,
      rootDiskGiB: 40,
    });
  }, 120_000);

  it('lets its owner in with the key, under its own name and address', async () => {
    const instance = await describeInstance();
    const namespace = host.namespaceOf(instance?.vpcAttributes?.vpcId ?? '');
    const address = instance?.vpcAttributes?.privateIpAddress?.ipAddress?.[0] ?? '';
    const login = () =>
      execFile('ip', [
        ...['netns', 'exec', namespace, 'ssh', '-i', join(directory, 'id'), '-o', 'BatchMode=yes'],
        ...['-o', 'StrictHostKeyChecking=no', '-o', 'UserKnownHostsFile=/dev/null', '-o', 'LogLevel=ERROR'],
        ...['-o', 'ConnectTimeout=2', `root@${address}`, 'hostname; hostname -I; whoami'],
      ]);
    await expect
      .poll(async () => (await login()).stdout.split(/\s+/), { timeout: 30_000, interval: 100 })
      .toEqual(['first-one', address, 'root', '']);
  }, 60_000);

  it('is gone from host and network after DeleteInstance', async () => {
    const instance = await describeInstance();
    await clients.ecs.deleteInstance(new Ecs.DeleteInstanceRequest({ instanceId, force: true }));
    expect(await describeInstance()).toBeUndefined();
    await host.cloud.reconciler.idle();
    expect(await host.compute.listInstances()).toEqual([]);
    expect(host.cloud.parts.placement.findAllocation(instanceId)).toBeUndefined();
    const { stdout } = await execFile('ip', ['-o', 'link']);
    const mac = instance?.networkInterfaces?.networkInterface?.[0]?.macAddress ?? 'no address';
    expect(stdout).not.toContain(mac);
  }, 60_000);
});
