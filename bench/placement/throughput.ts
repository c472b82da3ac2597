import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type { HostId, ZoneId } from '@openegs/cloud/domain/ids';
import { ClusterModel, type Host, type PlacementRequest } from '@openegs/cloud/placement/index';
import { printTable, summarize } from '../lib/statistics.js';
import { SeededRandom } from './random.js';

/*
 * Placements a second on a large cloud of hosts with eight cards each: first it fills until requests
 * begin to fail, then instances end and others take their place.
 */

const { values: options } = parseArgs({
  options: {
    hosts: { type: 'string', default: '10000' },
    churn: { type: 'string', default: '50000' },
    json: { type: 'string', default: 'bench/dist/placement-throughput.json' },
  },
});
const hostCount = Number(options.hosts);
const cardMemoryMiB = 81_920;
const models = ['G1', 'G2', 'G3', 'G4'];

function hostOf(index: number): Host {
  return {
    id: `host-${index}` as HostId,
    zoneId: `zone-${index % 2}` as ZoneId,
    state: 'active',
    cpuMilli: index % 5 === 0 ? 192_000 : 96_000,
    memoryMiB: 1_048_576,
    diskGiB: 7_000,
    cards: Array.from({ length: 8 }, (_, card) => ({
      id: String(card),
      model: models[index % models.length] ?? '',
      memoryMiB: cardMemoryMiB,
      computePercent: 100,
      maxSlices: 25,
      healthy: true,
    })),
  };
}

/** Instance types as a cloud offers them: whole cards 1 to 8, slices of 1/8 to 1/2, some without GPU. */
function typesOf(): PlacementRequest[] {
  const types: PlacementRequest[] = [];
  for (const model of models) {
    for (const count of [1, 1, 1, 2, 4, 8]) {
      types.push(request(count * 10_000, { kind: 'whole', count, models: [model] }));
    }
    for (const part of [2, 2, 4, 4, 8, 8]) {
      const slice = { memoryMiB: cardMemoryMiB / part, computePercent: Math.floor(100 / part) };
      types.push(request(4_000, { kind: 'slice', count: 1, ...slice, models: [model] }));
    }
    types.push(request(8_000), request(16_000));
  }
  return types;
}

function request(cpuMilli: number, gpu?: PlacementRequest['gpu']): PlacementRequest {
  return { cpuMilli, memoryMiB: cpuMilli, diskGiB: 40, ...(gpu === undefined ? {} : { gpu }) };
}

const random = new SeededRandom(42);
const heapBefore = heapMiB();
const model = ClusterModel.rebuild(
  Array.from({ length: hostCount }, (_, index) => hostOf(index)),
  [],
);
const types = typesOf();
const owners: string[] = [];
const phases = [fill(), churn(Number(options.churn))];
printTable(phases);
const cards = [...model.hosts()].flatMap((usage) => usage.cards);
const allocated = 100 - cards.reduce((sum, card) => sum + card.freePercent, 0) / cards.length;
const memoryMiB = heapMiB() - heapBefore;
console.log(
  `${hostCount} hosts, ${cards.length} cards, ${owners.length} instances, ${allocated.toFixed(1)} % of the GPU in use, ${memoryMiB} MiB of memory`,
);
writeFileSync(
  options.json,
  `${JSON.stringify({ hostCount, cards: cards.length, phases, allocated, memoryMiB }, undefined, 2)}\n`,
);

/** Starts instances until a hundred in a row find no room. */
function fill(): Record<string, string | number> {
  const tookMs: number[] = [];
  for (let failed = 0; failed < 100; ) failed = start(tookMs) ? 0 : failed + 1;
  return report('fill', tookMs);
}

function churn(count: number): Record<string, string | number> {
  const tookMs: number[] = [];
  for (let i = 0; i < count; i++) {
    const place = random.below(owners.length);
    const ended = owners[place] ?? '';
    owners[place] = owners.at(-1) ?? '';
    owners.pop();
    model.release(ended);
    start(tookMs);
  }
  return report('churn', tookMs);
}

function start(tookMs: number[]): boolean {
  const wanted = types[random.below(types.length)];
  if (wanted === undefined) return false;
  const owner = `i-${tookMs.length}-${owners.length}`;
  const startMs = performance.now();
  const result = model.place(wanted);
  if (result.placed) {
    const { cpuMilli, memoryMiB: memory, diskGiB } = wanted;
    model.take({ owner, hostId: result.hostId, cards: result.cards, cpuMilli, memoryMiB: memory, diskGiB });
  }
  tookMs.push(performance.now() - startMs);
  if (result.placed) owners.push(owner);
  return result.placed;
}

function report(phase: string, tookMs: readonly number[]): Record<string, string | number> {
  const totalMs = tookMs.reduce((sum, ms) => sum + ms, 0);
  const { p50, p99, max } = summarize(tookMs);
  return {
    phase,
    requests: tookMs.length,
    'a second': Math.round((1000 * tookMs.length) / totalMs),
    'mean ms': (totalMs / tookMs.length).toFixed(3),
    'p50 ms': p50.toFixed(3),
    'p99 ms': p99.toFixed(3),
    'max ms': max.toFixed(1),
  };
}

function heapMiB(): number {
  globalThis.gc?.();
  return Math.round(process.memoryUsage().heapUsed / 2 ** 20);
}
