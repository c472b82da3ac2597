import * as Ecs from '@alicloud/ecs20140526';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ComputeError } from '../../drivers/compute/driver.js';
import { codeOf } from '../../testing/errorCode.js';
import { startTestCloud, type TestCloud } from '../../testing/testCloud.js';
import { VpcFixture } from '../../testing/vpcFixture.js';

const regionId = 'cn-hangzhou';
const attributes = { mode: 0o600, userId: 0, groupId: 0 };

let cloud: TestCloud;
let vpc: VpcFixture;
let instanceId: string;
beforeAll(async () => {
  cloud = await startTestCloud({ config: { quotas: { images: 3 } } });
  vpc = await VpcFixture.create(cloud);
  instanceId = await run();
});
afterAll(() => cloud.stop());

const idle = () => cloud.cloud.reconciler.idle();
const call = (action: string, parameters: Record<string, unknown>) =>
  cloud.rpc().request(action, { RegionId: regionId, ...parameters }, { method: 'POST' });
const codeOfCall = (action: string, parameters: Record<string, unknown>) => codeOf(call(action, parameters));

async function run(request: Partial<Ecs.RunInstancesRequest> = {}): Promise<string> {
  const id = await vpc.runInstance(request);
  await idle();
  return id;
}

async function create(request: Partial<Ecs.CreateImageRequest> = {}): Promise<string> {
  const { body } = await cloud.ecs.createImage(
    new Ecs.CreateImageRequest({ regionId, instanceId, ...request }),
  );
  return body?.imageId ?? '';
}

async function list(request: Partial<Ecs.DescribeImagesRequest> = {}) {
  const { body } = await cloud.ecs.describeImages(new Ecs.DescribeImagesRequest({ regionId, ...request }));
  return body?.images?.image ?? [];
}

async function remove(imageId: string, force = true): Promise<void> {
  await cloud.ecs.deleteImage(new Ecs.DeleteImageRequest({ regionId, imageId, force }));
  await idle();
}

