import { ecs } from '@openegs/schema';
import { type DiskCategory, diskCategories } from '../../catalog/disks.js';
import type { InstanceType } from '../../catalog/instanceTypes.js';
import type { CloudParts } from '../../cloud.js';
import type { ErrorCode, Fail } from '../../domain/errors.js';
import type { ZoneId } from '../../domain/ids.js';
import { defineAction } from '../action.js';
import { isInStock } from './stock.js';

const errors = [
  'Invalid.DestinationResource',
  'Invalid.InstanceChargeType',
  'Invalid.IoOptimized',
  'Invalid.NetworkCategory',
  'Invalid.ResourceType',
  'Invalid.SpotStrategy',
  'InvalidParam.TypeAndCpuMem.Conflict',
  'InvalidZoneId.NotFound',
] as const satisfies readonly ErrorCode[];

type Input = ecs.DescribeAvailableResourceRequest;
type Resource =
  ecs.DescribeAvailableResourceResponseAvailableZonesAvailableZoneAvailableResourcesAvailableResource;
type SupportedResource = NonNullable<
  NonNullable<Resource['supportedResources']>['supportedResource']
>[number];

/** `StatusCategory` says the same as `Status`; there is no stock that is about to end here. */
function stockStatus(isThere: boolean) {
  return isThere
    ? { status: 'Available', statusCategory: 'WithStock' }
    : { status: 'SoldOut', statusCategory: 'WithoutStock' };
}

/** What each zone could give now, for clients that choose a zone, type or disk by it (Terraform, karpenter). */
export const describeAvailableResource = defineAction(ecs.DescribeAvailableResource, {
  errors,
  async read(input, { cloud, regionId, fail }) {
    checkWords(input, fail);
    const { zones } = cloud.catalog.getRegion(regionId);
    const { zoneId } = input;
    if (zoneId !== undefined && !cloud.catalog.hasZone(regionId, zoneId)) {
      fail('InvalidZoneId.NotFound', { id: zoneId });
    }
    if (input.instanceType !== undefined && (input.cores !== undefined || input.memory !== undefined)) {
      fail('InvalidParam.TypeAndCpuMem.Conflict');
    }
    const wished = zoneId === undefined ? zones : [zoneId];
    return {
      availableZones: {
        availableZone: wished.map((zone) => {
          const supported = describeZone(zone as ZoneId, input, cloud);
          return {
            regionId,
            zoneId: zone,
            ...stockStatus(supported.some((resource) => resource.status === 'Available')),
            availableResources: {
              availableResource: [
                {
                  type: input.destinationResource,
                  supportedResources: { supportedResource: supported },
                },
              ],
            },
          };
        }),
      },
    };
  },
});

function checkWords(input: Input, fail: Fail<(typeof errors)[number]>): void {
  const check = (
    value: string | undefined,
    words: readonly string[],
    code:
      | 'Invalid.DestinationResource'
      | 'Invalid.InstanceChargeType'
      | 'Invalid.IoOptimized'
      | 'Invalid.NetworkCategory'
      | 'Invalid.ResourceType'
      | 'Invalid.SpotStrategy',
  ): void => {
    if (value !== undefined && !words.includes(value)) fail(code, { value });
  };
  check(
    input.destinationResource,
    ['Zone', 'IoOptimized', 'InstanceType', 'SystemDisk', 'DataDisk', 'Network', 'ddh'],
    'Invalid.DestinationResource',
  );
  check(input.resourceType, ['instance', 'disk', 'reservedinstance', 'ddh'], 'Invalid.ResourceType');
  check(input.instanceChargeType, ['PrePaid', 'PostPaid'], 'Invalid.InstanceChargeType');
  check(input.ioOptimized, ['none', 'optimized'], 'Invalid.IoOptimized');
  check(input.networkCategory, ['vpc', 'classic'], 'Invalid.NetworkCategory');
  check(input.spotStrategy, ['NoSpot', 'SpotWithPriceLimit', 'SpotAsPriceGo'], 'Invalid.SpotStrategy');
}

/** What the zone has of the wished kind; nothing for wishes that nothing here fulfils. */
function describeZone(zoneId: ZoneId, input: Input, cloud: CloudParts): SupportedResource[] {
  if (
    input.ioOptimized === 'none' ||
    input.networkCategory === 'classic' ||
    input.dedicatedHostId !== undefined ||
    ['reservedinstance', 'ddh'].includes(input.resourceType ?? '')
  ) {
    return [];
  }
  const types = [...cloud.catalog.instanceTypes.values()].filter((type) => isWished(type, input));
  const hasStock = (): boolean => types.some((type) => isInStock(cloud, type, zoneId));
  const hasHost = (): boolean =>
    [...cloud.placement.hosts()].some(({ host }) => host.zoneId === zoneId && host.state === 'active');
  // Disks that are bought alone need a host, not room for an instance.
  const isThere = input.resourceType === 'disk' ? hasHost : hasStock;
  switch (input.destinationResource) {
    case 'Zone':
      return [{ value: zoneId, ...stockStatus(isThere()) }];
    case 'IoOptimized':
      return [{ value: 'optimized', ...stockStatus(isThere()) }];
    case 'Network':
      return [{ value: 'vpc', ...stockStatus(isThere()) }];
    case 'InstanceType':
      return types.map((type) => ({ value: type.id, ...stockStatus(isInStock(cloud, type, zoneId)) }));
    case 'SystemDisk':
      return describeDisks(input.systemDiskCategory, (category) => category.systemGiB, isThere());
    case 'DataDisk':
      return describeDisks(input.dataDiskCategory, (category) => category.dataGiB, isThere());
    default:
      return [];
  }
}

function isWished(type: InstanceType, { instanceType, cores, memory }: Input): boolean {
  return (
    (instanceType === undefined || type.id === instanceType) &&
    (cores === undefined || type.vcpus === cores) &&
    (memory === undefined || type.memoryMiB === memory * 1024)
  );
}

function describeDisks(
  wished: string | undefined,
  sizes: (category: DiskCategory) => { readonly min: number; readonly max: number },
  isThere: boolean,
): SupportedResource[] {
  return diskCategories
    .filter((category) => wished === undefined || category.id === wished)
    .map((category) => ({
      value: category.id,
      ...sizes(category),
      unit: 'GiB',
      ...stockStatus(isThere),
    }));
}
