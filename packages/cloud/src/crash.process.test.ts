import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startConfiguredCloud } from './compose.js';
import { parseConfig } from './config.js';
import { faultPointNames } from './domain/faults.js';
import { Store } from './store/store.js';
import { CrashingCloud, liveThroughCrash } from './testing/crashScenario.js';

const config = { hosts: [{ id: 'fake', engine: { driver: 'fake' } }] };

describe('a cloud that is killed', () => {
  it.each(faultPointNames)('at %s loses nothing that it acknowledged and leaks nothing', async (fault) => {
    const directory = mkdtempSync(join(tmpdir(), 'openegs-crash-'));
    const dataDirectory = join(directory, 'data');
    const optionsFile = join(directory, 'options.json');
    writeFileSync(optionsFile, JSON.stringify({ dataDirectory, config, engine: 'fake', images: [] }));
    const cloud = new CrashingCloud(optionsFile);
    onTestFinished(async () => {
      await cloud.stop();
      rmSync(directory, { recursive: true, force: true });
    });
    await cloud.start(fault);
    await liveThroughCrash(cloud);
    await cloud.stop();

    const rest = await startConfiguredCloud({
      dataDirectory,
      config: parseConfig(config),
      engine: 'fake',
      listen: { host: '127.0.0.1', port: 0 },
    });
    await rest.cloud.reconciler.idle();
    expect([...rest.cloud.parts.placement.allocations()]).toEqual([]);
    await rest.stop();
    const store = Store.open(dataDirectory);
    for (const table of [
      'instances',
      'allocations',
      'networkInterfaces',
      'privateAddresses',
      'disks',
      'eips',
      'snapshots',
      'images',
    ] as const) {
      expect(await store.reader.selectFrom(table).selectAll().execute(), table).toEqual([]);
    }
    const vpcs = await store.reader.selectFrom('vpcs').select('isDefault').execute();
    expect(vpcs, 'only the default VPC').toEqual([{ isDefault: 1 }]);
    await store.close();
    expect(cloud.deaths, 'the process was to die').toBe(1);
  });
});