describe('custom images', () => {
  it('are made of an instance and give others its content', async () => {
    await cloud.compute.a.writeFile(instanceId, '/root/data', Buffer.from('kept'), attributes);
    cloud.compute.a.delaysMs.createImage = 100;
    const id = await create({
      imageName: 'golden',
      imageFamily: 'team',
      description: 'for tests',
      imageVersion: '7',
      tag: [new Ecs.CreateImageRequestTag({ key: 'team', value: 'blue' })],
    });
    // Visible at once, to those who ask for more than Available ones, as Packer does.
    expect(await list({ imageId: id, status: 'Waiting,Creating,CreateFailed,Available' })).toMatchObject([
      { status: 'Creating', progress: '0%' },
    ]);
    expect(await list({ imageId: id })).toEqual([]);
    expect(await codeOfCall('RunInstances', { ImageId: id, InstanceType: 'ecs.c6.large' })).toBe(
      'InvalidImageId.NotFound',
    );
    await idle();
    cloud.compute.a.delaysMs.createImage = 0;
    expect(await list({ imageId: id })).toMatchObject([
      {
        imageId: id,
        imageName: 'golden',
        imageFamily: 'team',
        imageVersion: '7',
        description: 'for tests',
        imageOwnerAlias: 'self',
        status: 'Available',
        progress: '100%',
        isPublic: false,
        size: 40,
        OSType: 'linux',
        OSNameEn: 'Debian 12 64 bit',
        usage: 'none',
        diskDeviceMappings: { diskDeviceMapping: [{ device: '/dev/xvda', size: '40' }] },
        tags: { tag: [{ tagKey: 'team', tagValue: 'blue' }] },
      },
    ]);
    for (const wished of [
      { imageOwnerAlias: 'self' },
      { imageName: 'gold*' },
      { imageFamily: 'team' },
      { tag: [new Ecs.DescribeImagesRequestTag({ key: 'team', value: 'blue' })] },
    ]) {
      expect((await list(wished)).map((image) => image.imageId)).toEqual([id]);
    }
    expect((await list({ imageOwnerAlias: 'system' })).map((image) => image.imageId)).not.toContain(id);

    const child = await run({ imageId: id });
    const shown = await vpc.describeInstance(child);
    expect(shown).toMatchObject({ imageId: id, status: 'Running', OSNameEn: 'Debian 12 64 bit' });
    const content = await cloud.compute.a.readFile(child, '/root/data');
    expect(Buffer.from(content ?? []).toString()).toBe('kept');
    expect(await list({ usage: 'instance', imageOwnerAlias: 'self' })).toHaveLength(1);
    expect(await vpc.describeInstance(await runOfFamily('team'))).toMatchObject({ imageId: id });

    expect(await codeOfCall('DeleteImage', { ImageId: id })).toBe('ImageUsingByInstance');
    await remove(id);
    expect(await list({ imageId: id })).toEqual([]);
    expect(await cloud.compute.a.hasImage(id)).toBe(false);
    // What was made from it lives on.
    await call('RebootInstance', { InstanceId: child, ForceStop: true });
    await idle();
    expect(await vpc.describeInstance(child)).toMatchObject({ status: 'Running' });
  });

  async function runOfFamily(imageFamily: string): Promise<string> {
    const { body } = await cloud.ecs.runInstances(
      new Ecs.RunInstancesRequest({
        regionId,
        imageFamily,
        instanceType: 'ecs.c6.large',
        vSwitchId: vpc.vSwitchId,
        securityGroupId: vpc.securityGroupId,
      }),
    );
    await idle();
    return body?.instanceIdSets?.instanceIdSet?.[0] ?? '';
  }

  it('fail in sight when the host cannot make them', async () => {
    cloud.compute.a.failNext('createImage', new ComputeError('no-space', 'the pool is full'));
    const id = await create();
    await idle();
    expect(await list({ status: 'CreateFailed' })).toMatchObject([{ imageId: id, status: 'CreateFailed' }]);
    await remove(id);
  });

  it('are refused with names, sources and numbers that cannot be', async () => {
    const id = await create({ imageName: 'taken' });
    await idle();
    const wished = { InstanceId: instanceId, ImageName: 'other' };
    expect(await codeOfCall('CreateImage', { ...wished, ImageName: 'taken' })).toBe(
      'InvalidImageName.Duplicated',
    );
    expect(await codeOfCall('CreateImage', { ...wished, ImageName: 'x' })).toBe('InvalidImageName.Malformed');
    expect(await codeOfCall('CreateImage', { ...wished, ImageFamily: 'acs:x' })).toBe(
      'InvalidImageFamily.Malformed',
    );
    expect(await codeOfCall('CreateImage', { ...wished, InstanceId: 'i-none' })).toBe(
      'InvalidInstanceId.NotFound',
    );
    expect(await codeOfCall('CreateImage', { ImageName: 'other' })).toBe('MissingParameter');
    expect(await codeOfCall('CreateImage', { SnapshotId: 's-1' })).toBe('InvalidParameter');
    const withDisk = await run({ dataDisk: [new Ecs.RunInstancesRequestDataDisk({ size: 20 })] });
    expect(await codeOfCall('CreateImage', { ...wished, InstanceId: withDisk })).toBe('InvalidParameter');
    await call('ModifyImageAttribute', { ImageId: id, ImageName: 'renamed', Description: 'changed' });
    expect(await list({ imageId: id })).toMatchObject([{ imageName: 'renamed', description: 'changed' }]);
    // Packer's request for each image that it builds.
    expect(await codeOfCall('ModifyImageSharePermission', { ImageId: id })).toBe('OK');
    expect(await codeOfCall('ModifyImageSharePermission', { ImageId: id, AddAccount: ['1'] })).toBe(
      'InvalidParameter',
    );
    expect(await call('DescribeImageSharePermission', { ImageId: id })).toMatchObject({ TotalCount: 0 });
    for (const action of [
      'ModifyImageAttribute',
      'ModifyImageSharePermission',
      'DescribeImageSharePermission',
    ]) {
      expect(await codeOfCall(action, { ImageId: 'm-none' })).toBe('InvalidImageId.NotFound');
    }
    const more = [await create(), await create()];
    expect(await codeOfCall('ModifyImageAttribute', { ImageId: more[0], ImageName: 'renamed' })).toBe(
      'InvalidImageName.Duplicated',
    );
    expect(await codeOfCall('CreateImage', wished)).toBe('QuotaExceed.Image');
    await idle();
    for (const each of [id, ...more]) await remove(each, false);
    expect(await codeOfCall('DeleteImage', { ImageId: id })).toBe('InvalidImageId.NotFound');
    expect(await codeOfCall('DeleteImage', { ImageId: 'debian_12_x64_egs' })).toBe('ImageIsPublic');
  });
});
