import { existsSync, readFileSync } from 'node:fs';
import type { Logger } from 'pino';
import { pino } from 'pino';
import { Catalog } from './catalog/catalog.js';
import type { CloudConfig } from './config.js';
import type { FaultPoints } from './domain/faults.js';
import { cloudTag } from './domain/network/names.js';
import type { NetworkDriver } from './drivers/network/driver.js';
import { FakeNetworkDriver } from './drivers/network/fake/driver.js';
import { LinuxNetworkDriver } from './drivers/network/linux/driver.js';
import { type EngineKind, type LocalEngine, planHosts } from './operator/hostPlan.js';
import { HostRegistry } from './operator/hostRegistry.js';
import { InstanceTunnels } from './operator/instanceTunnels.js';
import { HostJoiner } from './operator/joinHost.js';
import { startOperatorServer } from './operator/operatorServer.js';
import { Cloud } from './server.js';
import { lockDataDirectory } from './store/dataLock.js';
import { getCloudId, Store } from './store/store.js';

export interface ConfiguredCloudOptions {
  readonly dataDirectory: string;
  readonly config: CloudConfig;
  readonly engine: EngineKind;
  /** The engine of this machine, for hosts that name no other. */
  readonly localEngine?: LocalEngine;
  /** Images that real hosts are given, by alias. */
  readonly images?: ReadonlyMap<string, { readonly metadata: string; readonly rootfs: string }>;
  readonly listen: { readonly host: string; readonly port: number };
  readonly log?: Logger;
  readonly faults?: FaultPoints;
}

/** A running cloud with its hosts and the operator's socket. */
export interface ConfiguredCloud {
  readonly cloud: Cloud;
  readonly hosts: HostRegistry;
  stop(): Promise<void>;
}

/**
 * Starts a cloud as its configuration says: drivers for its hosts and its network, the cloud itself, and
 * the operator's API.
 * @throws ConfigError, DataInUseError
 */
export async function startConfiguredCloud(options: ConfiguredCloudOptions): Promise<ConfiguredCloud> {
  const { config, dataDirectory } = options;
  const log = options.log ?? pino({ level: 'silent' });
  const planned = planHosts(config, options.engine, options.localEngine);
  const lock = lockDataDirectory(dataDirectory);
  const store = Store.open(dataDirectory);
  const cloudId = await getCloudId(store);
  const hosts = new HostRegistry({
    store,
    log,
    dataDirectory,
    cloudId,
    gpuModels: new Catalog(config).gpuModels,
    images: options.images ?? new Map(),
  });
  await hosts.start(planned);
  const network = await openNetwork(options.engine, cloudId, config);
  const cloud = await Cloud.start({
    dataDirectory,
    store,
    config,
    computeDrivers: hosts.drivers,
    network,
    servesMetadata: options.engine === 'lxd',
    listen: options.listen,
    log,
    ...(options.faults === undefined ? {} : { faults: options.faults }),
  });
  await hosts.attach(cloud.parts, cloud.reconciler);
  const startedAt = new Date().toISOString();
  const operator = await startOperatorServer({
    dataDirectory,
    hosts,
    cloud: cloud.parts,
    joiner: new HostJoiner({ kind: options.engine, dataDirectory, config, hosts }),
    tunnels: new InstanceTunnels({
      reader: store.reader,
      names: network.names,
      hasNetwork: options.engine === 'lxd',
    }),
    getStatus: async () => ({
      pid: process.pid,
      endpoint: cloud.endpoint,
      region: config.regions[0]?.id ?? '',
      engine: options.engine,
      startedAt,
      instances: await countInstances(store),
    }),
  });
  return {
    cloud,
    hosts,
    async stop() {
      await operator.close();
      await cloud.stop();
      await hosts.close();
      await network.close();
      lock.release();
    },
  };
}

/** Takes a stopped cloud's networks off this machine. */
export async function removeNetworks(dataDirectory: string, config: CloudConfig): Promise<void> {
  const lock = lockDataDirectory(dataDirectory);
  try {
    const store = Store.open(dataDirectory);
    const cloudId = await getCloudId(store);
    await store.close();
    await (await openNetwork('lxd', cloudId, config)).removeAll();
  } finally {
    lock.release();
  }
}

async function openNetwork(kind: EngineKind, cloudId: string, config: CloudConfig): Promise<NetworkDriver> {
  const tag = cloudTag(cloudId);
  const { transitCidr, fabricCidr, metadataPort, eipPools } = config.network;
  switch (kind) {
    case 'fake':
      return new FakeNetworkDriver({ tag, checks: false });
    case 'lxd':
      return LinuxNetworkDriver.open({
        tag,
        transitCidr,
        fabricCidr,
        metadataPort,
        dnsServers: listDnsServers(),
        masqueradeCidrs: eipPools.filter((pool) => pool.local).map((pool) => pool.cidr),
      });
  }
}

/**
 * The servers that this machine asks. One on its own loopback cannot be reached from a VPC: behind
 * systemd-resolved, which is such a one, its own servers are taken.
 */
function listDnsServers(): string[] {
  for (const file of ['/etc/resolv.conf', '/run/systemd/resolve/resolv.conf']) {
    const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
    const servers = [...text.matchAll(/^nameserver\s+([\d.]+)\s*$/gm)].map(([, address = '']) => address);
    const reachable = servers.filter((address) => !address.startsWith('127.'));
    if (reachable.length > 0) return reachable;
  }
  return [];
}

async function countInstances(store: Store): Promise<Record<string, number>> {
  const rows = await store.reader
    .selectFrom('instances')
    .select(({ fn }) => ['status', fn.countAll<number>().as('total')])
    .where('status', '<>', 'Deleted')
    .groupBy('status')
    .execute();
  return Object.fromEntries(rows.map((row) => [row.status, row.total]));
}
