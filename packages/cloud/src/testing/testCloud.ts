import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { parseConfig } from '../config.js';
import { type GpuInventory, noGpus } from '../domain/gpu.js';
import type { HostId, RegionId, ZoneId } from '../domain/ids.js';
import { FakeComputeDriver } from '../drivers/compute/fake/FakeComputeDriver.js';
import { FakeNetworkDriver } from '../drivers/network/fake/driver.js';
import { Cloud } from '../server.js';
import { putHost } from '../store/hosts.js';
import { Store } from '../store/store.js';
import { type Clients, connectClients } from './clients.js';

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
export interface TestCloud extends Clients {
  readonly cloud: Cloud;
  /** The engines of the two hosts, `fake-a` and `fake-b`, one in each zone. */
  readonly compute: { readonly a: FakeComputeDriver; readonly b: FakeComputeDriver };
  readonly network: FakeNetworkDriver;
  readonly regionId: string;
  stop(): Promise<void>;
}

export interface TestCloudOptions {
  readonly config?: unknown;
  /** Cards of the hosts `fake-a` and `fake-b`. */
  readonly gpus?: Readonly<Record<string, GpuInventory>>;
}

/** Starts a cloud in a directory of its own; `stop` removes it. */
export async function startTestCloud(options: TestCloudOptions = {}): Promise<TestCloud> {
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
        gpus: options.gpus?.[id] ?? noGpus,
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
  const getDriver = (id: HostId): FakeComputeDriver => {
    const driver = drivers.get(id);
    if (!driver) throw new Error(`no test host ${id}`);
    return driver;
  };
  return {
    cloud,
    compute: { a: getDriver(testHosts[0][0]), b: getDriver(testHosts[1][0]) },
    network,
    regionId: testRegion,
    ...connectClients(cloud),
    async stop() {
      await cloud.stop();
      rmSync(dataDirectory, { recursive: true, force: true });
    },
  };
}
