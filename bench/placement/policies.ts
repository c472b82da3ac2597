import { FragmentationPolicy } from '@openegs/cloud/placement/index';
import type { PolicyUnderTest } from './arrivals.js';
import type { Pod } from './openb.js';
import { FgdPeer } from './peers/fgd.js';
import { BestFitPeer, ClusteringPeer, DotProdPeer, PackingPeer, RandomPeer } from './peers/simple.js';
import type { SeededRandom } from './random.js';

/** Makes a policy for one run over the pods of a list. */
export type PolicyMaker = (pods: readonly Pod[], random: SeededRandom) => PolicyUnderTest;

/** Ours learns the mix of requests as they arrive; `OpenEGS told` and FGD know it from the start. */
export const policies = {
  OpenEGS: () => new FragmentationPolicy(),
  'OpenEGS told': (pods) => {
    const policy = new FragmentationPolicy();
    for (const pod of pods) policy.demand.observe(pod);
    return policy;
  },
  FGD: (pods) => new FgdPeer(pods),
  BestFit: () => new BestFitPeer(),
  Packing: () => new PackingPeer(),
  Clustering: () => new ClusteringPeer(),
  DotProd: () => new DotProdPeer(),
  Random: (_pods, random) => new RandomPeer(random),
} satisfies Record<string, PolicyMaker>;

export type PolicyName = keyof typeof policies;
export const policyNames = Object.keys(policies) as PolicyName[];
