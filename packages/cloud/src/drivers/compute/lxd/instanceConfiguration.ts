import type { GpuAttachment, GpuDevice } from '../../../domain/gpu.js';
import type { InstanceDisk, InstanceNic, InstanceSpec, ObservedInstance, ObservedStatus } from '../driver.js';
import { formatGuestSeed, seedKey } from './guestSeedText.js';

/** Configuration key that marks an instance as one of a cloud. */
export const cloudKey = 'user.egs.cloud';

export type EngineConfiguration = Readonly<Record<string, string>>;
export type EngineDevices = Readonly<Record<string, EngineConfiguration>>;

/** An instance as the engine describes it, as far as it is read here. */
export interface EngineInstance {
  readonly name: string;
  readonly status: string;
  readonly type: string;
  readonly architecture: string;
  readonly ephemeral: boolean;
  readonly profiles: readonly string[];
  readonly description: string;
  readonly config: EngineConfiguration;
  readonly devices: EngineDevices;
}

/** Added to a root disk that its guest has filled, so that the engine can write its own notes in it. */
export const rootDiskReserveMiB = 64;

const mibPerGib = 1024;

/** The part of the configuration that follows the spec also later in the instance's life. */
export function formatChangingConfiguration(spec: InstanceSpec): EngineConfiguration {
  return {
    'limits.cpu': String(spec.vcpus),
    'limits.memory': `${spec.memoryMiB}MiB`,
    [seedKey]: formatGuestSeed(spec.seed),
    ...formatGpuConfiguration(spec.gpus),
  };
}

/** Keys of `formatGpuConfiguration`: those of an earlier spec must go. */
export function isGpuKey(key: string): boolean {
  return key.startsWith('environment.') || key.startsWith('nvidia.') || key === 'limits.cpu.allowance';
}

/** A weight counts only beside others; a cap is time in each tenth of a second. */
function formatAllowance(processors: NonNullable<GpuAttachment['processors']>): string {
  return processors.kind === 'weight'
    ? `${Math.max(1, Math.round(processors.percent))}%`
    : `${Math.max(1, Math.round(processors.milli / 10))}ms/100ms`;
}

function formatGpuConfiguration(gpus: GpuAttachment | undefined): EngineConfiguration {
  if (gpus === undefined) return {};
  const environment = Object.entries(gpus.environment).map(([name, value]) => [`environment.${name}`, value]);
  return {
    ...Object.fromEntries(environment),
    ...(gpus.processors === undefined ? {} : { 'limits.cpu.allowance': formatAllowance(gpus.processors) }),
    ...(gpus.usesNvidiaRuntime
      ? { 'nvidia.runtime': 'true', 'nvidia.driver.capabilities': 'compute,utility' }
      : {}),
  };
}

/** The part that is settled when the instance is made. `idBase`: first user id of a container on the host. */
export function formatFixedConfiguration(
  cloud: string,
  engine: 'lxd' | 'incus',
  idBase?: number,
): EngineConfiguration {
  const common = {
    [cloudKey]: cloud,
    // Which instances run is the control plane's decision, also after the host was down.
    'boot.autostart': 'false',
    // The guest's way to ask the engine about itself would show it the seed's text and more.
    [engine === 'lxd' ? 'security.devlxd' : 'security.guestapi']: 'false',
  };
  if (idBase === undefined) return common;
  return {
    ...common,
    'security.privileged': 'false',
    'security.nesting': 'false',
    // User ids of its own for each instance: no tenant's process has the rights, or uses up the kernel's
    // per-user limits, of another's.
    'security.idmap.isolated': 'true',
    'security.idmap.base': String(idBase),
  };
}

