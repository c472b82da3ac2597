import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type GpuCard, schedulingPolicies } from '../../../domain/gpu.js';
import { NvidiaGpuDriver } from '../NvidiaGpuDriver.js';
import { attachGpus, modeOf } from './attachGpus.js';
import { cgroup } from './cgroup.js';
import { exclusive } from './exclusive.js';
import { hami } from './hami.js';
import { mig } from './mig.js';
import { mps } from './mps.js';
import { none } from './none.js';

const fixture = (name: string): string =>
  readFileSync(new URL(`../fixtures/${name}`, import.meta.url), 'utf8');

/** The first card of a recorded host. */
async function recorded(name: string): Promise<GpuCard> {
  const driver = new NvidiaGpuDriver(async (_program, [option]) => {
    if (option === '-q') return fixture(`${name}.xml`);
    return option === '-L' ? fixture('a100-mig.txt') : '';
  });
  return (await driver.readInventory()).cards[0] ?? expect.fail(`${name} has no card`);
}

const half = async (name: string) => {
  const card = await recorded(name);
  return { card, memoryMiB: card.memoryMiB / 2, computePercent: 50, isWhole: false };
};
const whole = async (name: string) => ({ ...(await half(name)), computePercent: 100, isWhole: true });
const options = { forSlices: 'none', policy: 'weighted', usesNvidiaRuntime: true } as const;

describe('what an instance gets', () => {
  it('of a whole V100 is the device alone', async () => {
    expect(attachGpus([await whole('v100')], options)).toEqual({
      devices: [{ type: 'card', pciAddress: '0000:00:0d.0' }],
      environment: {},
      mounts: [],
      usesNvidiaRuntime: true,
    });
  });

  it('of half a T4 under none is the same: nothing holds it to its half', async () => {
    const part = await half('t4');
    expect(attachGpus([part], options)).toEqual(attachGpus([{ ...part, isWhole: true }], options));
    expect(none).toMatchObject({ memory: 'scheduled', compute: 'scheduled', faults: 'shared' });
  });

  it('of half an A10G under HAMi are limits and the library that keeps them', async () => {
    expect(attachGpus([await half('a10g')], { ...options, forSlices: 'hami' })).toEqual({
      devices: [{ type: 'card', pciAddress: '0000:00:1e.0' }],
      environment: { CUDA_DEVICE_MEMORY_LIMIT_0: '11514m', CUDA_DEVICE_SM_LIMIT: '50' },
      mounts: [
        { source: '/usr/local/vgpu/libvgpu.so', path: '/usr/local/vgpu/libvgpu.so', readOnly: true },
        { source: '/usr/local/vgpu/ld.so.preload', path: '/etc/ld.so.preload', readOnly: true },
      ],
      usesNvidiaRuntime: true,
    });
  });

  it('of a MIG part of an A100 is that part, whatever the mode for slices', async () => {
    expect(attachGpus([await whole('a100-mig')], { ...options, forSlices: 'hami' })?.devices).toEqual([
      { type: 'migPart', pciAddress: '0000:01:00.0', gpuInstanceId: 3, computeInstanceId: 0 },
    ]);
  });

  it('of half a T4 under MPS are limits and the way to its daemon, which runs on the host', async () => {
    const part = await half('t4');
    const directory = `/run/openegs/mps/${part.card.id}`;
    expect(mps.attach([part])).toEqual({
      devices: [{ type: 'card', pciAddress: '0000:00:1e.0' }],
      environment: {
        CUDA_MPS_PIPE_DIRECTORY: '/run/nvidia-mps',
        CUDA_MPS_PINNED_DEVICE_MEM_LIMIT: '0=7680M',
        CUDA_MPS_ACTIVE_THREAD_PERCENTAGE: '50',
      },
      mounts: [{ source: directory, path: '/run/nvidia-mps', readOnly: false }],
    });
    expect(mps.hostCommands?.([part])).toEqual([
      {
        program: 'nvidia-cuda-mps-control',
        arguments: ['-multiuser-server', '-d'],
        environment: {
          CUDA_VISIBLE_DEVICES: part.card.id,
          CUDA_MPS_PIPE_DIRECTORY: directory,
          CUDA_MPS_LOG_DIRECTORY: `${directory}/log`,
        },
      },
    ]);
  });

  it('of fake cards is nothing', async () => {
    const part = await whole('t4');
    expect(attachGpus([{ ...part, card: { ...part.card, kind: 'fake' } }], options)).toBeUndefined();
    expect(attachGpus([], options)).toBeUndefined();
  });
});

describe('a part of a software card', () => {
  const card: GpuCard = {
    id: 'software-0',
    kind: 'software',
    product: 'PoCL',
    memoryMiB: 4096,
    processorMilli: 8000,
    faults: [],
  };
  const part = { card, memoryMiB: 1024, computePercent: 30, isWhole: false };
  it.each([
    ['average', { kind: 'cap', milli: 320 }],
    ['preemptive', { kind: 'weight', percent: 4 }],
    ['weighted', { kind: 'weight', percent: 30 }],
    ['fixed', { kind: 'cap', milli: 2400 }],
    ['soft', { kind: 'weight', percent: 30 }],
  ] as const)('under policy %s is %o of the processors', (policy, processors) => {
    expect(attachGpus([part], { ...options, policy })).toEqual({
      devices: [],
      environment: {},
      mounts: [],
      processors,
      usesNvidiaRuntime: false,
    });
    expect(cgroup(policy).compute).toBe('enforced');
  });
  it('under policy native is not limited, and not said to be', () => {
    expect(attachGpus([part], { ...options, policy: 'native' })?.processors).toBeUndefined();
    expect(cgroup('native').compute).toBe('scheduled');
  });
});

describe('a mode', () => {
  it('follows from the card before it follows from the configuration', async () => {
    const [t4, part] = [await recorded('t4'), await recorded('a100-mig')];
    const withHami = { forSlices: 'hami', policy: 'weighted' } as const;
    expect(modeOf(t4, true, withHami).name).toBe('exclusive');
    expect(modeOf(t4, false, withHami).name).toBe('hami');
    expect(modeOf(part, false, withHami).name).toBe('mig');
    expect(modeOf({ ...t4, kind: 'software' }, true, withHami).name).toBe('cgroup');
  });

  it('that is said to enforce gives nothing that its owner could change', () => {
    for (const mode of [exclusive, mig, mps, hami, none, ...schedulingPolicies.map(cgroup)]) {
      const isEnforced = mode.memory === 'enforced' || mode.compute === 'enforced';
      if (isEnforced) expect(['exclusive', 'mig', 'cgroup']).toContain(mode.name);
      expect(mode.summary).not.toBe('');
    }
  });
});
