import { randomBytes } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { faultPointNames } from './domain/faults.js';
import { CrashingCloud, liveThroughCrash } from './testing/crashScenario.js';
import { HostCloud } from './testing/hostCloud.js';

describe('a cloud of real instances that is killed', () => {
  let host: HostCloud;
  beforeAll(async () => {
    host = await HostCloud.start();
    await host.stopControlPlane();
  }, 300_000);
  afterAll(() => host?.stop(), 120_000);

  it.each(faultPointNames)(
    'at %s loses nothing that it acknowledged and leaks nothing',
    async (fault) => {
      const optionsFile = join(host.directory, `options-${randomBytes(4).toString('hex')}.json`);
      const { dataDirectory, config, image } = host;
      writeFileSync(optionsFile, JSON.stringify({ dataDirectory, config, engine: 'lxd', images: [image] }));
      const cloud = new CrashingCloud(optionsFile);
      try {
        await cloud.start(fault);
        await liveThroughCrash(cloud);
      } finally {
        await cloud.stop();
        rmSync(optionsFile);
      }
      expect(cloud.deaths, 'the process was to die').toBe(1);

      await host.startControlPlane();
      await host.cloud.reconciler.idle();
      expect([...host.cloud.parts.placement.allocations()]).toEqual([]);
      expect(await host.compute.listInstances()).toEqual([]);
      expect(await host.compute.listVolumes()).toEqual([]);
      await host.stopControlPlane();
    },
    120_000,
  );
});
