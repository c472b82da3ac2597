import { gzipSync } from 'node:zlib';
import * as Ecs from '@alicloud/ecs20140526';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ComputeError } from '../../../drivers/compute/driver.js';
import { startTestCloud, type TestCloud } from '../../../testing/testCloud.js';

const imageId = 'debian_12_x64_egs';
const instanceType = 'ecs.c6.large';

let cloud: TestCloud;
beforeAll(async () => {
  cloud = await startTestCloud();
});
afterAll(() => cloud.stop());

async function run(request: Partial<Ecs.RunInstancesRequest> = {}): Promise<string[]> {
  const { body } = await cloud.ecs.runInstances(
    new Ecs.RunInstancesRequest({ regionId: cloud.regionId, imageId, instanceType, ...request }),
  );
  return body?.instanceIdSets?.instanceIdSet ?? [];
}

async function runOne(request: Partial<Ecs.RunInstancesRequest> = {}): Promise<string> {
  const [id] = await run(request);
  if (id === undefined) throw new Error('no instance id');
  await cloud.cloud.reconciler.idle();
  return id;
}

async function list(request: Partial<Ecs.DescribeInstancesRequest> = {}) {
  const { body } = await cloud.ecs.describeInstances(
    new Ecs.DescribeInstancesRequest({ regionId: cloud.regionId, ...request }),
  );
  return { ...body, rows: body?.instances?.instance ?? [] };
}

async function show(id: string) {
  const { rows } = await list({ instanceIds: JSON.stringify([id]) });
  return rows[0];
}

async function codeOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return 'OK';
  } catch (error) {
    return (error as { code: string }).code;
  }
}

