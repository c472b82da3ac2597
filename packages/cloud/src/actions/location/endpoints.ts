import { location } from '@openegs/schema';
import { defineAction } from '../action.js';

/** Products whose endpoint is this cloud, by the codes under which clients ask (ServiceCode). */
const serviceCodes = ['ecs', 'vpc', 'ram', 'sts', 'ess', 'location', 'bssopenapi'];

export const describeEndpoints = defineAction(location.DescribeEndpoints, {
  errors: ['InvalidRegionId.NotFound'],
  async read({ id, serviceCode, type, namespace }, { cloud, hostName, fail }) {
    if (!cloud.catalog.regions.some((region) => region.id === id)) fail('InvalidRegionId.NotFound', { id });
    const isHere = serviceCodes.includes(serviceCode.toLowerCase());
    return {
      success: true,
      endpoints: {
        endpoint: isHere
          ? [
              {
                // One port serves every product, so the client's own way here is the answer.
                endpoint: hostName,
                id,
                namespace: namespace ?? '',
                // Spelt as the original spells it.
                serivceCode: serviceCode,
                type: type ?? 'openAPI',
                protocols: { protocols: ['HTTP'] },
              },
            ]
          : [],
      },
    };
  },
});
