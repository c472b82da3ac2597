import { ecs } from '@openegs/schema';
import type { InstanceType } from '../../catalog/instanceTypes.js';
import { pageAnswer, readTokenPage, sliceOnPage } from '../../wire/paging.js';
import { defineAction } from '../action.js';

type Input = ecs.DescribeInstanceTypesRequest;
type Described = NonNullable<
  NonNullable<ecs.DescribeInstanceTypesResponse['instanceTypes']>['instanceType']
>[number];

/** All types in one answer unless pages are asked for: most clients do not ask. */
const mostTypes = 1600;

export const describeInstanceTypes = defineAction(ecs.DescribeInstanceTypes, {
  errors: [],
  async read(input, { cloud }) {
    const page = readTokenPage(input, { maxPageSize: mostTypes, defaultSize: mostTypes });
    const matching = [...cloud.catalog.instanceTypes.values()]
      .map(describe)
      .filter((type) => isWished(type, input));
    const rows = sliceOnPage(matching, page);
    const { nextToken } = pageAnswer(page, rows, matching.length);
    return { nextToken, instanceTypes: { instanceType: rows.map((row) => row.item) } };
  },
});

export const describeInstanceTypeFamilies = defineAction(ecs.DescribeInstanceTypeFamilies, {
  errors: [],
  async read({ generation }, { cloud }) {
    const generations = new Map(
      [...cloud.catalog.instanceTypes.values()].map((type) => [type.family, type.generation]),
    );
    return {
      instanceTypeFamilies: {
        instanceTypeFamily: [...generations]
          .filter(([, each]) => generation === undefined || each === generation)
          .map(([instanceTypeFamilyId, each]) => ({ instanceTypeFamilyId, generation: each })),
      },
    };
  },
});

/** Cloud disks that an instance can have; the same for all types, as on most of the original's. */
const diskQuantity = 17;

/** CPU credits per vCPU that a burstable instance starts with (documentation of t5 and t6). */
const initialCreditsPerVcpu = 30;

/**
 * A type as the API shows it. Figures that are nowhere documented are left out, except those without
 * which karpenter or Terraform fail: they get the value for "none".
 */
function describe(type: InstanceType): Described {
  const { gpu, baselineCpuPercent } = type;
  return {
    instanceTypeId: type.id,
    instanceTypeFamily: type.family,
    instanceCategory: categoryOf(type),
    instanceFamilyLevel: levelOf(type),
    cpuArchitecture: type.cpuArchitecture,
    cpuCoreCount: type.vcpus,
    memorySize: type.memoryMiB / 1024,
    GPUAmount: Math.ceil(gpu?.amount ?? 0),
    GPUSpec: gpu?.model ?? '',
    ...(gpu?.memoryMiBPerCard === undefined
      ? {}
      : { GPUMemorySize: (gpu.memoryMiBPerCard * Math.min(gpu.amount, 1)) / 1024 }),
    instanceBandwidthRx: type.bandwidthKbps,
    instanceBandwidthTx: type.bandwidthKbps,
    instancePpsRx: type.packetsPerSecond,
    instancePpsTx: type.packetsPerSecond,
    eniQuantity: type.networkInterfaces,
    eniTotalQuantity: type.networkInterfaces,
    eniPrivateIpAddressQuantity: type.privateAddressesPerInterface,
    eniIpv6AddressQuantity: type.ipv6AddressesPerInterface ?? 0,
    eniTrunkSupported: false,
    primaryEniQueueNumber: type.primaryInterfaceQueues,
    secondaryEniQueueNumber: type.secondaryInterfaceQueues,
    eriQuantity: 0,
    diskQuantity,
    localStorageAmount: type.localStorageGiB === undefined ? 0 : 1,
    localStorageCapacity: type.localStorageGiB ?? 0,
    localStorageCategory: type.localStorageGiB === undefined ? '' : 'local_ssd_pro',
    nvmeSupport: 'unsupported',
    ...(baselineCpuPercent === undefined
      ? {}
      : {
          baselineCredit: baselineCpuPercent * type.vcpus,
          initialCredit: initialCreditsPerVcpu * type.vcpus,
        }),
    networkCardQuantity: 1,
    supportedBootModes: { supportedBootMode: ['BIOS', 'UEFI'] },
  };
}