describe('RunInstances', () => {
  it('gives an instance that is visible at once and comes to Running by itself', async () => {
    const [id = ''] = await run({ instanceName: 'web', hostName: 'web' });
    expect(['Pending', 'Starting', 'Running']).toContain((await show(id))?.status);
    await cloud.cloud.reconciler.idle();
    const instance = await show(id);
    expect(instance).toMatchObject({
      instanceId: id,
      instanceName: 'web',
      hostName: 'web',
      status: 'Running',
      cpu: 2,
      memory: 4096,
      zoneId: expect.stringMatching(/^cn-hangzhou-[ab]$/),
      instanceNetworkType: 'vpc',
      OSType: 'linux',
      stoppedMode: 'Not-applicable',
    });
    expect(instance?.vpcAttributes?.privateIpAddress?.ipAddress).toHaveLength(1);
    expect(instance?.securityGroupIds?.securityGroupId).toHaveLength(1);
    expect(instance?.networkInterfaces?.networkInterface?.[0]?.macAddress).toMatch(/^00:16:3e:/);
    expect(instance?.startTime).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\dZ$/);
  });

  it('numbers names by their pattern and by UniqueSuffix', async () => {
    const patterned = await run({ amount: 2, instanceName: 'node-[9,3]-x', hostName: 'node-[9,3]-x' });
    const suffixed = await run({ amount: 2, instanceName: 'db', uniqueSuffix: true });
    const names = await Promise.all(
      [...patterned, ...suffixed].map(async (id) => (await show(id))?.instanceName),
    );
    expect(names).toEqual(['node-009-x', 'node-010-x', 'db001', 'db002']);
  });

  it('gives every instance an address of its own, also to requests at the same time', async () => {
    const ids = (await Promise.all(Array.from({ length: 5 }, () => run({ amount: 2 })))).flat();
    const addresses = await Promise.all(
      ids.map(async (id) => (await show(id))?.vpcAttributes?.privateIpAddress?.ipAddress?.[0]),
    );
    expect(new Set(addresses).size).toBe(10);
  });

  it('creates all or nothing when there is no room, and leaves the capacity as it was', async () => {
    const before = (await list()).totalCount;
    expect(await codeOf(run({ amount: 100, instanceType: 'ecs.c6.26xlarge' }))).toBe(
      'OperationDenied.NoStock',
    );
    expect((await list()).totalCount).toBe(before);
    expect(await codeOf(run({ instanceType: 'ecs.g6.6xlarge' }))).toBe('OK');
  });

  it('creates down to MinAmount when there is less room than Amount needs', async () => {
    const other = await startTestCloud();
    const answer = await other.ecs.runInstances(
      new Ecs.RunInstancesRequest({
        regionId: other.regionId,
        imageId,
        instanceType: 'ecs.c6.26xlarge',
        amount: 10,
        minAmount: 1,
      }),
    );
    expect(answer.body?.instanceIdSets?.instanceIdSet).toHaveLength(4);
    await other.stop();
  });

  it('answers a dry run with DryRunOperation and leaves nothing', async () => {
    const before = (await list()).totalCount;
    expect(await codeOf(run({ dryRun: true }))).toBe('DryRunOperation');
    expect((await list()).totalCount).toBe(before);
  });

  it('puts the key, the password hash, the host name and the user data into the seed', async () => {
    const userData = gzipSync('#!/bin/sh\necho hello\n').toString('base64');
    const id = await runOne({
      password: 'Secret-123',
      userData,
      hostName: 'seeded',
      zoneId: 'cn-hangzhou-a',
    });
    const seed = cloud.compute.a.getSpec(id).seed;
    expect(seed.hostName).toBe('seeded');
    expect(seed.passwordHash).toMatch(/^\$6\$/);
    expect(seed.userDataBase64).toBe(userData);
    const { body } = await cloud.ecs.describeUserData(
      new Ecs.DescribeUserDataRequest({ regionId: cloud.regionId, instanceId: id }),
    );
    expect(body?.userData).toBe(userData);
  });

  const refused: [string, Partial<Ecs.RunInstancesRequest>, string][] = [
    ['an unknown image', { imageId: 'm-none' }, 'InvalidImageId.NotFound'],
    ['an unknown type', { instanceType: 'ecs.none' }, 'InvalidInstanceType.ValueNotSupported'],
    ['a GPU type without a card', { instanceType: 'ecs.gn6i-c4g1.xlarge' }, 'OperationDenied.NoStock'],
    ['an unknown zone', { zoneId: 'cn-nowhere-a' }, 'InvalidZoneId.NotFound'],
    ['an unknown region', { regionId: 'cn-nowhere' }, 'InvalidRegionId.NotFound'],
    ['an unknown vSwitch', { vSwitchId: 'vsw-none' }, 'InvalidVSwitchId.NotFound'],
    ['an unknown security group', { securityGroupId: 'sg-none' }, 'InvalidSecurityGroupId.NotFound'],
    [
      'one group and a list of groups',
      { securityGroupId: 'a', securityGroupIds: ['b'] },
      'InvalidSecurityGroupId.SingleIdAndMultiIdConflict',
    ],
    ['an unknown key pair', { keyPairName: 'none' }, 'InvalidKeyPairName.NotFound'],
    ['a name that is an address', { instanceName: 'http://x' }, 'InvalidInstanceName.Malformed'],
    ['a malformed host name', { hostName: '-x-' }, 'InvalidHostName.Malformed'],
    ['a short description', { description: 'x' }, 'InvalidDescription.Malformed'],
    ['a weak password', { password: 'password' }, 'InvalidPassword.Malformed'],
    ['user data that is not Base64', { userData: '!!!' }, 'InvalidUserData.Base64FormatInvalid'],
    [
      'user data above 32 KB',
      { userData: Buffer.alloc(33 * 1024).toString('base64') },
      'InvalidUserData.SizeExceeded',
    ],
    [
      'a release time in the past',
      { autoReleaseTime: '2020-01-01T00:00:00Z' },
      'InvalidAutoReleaseTime.Malformed',
    ],
    ['a MinAmount above Amount', { amount: 1, minAmount: 2 }, 'InvalidMinAmount.Malformed'],
    ['two ways to name the image', { imageFamily: 'x' }, 'UnexpectedImageFamily.ImageIdSupplied'],
    [
      'a family without an image',
      { imageFamily: 'x', imageId: undefined as never },
      'InvalidImageFamily.MissingAvailableImage',
    ],
    ['no image at all', { imageId: undefined as never }, 'MissingParameter'],
    [
      'a tiny system disk',
      { systemDisk: new Ecs.RunInstancesRequestSystemDisk({ size: '0' }) },
      'InvalidSystemDiskSize.ValueNotSupported',
    ],
    [
      'an unknown disk category',
      { systemDisk: new Ecs.RunInstancesRequestSystemDisk({ category: 'x' }) },
      'InvalidSystemDiskCategory.ValueNotSupported',
    ],
    ['an address outside the vSwitch', { privateIpAddress: '10.9.9.9' }, 'InvalidPrivateIpAddress'],
    ['one address for two', { privateIpAddress: '172.16.0.9', amount: 2 }, 'InvalidParameter.Conflict'],
    ['host names of the wrong number', { hostNames: ['aa', 'bb'], amount: 3 }, 'InvalidHostname.SizeInvalid'],
    [
      'host name and host names',
      { hostNames: ['aa'], hostName: 'bb' },
      'InvalidHostname.SingleAndMultiConflict',
    ],
    ['a strange token mode', { httpTokens: 'maybe' }, 'InvalidHttpTokens.NotSupported'],
  ];
  it.each(refused)('refuses %s', async (_what, request, code) => {
    const before = (await list()).totalCount;
    expect(await codeOf(run(request))).toBe(code);
    expect((await list()).totalCount).toBe(before);
  });
});

