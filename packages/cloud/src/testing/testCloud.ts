import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import EcsClient from '@alicloud/ecs20140526';
import { $OpenApiUtil } from '@alicloud/openapi-core';
import RpcClient from '@alicloud/pop-core';
import StsClient from '@alicloud/sts20150401';
import VpcClient from '@alicloud/vpc20160428';
import { parseConfig } from '../config.js';
import type { HostId } from '../domain/ids.js';
import { FakeComputeDriver } from '../drivers/compute/fake/FakeComputeDriver.js';
import { FakeNetworkDriver } from '../drivers/network/fake/driver.js';
import { Cloud } from '../server.js';

/** A whole cloud in this process on the fake engine, with official clients that talk to it over HTTP. */
export interface TestCloud {
  readonly cloud: Cloud;
  readonly compute: FakeComputeDriver;
  readonly network: FakeNetworkDriver;
  readonly regionId: string;
  /** Current SDKs: V3 signatures. */
  readonly ecs: EcsClient.default;
  readonly vpc: VpcClient.default;
  readonly sts: StsClient.default;
  /** The same SDK with V1 signatures. */
  readonly ecsV1: EcsClient.default;
  /** The older core: any action by name, V1, GET or POST. */
  rpc(version?: string): RpcClient;
  stop(): Promise<void>;
}

/** Starts a cloud in a directory of its own; `stop` removes it. */
export async function startTestCloud(options: { config?: unknown } = {}): Promise<TestCloud> {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'openegs-test-'));
  const hostId = 'fake-1' as HostId;
  const compute = new FakeComputeDriver({ hostId });
  const network = new FakeNetworkDriver();
  const cloud = await Cloud.start({
    dataDirectory,
    config: parseConfig(options.config ?? { hosts: [{ id: hostId, engine: { driver: 'fake' } }] }),
    computeDrivers: new Map([[hostId, compute]]),
    network,
  });
  const { accessKeyId, accessKeySecret } = cloud.credentials;
  const regionId = 'cn-hangzhou';
  const clientConfig = (signatureAlgorithm?: string) =>
    new $OpenApiUtil.Config({
      accessKeyId,
      accessKeySecret,
      regionId,
      endpoint: cloud.endpoint.replace('http://', ''),
      protocol: 'http',
      ...(signatureAlgorithm === undefined ? {} : { signatureAlgorithm }),
    });
  return {
    cloud,
    compute,
    network,
    regionId,
    ecs: new EcsClient.default(clientConfig()),
    vpc: new VpcClient.default(clientConfig()),
    sts: new StsClient.default(clientConfig()),
    ecsV1: new EcsClient.default(clientConfig('v2')),
    rpc: (apiVersion = '2014-05-26') =>
      new RpcClient({ accessKeyId, accessKeySecret, endpoint: cloud.endpoint, apiVersion }),
    async stop() {
      await cloud.stop();
      rmSync(dataDirectory, { recursive: true, force: true });
    },
  };
}
