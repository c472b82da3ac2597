import { describe, expect, it } from 'vitest';
import type { InstanceSpec } from '../driver.js';
import {
  type EngineInstance,
  formatChangingConfiguration,
  formatDevices,
  formatFixedConfiguration,
  isFinished,
  parseInstance,
} from './instanceConfiguration.js';

const spec: InstanceSpec = {
  name: 'i-1',
  image: 'image',
  kind: 'container',
  vcpus: 2,
  memoryMiB: 1024,
  rootDiskGiB: 20,
  nics: [{ device: 'eth0', bridge: 'v1', macAddress: '00:16:3e:00:00:01', hostDevice: 'e1' }],
  disks: [],
  seed: { instanceId: 'i-1', hostName: 'host', authorizedKeys: [] },
};

const instance: EngineInstance = {
  name: 'i-1',
  status: 'Running',
  type: 'container',
  architecture: 'x86_64',
  ephemeral: false,
  profiles: [],
  description: '',
  config: { 'limits.cpu': '2', 'limits.memory': '1GiB' },
  devices: { root: { type: 'disk', path: '/', pool: 'p', size: '20544MiB' } },
};

describe('configuration of an instance', () => {
  it('gives each port its bridge, address and name, isolated from its neighbours', () => {
    expect(formatDevices(spec, 'p')).toEqual({
      root: { type: 'disk', path: '/', pool: 'p', size: '20480MiB' },
      eth0: {
        type: 'nic',
        nictype: 'bridged',
        parent: 'v1',
        name: 'eth0',
        hwaddr: '00:16:3e:00:00:01',
        host_name: 'e1',
        'security.port_isolation': 'true',
      },
    });
  });

  it('keeps the room that a full root disk was given, until the disk grows', () => {
    expect(formatDevices(spec, 'p', '20544MiB')['root']).toMatchObject({ size: '20544MiB' });
    expect(formatDevices({ ...spec, rootDiskGiB: 30 }, 'p', '20544MiB')['root']).toMatchObject({
      size: '30720MiB',
    });
    expect(parseInstance(instance)).toMatchObject({
      rootDiskGiB: 20,
      memoryMiB: 1024,
      vcpus: 2,
      status: 'running',
    });
  });

  it('is unprivileged with ids of its own, and never started by the engine itself', () => {
    expect(formatFixedConfiguration('cloud', 'lxd', 165536)).toMatchObject({
      'boot.autostart': 'false',
      'security.privileged': 'false',
      'security.nesting': 'false',
      'security.devlxd': 'false',
      'security.idmap.isolated': 'true',
      'security.idmap.base': '165536',
    });
    expect(formatFixedConfiguration('cloud', 'incus', 165536)).toMatchObject({
      'security.guestapi': 'false',
    });
  });

  it.each([
    ['Stopped', 'stopped'],
    ['Frozen', 'frozen'],
    ['Error', 'error'],
    ['Ready', 'running'],
  ] as const)('takes %s for %s', (status, expected) => {
    expect(parseInstance({ ...instance, status }).status).toBe(expected);
  });

  it('tells one that was never finished', () => {
    const unfinished = { 'volatile.idmap.next': '[…]', 'volatile.last_state.idmap': '[]' };
    expect(isFinished({ ...instance, config: unfinished })).toBe(false);
    expect(isFinished({ ...instance, config: { ...unfinished, 'volatile.apply_template': 'create' } })).toBe(
      true,
    );
    expect(isFinished({ ...instance, config: { ...unfinished, 'volatile.idmap.current': '[…]' } })).toBe(
      true,
    );
  });
});

describe('cards of an instance', () => {
  it('are named by PCI address, with the runtime that brings the libraries', () => {
    const gpus = {
      devices: [
        { type: 'card', pciAddress: '0000:3b:00.0' },
        { type: 'migPart', pciAddress: '0000:01:00.0', gpuInstanceId: 4, computeInstanceId: 0 },
      ],
      environment: { CUDA_DEVICE_SM_LIMIT: '50' },
      mounts: [{ source: '/usr/local/vgpu/libvgpu.so', path: '/usr/local/vgpu/libvgpu.so', readOnly: true }],
      usesNvidiaRuntime: true,
    } as const;
    expect(formatDevices({ ...spec, gpus }, 'p')).toMatchObject({
      gpu0: { type: 'gpu', gputype: 'physical', pci: '0000:3b:00.0' },
      gpu1: { type: 'gpu', gputype: 'mig', pci: '0000:01:00.0', 'mig.gi': '4', 'mig.ci': '0' },
      gpumount0: {
        type: 'disk',
        source: '/usr/local/vgpu/libvgpu.so',
        path: '/usr/local/vgpu/libvgpu.so',
        readonly: 'true',
      },
    });
    expect(formatChangingConfiguration({ ...spec, gpus })).toMatchObject({
      'environment.CUDA_DEVICE_SM_LIMIT': '50',
      'nvidia.runtime': 'true',
      'nvidia.driver.capabilities': 'compute,utility',
    });
  });

  it('without hardware are a limit of the processors', () => {
    const none = { devices: [], environment: {}, mounts: [], usesNvidiaRuntime: false };
    const weight = { ...none, processors: { kind: 'weight', percent: 30 } } as const;
    const cap = { ...none, processors: { kind: 'cap', milli: 2400 } } as const;
    expect(formatChangingConfiguration({ ...spec, gpus: weight })['limits.cpu.allowance']).toBe('30%');
    expect(formatChangingConfiguration({ ...spec, gpus: cap })['limits.cpu.allowance']).toBe('240ms/100ms');
  });
});
