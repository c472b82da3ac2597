import { existsSync, readFileSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Command } from 'commander';
import type { ApiAccess } from '../api/apiClient.js';
import { findAccess } from '../cloudAccess.js';
import { createContext } from '../context.js';
import { CommandError } from '../errors.js';

type Json = Record<string, unknown>;

export function addConfigure(program: Command): void {
  program
    .command('configure')
    .summary('write a profile for the aliyun command line')
    .description(
      'Writes the key, region and endpoint into a profile of the aliyun command line ' +
        '(~/.aliyun/config.json). Other profiles stay as they are. Use: aliyun --profile egs --insecure ecs …',
    )
    .option('--profile <name>', 'name of the profile', 'egs')
    .option('--default', 'also make it the profile that is used when none is named')
    .option('--file <file>', 'another configuration file', join(homedir(), '.aliyun', 'config.json'))
    .action(async (options: { profile: string; default?: boolean; file: string }, command: Command) => {
      const context = createContext(command);
      const access = await findAccess(context);
      const document = mergeProfile(
        readDocument(options.file),
        options.profile,
        access,
        options.default === true,
      );
      await mkdir(dirname(options.file), { recursive: true, mode: 0o700 });
      // Written beside and moved: a half written file would cost the user all profiles.
      await writeFile(`${options.file}.new`, `${JSON.stringify(document, undefined, '\t')}\n`, {
        mode: 0o600,
      });
      await rename(`${options.file}.new`, options.file);
      context.output.result(
        { file: options.file, profile: options.profile },
        `profile "${options.profile}" written to ${options.file}\n` +
          `try: aliyun --profile ${options.profile} --insecure ecs DescribeInstances`,
      );
    });
}

function readDocument(file: string): Json {
  if (!existsSync(file)) return {};
  try {
    const document: unknown = JSON.parse(readFileSync(file, 'utf8'));
    if (isObject(document)) return document;
  } catch {
    // Told below, as anything else that is no object.
  }
  throw new CommandError(`${file} is not a configuration of the aliyun command line; it was left as it is`);
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The configuration with the profile put in, in place of one of the same name. */
export function mergeProfile(document: Json, name: string, access: ApiAccess, makeDefault: boolean): Json {
  const profiles = Array.isArray(document['profiles']) ? document['profiles'].filter(isObject) : [];
  const known = profiles.find((profile) => profile['name'] === name);
  const profile = {
    ...known,
    name,
    mode: 'AK',
    access_key_id: access.accessKeyId,
    access_key_secret: access.accessKeySecret,
    region_id: access.regionId,
    output_format: 'json',
    language: 'en',
    endpoint: new URL(access.endpoint).host,
  };
  return {
    ...document,
    current: makeDefault || typeof document['current'] !== 'string' ? name : document['current'],
    profiles: known ? profiles.map((each) => (each === known ? profile : each)) : [...profiles, profile],
  };
}
