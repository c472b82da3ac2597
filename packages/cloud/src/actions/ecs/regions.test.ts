import * as ecs from '@alicloud/ecs20140526';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestCloud, type TestCloud } from '../../testing/testCloud.js';

const regionId = 'cn-hangzhou';

let cloud: TestCloud;
beforeAll(async () => {
  cloud = await startTestCloud();
  const { placement } = cloud.cloud.parts;
  // One small host in the first zone, none in the second.
  for (const { host } of [...placement.hosts()]) {
    placement.removeHost(host.id);
    if (host.zoneId === 'cn-hangzhou-a') {
      placement.putHost({ ...host, cpuMilli: 8000, memoryMiB: 32 * 1024, diskGiB: 100 });
    }
  }
});
afterAll(() => cloud.stop());

describe('DescribeRegions', () => {
  it('names an endpoint that reaches this cloud', async () => {
    const { body } = await cloud.ecs.describeRegions(new ecs.DescribeRegionsRequest({}));
    expect(body?.regions?.region).toMatchObject([
      { regionId, status: 'available', regionEndpoint: cloud.cloud.endpoint.replace('http://', '') },
    ]);
  });

  it.each([
    [{ acceptLanguage: 'fr' }, 'InvalidAcceptLanguage.NotFound', 404],
    [{ instanceChargeType: 'Free' }, 'Invalid.InstanceChargeType', 403],
    [{ resourceType: 'car' }, 'InvalidResourceType.NotFound', 404],
  ])('refuses %j', async (input, code, statusCode) => {
    await expect(cloud.ecs.describeRegions(new ecs.DescribeRegionsRequest(input))).rejects.toMatchObject({
      code,
      statusCode,
    });
  });
});

describe('DescribeZones', () => {
  const zones = async (input: Partial<ecs.DescribeZonesRequest> = {}) =>
    (await cloud.ecs.describeZones(new ecs.DescribeZonesRequest({ regionId, ...input }))).body?.zones?.zone ??
    [];

  it('says what each zone offers: instances only where a host is', async () => {
    const [first, second] = await zones();
    expect(first).toMatchObject({ zoneId: 'cn-hangzhou-a', zoneType: 'AvailabilityZone' });
    expect(first?.availableResourceCreation?.resourceTypes).toContain('Instance');
    expect(first?.availableInstanceTypes?.instanceTypes).toContain('ecs.g7.large');
    expect(first?.availableInstanceTypes?.instanceTypes).not.toContain('ecs.g7.16xlarge');
    expect(first?.availableDiskCategories?.diskCategories).toContain('cloud_essd');
    const info = first?.availableResources?.resourcesInfo?.[0];
    expect(info?.instanceTypeFamilies?.supportedInstanceTypeFamily).toContain('ecs.g7');
    expect(second?.availableResourceCreation?.resourceTypes).toEqual(['VSwitch']);
    expect(second?.availableInstanceTypes?.instanceTypes).toEqual([]);
  });

  it('says only names when it is not verbose', async () => {
    const [first] = await zones({ verbose: false });
    expect(first?.zoneId).toBe('cn-hangzhou-a');
    expect(first?.availableResourceCreation).toBeUndefined();
  });

  it.each([
    [{ acceptLanguage: 'fr' }, 'InvalidAcceptLanguage.NotFound', 404],
    [{ instanceChargeType: 'Free' }, 'InvalidInstanceChargeType.NotFound', 404],
    [{ spotStrategy: 'Cheap' }, 'InvalidSpotStrategy', 400],
    [{ regionId: 'cn-nowhere' }, 'InvalidRegionId.NotFound', 404],
  ])('refuses %j', async (input, code, statusCode) => {
    await expect(zones(input)).rejects.toMatchObject({ code, statusCode });
  });
});

