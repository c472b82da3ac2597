import type { Action } from './action.js';
import {
  describeInstanceAttribute,
  describeInstances,
  describeInstanceStatus,
  describeUserData,
} from './ecs/instances/describe.js';
import {
  deleteInstance,
  deleteInstances,
  rebootInstance,
  rebootInstances,
  startInstance,
  startInstances,
  stopInstance,
  stopInstances,
} from './ecs/instances/lifecycle.js';
import {
  modifyInstanceAttribute,
  modifyInstanceAutoReleaseTime,
  modifyInstanceMetadataOptions,
  modifyInstanceSpec,
} from './ecs/instances/modify.js';
import { createInstance, runInstances } from './ecs/instances/run.js';
import { attachKeyPair, detachKeyPair } from './ecs/keyPairBinding.js';
import { createKeyPair, deleteKeyPairs, describeKeyPairs, importKeyPair } from './ecs/keyPairs.js';
import { describeRegions } from './ecs/regions.js';
import { getCallerIdentity } from './sts/callerIdentity.js';

/** Every action that is mounted, by product. `api-actions` in the tests compares it with what clients call. */
export const actions: readonly Action[] = [
  // STS
  getCallerIdentity,

  // ECS: regions
  describeRegions,

  // ECS: instances
  runInstances,
  createInstance,
  describeInstances,
  describeInstanceStatus,
  describeInstanceAttribute,
  describeUserData,
  startInstance,
  startInstances,
  stopInstance,
  stopInstances,
  rebootInstance,
  rebootInstances,
  deleteInstance,
  deleteInstances,
  modifyInstanceAttribute,
  modifyInstanceSpec,
  modifyInstanceAutoReleaseTime,
  modifyInstanceMetadataOptions,

  // ECS: key pairs
  createKeyPair,
  importKeyPair,
  describeKeyPairs,
  deleteKeyPairs,
  attachKeyPair,
  detachKeyPair,
];
