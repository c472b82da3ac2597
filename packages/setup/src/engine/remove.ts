import { readdir, readFile, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { endProcess, findCommandLine } from '../background.js';
import { listMounts } from '../mounts.js';
import { run } from '../run.js';
import { callEngine, EngineApiError, isEngineAlive, readString } from './api.js';
import { describeEngineHome, stopDaemon } from './daemon.js';

/**
 * Removes a daemon of our own with all its instances, its pool and its directory, whatever state they are
 * in: also after the daemon was killed, and when part of it is gone already.
 */
export async function removeEngine(directory: string): Promise<void> {
  const home = describeEngineHome(directory);
  await stopDaemon(home, 0);
  for (const instance of await findMonitors(home.directory)) {
    for (const child of await listChildren(instance.pid)) await endProcess(child, 0);
    // The monitor ends by itself, or waits for the daemon that is gone.
    await endProcess(instance.pid, 0);
    await removeControlGroups(instance.name);
  }
  for (const pid of await findHelpers(home.directory)) await endProcess(pid, 0);
  const mountPoints = (await listMounts()).map((mount) => mount.mountPoint);
  for (const mountPoint of mountPoints.reverse()) {
    // The loop device under a pool frees itself when its last mount goes.
    if (mountPoint.startsWith(`${directory}/`)) await run('umount', ['-l', mountPoint]);
  }
  await rm(directory, { recursive: true, force: true, maxRetries: 5 });
}

/** Removes our project from an engine that is not ours, with what is in it, and our pool. */
export async function removeProject(socketPath: string, project: string, pool: string): Promise<void> {
  if (!(await isEngineAlive(socketPath))) return;
  const query = `project=${encodeURIComponent(project)}`;
  const instances = await ignoreMissing(callEngine(socketPath, 'GET', `/1.0/instances?recursion=1&${query}`));
  for (const instance of Array.isArray(instances) ? instances : []) {
    const path = `/1.0/instances/${readString(instance, 'name')}`;
    if (readString(instance, 'status') !== 'Stopped') {
      const stop = { action: 'stop', force: true, timeout: 30 };
      await ignoreMissing(callEngine(socketPath, 'PUT', `${path}/state?${query}`, stop));
    }
    await ignoreMissing(callEngine(socketPath, 'DELETE', `${path}?${query}`));
  }
  for (const kind of [`/1.0/storage-pools/${pool}/volumes/custom`, '/1.0/images']) {
    const paths = await ignoreMissing(callEngine(socketPath, 'GET', `${kind}?${query}`));
    for (const path of Array.isArray(paths) ? paths : []) {
      const bare = String(path).split('?')[0];
      await ignoreMissing(callEngine(socketPath, 'DELETE', `${bare}?${query}`));
    }
  }
  await ignoreMissing(callEngine(socketPath, 'DELETE', `/1.0/projects/${project}`));
  await ignoreMissing(callEngine(socketPath, 'DELETE', `/1.0/storage-pools/${pool}`));
}

async function ignoreMissing(call: Promise<unknown>): Promise<unknown> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof EngineApiError && error.statusCode === 404) return undefined;
    throw error;
  }
}

/** `[lxc monitor] <directory>/containers <name>`: one for each container that runs, child of nobody. */
async function findMonitors(directory: string): Promise<{ readonly pid: number; readonly name: string }[]> {
  const found: { pid: number; name: string }[] = [];
  for (const { pid, command } of await listProcesses()) {
    const [, path, name] = /^\[lxc monitor\] (\S+) (\S+)/.exec(command.join(' ')) ?? [];
    if (path === join(directory, 'containers') && name !== undefined) found.push({ pid, name });
  }
  return found;
}

/** Programs that the daemon started for its own use, such as one that copies files into a container. */
async function findHelpers(directory: string): Promise<number[]> {
  const programs = /(^|\/)(lxd|incusd|dnsmasq)$/;
  const processes = await listProcesses();
  return processes
    .filter(({ command }) => programs.test(command[0] ?? ''))
    .filter(({ command }) => command.some((argument) => argument.includes(`${directory}/`)))
    .map(({ pid }) => pid);
}

async function listProcesses(): Promise<{ readonly pid: number; readonly command: string[] }[]> {
  const processes: { pid: number; command: string[] }[] = [];
  for (const entry of await readdir('/proc')) {
    const pid = Number(entry);
    const command = Number.isInteger(pid) ? await findCommandLine(pid) : undefined;
    if (command !== undefined) processes.push({ pid, command });
  }
  return processes;
}

async function listChildren(pid: number): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  return text.split(' ').filter(Boolean).map(Number);
}

/** A killed monitor leaves the control groups of its container behind, empty. */
async function removeControlGroups(name: string): Promise<void> {
  const root = '/sys/fs/cgroup';
  for (const parent of [root, ...(await readdir(root)).map((entry) => join(root, entry))]) {
    for (const group of [`lxc.payload.${name}`, `lxc.monitor.${name}`]) {
      await removeTree(join(parent, group));
    }
  }
}

/** Directories of control groups only: files in them are the kernel's. Waits for processes that are ending. */
async function removeTree(path: string): Promise<void> {
  const entries = await readdir(path, { withFileTypes: true }).catch(() => undefined);
  for (const entry of entries ?? []) if (entry.isDirectory()) await removeTree(join(path, entry.name));
  for (let attempt = 0; entries !== undefined && attempt < 50; attempt += 1) {
    const removed = await rmdir(path).then(
      () => true,
      () => false,
    );
    if (removed) return;
    await delay(20);
  }
}
