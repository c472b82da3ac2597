import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const repository = fileURLToPath(new URL('..', import.meta.url));
const launcher = join(repository, 'egs');
const mainFile = join(repository, 'packages/cli/dist/main.js');
const scratch = mkdtempSync(join(tmpdir(), 'egs-cli-test-'));

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the command line in a process of its own, with nothing of this machine's user in its environment. */
function egs(commandArguments: readonly string[], environment: Record<string, string> = {}): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [mainFile, ...commandArguments],
      { env: { PATH: process.env['PATH'], HOME: scratch, ...environment } },
      (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
      },
    );
  });
}

interface Serving {
  readonly child: ChildProcess;
  readonly ready: { event: string; endpoint: string; region: string; credentialsFile: string };
}

const serving: ChildProcess[] = [];

async function serve(dataDirectory: string, ...more: string[]): Promise<Serving> {
  const child = spawn(
    process.execPath,
    [mainFile, 'serve', '--data', dataDirectory, '--listen', '127.0.0.1:0', '--engine', 'fake', ...more],
    { stdio: ['ignore', 'pipe', 'ignore'] },
  );
  serving.push(child);
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  return { child, ready: JSON.parse(line) };
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<[number | null, string | null]> {
  const ended = once(child, 'exit') as Promise<[number | null, string | null]>;
  child.kill(signal);
  return ended;
}

beforeAll(() => {
  execFileSync(launcher, ['--version'], { stdio: 'ignore' });
}, 180_000);

afterAll(() => {
  for (const child of serving) if (child.exitCode === null) child.kill('SIGKILL');
  rmSync(scratch, { recursive: true, force: true });
});

describe('egs serve', () => {
  const dataDirectory = join(scratch, 'serve');

  it('prints one ready line and keeps the key to its owner', async () => {
    const { child, ready } = await serve(dataDirectory);
    expect(ready).toEqual({
      event: 'ready',
      endpoint: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      region: 'cn-hangzhou',
      credentialsFile: join(dataDirectory, 'credentials.json'),
    });
    expect(statSync(ready.credentialsFile).mode & 0o777).toBe(0o600);
    expect(statSync(join(dataDirectory, 'operator.sock')).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(ready.credentialsFile, 'utf8'))).toEqual({
      accessKeyId: expect.any(String),
      accessKeySecret: expect.any(String),
      accountId: expect.stringMatching(/^\d{16}$/),
    });
    expect((await fetch(`${ready.endpoint}/healthz`)).status).toBe(200);
    expect(await end(child, 'SIGTERM')).toEqual([0, null]);
  });

  it('keeps key, instances and hosts over a clean stop and over a kill', async () => {
    const first = await serve(dataDirectory);
    const credentials = readFileSync(first.ready.credentialsFile, 'utf8');
    const launched = await egs(['--data', dataDirectory, '--json', 'instance', 'run', '--name', 'kept']);
    const [instance] = JSON.parse(launched.stdout);
    await end(first.child, 'SIGKILL');
    const second = await serve(dataDirectory);
    const shown = await egs(['--data', dataDirectory, '--json', 'instance', 'show', 'kept']);
    expect(JSON.parse(shown.stdout)).toMatchObject({ InstanceId: instance.InstanceId, Status: 'Running' });
    expect(readFileSync(second.ready.credentialsFile, 'utf8')).toBe(credentials);
    await end(second.child, 'SIGTERM');
    const third = await serve(dataDirectory);
    const listed = await egs(['--data', dataDirectory, '--json', 'instance', 'ls']);
    expect(JSON.parse(listed.stdout)).toHaveLength(1);
    await end(third.child, 'SIGTERM');
  });

  it('refuses a data directory that another cloud uses', async () => {
    const { child } = await serve(dataDirectory);
    const second = await egs([
      'serve',
      '--data',
      dataDirectory,
      '--engine',
      'fake',
      '--listen',
      '127.0.0.1:0',
    ]);
    expect(second).toMatchObject({ code: 1, stdout: '' });
    expect(second.stderr).toContain('another cloud is running');
    await end(child, 'SIGTERM');
  });

  it('says that a port is taken and ends with 1', async () => {
    const { child, ready } = await serve(dataDirectory);
    const { host } = new URL(ready.endpoint);
    const other = join(scratch, 'taken');
    const second = await egs(['serve', '--data', other, '--engine', 'fake', '--listen', host]);
    expect(second).toMatchObject({ code: 1, stdout: '' });
    expect(second.stderr).toContain('EADDRINUSE');
    await end(child, 'SIGTERM');
  });

  it('ends with 2 for a wrong address, engine or option', async () => {
    for (const wrong of [['--listen', 'nonsense'], ['--engine', 'docker'], ['--no-such-option']]) {
      const ended = await egs(['serve', '--data', join(scratch, 'wrong'), ...wrong]);
      expect(ended).toMatchObject({ code: 2, stdout: '' });
    }
  });

  it('has the hosts that the configuration names, and keeps those with instances until they are empty', async () => {
    const file = join(scratch, 'hosts.yaml');
    const directory = join(scratch, 'hosts');
    const list = async (): Promise<unknown> =>
      JSON.parse((await egs(['--data', directory, '--json', 'host', 'ls'])).stdout);
    writeFileSync(file, 'hosts:\n- {id: rack, count: 3, engine: {driver: fake}}\n');
    const first = await serve(directory, '--config', file);
    expect(await list()).toMatchObject([{ id: 'rack-1' }, { id: 'rack-2' }, { id: 'rack-3' }]);
    const run = ['--data', directory, '--json', 'instance', 'run', '--zone', 'cn-hangzhou-b'];
    await egs([...run, '--name', 'left']);
    await end(first.child, 'SIGTERM');

    writeFileSync(file, 'hosts:\n- {id: other, engine: {driver: fake}}\n');
    const second = await serve(directory, '--config', file);
    expect(await list()).toMatchObject([
      { id: 'other', state: 'active' },
      { id: 'rack-2', state: 'draining', origin: 'orphan', instances: 1 },
    ]);
    expect((await egs(['--data', directory, 'host', 'rm', 'rack-2'])).stderr).toContain('HostHasInstances');
    expect((await egs(['--data', directory, 'instance', 'rm', '-f', 'left'])).code).toBe(0);
    await end(second.child, 'SIGTERM');

    const third = await serve(directory, '--config', file);
    expect(await list()).toMatchObject([{ id: 'other' }]);
    await end(third.child, 'SIGTERM');
  });
});

