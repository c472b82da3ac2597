import { existsSync } from 'node:fs';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { EngineKind, LocalEngine } from '@openegs/cloud';
import type { CloudConfig } from '@openegs/cloud/config';
import type { StepReport } from '@openegs/setup';
import { type Context, isRoot } from './context.js';
import { UsageError } from './errors.js';

/** For `egs instance ssh`, and for the certificate by which further hosts know the cloud. */
const clientPackages = ['openssh-client', 'openssl'];

/** What a cloud on real engines needs of this machine. */
export interface EngineSupply {
  readonly localEngine?: LocalEngine;
  readonly images?: ReadonlyMap<string, { readonly metadata: string; readonly rootfs: string }>;
}

/** Which kind of engine to use: as asked, as the hosts in the configuration are, else the best that can be. */
export function chooseEngine(asked: string | undefined, config: CloudConfig): EngineKind {
  if (asked === 'lxd' && !isRoot()) throw new UsageError('--engine lxd needs root: it sets up networks');
  if (asked === 'lxd' || asked === 'fake') return asked;
  if (asked !== undefined) throw new UsageError(`--engine: "${asked}" is neither lxd nor fake`);
  if (config.hosts.length > 0) {
    return config.hosts.some((host) => host.engine.driver === 'lxd') ? 'lxd' : 'fake';
  }
  return isRoot() ? 'lxd' : 'fake';
}

/** Readies this machine: programs, an engine with pool and project, the base image. Quick when all is there. */
export async function supplyEngine(
  context: Context,
  kind: EngineKind,
  config: CloudConfig,
): Promise<EngineSupply> {
  if (kind === 'fake') return {};
  const { dataDirectory, progress } = context;
  const { ensureBaseImage, ensureEngine, ensurePackages } = await import('@openegs/setup');
  const onStep = (report: StepReport): void => {
    if (report.state === 'started') progress.started(report.name);
    else progress.ended(report.name, report.state === 'failed');
  };
  if (!existsSync(dataDirectory)) await mkdir(dataDirectory, { recursive: true });
  // Containers pass through it to their disks, under ids of their own; every file in it is its owner's alone.
  await chmod(dataDirectory, 0o711);
  const needsLocalEngine =
    config.hosts.length === 0 ||
    config.hosts.some(({ engine }) => engine.driver === 'lxd' && !engine.socket && !engine.url);
  if (needsLocalEngine) await writeFile(engineMarkOf(dataDirectory), '');
  const engine = needsLocalEngine
    ? await ensureEngine({ directory: engineDirectoryOf(dataDirectory), onStep })
    : undefined;
  await progress.run('Client programs', () => ensurePackages(clientPackages));
  const image = await ensureBaseImage({ onStep });
  return {
    images: new Map([[image.name, image]]),
    ...(engine === undefined ? {} : { localEngine: engine }),
  };
}

function engineDirectoryOf(dataDirectory: string): string {
  return join(dataDirectory, 'engine');
}

/** Says that this cloud has used the machine's engine and networks, so that a purge looks there. */
function engineMarkOf(dataDirectory: string): string {
  return join(dataDirectory, 'uses-engine');
}

/** Removes the instances and networks of a stopped cloud, and its engine where that is its own. */
export async function removeLocalEngine(context: Context, config: CloudConfig): Promise<void> {
  const { dataDirectory, progress } = context;
  if (!existsSync(engineMarkOf(dataDirectory))) return;
  const { purgeEngine } = await import('@openegs/setup');
  await progress.run('Remove instances and engine', () => purgeEngine(engineDirectoryOf(dataDirectory)));
  const { removeNetworks } = await import('@openegs/cloud');
  await progress.run('Remove networks', () => removeNetworks(dataDirectory, config));
}
