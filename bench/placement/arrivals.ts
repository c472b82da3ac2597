import {
  ClusterModel,
  type Host,
  type PlacementPolicy,
  type PlacementRequest,
} from '@openegs/cloud/placement/index';
import { arrivalsOf, type Pod, type Unallocated } from './openb.js';
import { SeededRandom } from './random.js';

/** A policy for one run, told where requests went when it wants to know. */
export interface PolicyUnderTest extends PlacementPolicy {
  placed?(hostId: string, request: PlacementRequest): void;
}

export interface RunResult extends Unallocated {
  /** CPU time of deciding and taking, collector included: a busy machine does not show. */
  readonly meanDecisionMs: number;
}

/**
 * The protocol of the FGD paper's artefact: pods arrive in random order until they have asked for
 * 130 % of the GPUs; each is placed at once or has failed for good; nothing ends. Hosts stand in a
 * random but fixed order, which decides among equal scores.
 */
export function runArrivals(
  hosts: readonly Host[],
  pods: readonly Pod[],
  seed: number,
  policyOf: (random: SeededRandom) => PolicyUnderTest,
): RunResult {
  const policy = policyOf(new SeededRandom(seed + 1_000_000));
  const model = new ClusterModel({ fragmentation: policy });
  for (const host of new SeededRandom(seed + 2_000_000).shuffled(hosts)) model.putHost(host);
  const capacityMilli = hosts.reduce((sum, host) => sum + 1000 * host.cards.length, 0);
  const arrivals = arrivalsOf(pods, capacityMilli, new SeededRandom(seed));
  const ratios = new Map<number, { sum: number; count: number }>();
  let arrived = 0;
  let allocated = 0;
  const cpuBefore = process.cpuUsage();
  arrivals.forEach((pod, index) => {
    const { cpuMilli, memoryMiB, gpu } = pod;
    const request: PlacementRequest = {
      cpuMilli,
      memoryMiB,
      diskGiB: 0,
      ...(gpu === undefined ? {} : { gpu }),
    };
    const placement = model.place(request);
    arrived += pod.gpuMilli;
    if (placement.placed) {
      const { hostId, cards } = placement;
      model.take({ owner: String(index), hostId, cards, cpuMilli, memoryMiB, diskGiB: 0 });
      policy.placed?.(hostId, request);
      allocated += pod.gpuMilli;
    }
    const percent = Math.round((100 * arrived) / capacityMilli);
    const ratio = ratios.get(percent) ?? { sum: 0, count: 0 };
    ratios.set(percent, ratio);
    ratio.sum += (100 * allocated) / capacityMilli;
    ratio.count++;
  });
  const { user, system } = process.cpuUsage(cpuBefore);
  const unallocatedAt = (percent: number): number => {
    const ratio = ratios.get(percent);
    if (ratio === undefined) throw new Error(`no request arrived at ${percent} %`);
    return 100 - ratio.sum / ratio.count;
  };
  return {
    at95: unallocatedAt(95),
    at100: unallocatedAt(100),
    at130: unallocatedAt(130),
    meanDecisionMs: (user + system) / 1000 / arrivals.length,
  };
}
