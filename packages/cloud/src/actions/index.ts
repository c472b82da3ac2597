import type { Action } from './action.js';
import { describeRegions } from './ecs/regions.js';
import { getCallerIdentity } from './sts/callerIdentity.js';

/** Every action that is mounted, by product. `api-actions` in the tests compares it with what clients call. */
export const actions: readonly Action[] = [
  // STS
  getCallerIdentity,

  // ECS: regions
  describeRegions,
];
