import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import EcsClient from '@alicloud/ecs20140526';
import { $OpenApiUtil } from '@alicloud/openapi-core';
import RpcClient from '@alicloud/pop-core';
import StsClient from '@alicloud/sts20150401';
import VpcClient from '@alicloud/vpc20160428';
import { pino } from 'pino';
import { parseConfig } from '../config.js';
import type { HostId, RegionId, ZoneId } from '../domain/ids.js';
import { FakeComputeDriver } from '../drivers/compute/fake/FakeComputeDriver.js';
import { FakeNetworkDriver } from '../drivers/network/fake/driver.js';
import { Cloud } from '../server.js';
import { putHost } from '../store/hosts.js';
import { Store } from '../store/store.js';

const testRegion = 'cn-hangzhou' as RegionId;
const zoneA = 'cn-hangzhou-a' as ZoneId;
const zoneB = 'cn-hangzhou-b' as ZoneId;

/** One host a zone, each with room for 256 vCPUs, 1 TiB of memory and 4 TiB of disk. */
const testHosts = [
  ['fake-a' as HostId, zoneA],
  ['fake-b' as HostId, zoneB],
] as const;
const testCapacity = { cpuMilli: 256_000, memoryMiB: 1024 * 1024, diskGiB: 4096 };

/** A whole cloud in this process on the fake engine, with official clients that talk to it over HTTP. */
export interface TestCloud {
  readonly cloud: Cloud;
  /** The engines of the two hosts, `fake-a` and `fake-b`, one in each zone. */
  readonly compute: { readonly a: FakeComputeDriver; readonly b: FakeComputeDriver };
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
  const network = new FakeNetworkDriver();
  const store = Store.open(dataDirectory);
  const drivers = new Map<HostId, FakeComputeDriver>();
  for (const [id, zoneId] of testHosts) {
    const driver = new FakeComputeDriver({ hostId: id });
    await driver.importImage('debian_12_x64_egs', { metadata: '', rootfs: '' });
    drivers.set(id, driver);
    await store.transaction({ name: 'test' }, (tx) =>
      putHost(tx, {
        ...testCapacity,
        id,
        zoneId,
        regionId: testRegion,
        state: 'active',
        cards: [],
        endpoint: '',
      }),
    );
  }
  const cloud = await Cloud.start({
    dataDirectory,
    store,
    config: parseConfig(options.config),
    computeDrivers: drivers,
    network,
    // Unknown errors are defects: a test that meets one shall show it.
    log: pino({ level: process.env['EGS_TEST_LOG'] ?? 'fatal' }, pino.destination(2)),
  });
  const { accessKeyId, accessKeySecret } = cloud.credentials;
  const regionId = testRegion;
  const getDriver = (id: HostId): FakeComputeDriver => {
    const driver = drivers.get(id);
    if (!driver) throw new Error(`no test host ${id}`);
    return driver;
  };
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
    compute: { a: getDriver(testHosts[0][0]), b: getDriver(testHosts[1][0]) },
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
