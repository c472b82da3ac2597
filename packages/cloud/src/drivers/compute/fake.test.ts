import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { HostId } from '../../domain/ids.js';
import { describeComputeContract } from './contract.js';
import { ComputeError, type InstanceSpec } from './driver.js';
import { FakeComputeDriver, type FakeComputeDriverOptions } from './fake/FakeComputeDriver.js';

const image = 'debian_12_x64_egs';
const drivers: FakeComputeDriver[] = [];
const directories: string[] = [];

function createDriver(options: Partial<FakeComputeDriverOptions> = {}): FakeComputeDriver {
  const driver = new FakeComputeDriver({ hostId: 'fake-1' as HostId, images: [image], ...options });
  drivers.push(driver);
  return driver;
}

function createSpec(name: string): InstanceSpec {
  return {
    name,
    image,
    kind: 'container',
    vcpus: 1,
    memoryMiB: 512,
    rootDiskGiB: 20,
    nics: [],
    disks: [],
    seed: { instanceId: name, hostName: 'host', authorizedKeys: [] },
  };
}

afterEach(async () => {
  for (const driver of drivers.splice(0)) await driver.close();
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true });
});

describe('FakeComputeDriver', () => {
  let driver: FakeComputeDriver;

  describeComputeContract(() => ({
    image,
    imageFiles: { metadata: '', rootfs: '' },
    connect: async () => {
      driver = createDriver();
      return driver;
    },
    kill: async () => driver.setAvailable(false),
    start: async () => driver.setAvailable(true),
    fillRootDisk: async () => undefined,
    useMemory: async (_driver, name, memoryMiB) => driver.useMemory(name, memoryMiB),
  }));

  it('finds its instances again in a file that was not closed', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'egs-fake-'));
    directories.push(directory);
    const file = join(directory, 'engine.db');
    const before = createDriver({ file });
    await before.createInstance(createSpec('i-1'));
    await before.startInstance('i-1');
    await before.writeFile('i-1', '/root/x', Buffer.from('kept'), { mode: 0o600, userId: 0, groupId: 0 });
    await before.createInstance(createSpec('i-2'));
    await before.deleteInstance('i-2');

    const after = createDriver({ file });
    expect(await after.listInstances()).toEqual(await before.listInstances());
    expect(await after.findInstance('i-1')).toMatchObject({ status: 'running', memoryMiB: 512 });
    expect(Buffer.from((await after.readFile('i-1', '/root/x')) ?? []).toString()).toBe('kept');
  });

  it('fails as told, before or after the act', async () => {
    const driver = createDriver();
    const lost = new ComputeError('unavailable', 'lost');
    driver.failNext('createInstance', lost);
    driver.failNext('createInstance', lost, 'after');
    await expect(driver.createInstance(createSpec('i-1'))).rejects.toBe(lost);
    expect(await driver.listInstances()).toEqual([]);
    await expect(driver.createInstance(createSpec('i-1'))).rejects.toBe(lost);
    expect(await driver.listInstances()).toHaveLength(1);
    await driver.createInstance(createSpec('i-1'));
  });

  it('is unavailable while it is cut off, and resyncs its watchers afterwards', async () => {
    const driver = createDriver();
    driver.setAvailable(false);
    await expect(driver.listInstances()).rejects.toMatchObject({ reason: 'unavailable' });
    const resynced = new Promise((resolve) =>
      driver.watch((event) => event.type === 'resync' && resolve(true)),
    );
    driver.setAvailable(true);
    expect(await resynced).toBe(true);
    expect(await driver.listInstances()).toEqual([]);
  });

  it('holds 100,000 instances', async () => {
    const driver = createDriver();
    for (let index = 0; index < 100_000; index += 1) await driver.createInstance(createSpec(`i-${index}`));
    expect(await driver.listInstances()).toHaveLength(100_000);
    expect(await driver.findInstance('i-99999')).toMatchObject({ status: 'stopped' });
  });

  it.each([
    { script: 'echo "a b" && exit 3', output: 'a b\n', exitCode: 3 },
    { script: "false || echo '$X'; echo $X >&2", output: '$X\nvalue\n', exitCode: 0 },
    { script: 'cd /tmp\npwd # where\nfalse', output: '/tmp\n', exitCode: 1 },
    { script: 'nonsense; echo $?', output: 'nonsense: not found\n127\n', exitCode: 0 },
    { script: 'false && echo no', output: '', exitCode: 1 },
  ])('runs the short script $script', async ({ script, output, exitCode }) => {
    const driver = createDriver();
    await driver.createInstance(createSpec('i-1'));
    await driver.startInstance('i-1');
    let text = '';
    const result = await driver.exec('i-1', {
      command: ['/bin/sh', '-c', script],
      environment: { X: 'value' },
      onOutput: (_stream, chunk) => {
        text += Buffer.from(chunk).toString();
      },
    });
    expect({ output: text, ...result }).toEqual({ output, exitCode });
  });
});
