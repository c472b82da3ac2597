import { existsSync } from 'node:fs';
import { describeEngineHome, startDaemon, stopDaemon } from './engine/daemon.js';
import { type Engine, poolName, projectName } from './engine/engine.js';
import { chooseFlavor, type EngineName, engineFlavors } from './engine/flavor.js';
import { ensureProject } from './engine/project.js';
import { removeEngine } from './engine/remove.js';
import { ensureStoragePool } from './engine/storagePool.js';
import { prepareMachine } from './machine.js';
import { type OnStep, step } from './steps.js';

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

/**
 * Starts an engine of its own in a directory, beside whatever else runs on the machine. Asked again for
 * the same directory, it takes up what is there. A first start that fails leaves nothing.
 */
export async function startPrivateEngine(options: PrivateEngineOptions): Promise<PrivateEngine> {
  const { directory, onStep } = options;
  const home = describeEngineHome(directory);
  const isNew = !existsSync(home.directory);
  const flavor = options.flavor === undefined ? await chooseFlavor() : engineFlavors[options.flavor];
  await prepareMachine(flavor, onStep);
  try {
    await step(onStep, 'Engine', () => startDaemon(flavor, home));
    await step(onStep, 'Storage pool', () =>
      ensureStoragePool(home.socketPath, poolName, options.poolSizeGiB ?? 8),
    );
    await step(onStep, 'Project', () => ensureProject(home.socketPath, projectName));
  } catch (error) {
    if (isNew) await removeEngine(directory);
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
