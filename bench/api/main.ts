import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { closedLoop, openLoop } from '../lib/load.js';
import { cpuSeconds, residentMiB, type Server, startServer } from '../lib/processes.js';
import { type Credentials, SignedClient } from '../lib/signedClient.js';
import { printTable, summarize } from '../lib/statistics.js';
import { type Seeded, seedInstances } from './seed.js';

/*
 * The API on the fake engine: signed reads and launches with 1,000 to 100,000 instances in the store,
 * beside a bare Fastify server that sends as many bytes.
 * Usage: node bench/dist/api/main.js [sizes, such as 1000,10000]
 */

const sizes = (process.argv[2] ?? '1000,10000,100000').split(',').map(Number);
const concurrency = 16;
const durationMs = 5_000;
const steadyPerSecond = 200;
const here = dirname(fileURLToPath(import.meta.url));
const cli = join(here, '../../../packages/cli/dist/main.js');

const config = {
  hosts: [
    {
      id: 'fake',
      count: 100,
      engine: { driver: 'fake', vcpus: 1024, memoryGiB: 4096, diskGiB: 50_000 },
      overcommit: { cpu: 16, memory: 4, disk: 10 },
    },
  ],
};

interface Case {
  readonly name: string;
  readonly call: (client: SignedClient, seeded: Seeded) => Promise<unknown>;
}

const cases: readonly Case[] = [
  {
    name: 'DescribeInstances, page of 10',
    call: (client) => client.call('DescribeInstances', { RegionId: 'cn-hangzhou', PageSize: '10' }),
  },
  {
    name: 'DescribeInstances, 100 ids',
    call: (client, { ids }) =>
      client.call('DescribeInstances', {
        RegionId: 'cn-hangzhou',
        PageSize: '100',
        InstanceIds: JSON.stringify(pick(ids, 100)),
      }),
  },
  {
    name: 'RunInstances',
    call: (client, { launch }) => client.call('RunInstances', launch),
  },
];

function pick(ids: readonly string[], count: number): string[] {
  const start = Math.floor(Math.random() * Math.max(1, ids.length - count));
  return ids.slice(start, start + count);
}

interface Row {
  [column: string]: string | number;
}

async function measure(
  name: string,
  instances: number,
  server: Server,
  call: () => Promise<unknown>,
): Promise<Row> {
  const pid = server.process.pid ?? 0;
  await closedLoop(call, concurrency, 1_000);
  const cpuBefore = cpuSeconds(pid);
  const full = await closedLoop(call, concurrency, durationMs);
  const cpuMs = ((cpuSeconds(pid) - cpuBefore) * 1000) / full.samplesMs.length;
  const steady = summarize(await openLoop(call, steadyPerSecond, durationMs));
  return {
    case: name,
    instances,
    'per second': Math.round(full.perSecond),
    'CPU ms': cpuMs,
    'p50 ms at 200/s': steady.p50,
    'p99 ms at 200/s': steady.p99,
    MiB: Math.round(residentMiB(pid)),
  };
}

const rows: Row[] = [];
for (const size of sizes) {
  const directory = mkdtempSync(join(tmpdir(), 'openegs-bench-'));
  const dataDirectory = join(directory, 'data');
  try {
    const seedStarted = performance.now();
    const seeded = await seedInstances(dataDirectory, config, size);
    const seedSeconds = (performance.now() - seedStarted) / 1000;
    console.error(`${size} instances made through the API in ${seedSeconds.toFixed(1)} s`);
    const configFile = join(directory, 'config.json');
    writeFileSync(configFile, JSON.stringify(config));
    const server = await startServer(cli, [
      'serve',
      ...['--data', dataDirectory, '--listen', '127.0.0.1:0', '--engine', 'fake', '--config', configFile],
    ]);
    const credentials: Credentials = JSON.parse(
      readFileSync(join(dataDirectory, 'credentials.json'), 'utf8'),
    );
    const client = new SignedClient(server.endpoint, credentials, concurrency);
    for (const { name, call } of cases)
      rows.push(await measure(name, size, server, () => call(client, seeded)));
    await client.close();
    await server.stop();
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

const bytesOfAPage = 22_000;
const bare = await startServer(join(here, 'bareFastify.js'), [String(bytesOfAPage)]);
const bareClient = new SignedClient(
  bare.endpoint,
  { accessKeyId: 'none', accessKeySecret: 'none' },
  concurrency,
);
rows.push(await measure('bare Fastify, as many bytes', 0, bare, () => bareClient.call('None', {})));
await bareClient.close();
await bare.stop();

printTable(rows);
const peer = Number(rows.at(-1)?.['CPU ms']);
for (const row of rows) {
  if (row['case'] === cases[0]?.name) {
    console.log(
      `${row['case']}, ${row['instances']} instances: ${(Number(row['CPU ms']) / peer).toFixed(1)} × the CPU of a bare server`,
    );
  }
}
