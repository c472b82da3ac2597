import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { TestCloud } from '../../packages/cloud/src/testing/testCloud.js';

const run = promisify(execFile);
const repository = fileURLToPath(new URL('../..', import.meta.url));

/** Where fetched clients are kept between runs. */
export function cacheDirectory(name: string): string {
  const directory = join(repository, 'node_modules/.cache/egs/clients', name);
  mkdirSync(directory, { recursive: true });
  return directory;
}

/** Whether a program is installed on this machine. */
export async function hasProgram(name: string): Promise<boolean> {
  return run(name, ['--help']).then(
    () => true,
    (error: { code?: unknown }) => error.code !== 'ENOENT',
  );
}

/** What clients read to find the cloud, in an environment with nothing else of this machine's user. */
export function clientEnvironment(cloud: Pick<TestCloud, 'cloud' | 'regionId'>): Record<string, string> {
  const { PATH = '' } = process.env;
  return {
    PATH,
    EGS_HOST: new URL(cloud.cloud.endpoint).host,
    ALIBABA_CLOUD_ENDPOINT: cloud.cloud.endpoint,
    ALIBABA_CLOUD_ACCESS_KEY_ID: cloud.cloud.credentials.accessKeyId,
    ALIBABA_CLOUD_ACCESS_KEY_SECRET: cloud.cloud.credentials.accessKeySecret,
    ALIBABA_CLOUD_REGION_ID: cloud.regionId,
  };
}

/** A Python with the packages of a requirements file, made once for each content of the file. */
export async function ensurePython(name: string, requirements: readonly string[]): Promise<string> {
  const directory = cacheDirectory(`python-${name}`);
  const python = join(directory, 'bin/python3');
  const mark = join(directory, `has-${requirements.join('-').replaceAll('/', '_')}`);
  if (existsSync(mark)) return python;
  await run('python3', ['-m', 'venv', directory]);
  await run(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...requirements]);
  writeFileSync(mark, '');
  return python;
}

/** Runs a client's script, and gives the JSON that it prints. */
export async function runClient(
  program: string,
  programArguments: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<unknown> {
  const { stdout } = await run(program, programArguments, { env: environment });
  return JSON.parse(stdout);
}
