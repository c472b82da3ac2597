import { access, mkdir } from 'node:fs/promises';
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
 *
 * Where it may not look at the first process (a hardened kernel, Yama's `ptrace_scope` of 3) lxcfs 6
 * answers nothing at all, and with it mounted no container starts. It is stopped there: guests see the
 * host's memory then.
 */
export async function ensureLxcfs(): Promise<void> {
  if (!(await isMounted())) await start();
  if (!(await isLxcfsServing())) await stop();
}

/** Whether guests can read through it. */
export async function isLxcfsServing(): Promise<boolean> {
  return access(`${directory}/proc/uptime`).then(
    () => true,
    () => false,
  );
}

async function start(): Promise<void> {
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

/** For good: it would come back with the machine. Without its mount the program ends by itself. */
async function stop(): Promise<void> {
  if (hasSystemd()) await run('systemctl', ['disable', '--quiet', '--now', 'lxcfs.service']);
  if (await isMounted()) await run('umount', ['-l', directory]);
}

async function isMounted(): Promise<boolean> {
  return (await listMounts()).some((mount) => mount.mountPoint === directory);
}