describe('egs up and down', () => {
  const dataDirectory = join(scratch, 'up');
  const up = ['--data', dataDirectory, '--json', 'up', '--engine', 'fake', '--listen', '127.0.0.1:0'];

  afterAll(() => egs(['--data', dataDirectory, 'down', '--purge']));

  it('starts once, answers the same when asked again, and stops', async () => {
    const first = await egs(up);
    expect(JSON.parse(first.stdout)).toMatchObject({ engine: 'fake', region: 'cn-hangzhou' });
    expect((await egs(up)).stdout).toBe(first.stdout);
    const status = await egs(['--data', dataDirectory, '--json', 'status']);
    expect(JSON.parse(status.stdout)).toMatchObject({ running: true, hosts: 2, unreachable: 0 });
    expect(JSON.parse((await egs(['--data', dataDirectory, '--json', 'down'])).stdout)).toEqual({
      stopped: true,
      purged: false,
    });
    const stopped = await egs(['--data', dataDirectory, '--json', 'status']);
    expect(stopped.code).toBe(1);
    expect(JSON.parse(stopped.stdout)).toMatchObject({ running: false });
  });

  it('says why when the cloud does not start', async () => {
    const failed = await egs([...up, '--listen', '203.0.113.1:1']);
    expect(failed.code).toBe(1);
    expect(failed.stderr).toContain('EADDRNOTAVAIL');
  });

  it('purges what it made, and nothing that is not a cloud', async () => {
    await egs(up);
    expect((await egs(['--data', dataDirectory, 'down', '--purge'])).code).toBe(0);
    expect(() => statSync(dataDirectory)).toThrow(/ENOENT/);
    const precious = mkdtempSync(join(scratch, 'precious-'));
    writeFileSync(join(precious, 'thesis.txt'), 'years of work');
    const refused = await egs(['--data', precious, 'down', '--purge']);
    expect(refused.code).toBe(1);
    expect(readFileSync(join(precious, 'thesis.txt'), 'utf8')).toBe('years of work');
  });

  it.runIf(process.getuid?.() === 0)(
    'plays the instances, and says so, for a user who is not root',
    async () => {
      const home = mkdtempSync(join(scratch, 'user-'));
      chmodSync(scratch, 0o755);
      chmodSync(home, 0o777);
      const nobody = 65_534;
      const asUser = (commandArguments: readonly string[]): Promise<Ended> =>
        new Promise((resolve) => {
          execFile(
            process.execPath,
            [mainFile, '--data', join(home, 'data'), ...commandArguments],
            { uid: nobody, gid: nobody, env: { PATH: process.env['PATH'], HOME: home } },
            (error, stdout, stderr) =>
              resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
          );
        });
      const started = await asUser(['up', '--listen', '127.0.0.1:0']);
      expect(started).toMatchObject({ code: 0 });
      expect(started.stderr).toContain('FAKE engine');
      expect((await asUser(['instance', 'run', '--name', 'mine'])).code).toBe(0);
      expect((await asUser(['down', '--purge'])).code).toBe(0);
      expect(await asUser(['serve', '--engine', 'lxd'])).toMatchObject({ code: 2 });
    },
  );
});

