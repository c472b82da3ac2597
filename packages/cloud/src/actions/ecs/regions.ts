import { ecs } from '@openegs/schema';
import { defineAction } from '../action.js';

export const describeRegions = defineAction(ecs.DescribeRegions, {
  errors: [],
  async read(_input, { cloud }) {
    return {
      regions: {
        region: cloud.catalog.regions.map((region) => ({
          regionId: region.id,
          localName: region.id,
          regionEndpoint: `ecs.${region.id}.aliyuncs.com`,
          status: 'available',
        })),
      },
    };
  },
});
