import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { CloudConfig } from '@openegs/cloud/config';
import { CommandError } from './errors.js';

/** A configuration file in the data directory needs no option. */
export function defaultConfigFile(dataDirectory: string): string {
  return join(dataDirectory, 'egs.yaml');
}

/**
 * Reads the configuration: the file that was named, else the one in the data directory, else all defaults.
 * @throws CommandError that names the file, and the place in it for every mistake
 */
export async function loadConfig(dataDirectory: string, named: string | undefined): Promise<CloudConfig> {
  const { parseConfig } = await import('@openegs/cloud/config');
  const file = named === undefined ? defaultConfigFile(dataDirectory) : resolve(named);
  if (named === undefined && !existsSync(file)) return parseConfig({});
  return readConfigFile(file);
}

export async function readConfigFile(file: string): Promise<CloudConfig> {
  const { readConfig } = await import('@openegs/cloud/config');
  try {
    return readConfig(file);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const lines = message.split('\n').map((line) => `${file}: ${line}`);
    throw new CommandError(lines.join('\n'), { code: 'InvalidConfiguration' });
  }
}
