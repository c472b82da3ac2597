import type { Action } from './action.js';
import { queryAvailableInstances } from './bssopenapi/availableInstances.js';
import { describeAvailableResource } from './ecs/availableResource.js';
import { describeCloudAssistantStatus } from './ecs/commands/assistantStatus.js';
import { createCommand, deleteCommand, describeCommands, modifyCommand } from './ecs/commands/commands.js';
import { describeInvocationResults, describeInvocations } from './ecs/commands/describe.js';
import { invokeCommand, runCommand } from './ecs/commands/run.js';
import { describeSendFileResults, sendFile } from './ecs/commands/sendFile.js';
import { stopInvocation } from './ecs/commands/stop.js';
import {
  createImage,
  deleteImage,
  describeImageSharePermission,
  modifyImageAttribute,
  modifyImageSharePermission,
} from './ecs/customImages.js';
import { attachDisk, detachDisk } from './ecs/disks/attach.js';
import { createDisk, deleteDisk } from './ecs/disks/create.js';
import { describeDisks } from './ecs/disks/describe.js';
import {
  modifyDiskAttribute,
  modifyDiskSpec,
  reInitDisk,
  resetDisk,
  resizeDisk,
} from './ecs/disks/modify.js';
import { describeImageFromFamily, describeImages } from './ecs/images.js';
import {
  describeInstanceAttribute,
  describeInstanceStatus,
  describeInstances,
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
import {
  allocatePublicIpAddress,
  modifyInstanceNetworkSpec,
  releasePublicIpAddress,
} from './ecs/instances/publicAddresses.js';
import { createInstance, runInstances } from './ecs/instances/run.js';
import { modifyInstanceVpcAttribute } from './ecs/instances/vpcAttribute.js';
import { describeInstanceTypeFamilies, describeInstanceTypes } from './ecs/instanceTypes.js';
import { attachKeyPair, detachKeyPair } from './ecs/keyPairBinding.js';
import { createKeyPair, deleteKeyPairs, describeKeyPairs, importKeyPair } from './ecs/keyPairs.js';
import {
  assignIpv6Addresses,
  assignPrivateIpAddresses,
  unassignIpv6Addresses,
  unassignPrivateIpAddresses,
} from './ecs/networkInterfaces/addresses.js';
import { attachNetworkInterface, detachNetworkInterface } from './ecs/networkInterfaces/attach.js';
import { createNetworkInterface } from './ecs/networkInterfaces/create.js';
import {
  describeNetworkInterfaceAttribute,
  describeNetworkInterfaces,
} from './ecs/networkInterfaces/describe.js';
import { deleteNetworkInterface, modifyNetworkInterfaceAttribute } from './ecs/networkInterfaces/modify.js';
import {
  createPrefixList,
  deletePrefixList,
  describePrefixListAssociations,
  describePrefixListAttributes,
  describePrefixLists,
  modifyPrefixList,
} from './ecs/prefixLists.js';
import { describeRegions, describeZones } from './ecs/regions.js';
import { describeSecurityGroupAttribute, describeSecurityGroups } from './ecs/securityGroups/describe.js';
import {
  createSecurityGroup,
  deleteSecurityGroup,
  describeSecurityGroupReferences,
  modifySecurityGroupAttribute,
  modifySecurityGroupPolicy,
} from './ecs/securityGroups/groups.js';
import { joinSecurityGroup, leaveSecurityGroup } from './ecs/securityGroups/members.js';
import {
  authorizeSecurityGroup,
  authorizeSecurityGroupEgress,
  modifySecurityGroupEgressRule,
  modifySecurityGroupRule,
  revokeSecurityGroup,
  revokeSecurityGroupEgress,
} from './ecs/securityGroups/rules.js';
import { describeSnapshots } from './ecs/snapshots/describe.js';
import { createSnapshot, deleteSnapshot, modifySnapshotAttribute } from './ecs/snapshots/snapshots.js';
import { describeTags, listTagResources } from './ecs/tagQueries.js';
import { addTags, removeTags, tagResources, untagResources } from './ecs/tags.js';
import { describeEndpoints } from './location/endpoints.js';
import { getCallerIdentity } from './sts/callerIdentity.js';
import { vpcActions } from './vpc/index.js';

/** Every action that is mounted, by product. `api-actions` in the tests compares it with what clients call. */
export const actions: readonly Action[] = [
  // STS
  getCallerIdentity,

  // Location and BSS: what Terraform asks before it begins
  describeEndpoints,
  queryAvailableInstances,

  // VPC
  ...vpcActions,

  // ECS: networks
  describeSecurityGroups,
  describeSecurityGroupAttribute,
  describeSecurityGroupReferences,
  createSecurityGroup,
  deleteSecurityGroup,
  modifySecurityGroupAttribute,
  modifySecurityGroupPolicy,
  authorizeSecurityGroup,
  authorizeSecurityGroupEgress,
  revokeSecurityGroup,
  revokeSecurityGroupEgress,
  modifySecurityGroupRule,
  modifySecurityGroupEgressRule,
  joinSecurityGroup,
  leaveSecurityGroup,
  createNetworkInterface,
  describeNetworkInterfaces,
  describeNetworkInterfaceAttribute,
  modifyNetworkInterfaceAttribute,
  deleteNetworkInterface,
  attachNetworkInterface,
  detachNetworkInterface,
  assignPrivateIpAddresses,
  unassignPrivateIpAddresses,
  assignIpv6Addresses,
  unassignIpv6Addresses,

  createPrefixList,
  describePrefixLists,
  describePrefixListAttributes,
  describePrefixListAssociations,
  modifyPrefixList,
  deletePrefixList,

  // ECS: regions and what they offer
  describeRegions,
  describeZones,
  describeInstanceTypes,
  describeInstanceTypeFamilies,
  describeAvailableResource,

  // ECS: images
  describeImages,
  describeImageFromFamily,
  createImage,
  modifyImageAttribute,
  modifyImageSharePermission,
  describeImageSharePermission,
  deleteImage,

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
  modifyInstanceVpcAttribute,
  modifyInstanceNetworkSpec,
  allocatePublicIpAddress,
  releasePublicIpAddress,

  // ECS: disks and snapshots
  createDisk,
  describeDisks,
  attachDisk,
  detachDisk,
  deleteDisk,
  modifyDiskAttribute,
  modifyDiskSpec,
  resizeDisk,
  reInitDisk,
  resetDisk,
  createSnapshot,
  describeSnapshots,
  modifySnapshotAttribute,
  deleteSnapshot,

  // ECS: key pairs
  createKeyPair,
  importKeyPair,
  describeKeyPairs,
  deleteKeyPairs,
  attachKeyPair,
  detachKeyPair,

  // ECS: tags
  tagResources,
  untagResources,
  listTagResources,
  addTags,
  removeTags,
  describeTags,

  // ECS: Cloud Assistant
  runCommand,
  invokeCommand,
  stopInvocation,
  describeInvocations,
  describeInvocationResults,
  describeCloudAssistantStatus,
  createCommand,
  describeCommands,
  modifyCommand,
  deleteCommand,
  sendFile,
  describeSendFileResults,
];
