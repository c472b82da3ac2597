import { mkdir, readFile } from 'node:fs/promises';
import { listMounts } from './mounts.js';
import { run } from './run.js';

const root = '/sys/fs/cgroup';
const controllers = ['cpu', 'cpuacct', 'cpuset', 'memory', 'devices', 'freezer', 'blkio', 'pids'];

/** How the host's control groups are mounted: version 2 alone, version 1 (with or without 2), or not at all. */
export async function findCgroupVersion(): Promise<1 | 2 | undefined> {
  const mounts = await listMounts();
  if (mounts.some((mount) => mount.mountPoint === root && mount.type === 'cgroup2')) return 2;
  return mounts.some((mount) => mount.type === 'cgroup') ? 1 : undefined;
}

/**
 * Mounts the control groups where the machine's first process has not: containers need them for limits,
 * and guests with systemd need its named hierarchy. A host that has version 2 is left alone; where none
 * is mounted version 2 is taken, unless its controllers are bound to version 1.
 */
export async function ensureCgroups(): Promise<void> {
  const version = await findCgroupVersion();
  if (version === 2) return;
  if (version === undefined && (await hasAllControllers())) {
    await mkdir(root, { recursive: true });
    await run('mount', ['-t', 'cgroup2', 'cgroup2', root]);
    return;
  }
  const mounts = await listMounts();
  if (!mounts.some((mount) => mount.mountPoint === root)) {
    await run('mount', ['-t', 'tmpfs', '-o', 'mode=755', 'cgroup', root]);
  }
  for (const controller of controllers) {
    if (!mounts.some((mount) => mount.type === 'cgroup' && mount.options.includes(controller))) {
      await mountHierarchy(controller, ['-t', 'cgroup', '-o', controller, 'cgroup']);
    }
  }
  if (!mounts.some((mount) => mount.type === 'cgroup' && mount.options.includes('name=systemd'))) {
    await mountHierarchy('systemd', ['-t', 'cgroup', '-o', 'none,name=systemd', 'cgroup']);
  }
  if (!mounts.some((mount) => mount.type === 'cgroup2')) {
    await mountHierarchy('unified', ['-t', 'cgroup2', 'cgroup2']);
  }
}

async function mountHierarchy(name: string, mountArguments: readonly string[]): Promise<void> {
  await mkdir(`${root}/${name}`, { recursive: true });
  await run('mount', [...mountArguments, `${root}/${name}`]);
}

/** Tries version 2 out at a scratch mount: a controller that version 1 holds does not appear in it. */
async function hasAllControllers(): Promise<boolean> {
  const scratch = '/run/openegs-cgroup-probe';
  await mkdir(scratch, { recursive: true });
  await run('mount', ['-t', 'cgroup2', 'cgroup2', scratch]);
  try {
    const available = (await readFile(`${scratch}/cgroup.controllers`, 'utf8')).split(/\s/);
    return ['cpu', 'cpuset', 'memory', 'pids'].every((each) => available.includes(each));
  } finally {
    await run('umount', [scratch]);
  }
}
