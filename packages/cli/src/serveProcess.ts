import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/*
 * The pid file of a serving process: the way to one that no longer answers on its socket.
 */

function pidFileOf(dataDirectory: string): string {
  return join(dataDirectory, 'serve.pid');
}

export function writePidFile(dataDirectory: string): void {
  writeFileSync(pidFileOf(dataDirectory), `${process.pid}\n`, { mode: 0o600 });
}

export function removePidFile(dataDirectory: string): void {
  rmSync(pidFileOf(dataDirectory), { force: true });
}

/** The process that serves the data directory. A number that another process has by now does not count. */
export function findServePid(dataDirectory: string): number | undefined {
  try {
    const pid = Number(readFileSync(pidFileOf(dataDirectory), 'utf8'));
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    return command.includes('serve') && command.some((each) => each.endsWith('main.js')) ? pid : undefined;
  } catch {
    return undefined;
  }
}
