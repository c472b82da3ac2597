import * as ecs from '@alicloud/ecs20140526';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestCloud, type TestCloud } from '../../testing/testCloud.js';

let cloud: TestCloud;
beforeAll(async () => {
  cloud = await startTestCloud();
});
afterAll(() => cloud.stop());

const describeTypes = async (input: Partial<ecs.DescribeInstanceTypesRequest> = {}) => {
  const { body } = await cloud.ecs.describeInstanceTypes(new ecs.DescribeInstanceTypesRequest(input));
  return { nextToken: body?.nextToken, types: body?.instanceTypes?.instanceType ?? [] };
};
const ids = async (input: Partial<ecs.DescribeInstanceTypesRequest>) =>
  (await describeTypes(input)).types.map((type) => type.instanceTypeId);

describe('DescribeInstanceTypes', () => {
  it('gives all types at once when nobody asks for pages', async () => {
    const { types, nextToken } = await describeTypes();
    expect(types).toHaveLength(192);
    expect(nextToken).toBe('');
  });

  it('gives the documented figures', async () => {
    const { types } = await describeTypes({ instanceTypes: ['ecs.gn6i-c4g1.xlarge', 'ecs.t6-c1m1.large'] });
    expect(types).toMatchObject([
      {
        instanceTypeId: 'ecs.gn6i-c4g1.xlarge',
        instanceTypeFamily: 'ecs.gn6i',
        instanceCategory: 'Compute-optimized with GPU',
        instanceFamilyLevel: 'EnterpriseLevel',
        cpuArchitecture: 'X86',
        cpuCoreCount: 4,
        memorySize: 15,
        GPUAmount: 1,
        GPUSpec: 'NVIDIA T4',
        GPUMemorySize: 16,
        instanceBandwidthRx: 4_000_000,
        instancePpsTx: 2_500_000,
        eniQuantity: 2,
        eniPrivateIpAddressQuantity: 10,
      },
      {
        instanceTypeId: 'ecs.t6-c1m1.large',
        instanceFamilyLevel: 'CreditEntryLevel',
        cpuCoreCount: 2,
        memorySize: 2,
        GPUAmount: 0,
        GPUSpec: '',
        baselineCredit: 40,
        initialCredit: 60,
      },
    ]);
  });

  it('walks through pages without gap or overlap', async () => {
    const seen: (string | undefined)[] = [];
    let nextToken = '';
    do {
      const page = await describeTypes({ maxResults: 50, ...(nextToken ? { nextToken } : {}) });
      seen.push(...page.types.map((type) => type.instanceTypeId));
      nextToken = page.nextToken ?? '';
    } while (nextToken !== '');
    expect(seen).toHaveLength(192);
    expect(new Set(seen).size).toBe(192);
  });

  it.each<
    [
      Partial<ecs.DescribeInstanceTypesRequest>,
      (type: ecs.DescribeInstanceTypesResponseBodyInstanceTypesInstanceType) => boolean,
    ]
  >([
    [{ instanceTypeFamily: 'ecs.g7' }, (type) => type.instanceTypeFamily === 'ecs.g7'],
    [
      { instanceTypeFamilies: ['ecs.g7', 'ecs.c7'] },
      (type) => ['ecs.g7', 'ecs.c7'].includes(type.instanceTypeFamily ?? ''),
    ],
    [
      { minimumCpuCoreCount: 4, maximumCpuCoreCount: 8 },
      (type) => (type.cpuCoreCount ?? 0) >= 4 && (type.cpuCoreCount ?? 0) <= 8,
    ],
    [
      { minimumMemorySize: 15.5, maximumMemorySize: 16 },
      (type) => (type.memorySize ?? 0) >= 15.5 && (type.memorySize ?? 0) <= 16,
    ],
    [{ minimumGPUAmount: 1, maximumGPUAmount: 2 }, (type) => [1, 2].includes(type.GPUAmount ?? 0)],
    [{ GPUSpec: 'NVIDIA T4' }, (type) => type.GPUSpec === 'NVIDIA T4'],
    [{ gpuSpecs: ['nvidia v100', 'P100'] }, (type) => /V100|P100/.test(type.GPUSpec ?? '')],
    [{ cpuArchitecture: 'ARM' }, (type) => type.cpuArchitecture === 'ARM'],
    [{ instanceCategory: 'ECS Bare Metal' }, (type) => /^ecs\.ebm/.test(type.instanceTypeFamily ?? '')],
    [{ instanceFamilyLevel: 'CreditEntryLevel' }, (type) => type.instanceTypeFamily === 'ecs.t6'],
    [{ minimumEniQuantity: 8 }, (type) => (type.eniQuantity ?? 0) >= 8],
    [{ minimumInstancePpsRx: 3_000_000 }, (type) => (type.instancePpsRx ?? 0) >= 3_000_000],
    [{ minimumInstanceBandwidthTx: 16_000_000 }, (type) => (type.instanceBandwidthTx ?? 0) >= 16_000_000],
    [{ minimumLocalStorageAmount: 1 }, (type) => (type.localStorageCapacity ?? 0) > 0],
    [{ localStorageCategory: 'local_ssd_pro' }, (type) => (type.localStorageCapacity ?? 0) > 0],
    [{ minimumBaselineCredit: 1 }, (type) => type.baselineCredit !== undefined],
  ])('finds by %j exactly the types that match', async (filter, matches) => {
    const { types } = await describeTypes();
    const expected = types.filter(matches).map((type) => type.instanceTypeId);
    expect(expected.length).toBeGreaterThan(0);
    expect(expected.length).toBeLessThan(192);
    expect(await ids(filter)).toEqual(expected);
  });

  it('finds nothing by figures that are nowhere documented', async () => {
    expect(await ids({ physicalProcessorModel: 'Intel' })).toEqual([]);
    expect(await ids({ minimumCpuSpeedFrequency: 2.5 })).toEqual([]);
  });

  it('refuses words that the API does not have', async () => {
    await expect(describeTypes({ cpuArchitecture: 'MIPS' })).rejects.toMatchObject({
      code: 'InvalidParameter',
    });
    await expect(describeTypes({ nextToken: 'bad token' })).rejects.toMatchObject({
      code: 'InvalidParameter',
    });
  });
});

describe('DescribeInstanceTypeFamilies', () => {
  const families = async (generation?: string) => {
    const { body } = await cloud.ecs.describeInstanceTypeFamilies(
      new ecs.DescribeInstanceTypeFamiliesRequest({
        regionId: 'cn-hangzhou',
        ...(generation ? { generation } : {}),
      }),
    );
    return body?.instanceTypeFamilies?.instanceTypeFamily ?? [];
  };

  it('names every family once with its generation', async () => {
    const all = await families();
    expect(new Set(all.map((family) => family.instanceTypeFamilyId)).size).toBe(all.length);
    expect(all).toContainEqual(
      expect.objectContaining({ instanceTypeFamilyId: 'ecs.g6', generation: 'ecs-5' }),
    );
  });

  it('finds by generation', async () => {
    const found = await families('ecs-5');
    expect(found.length).toBeGreaterThan(0);
    expect(found.every((family) => family.generation === 'ecs-5')).toBe(true);
    expect(await families('ecs-99')).toEqual([]);
  });
});
