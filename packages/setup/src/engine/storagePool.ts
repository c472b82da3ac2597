import { statfs } from 'node:fs/promises';
import { callEngine, EngineApiError } from './api.js';

const gib = 1024 ** 3;

/** How large a pool may grow: most of what is free now. The file behind it is sparse and starts small. */
export async function choosePoolSizeGiB(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory);
  return Math.max(5, Math.floor((bavail * bsize * 0.8) / gib));
}

/**
 * A btrfs pool on a file in the engine's directory: copies in no time and limits on a disk's size, on any
 * machine, without a partition of its own. One of that name that exists is used.
 */
export async function ensureStoragePool(socketPath: string, name: string, sizeGiB: number): Promise<void> {
  const exists = await callEngine(socketPath, 'GET', `/1.0/storage-pools/${name}`).then(
    () => true,
    (error: unknown) => {
      if (error instanceof EngineApiError && error.statusCode === 404) return false;
      throw error;
    },
  );
  if (exists) return;
  await callEngine(socketPath, 'POST', '/1.0/storage-pools', {
    name,
    driver: 'btrfs',
    description: 'Disks of OpenEGS',
    config: { size: `${sizeGiB}GiB` },
  });
}