describe('DescribeAvailableResource', () => {
  const stock = async (
    destinationResource: string,
    input: Partial<ecs.DescribeAvailableResourceRequest> = {},
  ) => {
    const { body } = await cloud.ecs.describeAvailableResource(
      new ecs.DescribeAvailableResourceRequest({ regionId, destinationResource, ...input }),
    );
    return (body?.availableZones?.availableZone ?? []).map((zone) => {
      const [resource] = zone.availableResources?.availableResource ?? [];
      return {
        ...zone,
        type: resource?.type,
        supported: resource?.supportedResources?.supportedResource ?? [],
      };
    });
  };

  it('has a type in stock only where a host could hold it', async () => {
    const [first, second] = await stock('InstanceType', { instanceType: 'ecs.g7.2xlarge' });
    expect(first).toMatchObject({
      regionId,
      zoneId: 'cn-hangzhou-a',
      status: 'Available',
      statusCategory: 'WithStock',
      type: 'InstanceType',
      supported: [{ value: 'ecs.g7.2xlarge', status: 'Available', statusCategory: 'WithStock' }],
    });
    expect(second).toMatchObject({
      status: 'SoldOut',
      statusCategory: 'WithoutStock',
      supported: [{ value: 'ecs.g7.2xlarge', status: 'SoldOut', statusCategory: 'WithoutStock' }],
    });
    const [tooLarge] = await stock('InstanceType', { instanceType: 'ecs.g7.4xlarge' });
    expect(tooLarge?.supported[0]?.status).toBe('SoldOut');
    const [gpu] = await stock('InstanceType', { instanceType: 'ecs.gn6i-c4g1.xlarge' });
    expect(gpu?.supported[0]?.status).toBe('SoldOut');
  });

  it('follows what is taken and given back', async () => {
    const { placement } = cloud.cloud.parts;
    const [host] = [...placement.hosts()];
    const hostId = host?.host.id ?? expect.fail('there is a host');
    placement.take({ owner: 'test', hostId, cpuMilli: 1000, memoryMiB: 0, diskGiB: 0, cards: [] });
    const [full] = await stock('Zone', { instanceType: 'ecs.g7.2xlarge' });
    placement.release('test');
    expect(full?.status).toBe('SoldOut');
    expect((await stock('Zone', { instanceType: 'ecs.g7.2xlarge' }))[0]?.status).toBe('Available');
  });

  it('finds types by their size', async () => {
    const [first] = await stock('InstanceType', { cores: 8, memory: 32, zoneId: 'cn-hangzhou-a' });
    expect(first?.supported.map((resource) => resource.value)).toEqual(
      expect.arrayContaining(['ecs.g6.2xlarge', 'ecs.g7.2xlarge']),
    );
    expect(first?.supported.map((resource) => resource.value)).not.toContain('ecs.c7.2xlarge');
  });

  it('tells disks with the sizes in which they come', async () => {
    const [first] = await stock('SystemDisk', {
      instanceType: 'ecs.g7.large',
      systemDiskCategory: 'cloud_essd',
    });
    expect(first?.supported).toMatchObject([{ value: 'cloud_essd', min: 20, max: 2048, unit: 'GiB' }]);
    const [data] = await stock('DataDisk', { resourceType: 'disk' });
    expect(data?.supported.length).toBeGreaterThan(3);
  });

  it('has nothing of what this cloud does not sell', async () => {
    for (const input of [
      { ioOptimized: 'none' },
      { networkCategory: 'classic' },
      { dedicatedHostId: 'dh-1' },
    ]) {
      expect((await stock('InstanceType', input)).map((zone) => zone.status)).toEqual(['SoldOut', 'SoldOut']);
    }
    expect((await stock('ddh'))[0]?.supported).toEqual([]);
    expect((await stock('Network'))[0]?.supported).toMatchObject([{ value: 'vpc', status: 'Available' }]);
    expect((await stock('IoOptimized'))[0]?.supported).toMatchObject([{ value: 'optimized' }]);
  });

  it.each([
    ['Car', {}, 'Invalid.DestinationResource', 404],
    ['Zone', { instanceChargeType: 'Free' }, 'Invalid.InstanceChargeType', 400],
    ['Zone', { ioOptimized: 'yes' }, 'Invalid.IoOptimized', 404],
    ['Zone', { networkCategory: 'token-ring' }, 'Invalid.NetworkCategory', 404],
    ['Zone', { resourceType: 'car' }, 'Invalid.ResourceType', 404],
    ['Zone', { spotStrategy: 'Cheap' }, 'Invalid.SpotStrategy', 404],
    ['InstanceType', { instanceType: 'ecs.g7.large', cores: 2 }, 'InvalidParam.TypeAndCpuMem.Conflict', 403],
    ['Zone', { zoneId: 'cn-nowhere-a' }, 'InvalidZoneId.NotFound', 404],
  ])('refuses %s with %j', async (destination, input, code, statusCode) => {
    await expect(stock(destination, input)).rejects.toMatchObject({ code, statusCode });
  });
});
