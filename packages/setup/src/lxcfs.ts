import { mkdir } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { spawnInBackground } from './background.js';
import { listMounts } from './mounts.js';
import { run, SetupError } from './run.js';
import { hasSystemd } from './systemd.js';

const directory = '/var/lib/lxcfs';

/**
 * Starts lxcfs, which lets a guest see its own memory and processors in /proc instead of the host's.
 * It must run before the instances start. One that runs is left as it is; the machine keeps it after us,
 * since every container of every engine reads through it.
 */
export async function ensureLxcfs(): Promise<void> {
  if (await isMounted()) return;
  if (hasSystemd()) await run('systemctl', ['start', 'lxcfs.service']);
  else {
    await mkdir(directory, { recursive: true });
    await spawnInBackground('lxcfs', [directory], { logFile: '/var/log/lxcfs.log' });
  }
  const deadline = Date.now() + 10_000;
  while (!(await isMounted())) {
    if (Date.now() > deadline) throw new SetupError('lxcfs did not start, see /var/log/lxcfs.log');
    await delay(20);
  }
}

async function isMounted(): Promise<boolean> {
  return (await listMounts()).some((mount) => mount.mountPoint === directory);
}
