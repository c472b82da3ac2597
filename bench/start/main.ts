import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { residentMiB, startServer } from '../lib/processes.js';
import { printTable, summarize } from '../lib/statistics.js';

/*
 * How long `egs serve` takes from the command to its ready line, and how much memory it has then: with an
 * empty store, and again with the store that is there. Beside a Node process that does nothing.
 * Usage: node bench/dist/start/main.js [runs]
 */

const runs = Number(process.argv[2] ?? 10);
const here = dirname(fileURLToPath(import.meta.url));
const cli = join(here, '../../../packages/cli/dist/main.js');

interface Sample {
  readonly readyMs: number;
  readonly memoryMiB: number;
}

async function serveOnce(dataDirectory: string): Promise<Sample> {
  const server = await startServer(cli, [
    ...['serve', '--data', dataDirectory, '--engine', 'fake', '--listen', '127.0.0.1:0'],
    ...['--log-level', 'warn'],
  ]);
  const memoryMiB = residentMiB(server.process.pid ?? 0);
  await server.stop();
  return { readyMs: server.startMs, memoryMiB };
}

const bareNode: number[] = [];
const empty: Sample[] = [];
const again: Sample[] = [];
for (let run = 0; run < runs; run++) {
  const startedAt = performance.now();
  execFileSync(process.execPath, ['-e', '0']);
  bareNode.push(performance.now() - startedAt);
  const dataDirectory = mkdtempSync(join(tmpdir(), 'egs-bench-start-'));
  try {
    empty.push(await serveOnce(dataDirectory));
    again.push(await serveOnce(dataDirectory));
  } finally {
    rmSync(dataDirectory, { recursive: true, force: true });
  }
}

const row = (name: string, milliseconds: readonly number[], memory: readonly number[]) => {
  const { p50, max } = summarize(milliseconds);
  return {
    start: name,
    'p50 ms': p50.toFixed(0),
    'max ms': max.toFixed(0),
    'memory MiB': memory.length === 0 ? '' : summarize(memory).p50.toFixed(0),
  };
};
const readyMs = (samples: readonly Sample[]) => samples.map((sample) => sample.readyMs);
const memoryMiB = (samples: readonly Sample[]) => samples.map((sample) => sample.memoryMiB);
printTable([
  row('node that does nothing', bareNode, []),
  row('serve, empty store (aim: 1000 ms, 150 MiB)', readyMs(empty), memoryMiB(empty)),
  row('serve, the same store again', readyMs(again), memoryMiB(again)),
]);
