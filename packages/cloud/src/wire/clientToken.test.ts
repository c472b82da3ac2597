import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as ecs from '@alicloud/ecs20140526';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseConfig } from '../config.js';
import { FakeNetworkDriver } from '../drivers/network/fake/driver.js';
import { Cloud } from '../server.js';
import { connectClients } from '../testing/clients.js';
import { startTestCloud, type TestCloud } from '../testing/testCloud.js';

const regionId = 'cn-hangzhou';

let cloud: TestCloud;
beforeAll(async () => {
  cloud = await startTestCloud();
});
afterAll(() => cloud.stop());

const launch = async (more: Partial<ecs.RunInstancesRequest>) => {
  const { body } = await cloud.ecs.runInstances(
    new ecs.RunInstancesRequest({
      regionId,
      imageId: 'debian_12_x64_egs',
      instanceType: 'ecs.t6-c1m1.large',
      ...more,
    }),
  );
  return body?.instanceIdSets?.instanceIdSet ?? [];
};
const countInstances = async () =>
  (await cloud.ecs.describeInstances(new ecs.DescribeInstancesRequest({ regionId }))).body?.totalCount;

describe('a client token', () => {
  it('gives the first answer again, and does the work once', async () => {
    const before = (await countInstances()) ?? 0;
    const first = await launch({ clientToken: 'once', amount: 2 });
    const second = await launch({ clientToken: 'once', amount: 2 });
    expect(second).toEqual(first);
    expect(await countInstances()).toBe(before + 2);
  });

  it('gives the first answer also to tries that run at the same time', async () => {
    const before = (await countInstances()) ?? 0;
    const answers = await Promise.all([1, 2, 3, 4].map(() => launch({ clientToken: 'together' })));
    expect(new Set(answers.map((answer) => answer.join())).size).toBe(1);
    expect(await countInstances()).toBe(before + 1);
  });

  it('cannot be used for a request with other parameters', async () => {
    await launch({ clientToken: 'changed' });
    await expect(launch({ clientToken: 'changed', amount: 2 })).rejects.toMatchObject({
      code: 'IdempotentParameterMismatch',
      statusCode: 400,
    });
  });

  it('counts for its action alone', async () => {
    const request = { RegionId: regionId, Name: 'a', Type: 'RunShellScript', CommandContent: 'ZWNobw==' };
    await launch({ clientToken: 'shared' });
    await cloud.rpc().request('CreateCommand', { ...request, ClientToken: 'shared' });
  });

  it('is not used up by a request that failed', async () => {
    await expect(launch({ clientToken: 'retried', imageId: 'm-unknown' })).rejects.toMatchObject({
      code: 'InvalidImageId.NotFound',
    });
    expect(await launch({ clientToken: 'retried' })).toHaveLength(1);
  });

  it('is not used up by a dry run, which changes nothing', async () => {
    const before = await countInstances();
    await expect(launch({ clientToken: 'dry', dryRun: true })).rejects.toMatchObject({
      code: 'DryRunOperation',
      statusCode: 400,
    });
    expect(await countInstances()).toBe(before);
    expect(await launch({ clientToken: 'dry' })).toHaveLength(1);
  });

  it.each(['x'.repeat(65), 'tökén'])('is refused when it is "%s"', async (clientToken) => {
    await expect(launch({ clientToken })).rejects.toMatchObject({
      code: 'InvalidClientToken.ValueNotSupported',
    });
  });

  it('outlives a restart of the cloud', async () => {
    const dataDirectory = mkdtempSync(join(tmpdir(), 'openegs-test-'));
    const create = async (): Promise<unknown> => {
      const restarted = await Cloud.start({
        dataDirectory,
        config: parseConfig({}),
        computeDrivers: new Map(),
        network: new FakeNetworkDriver(),
      });
      try {
        const answer = await connectClients(restarted).rpc().request<{ CommandId: string }>('CreateCommand', {
          RegionId: regionId,
          Name: 'restart',
          Type: 'RunShellScript',
          CommandContent: 'ZWNobw==',
          ClientToken: 'restart',
        });
        return answer.CommandId;
      } finally {
        await restarted.stop();
      }
    };
    try {
      expect(await create()).toBe(await create());
    } finally {
      rmSync(dataDirectory, { recursive: true, force: true });
    }
  });
});

describe('a dry run', () => {
  it('tells the mistakes that the request has', async () => {
    await expect(launch({ dryRun: true, imageId: 'm-unknown' })).rejects.toMatchObject({
      code: 'InvalidImageId.NotFound',
    });
  });

  it('leaves all capacity as it was', async () => {
    const free = () => [...cloud.cloud.parts.placement.hosts()].map((host) => ({ ...host.free }));
    const before = free();
    await expect(launch({ dryRun: true, amount: 5 })).rejects.toMatchObject({ code: 'DryRunOperation' });
    expect(free()).toEqual(before);
  });
});

describe('throttling', () => {
  it('is answered so that the SDK knows it for what it is', async () => {
    const throttled = await startTestCloud({ config: { throttle: { actions: { DescribeZones: 1 } } } });
    try {
      const ask = () => throttled.ecs.describeZones(new ecs.DescribeZonesRequest({ regionId }));
      const answers = await Promise.allSettled([1, 2, 3, 4, 5].map(ask));
      // The minute may end in between, which lets one more pass.
      const refused = answers.filter((answer) => answer.status === 'rejected');
      expect(refused.length).toBeGreaterThanOrEqual(3);
      expect(refused[0]).toMatchObject({ reason: { code: 'Throttling.User', statusCode: 400 } });
      await throttled.ecs.describeRegions(new ecs.DescribeRegionsRequest({}));
    } finally {
      await throttled.stop();
    }
  });
});