describe('the life of an instance', () => {
  it('is created Stopped by CreateInstance, then started, rebooted, stopped and deleted', async () => {
    const { body } = await cloud.ecsV1.createInstance(
      new Ecs.CreateInstanceRequest({ regionId: cloud.regionId, imageId, instanceType }),
    );
    const instanceId = body?.instanceId ?? '';
    await cloud.cloud.reconciler.idle();
    expect((await show(instanceId))?.status).toBe('Stopped');

    await cloud.ecs.startInstance(new Ecs.StartInstanceRequest({ instanceId }));
    await cloud.cloud.reconciler.idle();
    expect((await show(instanceId))?.status).toBe('Running');

    await cloud.ecs.rebootInstance(new Ecs.RebootInstanceRequest({ instanceId, forceStop: true }));
    await cloud.cloud.reconciler.idle();
    expect((await show(instanceId))?.status).toBe('Running');

    await cloud.ecs.stopInstance(new Ecs.StopInstanceRequest({ instanceId }));
    await cloud.cloud.reconciler.idle();
    expect(await show(instanceId)).toMatchObject({ status: 'Stopped', stoppedMode: 'KeepCharging' });

    await cloud.ecs.deleteInstance(new Ecs.DeleteInstanceRequest({ instanceId }));
    expect(await show(instanceId)).toBeUndefined();
    await cloud.cloud.reconciler.idle();
    expect(cloud.cloud.parts.placement.findAllocation(instanceId)).toBeUndefined();
    expect(await cloud.compute.a.findInstance(instanceId)).toBeUndefined();
    expect(await cloud.compute.b.findInstance(instanceId)).toBeUndefined();
  });

  it('is started while CreateInstance still makes it', async () => {
    // No event of the API comes between the two requests, so the host is held back.
    for (const host of [cloud.compute.a, cloud.compute.b]) host.delaysMs.createInstance = 300;
    const { body } = await cloud.ecs.createInstance(
      new Ecs.CreateInstanceRequest({ regionId: cloud.regionId, imageId, instanceType }),
    );
    const instanceId = body?.instanceId ?? '';
    const start = () => cloud.ecs.startInstance(new Ecs.StartInstanceRequest({ instanceId }));
    await start();
    for (const host of [cloud.compute.a, cloud.compute.b]) delete host.delaysMs.createInstance;
    expect((await show(instanceId))?.status).toBe('Pending');
    expect(await codeOf(start())).toBe('IncorrectInstanceStatus');
    await cloud.cloud.reconciler.idle();
    expect((await show(instanceId))?.status).toBe('Running');
  });

  it('refuses what its state does not allow, with the documented codes', async () => {
    const instanceId = await runOne();
    expect(await codeOf(cloud.ecs.startInstance(new Ecs.StartInstanceRequest({ instanceId })))).toBe(
      'IncorrectInstanceStatus',
    );
    expect(await codeOf(cloud.ecs.deleteInstance(new Ecs.DeleteInstanceRequest({ instanceId })))).toBe(
      'IncorrectInstanceStatus',
    );
    expect(
      await codeOf(
        cloud.ecs.modifyInstanceSpec(
          new Ecs.ModifyInstanceSpecRequest({ instanceId, instanceType: 'ecs.c6.xlarge' }),
        ),
      ),
    ).toBe('InvalidInstanceStatus.NotStopped');
    await cloud.ecs.stopInstance(new Ecs.StopInstanceRequest({ instanceId, forceStop: true }));
    await cloud.cloud.reconciler.idle();
    expect(await codeOf(cloud.ecs.stopInstance(new Ecs.StopInstanceRequest({ instanceId })))).toBe(
      'IncorrectInstanceStatus',
    );
    expect(await codeOf(cloud.ecs.rebootInstance(new Ecs.RebootInstanceRequest({ instanceId })))).toBe(
      'IncorrectInstanceStatus',
    );
  });

  it.each([
    ['StartInstance', () => cloud.ecs.startInstance(new Ecs.StartInstanceRequest({ instanceId: 'i-none' }))],
    ['StopInstance', () => cloud.ecs.stopInstance(new Ecs.StopInstanceRequest({ instanceId: 'i-none' }))],
    [
      'RebootInstance',
      () => cloud.ecs.rebootInstance(new Ecs.RebootInstanceRequest({ instanceId: 'i-none' })),
    ],
    [
      'DeleteInstance',
      () => cloud.ecs.deleteInstance(new Ecs.DeleteInstanceRequest({ instanceId: 'i-none' })),
    ],
    [
      'ModifyInstanceAttribute',
      () =>
        cloud.ecs.modifyInstanceAttribute(new Ecs.ModifyInstanceAttributeRequest({ instanceId: 'i-none' })),
    ],
    [
      'ModifyInstanceSpec',
      () => cloud.ecs.modifyInstanceSpec(new Ecs.ModifyInstanceSpecRequest({ instanceId: 'i-none' })),
    ],
    [
      'DescribeInstanceAttribute',
      () =>
        cloud.ecs.describeInstanceAttribute(
          new Ecs.DescribeInstanceAttributeRequest({ instanceId: 'i-none' }),
        ),
    ],
    [
      'DescribeUserData',
      () =>
        cloud.ecs.describeUserData(
          new Ecs.DescribeUserDataRequest({ instanceId: 'i-none', regionId: 'cn-hangzhou' }),
        ),
    ],
  ])('%s does not know an unknown id', async (_name, call) => {
    expect(await codeOf(call())).toBe('InvalidInstanceId.NotFound');
  });

  it('cannot be deleted while it is protected', async () => {
    const instanceId = await runOne({ deletionProtection: true });
    const remove = () => cloud.ecs.deleteInstance(new Ecs.DeleteInstanceRequest({ instanceId, force: true }));
    expect(await codeOf(remove())).toBe('InvalidOperation.DeletionProtection');
    await cloud.ecs.modifyInstanceAttribute(
      new Ecs.ModifyInstanceAttributeRequest({ instanceId, deletionProtection: false }),
    );
    expect(await codeOf(remove())).toBe('OK');
  });

  it('gives back and takes back its capacity when it is stopped without charge', async () => {
    const instanceId = await runOne();
    const { placement } = cloud.cloud.parts;
    expect(placement.findAllocation(instanceId)?.cpuMilli).toBe(2000);
    await cloud.ecs.stopInstance(new Ecs.StopInstanceRequest({ instanceId, stoppedMode: 'StopCharging' }));
    await cloud.cloud.reconciler.idle();
    expect(placement.findAllocation(instanceId)?.cpuMilli).toBe(0);
    expect((await show(instanceId))?.stoppedMode).toBe('StopCharging');
    await cloud.ecs.startInstance(new Ecs.StartInstanceRequest({ instanceId }));
    await cloud.cloud.reconciler.idle();
    expect(placement.findAllocation(instanceId)?.cpuMilli).toBe(2000);
  });

  it('takes a new type while it is stopped, and online while it runs', async () => {
    const instanceId = await runOne();
    await cloud.ecs.modifyInstanceSpec(
      new Ecs.ModifyInstanceSpecRequest({ instanceId, instanceType: 'ecs.c6.xlarge', modifyMode: 'Online' }),
    );
    await cloud.cloud.reconciler.idle();
    expect(await show(instanceId)).toMatchObject({ status: 'Running', cpu: 4, memory: 8192 });
    const observed =
      (await cloud.compute.a.findInstance(instanceId)) ?? (await cloud.compute.b.findInstance(instanceId));
    expect(observed).toMatchObject({ vcpus: 4, memoryMiB: 8192 });
    expect(cloud.cloud.parts.placement.findAllocation(instanceId)?.cpuMilli).toBe(4000);
  });

  it('stops when its guest shuts itself down', async () => {
    const instanceId = await runOne({ zoneId: 'cn-hangzhou-a' });
    await cloud.compute.a.stopInstance(instanceId);
    await cloud.cloud.reconciler.idle();
    expect((await show(instanceId))?.status).toBe('Stopped');
  });

  it('is released cleanly when the host refuses to create it', async () => {
    cloud.compute.a.failNext('createInstance', new ComputeError('refused', 'told to'));
    const instanceId = await runOne({ zoneId: 'cn-hangzhou-a' });
    expect(await show(instanceId)).toBeUndefined();
    expect(cloud.cloud.parts.placement.findAllocation(instanceId)).toBeUndefined();
  });

  it('is tried again when the host does not answer for a while', async () => {
    cloud.compute.a.failNext('startInstance', new ComputeError('unavailable', 'told to'));
    cloud.compute.a.failNext('startInstance', new ComputeError('unavailable', 'told to'), 'after');
    const instanceId = await runOne({ zoneId: 'cn-hangzhou-a' });
    expect((await show(instanceId))?.status).toBe('Running');
  });
});