/** Root disk, ports and data disks. `rootSize`: as it is now, kept when it already gives the wanted GiB. */
export function formatDevices(spec: InstanceSpec, pool: string, rootSize?: string): EngineDevices {
  const keeps = rootSize !== undefined && parseSizeMiB(rootSize) >= spec.rootDiskGiB * mibPerGib;
  return {
    root: {
      type: 'disk',
      path: '/',
      pool,
      size:
        keeps && Math.floor(parseSizeMiB(rootSize) / mibPerGib) === spec.rootDiskGiB
          ? rootSize
          : `${spec.rootDiskGiB * mibPerGib}MiB`,
    },
    ...Object.fromEntries(spec.nics.map((nic) => [nic.device, formatNic(nic)])),
    ...Object.fromEntries(spec.disks.map((disk) => [disk.volume, formatDisk(disk, pool)])),
    ...formatGpuDevices(spec.gpus),
  };
}

/** The engine looks whether there are such cards at the start only: the caller must know. */
function formatGpuDevices(gpus: GpuAttachment | undefined): EngineDevices {
  if (gpus === undefined) return {};
  const devices = gpus.devices.map((device, index) => [`gpu${index}`, formatGpuDevice(device)]);
  const mounts = gpus.mounts.map(({ source, path, readOnly }, index) => [
    `gpumount${index}`,
    { type: 'disk', source, path, ...(readOnly ? { readonly: 'true' } : {}) },
  ]);
  return Object.fromEntries([...devices, ...mounts]);
}

function formatGpuDevice(device: GpuDevice): EngineConfiguration {
  switch (device.type) {
    case 'card':
      return { type: 'gpu', gputype: 'physical', pci: device.pciAddress };
    case 'migPart':
      return {
        type: 'gpu',
        gputype: 'mig',
        pci: device.pciAddress,
        'mig.gi': String(device.gpuInstanceId),
        'mig.ci': String(device.computeInstanceId),
      };
  }
}

function formatDisk({ volume, path }: InstanceDisk, pool: string): EngineConfiguration {
  return { type: 'disk', pool, source: volume, path };
}

function formatNic(nic: InstanceNic): EngineConfiguration {
  return {
    type: 'nic',
    nictype: 'bridged',
    parent: nic.bridge,
    name: nic.device,
    hwaddr: nic.macAddress,
    host_name: nic.hostDevice,
    // Packets between two instances of one bridge go by the router, where the rules are.
    'security.port_isolation': 'true',
  };
}

/**
 * Whether the engine has finished making it. A daemon that dies while it makes an instance leaves a record
 * that can never start. It writes down that templates are to be applied when the disk is there, and what
 * the guest's ids are mapped to when it starts first; a record with none of this was never finished.
 */
export function isFinished({ config }: EngineInstance): boolean {
  const marks = ['volatile.apply_template', 'volatile.idmap.current', 'volatile.last_state.power'];
  return marks.some((mark) => config[mark] !== undefined);
}

/** What the engine says, in the driver's terms. */
export function parseInstance(instance: EngineInstance): ObservedInstance {
  return {
    name: instance.name,
    status: parseStatus(instance.status),
    vcpus: Number(instance.config['limits.cpu'] ?? 0),
    memoryMiB: parseSizeMiB(instance.config['limits.memory'] ?? '0'),
    rootDiskGiB: Math.floor(parseSizeMiB(instance.devices['root']?.['size'] ?? '0') / mibPerGib),
  };
}

/** Whether it runs, and is not just on the way there: a start may still fail. */
export function isUp(instance: EngineInstance): boolean {
  return ['running', 'ready'].includes(instance.status.toLowerCase());
}

function parseStatus(status: string): ObservedStatus {
  switch (status.toLowerCase()) {
    case 'running':
    case 'ready':
    case 'starting':
    case 'stopping':
      return 'running';
    case 'stopped':
      return 'stopped';
    case 'frozen':
    case 'freezing':
      return 'frozen';
    default:
      return 'error';
  }
}

const unitsMiB: Readonly<Record<string, number>> = {
  '': 1 / 1024 / 1024,
  B: 1 / 1024 / 1024,
  KiB: 1 / 1024,
  MiB: 1,
  GiB: 1024,
  TiB: 1024 * 1024,
};

/** Reads a size of the engine's, such as `512MiB`. */
export function parseSizeMiB(text: string): number {
  const [, amount = '0', unit = ''] = /^(\d+)([A-Za-z]*)$/.exec(text) ?? [];
  return Number(amount) * (unitsMiB[unit] ?? 0);
}
