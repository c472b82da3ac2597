import type { PodList } from './openb.js';

/**
 * The least unallocated GPU, in percent, that any placement could reach when 100 % has arrived and it
 * may know all arrivals and refuse some: a linear programme over the ways to share a card, with CPU
 * and memory pooled per type of host, seed 42.
 */
export const boundAt100: Readonly<Record<PodList, number>> = {
  default: 3.09,
  cpu050: 3.1,
  cpu100: 3.11,
  cpu200: 3.1,
  cpu250: 3.09,
  gpushare40: 4.35,
  gpushare60: 6.65,
  gpushare80: 8.65,
  gpushare100: 10.93,
  multigpu20: 2.64,
  multigpu30: 2.32,
  multigpu40: 2.01,
  multigpu50: 1.64,
  gpuspec10: 3.14,
  gpuspec20: 3.09,
  gpuspec25: 3.12,
  gpuspec33: 3.63,
};
