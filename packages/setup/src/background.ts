import { spawn } from 'node:child_process';
import { open, readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { SetupError } from './run.js';

/**
 * Starts a program that outlives this process, in a session of its own, its output appended to a log
 * file. Gives its process id.
 */
export async function spawnInBackground(
  program: string,
  programArguments: readonly string[],
  options: { readonly logFile: string; readonly environment?: Readonly<Record<string, string>> },
): Promise<number> {
  const log = await open(options.logFile, 'a', 0o600);
  try {
    const child = spawn(program, [...programArguments], {
      detached: true,
      stdio: ['ignore', log.fd, log.fd],
      env: { ...process.env, LC_ALL: 'C', ...options.environment },
    });
    const pid = await new Promise<number>((resolve, reject) => {
      child.once('error', (error) => reject(new SetupError(`Cannot start ${program}`, { cause: error })));
      child.once('spawn', () => child.pid !== undefined && resolve(child.pid));
    });
    child.unref();
    return pid;
  } finally {
    await log.close();
  }
}

/** The arguments of a running process, program first; `undefined` when there is none of that id. */
export async function findCommandLine(pid: number): Promise<string[] | undefined> {
  const text = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  return text === '' ? undefined : text.replace(/\0$/, '').split('\0');
}

/** Asks a process to end, and kills it when it has not after the time. Returns when it is gone. */
export async function endProcess(pid: number, graceMs: number): Promise<void> {
  const deadline = Date.now() + graceMs;
  sendSignal(pid, graceMs > 0 ? 'SIGTERM' : 'SIGKILL');
  while (await isRunning(pid)) {
    if (Date.now() > deadline) sendSignal(pid, 'SIGKILL');
    await delay(20);
  }
}

/** A zombie counts as gone: its parent may never collect it. */
async function isRunning(pid: number): Promise<boolean> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  const state = text.slice(text.lastIndexOf(')') + 2, text.lastIndexOf(')') + 3);
  return state !== '' && state !== 'Z' && state !== 'X';
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}
