import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { printTable } from '../lib/statistics.js';
import { runArrivals } from './arrivals.js';
import { type PodList, podLists, readHosts, readPods, readPublished, type Unallocated } from './openb.js';
import { type PolicyName, policies, policyNames } from './policies.js';
import { boundAt100 } from './published.js';

/*
 * GPU left unallocated by placement policies on the openb trace, by the protocol of the FGD paper.
 * Prints a table for each list of pods and writes all numbers to a file.
 */

const firstSeed = 42;
const { values: options } = parseArgs({
  options: {
    traces: { type: 'string' },
    quick: { type: 'boolean', default: false },
    seeds: { type: 'string' },
    lists: { type: 'string' },
    policies: { type: 'string' },
    json: { type: 'string', default: 'bench/dist/placement.json' },
  },
});

const directory = options.traces ?? process.env['EGS_TRACES'];
if (directory === undefined) throw new Error('name the directory of the openb trace: --traces or EGS_TRACES');
const seedCount = Number(options.seeds ?? (options.quick ? 2 : 10));
const lists = chosen(
  podLists,
  options.lists ?? (options.quick ? 'default,gpushare100,gpuspec33' : undefined),
);
const names = chosen(policyNames, options.policies ?? (options.quick ? 'OpenEGS,FGD,BestFit' : undefined));

interface Result extends Unallocated {
  readonly list: PodList;
  readonly policy: PolicyName;
  /** At 100 %: standard deviation over the seeds. */
  readonly deviation: number;
  readonly meanDecisionMs: number;
}

/** Where the authors' results use another name. */
const publishedNames: Partial<Record<PolicyName, string>> = {
  Packing: 'GpuPacking',
  Clustering: 'GpuClustering',
};
const hosts = readHosts(directory);
const published = new Map(
  names.map((name) => [name, readPublished(directory, publishedNames[name] ?? name)]),
);
const results: Result[] = [];
for (const list of lists) {
  const pods = readPods(directory, list);
  const ofList = names.map((policy): Result => {
    const runs = Array.from({ length: seedCount }, (_, index) =>
      runArrivals(hosts, pods, firstSeed + index, (random) => policies[policy](pods, random)),
    );
    const at100 = mean(runs.map((run) => run.at100));
    return {
      list,
      policy,
      at95: mean(runs.map((run) => run.at95)),
      at100,
      at130: mean(runs.map((run) => run.at130)),
      deviation: Math.sqrt(mean(runs.map((run) => (run.at100 - at100) ** 2))),
      meanDecisionMs: mean(runs.map((run) => run.meanDecisionMs)),
    };
  });
  results.push(...ofList);
  printList(list, ofList);
}
writeFileSync(
  options.json,
  `${JSON.stringify({ firstSeed, seedCount, boundAt100, results }, undefined, 2)}\n`,
);
console.log(`\nAll numbers: ${options.json}`);

function printList(list: PodList, ofList: readonly Result[]): void {
  const fgd = ofList.find(({ policy }) => policy === 'FGD');
  console.log(
    `\n${list}: GPU unallocated, %, mean of ${seedCount} seeds; bound at 100 %: ${boundAt100[list]}`,
  );
  printTable(
    ofList.map((result) => {
      const paper = published.get(result.policy)?.get(list);
      return {
        policy: result.policy,
        '95 %': result.at95.toFixed(2),
        '100 %': `${result.at100.toFixed(2)} ±${result.deviation.toFixed(2)}`,
        '130 %': result.at130.toFixed(2),
        published:
          paper === undefined
            ? ''
            : [paper.at95, paper.at100, paper.at130].map((x) => x.toFixed(2)).join(' '),
        'of FGD': fgd === undefined ? '' : (result.at100 / fgd.at100).toFixed(2),
        'of bound': (result.at100 / boundAt100[list]).toFixed(2),
        'CPU ms a decision': result.meanDecisionMs.toFixed(3),
      };
    }),
  );
}

function mean(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
}

function chosen<T extends string>(all: readonly T[], wanted: string | undefined): readonly T[] {
  if (wanted === undefined) return all;
  return wanted.split(',').map((name) => {
    const found = all.find((one) => one === name);
    if (found === undefined) throw new Error(`${name} is not one of ${all.join(', ')}`);
    return found;
  });
}