describe('batches', () => {
  it('stop, start and delete several instances at once', async () => {
    const instanceId = await run({ amount: 2 });
    await cloud.cloud.reconciler.idle();
    const stopped = await cloud.ecs.stopInstances(
      new Ecs.StopInstancesRequest({ regionId: cloud.regionId, instanceId, forceStop: true }),
    );
    expect(stopped.body?.instanceResponses?.instanceResponse).toMatchObject([
      { code: '200', currentStatus: 'Stopping', previousStatus: 'Running' },
      { code: '200' },
    ]);
    await cloud.cloud.reconciler.idle();
    await cloud.ecs.startInstances(new Ecs.StartInstancesRequest({ regionId: cloud.regionId, instanceId }));
    await cloud.cloud.reconciler.idle();
    await cloud.ecs.deleteInstances(
      new Ecs.DeleteInstancesRequest({ regionId: cloud.regionId, instanceId, force: true }),
    );
    expect((await list({ instanceIds: JSON.stringify(instanceId) })).totalCount).toBe(0);
  });

  it('do nothing at all when one of them cannot go along, or go on with the others when asked', async () => {
    const [first = '', second = ''] = await run({ amount: 2 });
    await cloud.cloud.reconciler.idle();
    await cloud.ecs.stopInstance(new Ecs.StopInstanceRequest({ instanceId: second, forceStop: true }));
    await cloud.cloud.reconciler.idle();
    const stop = (batchOptimization: string) =>
      cloud.ecs.stopInstances(
        new Ecs.StopInstancesRequest({
          regionId: cloud.regionId,
          instanceId: [first, second],
          batchOptimization,
        }),
      );
    expect(await codeOf(stop('AllTogether'))).toBe('IncorrectInstanceStatus');
    expect((await show(first))?.status).toBe('Running');
    const { body } = await stop('SuccessFirst');
    expect(body?.instanceResponses?.instanceResponse?.map((response) => response.code)).toEqual([
      '200',
      'IncorrectInstanceStatus',
    ]);
    await cloud.cloud.reconciler.idle();
    expect((await show(first))?.status).toBe('Stopped');
  });
});

