import { ComputeError } from '../driver.js';
import type { EngineClient } from './EngineClient.js';
import { ignoreMissing } from './engineErrors.js';
import { findImageFingerprint } from './importSplitImage.js';

/** Property of an image that holds the alias it was made for, so that one is found that never got it. */
const purposeProperty = 'egs.alias';

interface EngineImage {
  readonly fingerprint: string;
  readonly properties: Readonly<Record<string, string>> | null;
}

/** How a change of an instance is sent, once the engine is not busy with it. */
export type RunChange = (method: 'POST' | 'DELETE', path: string, body?: object) => Promise<void>;

/**
 * Makes an image of the instance's root disk. The engine publishes only what does not change, hence from a
 * snapshot, which goes again.
 */
export async function publishImage(
  client: EngineClient,
  run: RunChange,
  project: string,
  alias: string,
  instanceName: string,
): Promise<void> {
  if ((await findImageFingerprint(client, project, alias)) !== undefined) return;
  // Of an attempt that was cut off.
  await deletePublishedImages(client, run, project, alias);
  const path = `/1.0/instances/${encodeURIComponent(instanceName)}/snapshots`;
  const removeSnapshot = () => ignoreMissing(run('DELETE', `${path}/${encodeURIComponent(alias)}`));
  await removeSnapshot();
  await run('POST', path, { name: alias, stateful: false });
  try {
    await run('POST', '/1.0/images', {
      source: { type: 'snapshot', name: `${instanceName}/${alias}` },
      compression_algorithm: 'zstd',
      properties: { [purposeProperty]: alias },
      aliases: [{ name: alias, description: '' }],
    });
  } catch (error) {
    if ((await findImageFingerprint(client, project, alias)) === undefined) throw error;
  } finally {
    await removeSnapshot().catch((error: unknown) => {
      // It goes with the instance, or before the next attempt.
      if (!(error instanceof ComputeError)) throw error;
    });
  }
}

/** Removes the images that were made for the alias, with and without it. */
export async function deletePublishedImages(
  client: EngineClient,
  run: RunChange,
  project: string,
  alias: string,
): Promise<void> {
  const query = { project, recursion: '1' };
  const { metadata } = await client.call<EngineImage[] | null>('GET', '/1.0/images', { query });
  for (const { fingerprint, properties } of metadata ?? []) {
    if (properties?.[purposeProperty] === alias) {
      await ignoreMissing(run('DELETE', `/1.0/images/${fingerprint}`));
    }
  }
}
