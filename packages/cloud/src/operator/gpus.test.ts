import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as Ecs from '@alicloud/ecs20140526';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ConfiguredCloud, startConfiguredCloud } from '../compose.js';
import { parseConfig } from '../config.js';
import type { GpuCard } from '../domain/gpu.js';
import type { HostId } from '../domain/ids.js';
import { FakeComputeDriver } from '../drivers/compute/fake/FakeComputeDriver.js';
import { connectClients } from '../testing/clients.js';
import { operatorSocketPath } from './operatorApi.js';
import { mergeGpus } from './readGpus.js';

let dataDirectory: string;
let running: ConfiguredCloud;

async function start(count: number): Promise<void> {
  const gpus = [{ model: 'NVIDIA T4', memoryMiB: 16_384, count }];
  const engine = { driver: 'fake', vcpus: 64 };
  running = await startConfiguredCloud({
    dataDirectory,
    config: parseConfig({ hosts: [{ id: 'rack', zone: 'cn-hangzhou-a', engine, gpus }] }),
    engine: 'fake',
    listen: { host: '127.0.0.1', port: 0 },
  });
}

beforeEach(async () => {
  dataDirectory = mkdtempSync(join(tmpdir(), 'openegs-test-'));
  await start(2);
});
afterEach(async () => {
  await running.stop();
  rmSync(dataDirectory, { recursive: true, force: true });
});

function ask(method: string, path: string, body?: unknown): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const socketPath = operatorSocketPath(dataDirectory);
    const headers = { 'content-type': 'application/json' };
    const call = request(
      { socketPath, method, path, ...(body === undefined ? {} : { headers }) },
      (response) => {
        let text = '';
        response.on('data', (chunk) => {
          text += String(chunk);
        });
        response.on('end', () => resolve(JSON.parse(text)));
      },
    );
    call.on('error', reject);
    call.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

async function runT4(): Promise<string> {
  const { body } = await connectClients(running.cloud).ecs.runInstances(
    new Ecs.RunInstancesRequest({
      regionId: 'cn-hangzhou',
      imageId: 'debian_12_x64_egs',
      instanceType: 'ecs.gn6i-c4g1.xlarge',
    }),
  );
  await running.cloud.reconciler.idle();
  return body?.instanceIdSets?.instanceIdSet?.[0] ?? expect.fail('no instance');
}

describe("the operator's view of cards", () => {
  it('shows declared cards and who holds them', async () => {
    const id = await runT4();
    const cards = await ask('GET', '/gpus');
    expect(cards).toHaveLength(2);
    expect(cards).toContainEqual(
      expect.objectContaining({
        hostId: 'rack',
        model: 'NVIDIA T4 16GB',
        freeMemoryMiB: 0,
        faults: [],
        sharing: expect.objectContaining({ mode: 'none', memory: 'scheduled', compute: 'scheduled' }),
        holders: [{ instanceId: id, memoryMiB: 16_384, computePercent: 100, exclusive: true }],
      }),
    );
  });

  it('explains card by card why an instance does not fit', async () => {
    const wish = { instanceType: 'ecs.gn6i-c24g1.12xlarge' };
    expect(await ask('POST', '/placement/explain', wish)).toMatchObject({
      hostId: 'rack',
      cards: ['fake-0', 'fake-1'],
    });
    await runT4();
    const explanation = await ask('POST', '/placement/explain', wish);
    expect(explanation).toMatchObject({
      refusal: expect.stringContaining('2 fitting GPU(s) asked'),
      hosts: [{ hostId: 'rack', cards: expect.arrayContaining([{ cardId: 'fake-1', text: 'fits' }]) }],
    });
    expect(await ask('POST', '/placement/explain', { instanceType: 'ecs.none' })).toMatchObject({
      code: 'HostInvalid',
    });
  });

  it('keeps a card that has gone while an instance holds it, as lost, and forgets it afterwards', async () => {
    const first = await runT4();
    const second = await runT4();
    await running.stop();
    await start(1);
    expect(await ask('GET', '/gpus')).toEqual([
      expect.objectContaining({ id: 'fake-0', faults: [] }),
      expect.objectContaining({ id: 'fake-1', faults: ['the card is not there any more'] }),
    ]);
    const { ecs } = connectClients(running.cloud);
    for (const instanceId of [first, second]) {
      await ecs.deleteInstance(new Ecs.DeleteInstanceRequest({ instanceId, force: true }));
    }
    await running.cloud.reconciler.idle();
    expect(await ask('POST', '/gpus/refresh')).toHaveLength(1);
    await runT4();
    await expect(runT4()).rejects.toMatchObject({ code: 'OperationDenied.NoStock' });
  });
});

describe('a host that does not answer any more', () => {
  it('takes nothing new and keeps what it runs, until it answers again', async () => {
    const id = await runT4();
    const { hosts, cloud } = running;
    const driver = hosts.drivers.get('rack' as HostId);
    if (!(driver instanceof FakeComputeDriver)) expect.fail('the host has a fake engine');
    driver.setAvailable(false);
    await hosts.checkHosts();
    expect(await ask('GET', '/hosts/rack')).toMatchObject({ state: 'unreachable', instances: 1 });
    expect(await ask('POST', '/placement/explain', { instanceType: 'ecs.gn6i-c4g1.xlarge' })).toMatchObject({
      hosts: [{ text: 'the host is lost' }],
    });
    await expect(runT4()).rejects.toMatchObject({ code: 'OperationDenied.NoStock' });
    expect(cloud.parts.placement.findAllocation(id)?.cards).toHaveLength(1);
    driver.setAvailable(true);
    await hosts.checkHosts();
    expect(await ask('GET', '/hosts/rack')).toMatchObject({ state: 'active' });
    await runT4();
  });
});

describe('a new reading of cards', () => {
  const card: GpuCard = { id: 'GPU-1', kind: 'nvidia', product: 'Tesla T4', memoryMiB: 15_360, faults: [] };
  it('that failed leaves no card trusted', () => {
    const { cards } = mergeGpus({ cards: [card], links: [] }, { failure: 'GPU is lost' }, () => false);
    expect(cards).toEqual([{ ...card, faults: [{ code: 'lost', message: 'GPU is lost' }] }]);
  });
});