describe('egs on a running cloud', () => {
  const dataDirectory = join(scratch, 'commands');
  let cloud: Serving;
  const on = (...commandArguments: string[]): Promise<Ended> =>
    egs(['--data', dataDirectory, ...commandArguments]);
  const json = async (...commandArguments: string[]) => {
    const ended = await on('--json', ...commandArguments);
    expect(ended.stderr).toBe('');
    return JSON.parse(ended.stdout);
  };

  beforeAll(async () => {
    cloud = await serve(dataDirectory);
  });
  afterAll(() => end(cloud.child, 'SIGTERM'));

  it('launches, lists, shows, stops, starts, restarts and releases instances', async () => {
    const launched = await json('instance', 'run', '--name', 'web', '--count', '2');
    expect(launched).toHaveLength(2);
    expect(launched).toMatchObject([{ Status: 'Running' }, { Status: 'Running' }]);
    const ids = launched.map((each: { InstanceId: string }) => each.InstanceId);
    expect((await on('instance', 'ls')).stdout).toMatch(
      /^INSTANCE +NAME +STATUS[^\n]*\n(i-\S+ +web[^\n]*\n){2}$/,
    );
    expect(await json('instance', 'show', ids[0])).toMatchObject({ InstanceName: 'web' });
    expect(await json('instance', 'stop', ...ids)).toEqual(ids);
    expect(await json('instance', 'show', ids[1])).toMatchObject({ Status: 'Stopped' });
    expect(await json('instance', 'start', ids[0])).toEqual([ids[0]]);
    expect(await json('instance', 'reboot', '--force', ids[0])).toEqual([ids[0]]);
    expect(await json('instance', 'rm', '--force', ...ids)).toEqual(ids);
    expect(await json('instance', 'ls')).toEqual([]);
  });

  it('runs a command in an instance and ends as it did', async () => {
    await json('instance', 'run', '--name', 'runner');
    expect(await on('instance', 'exec', 'runner', '--', 'echo', 'hello')).toMatchObject({
      code: 0,
      stdout: 'hello\n',
    });
    expect(await on('instance', 'exec', 'runner', 'exit 7')).toMatchObject({ code: 7 });
    await json('instance', 'rm', '--force', 'runner');
  });

  it('asks for the id when several instances have the name', async () => {
    await json('instance', 'run', '--name', 'twin', '--count', '2');
    const ended = await on('instance', 'stop', 'twin');
    expect(ended.code).toBe(2);
    expect(ended.stderr).toContain('2 instances are named "twin"');
  });

  it('tells code, message and request id of an error of the API, and ends with 1', async () => {
    const ended = await on('instance', 'run', '--type', 'ecs.nothing.large');
    expect(ended.code).toBe(1);
    expect(ended.stderr).toMatch(
      /^egs: Invalid\S*InstanceType\S*: .*ecs\.nothing\.large.* \(request [0-9A-F-]{36}\)$/m,
    );
    const asJson = JSON.parse((await on('--json', 'instance', 'run', '--type', 'ecs.nothing.large')).stderr);
    expect(asJson.error).toMatchObject({ code: expect.any(String), requestId: expect.any(String) });
  });

  it('ends with 2 when it is called wrongly', async () => {
    for (const wrong of [['instance', 'show'], ['nonsense'], ['instance', 'run', '--count', '0']]) {
      expect((await on(...wrong)).code).toBe(2);
    }
  });

  it('prints variables by which another call finds the cloud', async () => {
    const variables = await json('env');
    const elsewhere = await egs(['--json', 'instance', 'ls'], variables);
    expect(elsewhere.code).toBe(0);
    const asShell = execFileSync('/bin/sh', ['-c', `${(await on('env')).stdout}printf %s "$ECS_ENDPOINT"`]);
    expect(asShell.toString()).toBe(new URL(cloud.ready.endpoint).host);
  });

  it('writes a profile of the aliyun command line beside those that are there', async () => {
    const file = join(scratch, 'aliyun', 'config.json');
    await json('configure', '--file', file);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    writeFileSync(file, JSON.stringify({ current: 'work', profiles: [{ name: 'work', mode: 'AK' }] }));
    await json('configure', '--file', file);
    const document = JSON.parse(readFileSync(file, 'utf8'));
    expect(document).toMatchObject({ current: 'work', profiles: [{ name: 'work' }, { name: 'egs' }] });
    writeFileSync(file, 'not JSON');
    expect((await on('configure', '--file', file)).code).toBe(1);
    expect(readFileSync(file, 'utf8')).toBe('not JSON');
  });

  it('drains a host: new instances go elsewhere until it is taken in again', async () => {
    expect(await json('host', 'drain', 'fake-2')).toMatchObject({ id: 'fake-2', state: 'draining' });
    const refused = await on('instance', 'run', '--zone', 'cn-hangzhou-b');
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('OperationDenied.NoStock');
    expect(await json('host', 'drain', '--undo', 'fake-2')).toMatchObject({ state: 'active' });
    expect((await on('instance', 'run', '--zone', 'cn-hangzhou-b')).code).toBe(0);
    expect((await on('host', 'show', 'nothing')).stderr).toContain('HostNotFound');
  });

  it('takes no real hosts when it is on the fake engine', async () => {
    const { code, stderr } = await on('host', 'add', 'far', '--socket', join(scratch, 'none.sock'));
    expect(code).toBe(1);
    expect(stderr).toContain('HostInvalid');
    expect(await json('host', 'ls')).toHaveLength(2);
  });

  it('says that instances of the fake engine have no network to log in by', async () => {
    await json('instance', 'run', '--name', 'shell');
    const { code, stderr } = await on(
      'instance',
      'forward',
      (await json('instance', 'show', 'shell')).InstanceId,
      '22',
    );
    expect(code).toBe(1);
    expect(stderr).toContain('NoNetwork');
  });
});

