import { ecs } from '@openegs/schema';
import { diskCategories } from '../../catalog/disks.js';
import type { ErrorCode, Fail } from '../../domain/errors.js';
import type { ZoneId } from '../../domain/ids.js';
import { defineAction } from '../action.js';
import { listTypesInStock } from './stock.js';

/** Languages that names can be asked in (DescribeRegions, parameter AcceptLanguage). */
const languages = ['zh-CN', 'en-US', 'ja'];

function checkLanguage(language: string | undefined, fail: Fail<'InvalidAcceptLanguage.NotFound'>): void {
  if (language !== undefined && !languages.includes(language)) {
    fail('InvalidAcceptLanguage.NotFound', { language });
  }
}

export const describeRegions = defineAction(ecs.DescribeRegions, {
  errors: [
    'Invalid.InstanceChargeType',
    'InvalidAcceptLanguage.NotFound',
    'InvalidResourceType.NotFound',
  ] satisfies ErrorCode[],
  async read(input, { cloud, hostName, fail }) {
    checkLanguage(input.acceptLanguage, fail);
    const { instanceChargeType, resourceType } = input;
    if (instanceChargeType !== undefined && !['PrePaid', 'PostPaid'].includes(instanceChargeType)) {
      fail('Invalid.InstanceChargeType', { value: instanceChargeType });
    }
    if (
      resourceType !== undefined &&
      !['instance', 'disk', 'reservedinstance', 'scu'].includes(resourceType)
    ) {
      fail('InvalidResourceType.NotFound', { type: resourceType });
    }
    return {
      regions: {
        region: cloud.catalog.regions.map((region) => ({
          regionId: region.id,
          localName: region.id,
          regionEndpoint: hostName,
          status: 'available',
        })),
      },
    };
  },
});

export const describeZones = defineAction(ecs.DescribeZones, {
  errors: ['InvalidAcceptLanguage.NotFound', 'InvalidInstanceChargeType.NotFound', 'InvalidSpotStrategy'],
  async read(input, { cloud, regionId, fail }) {
    checkLanguage(input.acceptLanguage, fail);
    const { instanceChargeType, spotStrategy } = input;
    if (instanceChargeType !== undefined && !['PrePaid', 'PostPaid'].includes(instanceChargeType)) {
      fail('InvalidInstanceChargeType.NotFound', { value: instanceChargeType });
    }
    if (
      spotStrategy !== undefined &&
      !['NoSpot', 'SpotWithPriceLimit', 'SpotAsPriceGo'].includes(spotStrategy)
    ) {
      fail('InvalidSpotStrategy', { value: spotStrategy });
    }
    return {
      zones: {
        zone: cloud.catalog.getRegion(regionId).zones.map((zoneId) => ({
          zoneId,
          localName: zoneId,
          zoneType: 'AvailabilityZone',
          ...(input.verbose === false ? {} : describeOffer(zoneId as ZoneId)),
        })),
      },
    };

    /** What a zone sells; nothing but vSwitches where no host is. */
    function describeOffer(zoneId: ZoneId): ecs.DescribeZonesResponseZonesZone {
      const types = listTypesInStock(cloud, zoneId);
      const typeIds = types.map((type) => type.id);
      const categories = types.length === 0 ? [] : diskCategories.map((category) => category.id);
      return {
        availableResourceCreation: {
          resourceTypes: types.length === 0 ? ['VSwitch'] : ['VSwitch', 'IoOptimized', 'Instance', 'Disk'],
        },
        availableInstanceTypes: { instanceTypes: typeIds },
        availableDiskCategories: { diskCategories: categories },
        availableVolumeCategories: { volumeCategories: [] },
        availableDedicatedHostTypes: { dedicatedHostType: [] },
        dedicatedHostGenerations: { dedicatedHostGeneration: [] },
        availableResources: {
          resourcesInfo:
            types.length === 0
              ? []
              : [
                  {
                    ioOptimized: true,
                    instanceTypes: { supportedInstanceType: typeIds },
                    instanceTypeFamilies: {
                      supportedInstanceTypeFamily: unique(types.map((type) => type.family)),
                    },
                    instanceGenerations: {
                      supportedInstanceGeneration: unique(types.map((type) => type.generation)),
                    },
                    systemDiskCategories: { supportedSystemDiskCategory: categories },
                    dataDiskCategories: { supportedDataDiskCategory: categories },
                    networkTypes: { supportedNetworkCategory: ['vpc'] },
                  },
                ],
        },
      };
    }
  },
});

function unique(values: readonly string[]): string[] {
  return [...new Set(values)];
}
