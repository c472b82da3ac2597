import { posix } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
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
  type InstanceSpec,
  type ObservedInstance,
  type ObservedVolume,
  type VolumeSpec,
} from '../driver.js';
import { FakeVolumes } from './FakeVolumes.js';
import {
  type FakeEngineFile,
  type FakeFile,
  noFakeEngineFile,
  openFakeEngineFile,
} from './fakeEngineFile.js';
import { type FakeProcess, type FakeProgram, fakePrograms } from './fakePrograms.js';

/** Methods whose delay and next failure a test can set. */
export type FakeComputeMethod = Exclude<keyof ComputeDriver, 'hostId' | 'capabilities' | 'watch' | 'close'>;

export interface FakeComputeDriverOptions {
  readonly hostId: HostId;
  /** What the machine has; default 64 cores, 256 GiB memory, 4 TiB disk. */
  readonly resources?: HostResources;
  readonly capabilities?: Partial<Omit<ComputeCapabilities, 'engine'>>;
  /** How long each call takes before it acts. `boot`: how long a started guest cannot hear a graceful stop. */
  readonly delaysMs?: Partial<Record<FakeComputeMethod | 'boot', number>>;
  /** Images that are there from the start. */
  readonly images?: readonly string[];
  /** SQLite file that keeps instances, images and files over a killed process. Absent: memory only. */
  readonly file?: string;
  /** Further programs for `exec`, by name; they win over the built-in ones. */
  readonly programs?: Readonly<Record<string, FakeProgram>>;
}

interface FakeInstance {
  spec: InstanceSpec;
  observed: ObservedInstance;
  readonly files: Map<string, FakeFile>;
  /** Ends every program when the instance stops. Present while it runs. */
  power: AbortController | undefined;
  bootedAtMs: number;
  memoryUsedMiB: number;
}

interface Fault {
  readonly error: Error;
  readonly when: 'before' | 'after';
}

/** A compute engine in memory that keeps every promise of `ComputeDriver`, for tests and very large clouds. */
export class FakeComputeDriver implements ComputeDriver {
  readonly hostId: HostId;
  readonly capabilities: ComputeCapabilities;
  /** May be changed at any time. */
  readonly delaysMs: Partial<Record<FakeComputeMethod | 'boot', number>>;
  /** How often each method was called. */
  readonly calls = new Map<FakeComputeMethod, number>();

  readonly #resources: HostResources;
  readonly #file: FakeEngineFile;
  readonly #programs: Readonly<Record<string, FakeProgram>>;
  readonly #instances = new Map<string, FakeInstance>();
  /** With the files that an image of an instance holds. */
  readonly #images = new Map<string, Map<string, FakeFile>>();
  readonly #volumes: FakeVolumes;
  readonly #listeners = new Set<(event: ComputeEvent) => void>();
  readonly #faults = new Map<FakeComputeMethod, Fault[]>();
  #available = true;

