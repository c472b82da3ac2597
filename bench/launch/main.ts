import { execFile as execFileWithCallback } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { EngineClient } from '@openegs/cloud/drivers/compute/lxd/EngineClient';
import { HostCloud } from '@openegs/cloud/testing/hostCloud';
import { SignedClient } from '../lib/signedClient.js';
import { printTable, summarize } from '../lib/statistics.js';

/*
 * How long it takes until an instance runs, obeys and lets its owner in, beside the bare engine creating
 * and starting the same image on the same bridge, turn by turn in one run. Needs root.
 * Usage: node bench/dist/launch/main.js [rounds of one instance] [rounds of ten]
 */

const execFile = promisify(execFileWithCallback);
const roundsOfOne = Number(process.argv[2] ?? 12);
const roundsOfTen = Number(process.argv[3] ?? 3);
const pollMs = 5;

interface Described {
  readonly InstanceId: string;
  readonly Status: string;
  readonly VpcAttributes: {
    readonly VpcId: string;
    readonly PrivateIpAddress: { readonly IpAddress: string[] };
  };
}

const host = await HostCloud.start();
const directory = await mkdtemp(join(tmpdir(), 'openegs-bench-'));
const keyFile = join(directory, 'key');
const client = new SignedClient(host.cloud.endpoint, host.cloud.credentials, 16);
const engine = new EngineClient({ kind: 'unix', socketPath: host.engine.socketPath });
const region = { RegionId: host.regionId };

/** What one round took, in ms from its beginning, per instance. */
const times = {
  raw: new Map<number, number[]>(),
  answer: new Map<number, number[]>(),
  running: new Map<number, number[]>(),
};
const commandMs: number[] = [];
const rawCommandMs: number[] = [];
const sshMs: number[] = [];

function add(series: Map<number, number[]>, amount: number, value: number): void {
  series.set(amount, [...(series.get(amount) ?? []), value]);
}

async function pause(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
}

async function describe(ids: readonly string[]): Promise<Described[]> {
  const answer = (await client.call('DescribeInstances', {
    ...region,
    PageSize: '100',
    InstanceIds: JSON.stringify(ids),
  })) as { Instances: { Instance: Described[] } };
  return answer.Instances.Instance;
}

async function launch(amount: number): Promise<string[]> {
  const startedAt = performance.now();
  const answer = (await client.call('RunInstances', {
    ...region,
    ImageId: host.image.name,
    InstanceType: 'ecs.t6-c2m1.large',
    KeyPairName: 'bench',
    Amount: String(amount),
  })) as { InstanceIdSets: { InstanceIdSet: string[] } };
  add(times.answer, amount, performance.now() - startedAt);
  const ids = answer.InstanceIdSets.InstanceIdSet;
  for (;;) {
    const running = (await describe(ids)).filter((instance) => instance.Status === 'Running');
    if (running.length === amount) break;
    await pause(pollMs);
  }
  add(times.running, amount, performance.now() - startedAt);
  return ids;
}

async function release(ids: readonly string[]): Promise<void> {
  await client.call('DeleteInstances', {
    ...region,
    Force: 'true',
    ...Object.fromEntries(ids.map((id, index) => [`InstanceId.${index + 1}`, id])),
  });
  await host.cloud.reconciler.idle();
}

/** The engine alone: create and start, with the root disk, the limits and a port on the same bridge. */
async function launchRaw(names: readonly string[], bridge: string): Promise<void> {
  const query = { project: host.engine.project };
  await Promise.all(
    names.map(async (name) => {
      await engine.run('POST', '/1.0/instances', {
        query,
        body: {
          name,
          type: 'container',
          source: { type: 'image', alias: host.image.name },
          profiles: [],
          config: { 'limits.cpu': '2', 'limits.memory': '1024MiB' },
          devices: {
            root: { type: 'disk', path: '/', pool: host.engine.pool, size: '40GiB' },
            eth0: { type: 'nic', nictype: 'bridged', parent: bridge, name: 'eth0' },
          },
        },
      });
      await engine.run('PUT', `/1.0/instances/${name}/state`, {
        query,
        body: { action: 'start', timeout: 30 },
      });
    }),
  );
}

async function releaseRaw(names: readonly string[]): Promise<void> {
  const query = { project: host.engine.project };
  for (const name of names) {
    await engine.run('PUT', `/1.0/instances/${name}/state`, { query, body: { action: 'stop', force: true } });
    await engine.run('DELETE', `/1.0/instances/${name}`, { query });
  }
}

