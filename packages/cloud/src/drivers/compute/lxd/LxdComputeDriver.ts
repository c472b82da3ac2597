import { setTimeout as delay } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import type { HostId } from '../../../domain/ids.js';
import {
  type ComputeCapabilities,
  type ComputeDriver,
  ComputeError,
  type ComputeEvent,
  type ExecRequest,
  type ExecResult,
  type FileAttributes,
  type HostResources,
  type InstanceKind,
  type InstanceSpec,
  type ObservedInstance,
  type ObservedVolume,
  type VolumeSpec,
} from '../driver.js';
import { EngineClient, type EngineEndpoint, type EngineRequest } from './EngineClient.js';
import { EngineVolumes } from './EngineVolumes.js';
import { ignoreMissing } from './engineErrors.js';
import { GuestIdAllocator } from './GuestIdAllocator.js';
import { execInGuest } from './guestExec.js';
import { findImageFingerprint, importSplitImage, type SplitImageFiles } from './importSplitImage.js';
import {
  cloudKey,
  type EngineInstance,
  formatChangingConfiguration,
  formatDevices,
  formatFixedConfiguration,
  isFinished,
  isGpuKey,
  isUp,
  parseInstance,
  parseSizeMiB,
  rootDiskReserveMiB,
} from './instanceConfiguration.js';
import { deletePublishedImages, publishImage, type RunChange } from './publishImage.js';
import { watchEngine } from './watchEngine.js';
import { isTaken } from './withProbeInstance.js';

export interface LxdComputeDriverOptions {
  readonly hostId: HostId;
  readonly endpoint: EngineEndpoint;
  /** The engine's project and storage pool that belong to the cloud. */
  readonly project: string;
  readonly pool: string;
  /** Name of this cloud: instances that do not bear it are not seen. Default `openegs`. */
  readonly cloud?: string;
}

interface ServerInformation {
  readonly api_extensions: readonly string[];
  readonly environment: {
    readonly server: string;
    readonly server_version: string;
    /** `lxc | qemu` */
    readonly driver: string;
  };
}

/** Waits until the guest's systemd can hear a request to stop; other init systems are not waited for. */
const waitForInit = `
case $(readlink -f /sbin/init) in *systemd*) ;; *) exit 0 ;; esac
until [ -S /run/systemd/private ]; do sleep 0.05; done`;

const forceStopTimeoutSeconds = 60;

/** What the engine says while another operation on the instance goes on, and when that is just over. */
const busy = /is busy running|matching non-reusable operation has now succeeded/i;
/** How long another operation on the same instance is waited for. */
const busyTimeoutMs = 60_000;

/** One LXD (≥ 5.0) or Incus (≥ 6.0) endpoint. */
export class LxdComputeDriver implements ComputeDriver {
  readonly hostId: HostId;
  readonly capabilities: ComputeCapabilities;

  readonly #client: EngineClient;
  readonly #project: string;
  readonly #pool: string;
  readonly #cloud: string;
  readonly #engine: 'lxd' | 'incus';
  readonly #guestIds: GuestIdAllocator;
  readonly #volumes: EngineVolumes;
  readonly #watches = new Set<{ close(): void }>();

  private constructor(
    client: EngineClient,
    options: LxdComputeDriverOptions,
    capabilities: ComputeCapabilities,
  ) {
    this.#client = client;
    this.hostId = options.hostId;
    this.#project = options.project;
    this.#pool = options.pool;
    this.#cloud = options.cloud ?? 'openegs';
    this.capabilities = capabilities;
    this.#guestIds = new GuestIdAllocator(client, options.project, options.pool);
    const { project, pool } = options;
    this.#volumes = new EngineVolumes(client, { project, pool, cloud: this.#cloud });
    this.#engine = capabilities.engine === 'incus' ? 'incus' : 'lxd';
  }

