import { callEngine, EngineApiError } from './api.js';

/**
 * A project of our own in an engine, so that instances, images and volumes of others are neither seen nor
 * touched. Networks stay the engine's: ours are plain bridges outside of it.
 */
export async function ensureProject(socketPath: string, name: string): Promise<void> {
  const exists = await callEngine(socketPath, 'GET', `/1.0/projects/${name}`).then(
    () => true,
    (error: unknown) => {
      if (error instanceof EngineApiError && error.statusCode === 404) return false;
      throw error;
    },
  );
  if (exists) return;
  await callEngine(socketPath, 'POST', '/1.0/projects', {
    name,
    description: 'OpenEGS',
    config: { 'features.images': 'true', 'features.profiles': 'true', 'features.storage.volumes': 'true' },
  });
}
