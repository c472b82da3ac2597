import type { GpuAttachment } from '../../domain/gpu.js';
import type { HostId } from '../../domain/ids.js';

/** How an instance is isolated: a system container or a virtual machine. */
export type InstanceKind = 'container' | 'virtual-machine';

/** What one engine endpoint can do, read once when the driver connects. */
export interface ComputeCapabilities {
  readonly engine: 'lxd' | 'incus' | 'fake';
  readonly engineVersion: string;
  readonly instanceKinds: readonly InstanceKind[];
  /** The storage pool enforces the size of a disk. False for `dir` pools, which ignore it silently. */
  readonly supportsDiskQuota: boolean;
}

/** What the machine behind the endpoint has in sum, before any instance. */
export interface HostResources {
  readonly vcpus: number;
  readonly memoryMiB: number;
  readonly storageGiB: number;
  /** What the engine tells of the host's GPUs, in its own form: see `parseEngineCards`. */
  readonly gpuResources?: unknown;
}

/** A port of an instance on a bridge that the network driver made. */
export interface InstanceNic {
  /** Name inside the instance: `eth0`, `eth1`, … */
  readonly device: string;
  readonly bridge: string;
  readonly macAddress: string;
  /** Name of the host side, fixed so that packet rules can name it across restarts. At most 15 characters. */
  readonly hostDevice: string;
}

/**
 * What an instance reads about itself at every boot, before SSH starts. It travels in the engine's
 * configuration, so that it is in place in the first millisecond and costs no extra call.
 */
export interface GuestSeed {
  readonly instanceId: string;
  readonly hostName: string;
  /** crypt(3) hash (`$6$…`) of root's password. Absent: password login stays as the image has it, locked. */
  readonly passwordHash?: string;
  readonly authorizedKeys: readonly string[];
  /** User data in Base64, since it may be any bytes (gzip). cloud-init runs it on the first boot only. */
  readonly userDataBase64?: string;
}

/** A volume in an instance: a file system of its own, mounted at the path inside a container. */
export interface InstanceDisk {
  readonly volume: string;
  /** Absolute and normalized. */
  readonly path: string;
}

/**
 * A piece of storage with a life of its own. Cloud disks are volumes, and so are their snapshots: a volume
 * made from another begins with the content that the other has at that moment, shares its blocks where the
 * pool can, and depends on it no further.
 */
export interface VolumeSpec {
  readonly name: string;
  readonly sizeGiB: number;
  /** Name of the volume on this host whose content it begins with. Absent: it is empty. */
  readonly source?: string;
}

/** What the engine says about one volume of this cloud. */
export interface ObservedVolume {
  readonly name: string;
  readonly sizeGiB: number;
}

/** What one instance shall be. Every field but name, image and kind may change later through `update`. */
export interface InstanceSpec {
  /** The engine's name of the instance: the cloud's instance id. */
  readonly name: string;
  /** Alias of the base image on this host, see `hasImage`. */
  readonly image: string;
  readonly kind: InstanceKind;
  readonly vcpus: number;
  readonly memoryMiB: number;
  readonly rootDiskGiB: number;
  readonly nics: readonly InstanceNic[];
  /** Data disks; the volumes must be there. */
  readonly disks: readonly InstanceDisk[];
  readonly seed: GuestSeed;
  /** Taken over at the next start: an instance that runs keeps the cards that it has. */
  readonly gpus?: GpuAttachment;
}

export type ObservedStatus = 'running' | 'stopped' | 'frozen' | 'error';

/** What the engine says about one instance of this cloud. */
export interface ObservedInstance {
  readonly name: string;
  readonly status: ObservedStatus;
  /** The size as configured at the engine, to be compared with what is wanted. */
  readonly vcpus: number;
  readonly memoryMiB: number;
  readonly rootDiskGiB: number;
}