  /** Connects and reads what the endpoint can do. Throws `unavailable` when it does not answer. */
  static async connect(options: LxdComputeDriverOptions): Promise<LxdComputeDriver> {
    const client = new EngineClient(options.endpoint);
    try {
      const server = (await client.call<ServerInformation>('GET', '/1.0')).metadata.environment;
      const pool = await client.call<{ driver: string }>('GET', `/1.0/storage-pools/${options.pool}`);
      const kinds: InstanceKind[] = [];
      if (server.driver.includes('lxc')) kinds.push('container');
      if (server.driver.includes('qemu')) kinds.push('virtual-machine');
      const capabilities: ComputeCapabilities = {
        engine: server.server === 'incus' ? 'incus' : 'lxd',
        engineVersion: server.server_version,
        instanceKinds: kinds,
        supportsDiskQuota: pool.metadata.driver !== 'dir',
      };
      return new LxdComputeDriver(client, options, capabilities);
    } catch (error) {
      await client.close();
      throw error;
    }
  }

  async getResources(): Promise<HostResources> {
    interface Resources {
      readonly cpu: { readonly total: number };
      readonly memory: { readonly total: number };
      readonly gpu: unknown;
    }
    interface PoolResources {
      readonly space: { readonly total: number };
    }
    const [host, pool] = await Promise.all([
      this.#client.call<Resources>('GET', '/1.0/resources'),
      this.#client.call<PoolResources>('GET', `/1.0/storage-pools/${this.#pool}/resources`),
    ]);
    return {
      vcpus: host.metadata.cpu.total,
      memoryMiB: Math.floor(host.metadata.memory.total / 1024 ** 2),
      storageGiB: Math.floor(pool.metadata.space.total / 1024 ** 3),
      gpuResources: host.metadata.gpu,
    };
  }