function categoryOf({ kind, family }: InstanceType): string {
  switch (kind) {
    case 'cpu':
      if (/^ecs\.c/.test(family)) return 'Compute-optimized';
      return /^ecs\.r/.test(family) ? 'Memory-optimized' : 'General-purpose';
    case 'cpu-shared':
    case 'cpu-burstable':
      return 'Shared';
    case 'gpu':
      return 'Compute-optimized with GPU';
    case 'vgpu':
      return 'Visual Compute-optimized';
    case 'gpu-baremetal':
      return 'ECS Bare Metal';
  }
}

function levelOf({ kind }: InstanceType): string {
  if (kind === 'cpu-shared') return 'EntryLevel';
  return kind === 'cpu-burstable' ? 'CreditEntryLevel' : 'EnterpriseLevel';
}

/** Whether a type matches every filter. A type whose figure is unknown matches no wish about it. */
function isWished(type: Described, input: Input): boolean {
  return (
    isOneOf(type.instanceTypeId, input.instanceTypes) &&
    isOneOf(type.instanceTypeFamily, input.instanceTypeFamilies, input.instanceTypeFamily) &&
    isOneOf(type.instanceCategory, input.instanceCategories, input.instanceCategory) &&
    isOneOf(type.instanceFamilyLevel, undefined, input.instanceFamilyLevel) &&
    isOneOf(type.cpuArchitecture, input.cpuArchitectures, input.cpuArchitecture) &&
    isOneOf(type.localStorageCategory, input.localStorageCategories, input.localStorageCategory) &&
    isOneOf(type.nvmeSupport, undefined, input.nvmeSupport) &&
    contains(type.GPUSpec, input.gpuSpecs, input.GPUSpec) &&
    contains(type.physicalProcessorModel, input.physicalProcessorModels, input.physicalProcessorModel) &&
    isWithin(type.cpuCoreCount, input.minimumCpuCoreCount, input.maximumCpuCoreCount) &&
    isWithin(type.memorySize, input.minimumMemorySize, input.maximumMemorySize) &&
    isWithin(type.GPUAmount, input.minimumGPUAmount, input.maximumGPUAmount) &&
    isWithin(type.cpuSpeedFrequency, input.minimumCpuSpeedFrequency, input.maximumCpuSpeedFrequency) &&
    isWithin(type.cpuTurboFrequency, input.minimumCpuTurboFrequency, input.maximumCpuTurboFrequency) &&
    isWithin(type.instanceBandwidthRx, input.minimumInstanceBandwidthRx) &&
    isWithin(type.instanceBandwidthTx, input.minimumInstanceBandwidthTx) &&
    isWithin(type.instancePpsRx, input.minimumInstancePpsRx) &&
    isWithin(type.instancePpsTx, input.minimumInstancePpsTx) &&
    isWithin(type.eniQuantity, input.minimumEniQuantity) &&
    isWithin(type.eniPrivateIpAddressQuantity, input.minimumEniPrivateIpAddressQuantity) &&
    isWithin(type.eniIpv6AddressQuantity, input.minimumEniIpv6AddressQuantity) &&
    isWithin(type.eriQuantity, input.minimumEriQuantity) &&
    isWithin(type.queuePairNumber, input.minimumQueuePairNumber) &&
    isWithin(type.primaryEniQueueNumber, input.minimumPrimaryEniQueueNumber) &&
    isWithin(type.secondaryEniQueueNumber, input.minimumSecondaryEniQueueNumber) &&
    isWithin(type.diskQuantity, input.minimumDiskQuantity) &&
    isWithin(type.localStorageAmount, input.minimumLocalStorageAmount) &&
    isWithin(type.localStorageCapacity, input.minimumLocalStorageCapacity) &&
    isWithin(type.baselineCredit, input.minimumBaselineCredit) &&
    isWithin(type.initialCredit, input.minimumInitialCredit)
  );
}

/** Both the list and the single value of a filter, where given, hold. */
function isOneOf(value: string | undefined, list: readonly string[] | undefined, single?: string): boolean {
  return (
    (list === undefined || list.length === 0 || list.includes(value ?? '')) &&
    (single === undefined || single === value)
  );
}

/** As `isOneOf`, but a part of the value is enough: NVIDIA finds NVIDIA T4. */
function contains(value: string | undefined, list: readonly string[] | undefined, single?: string): boolean {
  const holds = (wish: string): boolean => (value ?? '').toLowerCase().includes(wish.toLowerCase());
  return (
    (list === undefined || list.length === 0 || list.some(holds)) && (single === undefined || holds(single))
  );
}

function isWithin(value: number | undefined, minimum?: number, maximum?: number): boolean {
  return (
    (minimum === undefined || (value !== undefined && value >= minimum)) &&
    (maximum === undefined || (value !== undefined && value <= maximum))
  );
}
