import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { diagnose } from './diagnose.js';
import { callEngine, isEngineAlive } from './engine/api.js';
import { ensureEngine, purgeEngine, stopEngine } from './ensureEngine.js';
import { listMounts } from './mounts.js';
import { startPrivateEngine } from './privateEngine.js';

const isRoot = process.getuid?.() === 0;
if (!isRoot && process.env['CI'] === 'true') throw new Error('The tests of the engine set-up need root');

function createDirectory(): string {
  const directory = `/var/lib/egs-test-${randomBytes(4).toString('hex')}`;
  onTestFinished(() => purgeEngine(directory));
  return directory;
}

describe.skipIf(!isRoot)(`Engine set-up${isRoot ? '' : ' (left out: needs root)'}`, () => {
  it('starts an engine of its own, finds it again, and leaves nothing', async () => {
    const directory = createDirectory();
    const engine = await startPrivateEngine({ directory });
    expect(await callEngine(engine.socketPath, 'GET', `/1.0/projects/${engine.project}`)).toMatchObject({
      config: { 'features.images': 'true', 'features.storage.volumes': 'true' },
    });
    const steps: string[] = [];
    const again = await startPrivateEngine({
      directory,
      onStep: ({ name, state }) => state === 'done' && steps.push(name),
    });
    expect(again.socketPath).toBe(engine.socketPath);
    expect(steps).toContain('Engine');
    await engine.kill();
    expect(await isEngineAlive(engine.socketPath)).toBe(false);
    await engine.start();
    expect(await isEngineAlive(engine.socketPath)).toBe(true);
    await engine.kill();
    await engine.stop();
    expect(existsSync(directory)).toBe(false);
    const mounts = (await listMounts()).map((mount) => mount.mountPoint);
    expect(mounts.filter((path) => path.startsWith(directory))).toEqual([]);
    await engine.stop();
  });

  it('uses an engine that is there in a project of its own, and takes only that away', async () => {
    const theirs = await startPrivateEngine({ directory: createDirectory() });
    const image = { source: { type: 'none' }, name: 'i-theirs', profiles: [] };
    await callEngine(theirs.socketPath, 'DELETE', `/1.0/projects/${theirs.project}`);
    await callEngine(theirs.socketPath, 'DELETE', `/1.0/storage-pools/${theirs.pool}`);
    await callEngine(theirs.socketPath, 'POST', '/1.0/storage-pools', { name: 'theirs', driver: 'dir' });
    const devices = { root: { type: 'disk', path: '/', pool: 'theirs' } };
    await callEngine(theirs.socketPath, 'POST', '/1.0/instances', { ...image, devices });
    vi.stubEnv(
      theirs.flavor === 'incus' ? 'INCUS_DIR' : 'LXD_DIR',
      theirs.socketPath.replace('/unix.socket', ''),
    );
    onTestFinished(() => {
      vi.unstubAllEnvs();
    });

    const directory = createDirectory();
    const ours = await ensureEngine({ directory });
    expect(ours).toMatchObject({ socketPath: theirs.socketPath, ownership: 'shared' });
    expect(existsSync(directory)).toBe(false);
    await callEngine(ours.socketPath, 'POST', `/1.0/instances?project=${ours.project}`, {
      ...image,
      name: 'i-ours',
      devices: { root: { type: 'disk', path: '/', pool: ours.pool } },
    });
    expect(await diagnose(directory)).toContainEqual(
      expect.objectContaining({ name: 'Engine', status: 'ok', detail: expect.stringContaining('runs') }),
    );
    await stopEngine(directory);
    await purgeEngine(directory);
    expect(await isEngineAlive(theirs.socketPath)).toBe(true);
    expect(await callEngine(theirs.socketPath, 'GET', '/1.0/projects')).toEqual(['/1.0/projects/default']);
    expect(await callEngine(theirs.socketPath, 'GET', '/1.0/storage-pools')).toEqual([
      '/1.0/storage-pools/theirs',
    ]);
    expect(await callEngine(theirs.socketPath, 'GET', '/1.0/instances')).toEqual(['/1.0/instances/i-theirs']);
  });

  it('refuses a directory that containers cannot reach, with the mend', async () => {
    const parent = await mkdtemp(join(tmpdir(), 'egs-closed-'));
    onTestFinished(() => rm(parent, { recursive: true, force: true }));
    const engine = startPrivateEngine({ directory: join(parent, 'engine') });
    await expect(engine).rejects.toThrow(`chmod o+x ${parent}`);
  });
});
