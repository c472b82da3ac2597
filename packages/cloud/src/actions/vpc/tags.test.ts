import * as Vpc from '@alicloud/vpc20160428';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { codeOf } from '../../testing/errorCode.js';
import { startTestCloud, type TestCloud } from '../../testing/testCloud.js';
import { VpcFixture } from '../../testing/vpcFixture.js';

const regionId = 'cn-hangzhou';
let cloud: TestCloud;
let home: VpcFixture;
beforeAll(async () => {
  cloud = await startTestCloud();
  home = await VpcFixture.create(cloud);
});
afterAll(() => cloud.stop());

describe('tags of the VPC product', () => {
  it('are put on, listed and taken off every kind of resource', async () => {
    const resources = {
      VPC: home.vpcId,
      VSWITCH: home.vSwitchId,
      ROUTETABLE: home.routeTableId,
      EIP: (await home.allocateEip()).allocationId,
      NATGATEWAY: (await home.createNatGateway()).natGatewayId,
    };
    for (const [resourceType, id] of Object.entries(resources)) {
      await cloud.vpc.tagResources(
        new Vpc.TagResourcesRequest({
          regionId,
          resourceType,
          resourceId: [id],
          tag: [
            new Vpc.TagResourcesRequestTag({ key: 'a', value: '1' }),
            new Vpc.TagResourcesRequestTag({ key: 'b', value: '2' }),
          ],
        }),
      );
      const list = async (request: Partial<Vpc.ListTagResourcesRequest>) => {
        const { body } = await cloud.vpc.listTagResources(
          new Vpc.ListTagResourcesRequest({ regionId, resourceType, ...request }),
        );
        return {
          next: body?.nextToken,
          tags: (body?.tagResources?.tagResource ?? []).map((tag) => [tag.resourceId, tag.tagKey]),
        };
      };
      expect((await list({ resourceId: [id] })).tags).toEqual([
        [id, 'a'],
        [id, 'b'],
      ]);
      const first = await list({ resourceId: [id], maxResults: 1 });
      expect((await list({ resourceId: [id], nextToken: first.next ?? '' })).tags).toEqual([[id, 'b']]);
      expect(
        (await list({ tag: [new Vpc.ListTagResourcesRequestTag({ key: 'b', value: '2' })] })).tags,
      ).toEqual([
        [id, 'a'],
        [id, 'b'],
      ]);
      await cloud.vpc.unTagResources(
        new Vpc.UnTagResourcesRequest({ regionId, resourceType, resourceId: [id], tagKey: ['a'] }),
      );
      expect((await list({ resourceId: [id] })).tags).toEqual([[id, 'b']]);
      await cloud.vpc.unTagResources(
        new Vpc.UnTagResourcesRequest({ regionId, resourceType, resourceId: [id], all: true }),
      );
      expect((await list({ resourceId: [id] })).tags).toEqual([]);
    }
  });

  it.each([
    [{ resourceType: 'CAR' }, 'InvalidInstanceType.NotFound'],
    [{ resourceId: ['vpc-none'] }, 'InvalidInstanceIds.NotFound'],
    [{ tag: [new Vpc.TagResourcesRequestTag({ key: 'aliyunx' })] }, 'InvalidTagKey'],
    [{ tag: [new Vpc.TagResourcesRequestTag({ key: 'a', value: 'http://x' })] }, 'InvalidTagValue'],
    [
      { tag: ['a', 'a'].map((key) => new Vpc.TagResourcesRequestTag({ key })) },
      'Forbidden.TagKey.Duplicated',
    ],
  ])('are refused with %o', async (request, code) => {
    const tag = cloud.vpc.tagResources(
      new Vpc.TagResourcesRequest({
        regionId,
        resourceType: 'VPC',
        resourceId: [home.vpcId],
        tag: [new Vpc.TagResourcesRequestTag({ key: 'a', value: '1' })],
        ...request,
      }),
    );
    expect(await codeOf(tag)).toBe(code);
  });

  it('are listed by something', async () => {
    const list = cloud.vpc.listTagResources(
      new Vpc.ListTagResourcesRequest({ regionId, resourceType: 'VPC' }),
    );
    expect(await codeOf(list)).toBe('BothEmpty.TagsAndResources');
  });
});
