import { ComputeError } from '../driver.js';
import type { EngineClient } from './EngineClient.js';
import { ignoreMissing } from './engineErrors.js';
import type { EngineInstance } from './instanceConfiguration.js';

/** What it can be made of: nothing, or an image. */
export type ProbeSource =
  | { readonly type: 'none' }
  | { readonly type: 'image'; readonly fingerprint: string };

/**
 * Makes a container that is never started, hands out what the engine says about it, and removes it again.
 * It has one name for each purpose, so that one that was left over by a crash goes with the next.
 */
export async function withProbeInstance<Result>(
  client: EngineClient,
  where: { readonly project: string; readonly pool: string },
  source: ProbeSource,
  read: (instance: EngineInstance) => Result,
): Promise<Result> {
  const query = { project: where.project };
  const name = `egs-probe-${source.type}`;
  const path = `/1.0/instances/${name}`;
  const devices = { root: { type: 'disk', path: '/', pool: where.pool } };
  const body = { name, type: 'container', source, profiles: [], devices };
  const remove = () => ignoreMissing(client.run('DELETE', path, { query }));
  await client.run('POST', '/1.0/instances', { query, body }).catch(async (error: unknown) => {
    if (!(error instanceof ComputeError && isTaken(error))) throw error;
    await remove();
    await client.run('POST', '/1.0/instances', { query, body });
  });
  try {
    return read((await client.call<EngineInstance>('GET', path, { query })).metadata);
  } finally {
    await remove();
  }
}

/** Whether creation failed since there is an instance of that name, in the words of LXD and of Incus. */
export function isTaken(error: Error): boolean {
  return /already exists|UNIQUE constraint failed: instances/i.test(error.message);
}
