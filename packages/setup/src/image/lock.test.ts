import { spawn } from 'node:child_process';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { withLock } from './lock.js';

async function createLockPath(): Promise<{ directory: string; path: string }> {
  const directory = await mkdtemp(join(tmpdir(), 'egs-lock-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  return { directory, path: join(directory, 'lock') };
}

it('is held by one at a time and leaves no file', async () => {
  const { directory, path } = await createLockPath();
  let holders = 0;
  const results = await Promise.all(
    [1, 2, 3].map((number) =>
      withLock(path, async () => {
        holders += 1;
        expect(holders).toBe(1);
        await new Promise(setImmediate);
        holders -= 1;
        return number;
      }),
    ),
  );
  expect(results).toEqual([1, 2, 3]);
  expect(await readdir(directory)).toEqual([]);
});

it('is free again when what is to be done fails', async () => {
  const { path } = await createLockPath();
  await expect(withLock(path, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await withLock(path, async () => 'yes')).toBe('yes');
});

it('is taken from a process that is gone, also when its number lives on', async () => {
  const { path } = await createLockPath();
  const child = spawn('true');
  await new Promise((resolve) => child.once('exit', resolve));
  await writeFile(path, `${child.pid} 12345`);
  expect(await withLock(path, async () => 'yes')).toBe('yes');
  await writeFile(path, `${process.pid} 1`);
  expect(await withLock(path, async () => 'yes')).toBe('yes');
});