describe('DescribeInstances', () => {
  it('pages by number and by token without overlap, newest first', async () => {
    await run({ amount: 12, instanceName: 'page-[1,2]' });
    const all = (await list({ instanceName: 'page-*', pageSize: 50 })).rows.map((row) => row.instanceName);
    expect(all).toHaveLength(12);
    expect(all[0]).toBe('page-12');
    const numbered = await Promise.all(
      [1, 2, 3].map(
        async (pageNumber) => (await list({ instanceName: 'page-*', pageSize: 5, pageNumber })).rows,
      ),
    );
    expect(numbered.flat().map((row) => row.instanceName)).toEqual(all);
    const first = await list({ instanceName: 'page-*', maxResults: 10 });
    const second = await list({
      instanceName: 'page-*',
      maxResults: 10,
      nextToken: first.nextToken as string,
    });
    expect([...first.rows, ...second.rows].map((row) => row.instanceName)).toEqual(all);
    expect(second.nextToken).toBe('');
  });

  it('filters by tags, group, address, status, type and times', async () => {
    const id = await runOne({ tag: [new Ecs.RunInstancesRequestTag({ key: 'team', value: 'red' })] });
    const instance = await show(id);
    const onlyThis = async (request: Partial<Ecs.DescribeInstancesRequest>) =>
      (await list({ ...request, pageSize: 100 })).rows.map((row) => row.instanceId);
    expect(instance?.tags?.tag).toMatchObject([{ tagKey: 'team', tagValue: 'red' }]);
    expect(
      await onlyThis({ tag: [new Ecs.DescribeInstancesRequestTag({ key: 'team', value: 'red' })] }),
    ).toEqual([id]);
    expect(
      await onlyThis({ tag: [new Ecs.DescribeInstancesRequestTag({ key: 'team', value: 'blue' })] }),
    ).toEqual([]);
    const address = instance?.vpcAttributes?.privateIpAddress?.ipAddress?.[0];
    expect(
      await onlyThis({
        privateIpAddresses: JSON.stringify([address]),
        vSwitchId: instance?.vpcAttributes?.vSwitchId as string,
      }),
    ).toEqual([id]);
    expect(
      await onlyThis({ securityGroupId: instance?.securityGroupIds?.securityGroupId?.[0] as string }),
    ).toContain(id);
    expect(await onlyThis({ status: 'Running', instanceTypeFamily: 'ecs.c6' })).toContain(id);
    expect(await onlyThis({ status: 'Stopping' })).not.toContain(id);
    const filter = (key: string, value: string) => ({
      filter: [new Ecs.DescribeInstancesRequestFilter({ key, value })],
    });
    expect(await onlyThis(filter('CreationStartTime', '2020-01-01T00:00Z'))).toContain(id);
    expect(await onlyThis(filter('CreationEndTime', '2020-01-01T00:00Z'))).toEqual([]);
    expect(await codeOf(list(filter('Nonsense', 'x')))).toBe('InvalidFilterKey.NotFound');
    expect(await codeOf(list(filter('CreationEndTime', 'x')))).toBe('InvalidFilterValue');
    expect(await codeOf(list({ status: 'Nonsense' }))).toBe('InvalidStatus.NotFound');
  });

  it('shows the attributes of one instance, and its status', async () => {
    const instanceId = await runOne();
    const { body } = await cloud.ecs.describeInstanceAttribute(
      new Ecs.DescribeInstanceAttributeRequest({ instanceId }),
    );
    expect(body).toMatchObject({ instanceId, status: 'Running', ioOptimized: 'optimized', cpu: 2 });
    const status = await cloud.ecs.describeInstanceStatus(
      new Ecs.DescribeInstanceStatusRequest({ regionId: cloud.regionId, instanceId: [instanceId] }),
    );
    expect(status.body?.instanceStatuses?.instanceStatus).toMatchObject([{ instanceId, status: 'Running' }]);
  });
});
