import { randomBytes } from 'node:crypto';
import { type BaseImage, ensureBaseImage, type PrivateEngine, startPrivateEngine } from '@openegs/setup';
import { afterAll, beforeAll, describe } from 'vitest';
import type { HostId } from '../../domain/ids.js';
import { type ComputeContractEngine, describeComputeContract } from './contract.js';
import type { ComputeDriver } from './driver.js';
import { LxdComputeDriver } from './lxd/LxdComputeDriver.js';

const isRoot = process.getuid?.() === 0;
if (!isRoot && process.env['CI'] === 'true') throw new Error('The tests of LxdComputeDriver need root');

describe.skipIf(!isRoot)(`LxdComputeDriver${isRoot ? '' : ' (left out: needs root)'}`, () => {
  let engine: PrivateEngine;
  let image: BaseImage;

  async function connect(cloud: string): Promise<LxdComputeDriver> {
    return LxdComputeDriver.connect({
      hostId: 'host-1' as HostId,
      endpoint: { kind: 'unix', socketPath: engine.socketPath },
      project: engine.project,
      pool: engine.pool,
      cloud,
    });
  }

  beforeAll(async () => {
    image = await ensureBaseImage();
    engine = await startPrivateEngine({ directory: `/var/lib/egs-test-${randomBytes(4).toString('hex')}` });
    const driver = await connect('contract');
    await driver.importImage(image.name, image);
    await driver.close();
  }, 180_000);

  afterAll(() => engine?.stop(), 60_000);

  describeComputeContract(
    (): ComputeContractEngine => ({
      image: image.name,
      imageFiles: image,
      connect,
      kill: () => engine.kill(),
      start: () => engine.start(),
      fillRootDisk: (driver, name) => runScript(driver, name, 'cat /dev/zero >/root/filler; sync; true'),
      useMemory: (driver, name, memoryMiB) =>
        runScript(driver, name, `head -c ${memoryMiB}M /dev/urandom >/dev/shm/held`),
    }),
  );
});

async function runScript(driver: ComputeDriver, name: string, script: string): Promise<void> {
  const { exitCode } = await driver.exec(name, { command: ['/bin/sh', '-c', script] });
  if (exitCode !== 0) throw new Error(`The script ended with ${exitCode}: ${script}`);
}