  async listInstances(): Promise<ObservedInstance[]> {
    const query = { project: this.#project, recursion: '1' };
    const { metadata } = await this.#client.call<EngineInstance[]>('GET', '/1.0/instances', { query });
    return metadata.filter((instance) => this.#isOurs(instance) && isFinished(instance)).map(parseInstance);
  }

  async findInstance(name: string): Promise<ObservedInstance | undefined> {
    const found = await this.#find(name);
    return found !== undefined && isFinished(found.instance) ? parseInstance(found.instance) : undefined;
  }

  async createInstance(spec: InstanceSpec): Promise<void> {
    try {
      if (spec.kind === 'virtual-machine') await this.#postInstance(spec);
      else await this.#guestIds.with((idBase) => this.#postInstance(spec, idBase));
    } catch (error) {
      // What is missing before there is an instance is its image.
      if (error instanceof ComputeError && error.reason === 'not-found') {
        throw new ComputeError('refused', error.message, { cause: error });
      }
      if (!(error instanceof Error && isTaken(error))) throw error;
      const found = await this.#find(spec.name);
      if (found === undefined) {
        const message = `The name ${spec.name} is taken by an instance that is not ours`;
        throw new ComputeError('refused', message, { cause: error });
      }
      if (isFinished(found.instance)) return;
      // What a daemon left that died over it: `#change` has waited for one that is at work.
      await this.deleteInstance(spec.name);
      await this.createInstance(spec);
    }
  }

  async updateInstance(spec: InstanceSpec): Promise<void> {
    await this.#withRootDiskReserve(spec.name, () => this.#putSpec(spec));
  }

  async startInstance(name: string): Promise<void> {
    const { instance } = await this.#get(name);
    if (isUp(instance)) return;
    await this.#withRootDiskReserve(name, () => this.#changeState(name, { action: 'start', timeout: 30 }));
  }

  async stopInstance(name: string, options: { readonly graceTimeoutMs?: number } = {}): Promise<void> {
    const { instance } = await this.#get(name);
    if (parseInstance(instance).status === 'stopped') return;
    if (options.graceTimeoutMs !== undefined) {
      const stopped = await this.#stopGracefully(name, Date.now() + options.graceTimeoutMs);
      if (stopped) return;
    }
    await this.#changeState(name, { action: 'stop', force: true, timeout: forceStopTimeoutSeconds });
  }

  async deleteInstance(name: string): Promise<void> {
    const found = await this.#find(name);
    if (found === undefined) return;
    if (parseInstance(found.instance).status !== 'stopped')
      await this.stopInstance(name).catch(ignoreMissingError);
    await ignoreMissing(this.#change('DELETE', this.#path(name)));
  }

  listVolumes(): Promise<ObservedVolume[]> {
    return this.#volumes.list();
  }

  createVolume(spec: VolumeSpec): Promise<void> {
    return this.#volumes.create(spec);
  }

  growVolume(name: string, sizeGiB: number): Promise<void> {
    return this.#volumes.grow(name, sizeGiB);
  }

  deleteVolume(name: string): Promise<void> {
    return this.#volumes.delete(name);
  }

  getVolumeUsage(name: string): Promise<{ readonly usedBytes: number }> {
    return this.#volumes.getUsage(name);
  }

  async exec(name: string, request: ExecRequest): Promise<ExecResult> {
    await this.#get(name);
    return execInGuest(this.#client, this.#project, name, request);
  }

  async writeFile(
    name: string,
    path: string,
    content: Uint8Array,
    attributes: FileAttributes,
  ): Promise<void> {
    await this.#get(name);
    await this.#client.call('POST', `${this.#path(name)}/files`, {
      query: { project: this.#project, path },
      // Incus takes these names too.
      headers: {
        'x-lxd-type': 'file',
        'x-lxd-write': 'overwrite',
        'x-lxd-mode': `0${attributes.mode.toString(8)}`,
        'x-lxd-uid': String(attributes.userId),
        'x-lxd-gid': String(attributes.groupId),
      },
      body: content,
    });
  }

  async readFile(name: string, path: string): Promise<Uint8Array | undefined> {
    await this.#get(name);
    const file = await this.#client.read(`${this.#path(name)}/files`, { project: this.#project, path });
    const type = file?.headers['x-lxd-type'] ?? file?.headers['x-incus-type'];
    if (type === 'directory') throw new ComputeError('refused', `${path} in ${name} is a directory`);
    return file?.content;
  }

  async hasImage(alias: string): Promise<boolean> {
    return (await findImageFingerprint(this.#client, this.#project, alias)) !== undefined;
  }

  async importImage(alias: string, files: SplitImageFiles): Promise<void> {
    const where = { project: this.#project, pool: this.#pool };
    await importSplitImage(this.#client, where, alias, files);
  }

  async createImage(alias: string, instanceName: string): Promise<void> {
    await this.#get(instanceName);
    await publishImage(this.#client, this.#runChange, this.#project, alias, instanceName);
  }

  async deleteImage(alias: string): Promise<void> {
    await deletePublishedImages(this.#client, this.#runChange, this.#project, alias);
    const fingerprint = await findImageFingerprint(this.#client, this.#project, alias);
    if (fingerprint === undefined) return;
    await ignoreMissing(this.#change('DELETE', `/1.0/images/${fingerprint}`));
  }

  watch(listener: (event: ComputeEvent) => void): { close(): void } {
    const watch = watchEngine(this.#client, this.#project, listener);
    this.#watches.add(watch);
    return {
      close: () => {
        this.#watches.delete(watch);
        watch.close();
      },
    };
  }

  async close(): Promise<void> {
    for (const watch of this.#watches) watch.close();
    this.#watches.clear();
    await this.#client.close();
  }

  readonly #runChange: RunChange = (method, path, body) =>
    this.#change(method, path, body === undefined ? {} : { body });

  #path(name: string): string {
    return `/1.0/instances/${encodeURIComponent(name)}`;
  }

  #isOurs(instance: EngineInstance): boolean {
    return instance.config[cloudKey] === this.#cloud;
  }

  async #postInstance(spec: InstanceSpec, idBase?: number): Promise<void> {
    const config = {
      ...formatFixedConfiguration(this.#cloud, this.#engine, idBase),
      ...formatChangingConfiguration(spec),
    };
    const source = { type: 'image', alias: spec.image };
    const devices = formatDevices(spec, this.#pool);
    const body = { name: spec.name, type: spec.kind, source, profiles: [], config, devices };
    await this.#change('POST', '/1.0/instances', { body });
  }

  /** A change, after whatever else the engine is doing with the instance: it takes one at a time. */
  async #change(method: Dispatcher.HttpMethod, path: string, request: EngineRequest = {}): Promise<void> {
    const deadline = Date.now() + busyTimeoutMs;
    for (;;) {
      try {
        return await this.#client.run(method, path, { ...request, query: { project: this.#project } });
      } catch (error) {
        const isBusy = error instanceof ComputeError && busy.test(error.message);
        if (!isBusy || Date.now() > deadline) throw error;
        await delay(100);
      }
    }
  }

  /** An instance of ours, also one that was never finished. */
  async #find(name: string) {
    const call = this.#client.call<EngineInstance>('GET', this.#path(name), {
      query: { project: this.#project },
    });
    const reply = await ignoreMissing(call);
    if (reply === undefined || !this.#isOurs(reply.metadata)) return undefined;
    return { instance: reply.metadata, etag: reply.etag };
  }

  async #get(name: string) {
    const found = await this.#find(name);
    if (found === undefined || !isFinished(found.instance)) {
      throw new ComputeError('not-found', `No instance ${name}`);
    }
    return found;
  }

  /** Asks for a state, and is content when the instance is in it already. */
  async #changeState(name: string, change: { action: 'start' | 'stop'; timeout: number; force?: boolean }) {
    try {
      await this.#change('PUT', `${this.#path(name)}/state`, { body: change });
    } catch (error) {
      if (!(error instanceof ComputeError) || error.reason === 'unavailable') throw error;
      const found = await this.#find(name);
      const isDone =
        found !== undefined &&
        (change.action === 'start'
          ? isUp(found.instance)
          : parseInstance(found.instance).status === 'stopped');
      if (!isDone) throw error;
    }
  }

  /** True when the guest has stopped by itself in time. */
  async #stopGracefully(name: string, deadline: number): Promise<boolean> {
    const signal = AbortSignal.timeout(Math.max(1, deadline - Date.now()));
    // A guest without a shell, or one that is on its way out already, is asked without waiting.
    await this.exec(name, { command: ['/bin/sh', '-c', waitForInit], signal }).catch(() => undefined);
    const timeout = Math.ceil((deadline - Date.now()) / 1000);
    if (timeout <= 0) return false;
    try {
      await this.#changeState(name, { action: 'stop', timeout });
      return true;
    } catch (error) {
      if (error instanceof ComputeError && (error.reason === 'unavailable' || error.reason === 'not-found'))
        throw error;
      return false;
    }
  }

  /**
   * A guest that has filled its root disk leaves no room for the engine's own notes in it, so that nothing
   * can be changed or started. A little more room mends that, and lets the owner log in and clean up.
   */
  async #withRootDiskReserve(name: string, act: () => Promise<void>): Promise<void> {
    try {
      await act();
    } catch (error) {
      if (!(error instanceof ComputeError && error.reason === 'no-space')) throw error;
      const { instance } = await this.#get(name);
      const root = instance.devices['root'] ?? {};
      const size = `${parseSizeMiB(root['size'] ?? '0') + rootDiskReserveMiB}MiB`;
      await this.#change('PATCH', this.#path(name), { body: { devices: { root: { ...root, size } } } });
      await act();
    }
  }

  /** A whole replacement: only that removes devices. The version check keeps a change in between from being lost. */
  async #putSpec(spec: InstanceSpec): Promise<void> {
    const { instance, etag } = await this.#get(spec.name);
    const { architecture, ephemeral, profiles, description } = instance;
    const kept = Object.entries(instance.config).filter(([key]) => !isGpuKey(key));
    const config = { ...Object.fromEntries(kept), ...formatChangingConfiguration(spec) };
    const devices = formatDevices(spec, this.#pool, instance.devices['root']?.['size']);
    if (isEqual(config, instance.config) && isEqual(devices, instance.devices)) return;
    await this.#change('PUT', this.#path(spec.name), {
      headers: etag === undefined ? {} : { 'if-match': etag },
      body: { architecture, ephemeral, profiles, description, config, devices },
    });
  }
}

function ignoreMissingError(error: unknown): void {
  if (!(error instanceof ComputeError && error.reason === 'not-found')) throw error;
}

function isEqual(left: Readonly<Record<string, unknown>>, right: Readonly<Record<string, unknown>>): boolean {
  const sort = (value: unknown): unknown =>
    typeof value === 'object' && value !== null
      ? Object.entries(value)
          .map(([key, inner]) => [key, sort(inner)])
          .sort()
      : value;
  return JSON.stringify(sort(left)) === JSON.stringify(sort(right));
}
