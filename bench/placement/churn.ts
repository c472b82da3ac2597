import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { printTable } from '../lib/statistics.js';
import { readHosts, readPods } from './openb.js';
import { type PolicyMaker, policies } from './policies.js';
import { type QueueResult, QueueSimulation, type TimedPod } from './queueSimulation.js';
import { SeededRandom } from './random.js';

/*
 * The second protocol: pods come and go at the times of the trace. What fits nowhere waits; whenever
 * something ends, those waiting are tried in the order of their arrival. See README.md.
 */

const daySeconds = 86_400;
/** Almost all pods of the trace were created after this day. */
const firstDay = 100;
/** One host of so many is used: the trace keeps 1 % of its cluster busy. */
const hostsPerUsedHost = 30;
/** GPU-time asked, by the GPU-time there is, per run. */
const loads = [0.9, 1];

const { values: options } = parseArgs({
  options: {
    traces: { type: 'string' },
    seeds: { type: 'string', default: '3' },
    json: { type: 'string', default: 'bench/dist/placement-churn.json' },
  },
});
const directory = options.traces ?? process.env['EGS_TRACES'];
if (directory === undefined) throw new Error('name the directory of the openb trace: --traces or EGS_TRACES');

const allHosts = readHosts(directory);
const allPods = readPods(directory, 'default').filter((pod) => (pod.createdAt ?? 0) >= firstDay * daySeconds);
const firstAt = Math.min(...allPods.map((pod) => pod.createdAt ?? 0));
const spanSeconds = Math.max(...allPods.map((pod) => pod.createdAt ?? 0)) - firstAt;

/** The cloud begins empty; what counts is the second half. */
const measuredFrom = spanSeconds / 2;

const variants = [
  { name: 'OpenEGS', policy: policies.OpenEGS, moves: false },
  { name: 'OpenEGS with moves', policy: policies.OpenEGS, moves: true },
  { name: 'FGD', policy: policies.FGD, moves: false },
  { name: 'BestFit', policy: policies.BestFit, moves: false },
] as const;
const report: (QueueResult & { readonly load: number; readonly policy: string })[] = [];
for (const load of loads) {
  for (const { name, policy, moves } of variants) {
    const runs = Array.from({ length: Number(options.seeds) }, (_, seed) =>
      run(42 + seed, load, policy, moves),
    );
    report.push({ load, policy: name, ...meanOf(runs) });
  }
}
printTable(
  report.map((row) => ({
    'load %': Math.round(100 * row.load),
    policy: row.policy,
    'GPU allocated %': row.allocatedPercent.toFixed(1),
    'waited %': row.waitedPercent.toFixed(1),
    'mean wait min': row.meanWaitMinutes.toFixed(1),
    'p99 wait min': row.p99WaitMinutes.toFixed(0),
    'moves a day': row.movesPerDay.toFixed(1),
  })),
);
writeFileSync(options.json, `${JSON.stringify(report, undefined, 2)}\n`);

function run(seed: number, load: number, policyOf: PolicyMaker, moves: boolean): QueueResult {
  const random = new SeededRandom(seed);
  const hosts = random.shuffled(allHosts).filter((_, index) => index % hostsPerUsedHost === 0);
  const cards = hosts.reduce((sum, host) => sum + host.cards.length, 0);
  const pods = timedPods(random, load, cards);
  const simulation = new QueueSimulation(hosts, policyOf(allPods, random), {
    spanSeconds,
    measuredFrom,
    moves,
  });
  return simulation.run(pods);
}

/**
 * Copies of the trace, each begun at another moment of it and wrapped round, until those that would run
 * in the measured half ask for the load.
 */
function timedPods(random: SeededRandom, load: number, cards: number): TimedPod[] {
  const asked = load * cards * (spanSeconds - measuredFrom);
  const pods: TimedPod[] = [];
  let sum = 0;
  while (sum < asked) {
    const shift = random.next() * spanSeconds;
    for (const pod of random.shuffled(allPods)) {
      const createdAt = pod.createdAt ?? 0;
      const arrivesAt = (createdAt - firstAt + shift) % spanSeconds;
      const runsSeconds = Math.max(1, (pod.deletedAt ?? createdAt) - createdAt);
      pods.push({ ...pod, arrivesAt, runsSeconds });
      const until = Math.min(spanSeconds, arrivesAt + runsSeconds);
      sum += (pod.gpuMilli / 1000) * Math.max(0, until - Math.max(measuredFrom, arrivesAt));
      if (sum >= asked) break;
    }
  }
  return pods.sort((a, b) => a.arrivesAt - b.arrivesAt);
}

function meanOf(runs: readonly QueueResult[]): QueueResult {
  const mean = (of: (result: QueueResult) => number): number =>
    runs.reduce((sum, result) => sum + of(result), 0) / runs.length;
  return {
    allocatedPercent: mean((result) => result.allocatedPercent),
    waitedPercent: mean((result) => result.waitedPercent),
    meanWaitMinutes: mean((result) => result.meanWaitMinutes),
    p99WaitMinutes: mean((result) => result.p99WaitMinutes),
    movesPerDay: mean((result) => result.movesPerDay),
  };
}