  constructor(options: FakeComputeDriverOptions) {
    this.hostId = options.hostId;
    this.capabilities = {
      engineVersion: '1',
      instanceKinds: ['container', 'virtual-machine'],
      supportsDiskQuota: true,
      ...options.capabilities,
      engine: 'fake',
    };
    this.#resources = options.resources ?? { vcpus: 64, memoryMiB: 262_144, storageGiB: 4096 };
    this.delaysMs = { ...options.delaysMs };
    this.#programs = { ...fakePrograms, ...options.programs };
    this.#file = options.file === undefined ? noFakeEngineFile() : openFakeEngineFile(options.file);
    for (const alias of [...this.#file.loadImages(), ...(options.images ?? [])]) {
      this.#images.set(alias, new Map());
    }
    this.#volumes = new FakeVolumes(this.#file);
    for (const { spec, running } of this.#file.loadInstances()) this.#insert(spec, running);
    for (const { name, path, file } of this.#file.loadFiles()) {
      this.#instances.get(name)?.files.set(path, file);
      this.#volumes.restoreFile(name, path, file);
      this.#images.get(name)?.set(path, file);
    }
  }

  // --- What a test can do to it ---

  /**
   * Makes the next call of the method fail with the error: `before` it did anything, or `after` it did
   * all, as when the answer is lost. Several in a row queue up.
   */
  failNext(method: FakeComputeMethod, error: Error, when: 'before' | 'after' = 'before'): void {
    this.#faults.set(method, [...(this.#faults.get(method) ?? []), { error, when }]);
  }

  /** Cuts or mends the connection: meanwhile every call is `unavailable`, afterwards watchers resync. */
  setAvailable(available: boolean): void {
    if (available && !this.#available) this.#emit({ type: 'resync' });
    this.#available = available;
  }

  /** The guest uses this much memory: less cannot be given to it. */
  useMemory(name: string, usedMiB: number): void {
    this.#get(name).memoryUsedMiB = usedMiB;
  }

  /** The guest powers itself off, or the host kills it. */
  powerOff(name: string): void {
    this.#setPower(this.#get(name), false);
  }

  /** What the engine was last asked to make of it. */
  getSpec(name: string): InstanceSpec {
    return this.#get(name).spec;
  }

  // --- ComputeDriver ---

  getResources(): Promise<HostResources> {
    return this.#call('getResources', () => this.#resources);
  }

  listInstances(): Promise<ObservedInstance[]> {
    return this.#call('listInstances', () => Array.from(this.#instances.values(), (each) => each.observed));
  }

  findInstance(name: string): Promise<ObservedInstance | undefined> {
    return this.#call('findInstance', () => this.#instances.get(name)?.observed);
  }

  createInstance(spec: InstanceSpec): Promise<void> {
    return this.#call('createInstance', () => {
      if (this.#instances.has(spec.name)) return;
      if (!/^[A-Za-z][A-Za-z0-9-]{0,62}$/.test(spec.name)) {
        throw new ComputeError('refused', `Invalid instance name "${spec.name}"`);
      }
      const image = this.#images.get(spec.image);
      if (!image) throw new ComputeError('refused', `No image "${spec.image}"`);
      if (!this.capabilities.instanceKinds.includes(spec.kind)) {
        throw new ComputeError('refused', `This host runs no ${spec.kind}`);
      }
      this.#volumes.require(spec.disks);
      this.#file.saveInstance({ spec, running: false });
      this.#insert(spec, false);
      for (const [path, file] of image) this.#writeFile(this.#get(spec.name), path, file);
      this.#emit({ type: 'changed', instanceName: spec.name });
    });
  }

  updateInstance(spec: InstanceSpec): Promise<void> {
    return this.#call('updateInstance', () => {
      const instance = this.#get(spec.name);
      if (spec.rootDiskGiB < instance.spec.rootDiskGiB) {
        throw new ComputeError('refused', 'A root disk cannot shrink');
      }
      if (instance.power !== undefined && spec.memoryMiB < instance.memoryUsedMiB) {
        throw new ComputeError('in-use', 'The guest uses more memory than that');
      }
      this.#volumes.require(spec.disks);
      instance.spec = { ...spec, image: instance.spec.image, kind: instance.spec.kind };
      this.#changed(instance);
    });
  }