export interface ExecRequest {
  /** Program and arguments. Never passed through a shell by the driver. */
  readonly command: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly workingDirectory?: string;
  /** Numeric ids inside the instance; root when absent. */
  readonly userId?: number;
  readonly groupId?: number;
  readonly stdin?: Uint8Array;
  /** Called with output as it arrives; stdout and stderr in the order of arrival. */
  readonly onOutput?: (stream: 'stdout' | 'stderr', chunk: Uint8Array) => void;
  /** Aborting kills the program (SIGKILL to its process group) and rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

export interface ExecResult {
  readonly exitCode: number;
}

export interface FileAttributes {
  readonly mode: number;
  readonly userId: number;
  readonly groupId: number;
}

/** Something changed at the engine. `resync`: events may have been missed, list everything again. */
export type ComputeEvent =
  | { readonly type: 'resync' }
  | { readonly type: 'changed'; readonly instanceName: string };

/**
 * One engine endpoint. All methods are idempotent: asking for what is already so succeeds and changes
 * nothing, so that a caller that died half way just asks again. Only instances of this cloud are ever
 * listed or touched; whatever else lives on the engine is invisible here.
 *
 * Errors are `ComputeError`s.
 */
export interface ComputeDriver {
  readonly hostId: HostId;
  readonly capabilities: ComputeCapabilities;

  getResources(): Promise<HostResources>;

  listInstances(): Promise<ObservedInstance[]>;
  findInstance(name: string): Promise<ObservedInstance | undefined>;

  /** Creates the instance, stopped. An instance of that name that exists is left as it is. */
  createInstance(spec: InstanceSpec): Promise<void>;
  /**
   * Makes an existing instance's size, ports, disks and seed as the spec says, live where it runs. Growing the
   * root disk works also when the guest has filled it. Shrinking memory below use is refused by the
   * kernel (`in-use`), the old value stays.
   */
  updateInstance(spec: InstanceSpec): Promise<void>;
  /** Starts it and returns when its first process runs (not when it has booted). */
  startInstance(name: string): Promise<void>;
  /**
   * Stops it. With `graceTimeoutMs` the guest is asked first and killed when the time is over; without,
   * it is killed at once. A graceful request to a guest that is still booting is held back until it can
   * hear it (a signal right after the start would be lost), within the same time.
   */
  stopInstance(name: string, options?: { readonly graceTimeoutMs?: number }): Promise<void>;
  /** Kills it if it runs, and removes it with its root disk. */
  deleteInstance(name: string): Promise<void>;

  listVolumes(): Promise<ObservedVolume[]>;
  /**
   * Creates the volume. One of that name that is complete is left as it is. The source may be in use by a
   * running instance: the copy is what a power cut would leave at one moment, where the pool has snapshots
   * (all but `dir`). `not-found`: there is no such source.
   */
  createVolume(spec: VolumeSpec): Promise<void>;
  /** Makes it larger, also in use. It never becomes smaller: `refused`. */
  growVolume(name: string, sizeGiB: number): Promise<void>;
  /** Removes it with its data. `in-use` while an instance has it. */
  deleteVolume(name: string): Promise<void>;
  /** What would be free without the volume: blocks that it shares with a copy are not counted on pools that share. */
  getVolumeUsage(name: string): Promise<{ readonly usedBytes: number }>;

  exec(name: string, request: ExecRequest): Promise<ExecResult>;
  writeFile(name: string, path: string, content: Uint8Array, attributes: FileAttributes): Promise<void>;
  /** Content of a file; `undefined` when there is none. */
  readFile(name: string, path: string): Promise<Uint8Array | undefined>;

  hasImage(alias: string): Promise<boolean>;
  /** Imports a split image (metadata tarball and root file system) under the alias. */
  importImage(alias: string, files: { readonly metadata: string; readonly rootfs: string }): Promise<void>;
  /**
   * Makes an image under the alias from an instance's root disk, as a power cut would leave it at one moment.
   * An alias that is there is left as it is.
   */
  createImage(alias: string, instanceName: string): Promise<void>;
  deleteImage(alias: string): Promise<void>;

  /**
   * Calls the listener on every change at the engine, and with `resync` at the start and after each
   * reconnect. Reconnects by itself, with back-off, until closed.
   */
  watch(listener: (event: ComputeEvent) => void): { close(): void };

  /** Closes connections. Instances keep running. */
  close(): Promise<void>;
}

/**
 * Why a call failed, in terms a loop can act on:
 * `not-found` the instance is gone; `unavailable` the endpoint does not answer, try again;
 * `in-use` the state forbids it now; `no-space` the pool or quota is full; `refused` the engine will
 * never do this as asked; `failed` anything else.
 */
export type ComputeErrorReason = 'not-found' | 'unavailable' | 'in-use' | 'no-space' | 'refused' | 'failed';

export class ComputeError extends Error {
  override readonly name = 'ComputeError';
  constructor(
    readonly reason: ComputeErrorReason,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
