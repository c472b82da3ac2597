import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type PrivateEngine, startPrivateEngine } from '@openegs/setup';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const run = promisify(execFile);
const repository = fileURLToPath(new URL('..', import.meta.url));
const mainFile = join(repository, 'packages/cli/dist/main.js');
const name = `egs-test-hosts-${process.pid}`;
/** Containers must be able to pass through it, which they cannot below a private temporary directory. */
const dataDirectory = `/var/lib/${name}`;
const secondDirectory = `/var/lib/${name}-second`;
const scratch = mkdtempSync(join(tmpdir(), name));
const configFile = join(scratch, 'egs.yaml');
const enginePort = 20_000 + (process.pid % 20_000);

let second: PrivateEngine;
let cloud: ChildProcess;

async function egs(...commandArguments: string[]): Promise<string> {
  const { stdout } = await run(process.execPath, [mainFile, '--data', dataDirectory, ...commandArguments]);
  return stdout;
}
const json = async (...commandArguments: string[]) => JSON.parse(await egs('--json', ...commandArguments));
const lxc = (...commandArguments: string[]) =>
  run('lxc', commandArguments, { env: { ...process.env, LXD_DIR: join(secondDirectory, 'engine') } });

async function serve(): Promise<ChildProcess> {
  const serveArguments = ['--data', dataDirectory, '--listen', '127.0.0.1:0', '--config', configFile];
  const child = spawn(process.execPath, [mainFile, 'serve', ...serveArguments, '--engine', 'lxd'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`the cloud ended with ${code}`);
  });
  await Promise.race([once(createInterface({ input: child.stdout }), 'line'), ended]);
  ended.catch(() => undefined);
  return child;
}

async function stop(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}

beforeAll(async () => {
  await run(join(repository, 'egs'), ['--version']);
  // Ranges and a port of its own: other clouds may run on the machine.
  writeFileSync(
    configFile,
    'network: {transitCidr: 100.74.0.0/16, fabricCidr: 100.75.0.0/16, metadataPort: 8793}\n',
  );
  second = await startPrivateEngine({ directory: secondDirectory, flavor: 'lxd' });
  await lxc('config', 'set', 'core.https_address', `127.0.0.1:${enginePort}`);
  cloud = await serve();
}, 300_000);

afterAll(async () => {
  if (cloud?.exitCode === null) await stop(cloud);
  await second?.stop();
  await egs('down', '--purge', '--config', configFile);
  rmSync(scratch, { recursive: true, force: true });
}, 120_000);

describe('a further server of the cloud', () => {
  it('joins by its trust token, over mutual TLS, and takes instances when the first is drained', async () => {
    const { stdout } = await lxc('config', 'trust', 'add', '--name', 'openegs');
    const token = stdout.trim().split('\n').at(-1) ?? '';
    const added = await json('host', 'add', 'second', '--token', token, '--pool', 'openegs');
    expect(added).toMatchObject({
      state: 'active',
      origin: 'operator',
      address: `https://127.0.0.1:${enginePort}`,
    });
    await egs('host', 'drain', 'local');
    await egs('instance', 'run', '--name', 'there');
    expect(await egs('instance', 'exec', 'there', '--', 'cat', '/etc/debian_version')).toMatch(/^12/);
    expect(await json('host', 'show', 'second')).toMatchObject({ instances: 1 });
    expect(await json('host', 'show', 'local')).toMatchObject({ instances: 0, state: 'draining' });
  }, 120_000);

  it('logs in by SSH to an instance on it', async () => {
    const login = spawn(
      process.execPath,
      [mainFile, '--data', dataDirectory, 'instance', 'ssh', 'there', '--', 'exit 5'],
      { stdio: 'ignore' },
    );
    const [exitCode] = await once(login, 'exit');
    expect(exitCode).toBe(5);
  }, 60_000);

  it('is still there after a restart, and is waited for while it does not answer', async () => {
    await stop(cloud);
    await second.kill();
    cloud = await serve();
    expect(await json('host', 'show', 'second')).toMatchObject({ state: 'unreachable', instances: 1 });
    await second.start();
    await expect
      .poll(async () => (await json('host', 'show', 'second')).state, { timeout: 30_000, interval: 300 })
      .toBe('active');
    expect(await egs('instance', 'exec', 'there', '--', 'true')).toBe('');
  }, 120_000);

  it('goes when its instances are gone, and not before', async () => {
    await expect(egs('host', 'rm', 'second')).rejects.toThrow(/HostHasInstances/);
    await egs('instance', 'rm', '--force', 'there');
    await expect
      .poll(async () => (await json('host', 'show', 'second')).instances, { timeout: 30_000, interval: 200 })
      .toBe(0);
    await egs('host', 'rm', 'second');
    expect(await json('host', 'ls')).toMatchObject([{ id: 'local' }]);
  }, 60_000);

  it('is refused when it cannot be reached, or comes without a token', async () => {
    const nowhere = egs('host', 'add', 'third', '--socket', join(scratch, 'none.sock'));
    await expect(nowhere).rejects.toThrow(/HostUnreachable/);
    await expect(egs('host', 'add', 'third', '--token', 'nonsense')).rejects.toThrow(/HostInvalid/);
    await expect(egs('host', 'add', 'third')).rejects.toThrow(/HostInvalid/);
    expect(await json('host', 'ls')).toHaveLength(1);
  }, 60_000);

  it('is not taken for the server of a token when its certificate is another', async () => {
    const { stdout } = await lxc('config', 'trust', 'add', '--name', 'again');
    const token = stdout.trim().split('\n').at(-1) ?? '';
    const forged = JSON.parse(Buffer.from(token, 'base64').toString('utf8'));
    const wrongServer = Buffer.from(JSON.stringify({ ...forged, fingerprint: '0'.repeat(64) })).toString(
      'base64',
    );
    await expect(egs('host', 'add', 'third', '--token', wrongServer)).rejects.toThrow(/not the server/);
  }, 60_000);
});