async function timeCommand(id: string): Promise<void> {
  const startedAt = performance.now();
  const { InvokeId } = (await client.call('RunCommand', {
    ...region,
    Type: 'RunShellScript',
    CommandContent: 'true',
    'InstanceId.1': id,
  })) as { InvokeId: string };
  for (;;) {
    const answer = (await client.call('DescribeInvocationResults', { ...region, InvokeId })) as {
      Invocation: { InvocationResults: { InvocationResult: { InvocationStatus: string }[] } };
    };
    const status = answer.Invocation.InvocationResults.InvocationResult[0]?.InvocationStatus;
    if (status === 'Success') break;
    if (status !== 'Pending' && status !== 'Running') throw new Error(`the command ended as ${status}`);
    await pause(pollMs);
  }
  commandMs.push(performance.now() - startedAt);
  const rawStartedAt = performance.now();
  await host.compute.exec(id, { command: ['/bin/true'] });
  rawCommandMs.push(performance.now() - rawStartedAt);
}

/** From the request that made the instance until a shell of it answers over SSH. */
async function timeSshLogin(startedAt: number, id: string): Promise<void> {
  const [instance] = await describe([id]);
  if (!instance) throw new Error(`${id} is gone`);
  const namespace = host.namespaceOf(instance.VpcAttributes.VpcId);
  const address = instance.VpcAttributes.PrivateIpAddress.IpAddress[0] ?? '';
  const ssh = ['ssh', '-i', keyFile, '-o', 'StrictHostKeyChecking=no', '-o', 'UserKnownHostsFile=/dev/null'];
  for (;;) {
    try {
      await execFile('ip', [
        ...['netns', 'exec', namespace, ...ssh],
        ...[
          '-o',
          'BatchMode=yes',
          '-o',
          'ConnectTimeout=1',
          '-o',
          'LogLevel=ERROR',
          `root@${address}`,
          'true',
        ],
      ]);
      break;
    } catch {
      await pause(pollMs);
    }
  }
  sshMs.push(performance.now() - startedAt);
}

try {
  await execFile('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', keyFile]);
  const publicKey = (await readFile(`${keyFile}.pub`, 'utf8')).trim();
  await client.call('ImportKeyPair', { ...region, KeyPairName: 'bench', PublicKeyBody: publicKey });
  // The first start of an image on a host shifts its owner ids, for us and for the bare engine alike.
  const [first = ''] = await launch(1);
  const [described] = await describe([first]);
  times.answer.clear();
  times.running.clear();
  const { stdout: links } = await execFile('ip', ['-o', 'link', 'show', 'type', 'bridge']);
  const bridge =
    links
      .split('\n')
      .map((line) => line.split(': ')[1] ?? '')
      .find((name) => name.startsWith(host.tag)) ?? '';
  if (!described || bridge === '') throw new Error('the first instance has no bridge');

  for (let round = 0; round < roundsOfOne + roundsOfTen; round += 1) {
    const amount = round < roundsOfOne ? 1 : 10;
    const names = Array.from({ length: amount }, (_, index) => `raw-${round}-${index}`);
    const rawStartedAt = performance.now();
    await launchRaw(names, bridge);
    add(times.raw, amount, performance.now() - rawStartedAt);
    await releaseRaw(names);

    const startedAt = performance.now();
    const ids = await launch(amount);
    const [id = ''] = ids;
    if (amount === 1) {
      await timeSshLogin(startedAt, id);
      await timeCommand(id);
    }
    await release(ids);
  }
  await release([first]);

  const row = (what: string, samples: readonly number[] = []) => {
    const { count, p50, p95 } = summarize(samples);
    return { what, count, 'p50 ms': p50, 'p95 ms': p95 };
  };
  printTable([
    row('engine alone, create + start, 1', times.raw.get(1)),
    row('RunInstances, answer, 1', times.answer.get(1)),
    row('RunInstances to Running, 1', times.running.get(1)),
    row('RunInstances to SSH login, 1', sshMs),
    row('engine alone, exec', rawCommandMs),
    row('RunCommand to its result', commandMs),
    row('engine alone, create + start, 10', times.raw.get(10)),
    row('RunInstances, answer, 10', times.answer.get(10)),
    row('RunInstances to Running, 10', times.running.get(10)),
  ]);
  for (const amount of [1, 10]) {
    const ours = summarize(times.running.get(amount) ?? []).p50;
    const theirs = summarize(times.raw.get(amount) ?? []).p50;
    console.log(`Running, ${amount} at a time: ${(ours / theirs).toFixed(2)} × the engine alone`);
  }
} finally {
  await client.close();
  await engine.close();
  await host.stop();
  await rm(directory, { recursive: true });
}