  startInstance(name: string): Promise<void> {
    return this.#call('startInstance', () => {
      const instance = this.#get(name);
      if (instance.power !== undefined) return;
      this.#setPower(instance, true);
    });
  }

  stopInstance(name: string, options?: { readonly graceTimeoutMs?: number }): Promise<void> {
    return this.#call('stopInstance', async () => {
      const { power, bootedAtMs } = this.#get(name);
      if (power === undefined) return;
      const bootLeftMs = bootedAtMs - Date.now();
      if (options?.graceTimeoutMs !== undefined && bootLeftMs > 0) {
        await delay(Math.min(bootLeftMs, options.graceTimeoutMs));
      }
      const instance = this.#instances.get(name);
      if (instance?.power === power) this.#setPower(instance, false);
    });
  }

  deleteInstance(name: string): Promise<void> {
    return this.#call('deleteInstance', () => {
      const instance = this.#instances.get(name);
      if (instance === undefined) return;
      this.#file.removeInstance(name);
      this.#instances.delete(name);
      instance.power?.abort(new ComputeError('not-found', `Instance ${name} was deleted`));
      this.#emit({ type: 'changed', instanceName: name });
    });
  }

  listVolumes(): Promise<ObservedVolume[]> {
    return this.#call('listVolumes', () => this.#volumes.list());
  }

  createVolume(spec: VolumeSpec): Promise<void> {
    return this.#call('createVolume', () => this.#volumes.create(spec));
  }

  growVolume(name: string, sizeGiB: number): Promise<void> {
    return this.#call('growVolume', () => this.#volumes.grow(name, sizeGiB));
  }

  deleteVolume(name: string): Promise<void> {
    return this.#call('deleteVolume', () => {
      for (const { spec } of this.#instances.values()) {
        if (!spec.disks.some((disk) => disk.volume === name)) continue;
        throw new ComputeError('in-use', `Volume ${name} is in ${spec.name}`);
      }
      this.#volumes.delete(name);
    });
  }

  getVolumeUsage(name: string): Promise<{ readonly usedBytes: number }> {
    return this.#call('getVolumeUsage', () => ({ usedBytes: this.#volumes.getUsedBytes(name) }));
  }

  exec(name: string, request: ExecRequest): Promise<ExecResult> {
    return this.#call('exec', async () => {
      const instance = this.#get(name);
      const { power } = instance;
      if (power === undefined) throw new ComputeError('in-use', `Instance ${name} is not running`);
      const signal =
        request.signal === undefined ? power.signal : AbortSignal.any([power.signal, request.signal]);
      signal.throwIfAborted();
      const program = this.#runProgram(instance, request, signal);
      // Of programs that take no heed of the signal.
      let end: () => void = () => undefined;
      const ended = new Promise<never>((_resolve, reject) => {
        end = () => reject(signal.reason);
        signal.addEventListener('abort', end, { once: true });
      });
      try {
        return { exitCode: await Promise.race([program, ended]) };
      } finally {
        signal.removeEventListener('abort', end);
      }
    });
  }

  writeFile(name: string, path: string, content: Uint8Array, attributes: FileAttributes): Promise<void> {
    return this.#call('writeFile', () => {
      this.#writeFile(this.#get(name), path, { content: Uint8Array.from(content), ...attributes });
    });
  }

  readFile(name: string, path: string): Promise<Uint8Array | undefined> {
    return this.#call('readFile', () => this.#readFile(this.#get(name), path)?.content);
  }

  hasImage(alias: string): Promise<boolean> {
    return this.#call('hasImage', () => this.#images.has(alias));
  }

  importImage(alias: string, _files: { readonly metadata: string; readonly rootfs: string }): Promise<void> {
    return this.#call('importImage', () => {
      this.#images.set(alias, new Map());
      this.#file.saveImage(alias);
    });
  }

  createImage(alias: string, instanceName: string): Promise<void> {
    return this.#call('createImage', () => {
      const { files } = this.#get(instanceName);
      if (this.#images.has(alias)) return;
      this.#file.saveImage(alias);
      this.#images.set(alias, new Map(files));
      for (const [path, file] of files) this.#file.saveFile(alias, path, file);
    });
  }

  deleteImage(alias: string): Promise<void> {
    return this.#call('deleteImage', () => {
      this.#images.delete(alias);
      this.#file.removeImage(alias);
    });
  }

  watch(listener: (event: ComputeEvent) => void): { close(): void } {
    // A wrapper of its own, so that one function can be registered twice and closed once.
    const entry = (event: ComputeEvent): void => listener(event);
    this.#listeners.add(entry);
    queueMicrotask(() => this.#listeners.has(entry) && entry({ type: 'resync' }));
    return { close: () => void this.#listeners.delete(entry) };
  }

  async close(): Promise<void> {
    this.#listeners.clear();
    this.#file.close();
  }

  // --- Inside ---

  async #call<Result>(method: FakeComputeMethod, act: () => Result | Promise<Result>): Promise<Result> {
    this.calls.set(method, (this.calls.get(method) ?? 0) + 1);
    const delayMs = this.delaysMs[method] ?? 0;
    if (delayMs > 0) await delay(delayMs);
    if (!this.#available) throw new ComputeError('unavailable', 'The fake engine is switched off');
    const fault = this.#faults.get(method)?.shift();
    if (fault?.when === 'before') throw fault.error;
    const result = await act();
    if (fault?.when === 'after') throw fault.error;
    return result;
  }

  #get(name: string): FakeInstance {
    const instance = this.#instances.get(name);
    if (instance === undefined) throw new ComputeError('not-found', `No instance ${name}`);
    return instance;
  }

  #readFile(instance: FakeInstance, path: string): FakeFile | undefined {
    const normal = posix.normalize(path);
    const onDisk = this.#volumes.find(instance.spec.disks, normal);
    return onDisk ? onDisk.read() : instance.files.get(normal);
  }

  #writeFile(instance: FakeInstance, path: string, file: FakeFile): void {
    const normal = posix.normalize(path);
    const onDisk = this.#volumes.find(instance.spec.disks, normal);
    if (onDisk) {
      onDisk.write(file);
      return;
    }
    this.#file.saveFile(instance.spec.name, normal, file);
    instance.files.set(normal, file);
  }

  #insert(spec: InstanceSpec, running: boolean): void {
    this.#instances.set(spec.name, {
      spec,
      observed: observe(spec, running),
      files: new Map(),
      power: running ? new AbortController() : undefined,
      bootedAtMs: 0,
      memoryUsedMiB: 0,
    });
  }

  #setPower(instance: FakeInstance, running: boolean): void {
    const before = instance.power;
    instance.power = running ? new AbortController() : undefined;
    instance.bootedAtMs = running ? Date.now() + (this.delaysMs.boot ?? 0) : 0;
    before?.abort(new ComputeError('in-use', `Instance ${instance.spec.name} was stopped`));
    this.#changed(instance);
  }

  #changed(instance: FakeInstance): void {
    const running = instance.power !== undefined;
    instance.observed = observe(instance.spec, running);
    this.#file.saveInstance({ spec: instance.spec, running });
    this.#emit({ type: 'changed', instanceName: instance.spec.name });
  }

  #emit(event: ComputeEvent): void {
    for (const listener of this.#listeners) {
      queueMicrotask(() => this.#available && this.#listeners.has(listener) && listener(event));
    }
  }

  #runProgram(instance: FakeInstance, request: ExecRequest, signal: AbortSignal): Promise<number> {
    const encoder = new TextEncoder();
    const process: FakeProcess = {
      arguments: [],
      environment: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/root', ...request.environment },
      workingDirectory: request.workingDirectory ?? '/root',
      userId: request.userId ?? 0,
      hostName: instance.spec.seed.hostName,
      stdin: request.stdin ?? new Uint8Array(),
      signal,
      write: (stream, data) => {
        if (signal.aborted) return;
        request.onOutput?.(stream, typeof data === 'string' ? encoder.encode(data) : data);
      },
      readFile: (path) => this.#readFile(instance, path)?.content,
      writeFile: (path, content, mode) =>
        this.#writeFile(instance, path, { content, mode, userId: 0, groupId: 0 }),
      hasProgram: (program) => program in this.#programs,
      run: () => Promise.resolve(127),
    };
    const run = async (from: FakeProcess, command: readonly string[]): Promise<number> => {
      const [path = '', ...rest] = command;
      const program = this.#programs[posix.basename(path)];
      if (program === undefined) {
        from.write('stderr', `${path}: not found\n`);
        return 127;
      }
      const child: FakeProcess = {
        ...from,
        arguments: rest,
        run: (next, changes) => run({ ...child, ...changes }, next),
      };
      return program(child);
    };
    return run(process, request.command);
  }
}

function observe(spec: InstanceSpec, running: boolean): ObservedInstance {
  return {
    name: spec.name,
    status: running ? 'running' : 'stopped',
    vcpus: spec.vcpus,
    memoryMiB: spec.memoryMiB,
    rootDiskGiB: spec.rootDiskGiB,
  };
}
