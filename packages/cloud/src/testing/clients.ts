import EcsClient from '@alicloud/ecs20140526';
import { $OpenApiUtil } from '@alicloud/openapi-core';
import RpcClient from '@alicloud/pop-core';
import StsClient from '@alicloud/sts20150401';
import VpcClient from '@alicloud/vpc20160428';
import type { Cloud } from '../server.js';

/** Official clients of a cloud. */
export interface Clients {
  /** Current SDKs: V3 signatures. */
  readonly ecs: EcsClient.default;
  readonly vpc: VpcClient.default;
  readonly sts: StsClient.default;
  /** The same SDK with V1 signatures. */
  readonly ecsV1: EcsClient.default;
  /** The older core: any action by name, V1, GET or POST. */
  rpc(version?: string): RpcClient;
}

export function connectClients({ endpoint, credentials }: Pick<Cloud, 'endpoint' | 'credentials'>): Clients {
  const { accessKeyId, accessKeySecret } = credentials;
  const config = (signatureAlgorithm?: string) =>
    new $OpenApiUtil.Config({
      accessKeyId,
      accessKeySecret,
      regionId: 'cn-hangzhou',
      endpoint: endpoint.replace('http://', ''),
      protocol: 'http',
      ...(signatureAlgorithm === undefined ? {} : { signatureAlgorithm }),
    });
  return {
    ecs: new EcsClient.default(config()),
    vpc: new VpcClient.default(config()),
    sts: new StsClient.default(config()),
    ecsV1: new EcsClient.default(config('v2')),
    rpc: (apiVersion = '2014-05-26') => new RpcClient({ accessKeyId, accessKeySecret, endpoint, apiVersion }),
  };
}
