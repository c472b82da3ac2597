import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HostId, ZoneId } from '@openegs/cloud/domain/ids';
import type { GpuRequest, Host } from '@openegs/cloud/placement/index';
import type { SeededRandom } from './random.js';

/*
 * The openb trace (alibaba/clusterdata, cluster-trace-gpu-v2023), the data of Weng et al., "Beware
 * of Fragmentation", USENIX ATC 2023. It is not shipped: the directory is named by the user.
 */

/** The 17 workloads of the paper. */
export const podLists = [
  'default',
  'cpu050',
  'cpu100',
  'cpu200',
  'cpu250',
  'gpushare40',
  'gpushare60',
  'gpushare80',
  'gpushare100',
  'multigpu20',
  'multigpu30',
  'multigpu40',
  'multigpu50',
  'gpuspec10',
  'gpuspec20',
  'gpuspec25',
  'gpuspec33',
] as const;
export type PodList = (typeof podLists)[number];

/** A card is 1,000 milli-GPU; the trace knows no GPU memory, so a slice asks the same of both. */
const milliPerCard = 1000;

export interface Pod {
  readonly name: string;
  readonly cpuMilli: number;
  readonly memoryMiB: number;
  readonly gpu?: GpuRequest;
  /** In all. */
  readonly gpuMilli: number;
  /** Of each card. */
  readonly gpuMilliPerCard: number;
  /** Seconds from the start of the trace; undefined in lists without times. */
  readonly createdAt?: number;
  readonly deletedAt?: number;
}

export function readHosts(directory: string): Host[] {
  return readRows(directory, 'openb_node_list_gpu_node.csv').map((row) => ({
    id: row['sn'] as HostId,
    zoneId: 'openb' as ZoneId,
    state: 'active',
    cpuMilli: Number(row['cpu_milli']),
    memoryMiB: Number(row['memory_mib']),
    diskGiB: 0,
    cards: Array.from({ length: Number(row['gpu']) }, (_, index) => ({
      id: String(index),
      model: row['model'] ?? '',
      memoryMiB: milliPerCard,
      computePercent: 100,
      maxSlices: milliPerCard,
      healthy: true,
    })),
  }));
}

/** The pods of a list, sorted by name as the published simulator does. */
export function readPods(directory: string, list: PodList): Pod[] {
  return readRows(directory, `openb_pod_list_${list}.csv`)
    .map(podOf)
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

function podOf(row: Readonly<Record<string, string>>): Pod {
  const count = Number(row['num_gpu']);
  const gpuMilliPerCard = count === 0 ? 0 : Number(row['gpu_milli']);
  const models = row['gpu_spec'] ? { models: row['gpu_spec'].split('|') } : {};
  const gpu: GpuRequest =
    gpuMilliPerCard === milliPerCard
      ? { kind: 'whole', count, ...models }
      : { kind: 'slice', count, memoryMiB: gpuMilliPerCard, computePercent: gpuMilliPerCard / 10, ...models };
  return {
    name: row['name'] ?? '',
    cpuMilli: Number(row['cpu_milli']),
    memoryMiB: Number(row['memory_mib']),
    ...(count === 0 ? {} : { gpu }),
    gpuMilli: count * gpuMilliPerCard,
    gpuMilliPerCard,
    ...(row['creation_time'] ? { createdAt: Number(row['creation_time']) } : {}),
    ...(row['deletion_time'] ? { deletedAt: Number(row['deletion_time']) } : {}),
  };
}

/**
 * The arrivals of a run: the list shuffled, then tuned to ask for 130 % of the GPUs: pods drawn with
 * replacement are appended, or, where the list asks for more, pods drawn at random taken away.
 * Appending ends when the next pod's milli *per card* would pass the mark, as published.
 */
export function arrivalsOf(pods: readonly Pod[], capacityMilli: number, random: SeededRandom): Pod[] {
  const arrivals = random.shuffled(pods);
  const mark = capacityMilli * 1.3;
  let asked = arrivals.reduce((sum, pod) => sum + pod.gpuMilli, 0);
  if (asked > mark) {
    while (asked > mark) {
      const [gone] = arrivals.splice(random.below(arrivals.length), 1);
      asked -= gone?.gpuMilli ?? 0;
    }
    return arrivals;
  }
  for (;;) {
    const pod = pods[random.below(pods.length)];
    if (pod === undefined || asked + pod.gpuMilliPerCard > mark) return arrivals;
    asked += pod.gpuMilli;
    arrivals.push(pod);
  }
}

/** Published unallocated GPU in percent of each list: mean over ten seeds when so much has arrived. */
export function readPublished(directory: string, policy: string): Map<string, Unallocated> {
  const sums = new Map<string, { runs: number; at95: number; at100: number; at130: number }>();
  for (const row of readRows(directory, 'fgd_expected_summary.csv')) {
    if (row['policy'] !== policy) continue;
    const list = row['workload'] ?? '';
    const sum = sums.get(list) ?? { runs: 0, at95: 0, at100: 0, at130: 0 };
    sums.set(list, sum);
    sum.runs++;
    sum.at95 += 100 - Number(row['alloc_pct_at_95']);
    sum.at100 += 100 - Number(row['alloc_pct_at_100']);
    sum.at130 += 100 - Number(row['alloc_pct_at_130']);
  }
  return new Map(
    [...sums].map(([list, { runs, at95, at100, at130 }]) => [
      list,
      { at95: at95 / runs, at100: at100 / runs, at130: at130 / runs },
    ]),
  );
}

/** Percent of the GPUs that nobody holds when requests for 95, 100 and 130 % of them have arrived. */
export interface Unallocated {
  readonly at95: number;
  readonly at100: number;
  readonly at130: number;
}

function readRows(directory: string, file: string): Record<string, string>[] {
  const [header = '', ...lines] = readFileSync(join(directory, file), 'utf8').trim().split(/\r?\n/);
  const names = header.split(',');
  return lines.map((line) => {
    const values = line.split(',');
    return Object.fromEntries(names.map((name, i) => [name, values[i] ?? '']));
  });
}
