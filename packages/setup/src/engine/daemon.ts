import { chmod, mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { endProcess, spawnInBackground } from '../background.js';
import { run, SetupError } from '../run.js';
import { isEngineAlive } from './api.js';
import { type EngineFlavor, engineFlavors, findDaemon } from './flavor.js';

/** Where a daemon of our own lives: everything of it is under one directory. */
export interface EngineHome {
  readonly home: string;
  /** The daemon's own directory (`LXD_DIR`, `INCUS_DIR`). */
  readonly directory: string;
  readonly socketPath: string;
  readonly pidFile: string;
  readonly logFile: string;
}

export function describeEngineHome(home: string): EngineHome {
  const directory = join(home, 'engine');
  return {
    home,
    directory,
    socketPath: join(directory, 'unix.socket'),
    pidFile: join(home, 'engine.pid'),
    logFile: join(home, 'engine.log'),
  };
}

/** A daemon that answers at one of the usual places, or where the environment says. */
export async function findRunningEngine(): Promise<
  { readonly flavor: EngineFlavor; readonly directory: string; readonly socketPath: string } | undefined
> {
  for (const flavor of Object.values(engineFlavors)) {
    const told = process.env[flavor.directoryVariable];
    for (const directory of [...(told === undefined ? [] : [told]), ...flavor.usualDirectories]) {
      const socketPath = join(directory, 'unix.socket');
      if (await isEngineAlive(socketPath)) return { flavor, directory, socketPath };
    }
  }
  return undefined;
}

/**
 * Starts a daemon of our own in its home, and returns when it serves. One that runs there already is left
 * as it is. Other daemons of the machine are not touched.
 */
export async function startDaemon(flavor: EngineFlavor, home: EngineHome): Promise<void> {
  if (await isEngineAlive(home.socketPath)) return;
  await ensureTraversable(home.directory);
  const daemon = await findDaemon(flavor);
  if (daemon === undefined) throw new SetupError(`${flavor.name} is not installed`);
  const environment = { [flavor.directoryVariable]: home.directory };
  const pid = await spawnInBackground(daemon, ['--group', 'root'], { logFile: home.logFile, environment });
  await writeFile(`${home.pidFile}.new`, `${pid}\n`);
  await rename(`${home.pidFile}.new`, home.pidFile);
  await run(daemon, ['waitready', '--timeout=60'], { environment, timeoutMs: 70_000 });
}

/** Ends our own daemon. Its instances keep running, and a later start finds them again. */
export async function stopDaemon(home: EngineHome, graceMs = 10_000): Promise<void> {
  const pid = await findDaemonPid(home);
  if (pid !== undefined) await endProcess(pid, graceMs);
}

/** The recorded process id, if that process is still the daemon and not another that got its number. */
export async function findDaemonPid(home: EngineHome): Promise<number | undefined> {
  const pid = Number(await readFile(home.pidFile, 'utf8').catch(() => ''));
  if (!Number.isInteger(pid) || pid <= 0) return undefined;
  const environment = (await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '')).split('\0');
  const isOurs = Object.values(engineFlavors).some((flavor) =>
    environment.includes(`${flavor.directoryVariable}=${home.directory}`),
  );
  return isOurs ? pid : undefined;
}

/** Makes the directory, and lets everybody pass through it: the root users of containers are such. */
async function ensureTraversable(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o711 });
  await chmod(directory, 0o711);
  for (let path = directory; path !== '/'; path = dirname(path)) {
    if (((await stat(path)).mode & 0o001) === 0) {
      throw new SetupError(`Containers cannot reach ${directory}: run chmod o+x ${path}`);
    }
  }
}
