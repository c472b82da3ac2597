import { execFile as execFileWithCallback } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import * as Ecs from '@alicloud/ecs20140526';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Clients, connectClients } from './testing/clients.js';
import { HostCloud } from './testing/hostCloud.js';

const execFile = promisify(execFileWithCallback);

describe('a cloud on this machine', () => {
  let host: HostCloud;
  let clients: Clients;
  let keys: string;

  beforeAll(async () => {
    host = await HostCloud.start();
    clients = connectClients(host.cloud);
    keys = await mkdtemp(join(tmpdir(), 'egs-keys-'));
    await execFile('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(keys, 'id')]);
  }, 300_000);
  afterAll(async () => {
    await host?.stop();
    if (keys) await rm(keys, { recursive: true });
  }, 120_000);

  it('starts an instance', async () => {
    const t0 = performance.now();
    const { body } = await clients.ecs.runInstances(
      new Ecs.RunInstancesRequest({
        regionId: host.regionId,
        imageId: host.image.name,
        instanceType: 'ecs.c6.large',
        password: 'Secret-123',
      }),
    );
    const t1 = performance.now();
    await host.cloud.reconciler.idle();
    const t2 = performance.now();
    const { body: list } = await clients.ecs.describeInstances(
      new Ecs.DescribeInstancesRequest({ regionId: host.regionId }),
    );
    console.log('answer', t1 - t0, 'running', t2 - t0);
    console.log(JSON.stringify(list?.instances?.instance?.[0]));
    expect(list?.instances?.instance?.[0]?.status).toBe('Running');
    expect(body?.instanceIdSets?.instanceIdSet).toHaveLength(1);
  }, 120_000);
});
