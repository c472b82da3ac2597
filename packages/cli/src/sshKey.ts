import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { ApiClient } from './api/apiClient.js';
import { CommandError } from './errors.js';

/** The key by which `egs instance ssh` logs in: made once, its private half never leaves the data directory. */
export function sshKeyFile(dataDirectory: string): string {
  return join(dataDirectory, 'ssh', 'id_ed25519');
}

/** Makes the key where there is none. `undefined` when this machine has no SSH client to make or use one. */
async function ensureSshKey(dataDirectory: string): Promise<string | undefined> {
  const file = sshKeyFile(dataDirectory);
  if (existsSync(`${file}.pub`)) return file;
  await mkdir(join(dataDirectory, 'ssh'), { recursive: true, mode: 0o700 });
  try {
    await promisify(execFile)('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'egs', '-f', file]);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
  return file;
}

/** Gives the cloud the public half, and tells the key pair's name there. */
export async function ensureKeyPair(api: ApiClient, dataDirectory: string): Promise<string | undefined> {
  const file = await ensureSshKey(dataDirectory);
  if (file === undefined) return undefined;
  const publicKey = readFileSync(`${file}.pub`, 'utf8').trim();
  const name = `egs-cli-${createHash('sha256').update(publicKey).digest('hex').slice(0, 12)}`;
  const known = await api.call<{ KeyPairs: { KeyPair: readonly unknown[] } }>('DescribeKeyPairs', {
    KeyPairName: name,
  });
  if (known.KeyPairs.KeyPair.length === 0) {
    await api
      .call('ImportKeyPair', { KeyPairName: name, PublicKeyBody: publicKey })
      .catch((error: unknown) => {
        // Somebody else's call at the same moment was faster, with the same key.
        if (!(error instanceof CommandError && error.code?.includes('Duplicate'))) throw error;
      });
  }
  return name;
}
