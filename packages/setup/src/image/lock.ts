import { randomUUID } from 'node:crypto';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * Does something while no other process of this machine does it under the same lock file, and waits for
 * its turn. A lock whose process is gone counts as free.
 */
export async function withLock<Result>(path: string, act: () => Promise<Result>): Promise<Result> {
  const mine = `${path}.${randomUUID()}`;
  await writeFile(mine, await describeProcess(process.pid));
  try {
    // A link is made whole or not at all, with the owner's name in it.
    while (!(await link(mine, path).then(() => true, isTaken))) {
      const owner = await readFile(path, 'utf8').catch(() => undefined);
      if (owner === undefined) continue;
      const pid = Number(owner.split(' ')[0]);
      if ((await describeProcess(pid)) !== owner) await rm(path, { force: true });
      else await delay(100);
    }
    try {
      return await act();
    } finally {
      await rm(path, { force: true });
    }
  } finally {
    await rm(mine, { force: true });
  }
}

function isTaken(error: unknown): boolean {
  if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
  throw error;
}

/** Process id and start time, which together name one process ever; empty when it does not run. */
async function describeProcess(pid: number): Promise<string> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  // Field 22 of proc(5), counted from behind the program's name, which may contain blanks.
  const startTime = text.slice(text.lastIndexOf(')') + 2).split(' ')[19];
  return startTime === undefined ? '' : `${pid} ${startTime}`;
}
