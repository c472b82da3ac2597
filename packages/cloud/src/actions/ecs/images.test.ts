import * as ecs from '@alicloud/ecs20140526';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestCloud, type TestCloud } from '../../testing/testCloud.js';

const regionId = 'cn-hangzhou';
const image = 'debian_12_x64_egs';

let cloud: TestCloud;
beforeAll(async () => {
  cloud = await startTestCloud();
});
afterAll(() => cloud.stop());

const describeImages = async (input: Partial<ecs.DescribeImagesRequest> = {}) =>
  (await cloud.ecs.describeImages(new ecs.DescribeImagesRequest({ regionId, ...input }))).body;
const ids = async (input: Partial<ecs.DescribeImagesRequest>) =>
  (await describeImages(input))?.images?.image?.map((each) => each.imageId);

describe('DescribeImages', () => {
  it('shows the public image as every client expects it', async () => {
    const body = await describeImages();
    expect(body).toMatchObject({ regionId, pageNumber: 1, pageSize: 10, totalCount: 1 });
    expect(body?.images?.image?.[0]).toMatchObject({
      imageId: image,
      imageOwnerAlias: 'system',
      status: 'Available',
      progress: '100%',
      architecture: 'x86_64',
      OSType: 'linux',
      platform: 'Debian',
      isPublic: true,
      isSupportCloudinit: true,
      usage: 'none',
    });
  });

  it.each<Partial<ecs.DescribeImagesRequest>>([
    { imageId: image },
    { imageId: `m-unknown,${image}` },
    { imageName: 'debian_*' },
    { imageName: '*12*egs' },
    { imageFamily: 'openegs:debian_12' },
    { OSType: 'linux', architecture: 'x86_64' },
    { imageOwnerAlias: 'system' },
    { status: 'Waiting,Creating,CreateFailed,Available' },
    { instanceType: 'ecs.g7.large' },
    { usage: 'none' },
    { isSupportCloudinit: true, isSupportIoOptimized: true },
  ])('finds the image by %j', async (filter) => {
    expect(await ids(filter)).toEqual([image]);
  });

  it.each<Partial<ecs.DescribeImagesRequest>>([
    { imageId: 'm-unknown' },
    { imageName: 'debian' },
    { imageName: 'debian.12*' },
    { imageFamily: 'other' },
    { OSType: 'windows' },
    { architecture: 'arm64' },
    { imageOwnerAlias: 'self' },
    { imageOwnerAlias: 'others', isPublic: true },
    { status: 'Creating' },
    { instanceType: 'ecs.gn7r-c16g1.4xlarge' },
    { usage: 'instance' },
    { snapshotId: 's-1' },
    { resourceGroupId: 'rg-1' },
    { imageOwnerId: 1 },
    { pageNumber: 2 },
  ])('does not find it by %j', async (filter) => {
    expect(await ids(filter)).toEqual([]);
  });

  it('finds by the time of creation', async () => {
    const filter = (key: string, value: string) => [new ecs.DescribeImagesRequestFilter({ key, value })];
    expect(await ids({ filter: filter('CreationStartTime', '2020-01-01T00:00Z') })).toEqual([image]);
    expect(await ids({ filter: filter('CreationEndTime', '2020-01-01T00:00Z') })).toEqual([]);
    await expect(ids({ filter: filter('CreationTime', '2020-01-01T00:00Z') })).rejects.toMatchObject({
      code: 'InvalidFilterKey.NotFound',
    });
    await expect(ids({ filter: filter('CreationStartTime', 'yesterday') })).rejects.toMatchObject({
      code: 'InvalidFilterValue',
    });
  });

  it('answers old clients by V1 as well', async () => {
    expect(await cloud.rpc().request('DescribeImages', { RegionId: regionId, ImageId: image })).toMatchObject(
      {
        Images: { Image: [{ ImageId: image, DiskDeviceMappings: { DiskDeviceMapping: [] } }] },
      },
    );
  });

  it.each([
    [{ OSType: 'beos' }, 'InvalidOSType', 404],
    [{ architecture: 'mips' }, 'InvalidArchitecture', 404],
    [{ usage: 'often' }, 'InvalidUsage', 404],
    [{ imageOwnerAlias: 'nobody' }, 'InvalidImageOwnerAlias.ValueNotSupported', 400],
    [{ instanceType: 'ecs.none' }, 'InvalidInstanceType.ValueNotSupported', 400],
    [{ status: 'Nice' }, 'InvalidParameter', 400],
    [{ isPublic: true }, 'InvalidParameter', 400],
    [{ pageSize: 101 }, 'InvalidParameter', 400],
    [{ dryRun: true }, 'DryRunOperation', 400],
  ])('refuses %j', async (input, code, statusCode) => {
    await expect(ids(input)).rejects.toMatchObject({ code, statusCode });
  });
});

describe('DescribeImageFromFamily', () => {
  const fromFamily = async (imageFamily: string) =>
    (
      await cloud.ecs.describeImageFromFamily(
        new ecs.DescribeImageFromFamilyRequest({ regionId, imageFamily }),
      )
    ).body?.image;

  it('gives the newest image of the family, or an empty one', async () => {
    expect(await fromFamily('openegs:debian_12')).toMatchObject({ imageId: image });
    expect((await fromFamily('none'))?.imageId).toBeUndefined();
  });
});