describe('egs config check', () => {
  it('names the place of every mistake', async () => {
    const file = join(scratch, 'wrong.yaml');
    writeFileSync(
      file,
      'regions: [{id: UPPER, zones: []}]\nhosts: [{id: a, engine: {driver: fake, vcpus: -1}}]\nx: 1\n',
    );
    const { code, stderr } = await egs(['config', 'check', file]);
    expect(code).toBe(1);
    for (const place of ['regions.0.id', 'regions.0.zones', 'hosts.0.engine.vcpus', '"x"']) {
      expect(stderr).toContain(place);
    }
  });
  it('says that a file is not there, or is not YAML', async () => {
    expect((await egs(['config', 'check', join(scratch, 'none.yaml')])).stderr).toContain('ENOENT');
    const file = join(scratch, 'broken.yaml');
    writeFileSync(file, 'a: [1,\n');
    expect((await egs(['config', 'check', file])).code).toBe(1);
  });
  it('takes an empty file: everything has a default', async () => {
    const file = join(scratch, 'empty.yaml');
    writeFileSync(file, '');
    const { code, stdout } = await egs(['--json', 'config', 'check', file]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ regions: [{ id: 'cn-hangzhou' }] });
  });
});

describe('egs test', () => {
  it('knows which suites there are', async () => {
    const { code, stderr } = await egs(['test', 'nonsense']);
    expect(code).toBe(2);
    expect(stderr).toContain('types, lint, unit, process, host, clients');
  });
  it.runIf(process.getuid?.() === 0)(
    'says what it leaves out and why, and fails under CI=true instead',
    async () => {
      const asUser = (environment: Record<string, string>): Promise<Ended> =>
        new Promise((resolve) => {
          execFile(
            process.execPath,
            [mainFile, 'test', 'host'],
            { uid: 65_534, gid: 65_534, env: { PATH: process.env['PATH'], ...environment } },
            (error, stdout, stderr) =>
              resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
          );
        });
      const relaxed = await asUser({});
      expect(relaxed).toMatchObject({ code: 0, stdout: '0 passed, 0 failed\n' });
      expect(relaxed.stderr).toContain('left out: host: real engines and networks need root');
      const strict = await asUser({ CI: 'true' });
      expect(strict).toMatchObject({ code: 1, stdout: '0 passed, 1 failed\n' });
      expect(strict.stderr).toContain('FAILED, not run: host');
    },
  );
});

describe('egs without a cloud', () => {
  it('says how to start one', async () => {
    for (const command of [['instance', 'ls'], ['env'], ['host', 'ls']]) {
      const { code, stderr } = await egs(['--data', join(scratch, 'nothing'), ...command]);
      expect(code).toBe(1);
      expect(stderr).toContain('egs up');
    }
  });
  it('completes commands and options in bash', async () => {
    const script = (await egs(['completion', 'bash'])).stdout;
    const complete = (words: string): string =>
      execFileSync('bash', [
        '-c',
        `${script}\nCOMP_WORDS=(${words}); COMP_CWORD=$((\${#COMP_WORDS[@]}-1)); _egs; echo "\${COMPREPLY[@]}"`,
      ])
        .toString()
        .trim();
    expect(complete('egs insta')).toBe('instance');
    expect(complete('egs instance re')).toBe('reboot');
    expect(complete('egs instance rm --fo')).toBe('--force');
  });
  it('has a help text for every command', async () => {
    const help = (await egs(['--help'])).stdout;
    for (const name of [
      'up',
      'down',
      'serve',
      'status',
      'doctor',
      'instance',
      'host',
      'quickstart',
      'test',
    ]) {
      expect(help).toMatch(new RegExp(`^ {2}${name}\\b.* {2,}\\S`, 'm'));
    }
  });
});
