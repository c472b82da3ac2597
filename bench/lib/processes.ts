import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

/** A server process that tells in a JSON line when it is ready. */
export interface Server {
  readonly endpoint: string;
  readonly startMs: number;
  readonly process: ChildProcess;
  stop(): Promise<void>;
}

/** Starts a Node program and waits for its `{"event":"ready","endpoint":…}` line. */
export async function startServer(file: string, args: readonly string[]): Promise<Server> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, [file, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  // A bench that fails leaves no server behind.
  const killOnExit = (): void => void child.kill();
  process.once('exit', killOnExit);
  child.once('exit', () => process.off('exit', killOnExit));
  for await (const line of createInterface({ input: child.stdout })) {
    if (!line.includes('"ready"')) continue;
    const { endpoint }: { endpoint: string } = JSON.parse(line);
    child.stdout.resume();
    return {
      endpoint,
      startMs: performance.now() - startedAt,
      process: child,
      async stop() {
        child.kill('SIGTERM');
        if (child.exitCode === null) await once(child, 'exit');
      },
    };
  }
  throw new Error(`${file} ended before it was ready`);
}

/** CPU time that a process has used so far, in seconds (user and system). */
export function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  const ticksPerSecond = 100;
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

/** Resident memory of a process, in MiB. */
export function residentMiB(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? Number.NaN) / 1024;
}
