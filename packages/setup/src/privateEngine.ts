import { ensureCgroups } from './cgroups.js';
import { describeEngineHome, startDaemon, stopDaemon } from './engine/daemon.js';
import { chooseFlavor, type EngineFlavor, type EngineName, engineFlavors } from './engine/flavor.js';
import { ensureProject } from './engine/project.js';
import { removeEngine } from './engine/remove.js';
import { ensureStoragePool } from './engine/storagePool.js';
import { ensureLxcfs } from './lxcfs.js';
import { ensurePackages } from './packages.js';
import { type OnStep, step } from './steps.js';
import { ensureSubordinateIds } from './subordinateIds.js';
import { ensureSysctls } from './sysctls.js';

/** Names in an engine that belong to the cloud. */
export const projectName = 'openegs';
export const poolName = 'openegs';

/** An engine that is ready for a compute driver. */
export interface Engine {
  readonly flavor: EngineName;
  readonly socketPath: string;
  readonly project: string;
  readonly pool: string;
}

export interface PrivateEngineOptions {
  /** Everything of the engine goes here; for instance `/var/lib/egs-test-4f1c`. Its parents must be passable. */
  readonly directory: string;
  readonly flavor?: EngineName;
  /** Largest size of the pool. Default 8 GiB; the file is sparse. */
  readonly poolSizeGiB?: number;
  readonly onStep?: OnStep;
}

/** An engine of our own, with its daemon under our control. */
export interface PrivateEngine extends Engine {
  /** Kills the daemon as a crash would. Instances keep running. */
  kill(): Promise<void>;
  /** Starts it again after `kill`. */
  start(): Promise<void>;
  /** Removes the engine, its instances and its directory: nothing is left. */
  stop(): Promise<void>;
}

/** What an engine of our own needs of the machine before it starts. Each step does nothing when it is done. */
export async function prepareMachine(flavor: EngineFlavor, onStep?: OnStep): Promise<void> {
  await step(onStep, 'Packages', () => ensurePackages(flavor.packages));
  await step(onStep, 'Control groups', ensureCgroups);
  await step(onStep, 'Subordinate ids', ensureSubordinateIds);
  await step(onStep, 'Kernel parameters', ensureSysctls);
  await step(onStep, 'lxcfs', ensureLxcfs);
}

/**
 * Starts an engine of its own in a directory, beside whatever else runs on the machine. Asked again for
 * the same directory, it takes up what is there.
 */
export async function startPrivateEngine(options: PrivateEngineOptions): Promise<PrivateEngine> {
  const { directory, onStep } = options;
  const flavor = options.flavor === undefined ? await chooseFlavor() : engineFlavors[options.flavor];
  const home = describeEngineHome(directory);
  await prepareMachine(flavor, onStep);
  try {
    await step(onStep, 'Engine', () => startDaemon(flavor, home));
    await step(onStep, 'Storage pool', () =>
      ensureStoragePool(home.socketPath, poolName, options.poolSizeGiB ?? 8),
    );
    await step(onStep, 'Project', () => ensureProject(home.socketPath, projectName));
  } catch (error) {
    await removeEngine(directory);
    throw error;
  }
  return {
    flavor: flavor.name,
    socketPath: home.socketPath,
    project: projectName,
    pool: poolName,
    kill: () => stopDaemon(home, 0),
    start: () => startDaemon(flavor, home),
    stop: () => removeEngine(directory),
  };
}
