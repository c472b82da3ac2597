import { randomBytes, randomInt } from 'node:crypto';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { type BaseImage, ensureBaseImage, type PrivateEngine, startPrivateEngine } from '@openegs/setup';
import { type ConfiguredCloud, removeNetworks, startConfiguredCloud } from '../compose.js';
import { type CloudConfig, parseConfig } from '../config.js';
import type { HostId } from '../domain/ids.js';
import { cloudTag, NetworkNames } from '../domain/network/names.js';
import { LxdComputeDriver } from '../drivers/compute/lxd/LxdComputeDriver.js';
import type { Cloud, CloudOptions } from '../server.js';
import { getCloudId } from '../store/store.js';

/** Ranges that neither the cloud of this machine, should one run, nor another test uses at the moment. */
function findFreeRanges(): Pick<
  CloudConfig['network'],
  'transitCidr' | 'fabricCidr' | 'metadataPort' | 'eipPools'
> {
  const used = new Set((networkInterfaces()['lo'] ?? []).map(({ address }) => address));
  // The defaults are below and above. Every running cloud has an address of its fabric range on `lo`.
  const free = [80, 82, 84, 86, 88, 90, 92, 94].filter((part) => !used.has(`100.${part + 1}.0.1`));
  const part = free[randomInt(Math.max(free.length, 1))];
  if (part === undefined) throw new Error('too many test clouds are on this machine');
  return {
    transitCidr: `100.${part}.0.0/16`,
    fabricCidr: `100.${part + 1}.0.0/16`,
    metadataPort: 18_775,
    eipPools: [{ cidr: `198.18.${part}.0/24`, local: true }],
  };
}

/** Sparse: room for twenty system disks of the usual size with the usual over-commit. */
const poolSizeGiB = 100;

type ControlPlaneOptions = Partial<Pick<CloudOptions, 'faults' | 'log'>>;

interface HostCloudOptions extends ControlPlaneOptions {
  readonly host?: Readonly<Record<string, unknown>>;
}

/**
 * A whole cloud on real containers and real networks: an engine of its own in a directory of its own,
 * names and address ranges of its own. Needs root.
 */
export class HostCloud {
  readonly regionId = 'cn-hangzhou';
  private running: ConfiguredCloud | undefined;
  private opened: { readonly names: NetworkNames; readonly compute: LxdComputeDriver } | undefined;

  private constructor(
    readonly directory: string,
    readonly config: CloudConfig,
    readonly engine: PrivateEngine,
    readonly image: BaseImage,
  ) {}

  /** `host`: further settings of the one host, as in the configuration file. */
  static async start({ host, ...options }: HostCloudOptions = {}): Promise<HostCloud> {
    const directory = `/var/lib/egs-test-${randomBytes(4).toString('hex')}`;
    const image = await ensureBaseImage();
    const engine = await startPrivateEngine({ directory, poolSizeGiB });
    const config = parseConfig({
      hosts: [
        {
          id: 'local',
          zone: 'cn-hangzhou-a',
          engine: { driver: 'lxd', socket: engine.socketPath, pool: engine.pool, project: engine.project },
          ...host,
        },
      ],
      network: findFreeRanges(),
    });
    const hostCloud = new HostCloud(directory, config, engine, image);
    try {
      await hostCloud.startControlPlane(options);
    } catch (error) {
      await engine.stop();
      throw error;
    }
    return hostCloud;
  }

  get dataDirectory(): string {
    return join(this.directory, 'cloud');
  }

  get cloud(): Cloud {
    if (!this.running) throw new Error('the control plane does not run');
    return this.running.cloud;
  }

  /** The engine as the cloud sees it, to look behind the API. */
  get compute(): LxdComputeDriver {
    if (!this.opened) throw new Error('the cloud was never started');
    return this.opened.compute;
  }

  /** What the names of all of the cloud's devices on the host begin with. */
  get tag(): string {
    if (!this.opened) throw new Error('the cloud was never started');
    return this.opened.names.tag;
  }

  /** The network namespace of a VPC, from which its instances can be reached. */
  namespaceOf(vpcId: string): string {
    if (!this.opened) throw new Error('the cloud was never started');
    return this.opened.names.namespace(vpcId as Parameters<NetworkNames['namespace']>[0]);
  }

  async startControlPlane(options: ControlPlaneOptions = {}): Promise<void> {
    this.running = await startConfiguredCloud({
      dataDirectory: this.dataDirectory,
      config: this.config,
      engine: 'lxd',
      images: new Map([[this.image.name, this.image]]),
      listen: { host: '127.0.0.1', port: 0 },
      ...options,
    });
    const cloudId = await getCloudId(this.cloud.parts.store);
    this.opened ??= {
      names: new NetworkNames(cloudTag(cloudId)),
      compute: await LxdComputeDriver.connect({
        hostId: 'local' as HostId,
        endpoint: { kind: 'unix', socketPath: this.engine.socketPath },
        project: this.engine.project,
        pool: this.engine.pool,
        cloud: cloudId,
      }),
    };
  }

  /** Stops the control plane; instances keep running. */
  async stopControlPlane(): Promise<void> {
    await this.running?.stop();
    this.running = undefined;
  }

  /** Removes everything: instances, networks, engine, files. */
  async stop(): Promise<void> {
    await this.stopControlPlane();
    await removeNetworks(this.dataDirectory, this.config);
    await this.opened?.compute.close();
    await this.engine.stop();
  }
}
