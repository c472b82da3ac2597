import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { describeEngineHome, findRunningEngine, stopDaemon } from './engine/daemon.js';
import { type Engine, poolName, projectName } from './engine/engine.js';
import { chooseFlavor } from './engine/flavor.js';
import { ensureProject } from './engine/project.js';
import { removeEngine, removeProject } from './engine/remove.js';
import { choosePoolSizeGiB, ensureStoragePool } from './engine/storagePool.js';
import { networkPackages, prepareMachine } from './machine.js';
import { ensurePackages } from './packages.js';
import { startPrivateEngine } from './privateEngine.js';
import { run } from './run.js';
import { type OnStep, step } from './steps.js';
import { ensureSysctls } from './sysctls.js';
import { hasSystemd } from './systemd.js';

export interface EnsureEngineOptions {
  /** Where an engine of our own goes, if there is to be one. */
  readonly directory: string;
  readonly onStep?: OnStep;
}

/** The engine of a cloud on this machine. */
export interface CloudEngine extends Engine {
  /** `own`: a daemon of ours in our directory; `shared`: the machine's, with a project and a pool for us. */
  readonly ownership: 'own' | 'shared';
}

/**
 * Gives an engine that is ready for the cloud, and makes one where there is none: the machine's LXD or
 * Incus if one runs, in a project of our own; with systemd the distribution's, installed and started by
 * its unit; without systemd a daemon in our directory. Quick when all is there. Needs root.
 */
export async function ensureEngine(options: EnsureEngineOptions): Promise<CloudEngine> {
  const { directory, onStep } = options;
  const isOwn = existsSync(describeEngineHome(directory).directory);
  const running = isOwn ? undefined : await findRunningEngine();
  if (running !== undefined) {
    await step(onStep, 'Packages', () => ensurePackages(networkPackages));
    await step(onStep, 'Kernel parameters', ensureSysctls);
    return shareEngine(running, onStep);
  }
  if (!isOwn && hasSystemd()) {
    const flavor = await chooseFlavor();
    await prepareMachine(flavor, onStep);
    await step(onStep, 'Engine', () => run('systemctl', ['start', flavor.unit]));
    const started = await findRunningEngine();
    if (started !== undefined) return shareEngine(started, onStep);
  }
  await mkdir(directory, { recursive: true, mode: 0o711 });
  const poolSizeGiB = await choosePoolSizeGiB(directory);
  return { ...(await startPrivateEngine({ ...options, poolSizeGiB })), ownership: 'own' };
}

/** Ends our own daemon, if there is one. Its instances keep running. */
export async function stopEngine(directory: string): Promise<void> {
  await stopDaemon(describeEngineHome(directory));
}

/** Removes what `ensureEngine` made, with all instances: our daemon, or our project and pool in the machine's. */
export async function purgeEngine(directory: string): Promise<void> {
  if (existsSync(describeEngineHome(directory).directory)) {
    await removeEngine(directory);
    return;
  }
  const running = await findRunningEngine();
  if (running !== undefined) await removeProject(running.socketPath, projectName, poolName);
}

async function shareEngine(
  { flavor, directory, socketPath }: NonNullable<Awaited<ReturnType<typeof findRunningEngine>>>,
  onStep?: OnStep,
): Promise<CloudEngine> {
  await step(onStep, 'Storage pool', async () =>
    ensureStoragePool(socketPath, poolName, await choosePoolSizeGiB(directory)),
  );
  await step(onStep, 'Project', () => ensureProject(socketPath, projectName));
  return { flavor: flavor.name, socketPath, project: projectName, pool: poolName, ownership: 'shared' };
}
