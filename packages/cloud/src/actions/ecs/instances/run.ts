import { ecs } from '@openegs/schema';
import type { Fail } from '../../../domain/errors.js';
import { isWellFormedPassword } from '../../../domain/instance.js';
import { hashPassword } from '../../../domain/password.js';
import { defineAction } from '../../action.js';
import { launchErrors, launchInstances } from './launch.js';
import type { LaunchInterfacesInput } from './launchInterfaces.js';
import type { LaunchNetworkInput } from './launchNetwork.js';
import { allocatePublicAddress } from './publicAddresses.js';

/** Parameters that would change the result, and that the cloud does not honour yet. */
const notBuiltYet = {
  launchTemplateId: 'LaunchTemplateId',
  launchTemplateName: 'LaunchTemplateName',
  dedicatedHostId: 'DedicatedHostId',
  deploymentSetId: 'DeploymentSetId',
  hpcClusterId: 'HpcClusterId',
  ipv6Address: 'Ipv6Address',
  ipv6AddressCount: 'Ipv6AddressCount',
  ramRoleName: 'RamRoleName',
  storageSetId: 'StorageSetId',
} as const;

export const runInstances = defineAction(ecs.RunInstances, {
  errors: [
    ...launchErrors,
    'InvalidHostname.SingleAndMultiConflict',
    'InvalidHostname.SizeInvalid',
    'InvalidMinAmount.Malformed',
    'InvalidOperation.PublicIpAddressNoStock',
  ],
  prepare: async (input, { fail }) => preparePassword(input.password, fail),
  async change(input, context) {
    const { fail } = context;
    refuseNotBuilt(input, fail);
    const amount = input.amount ?? 1;
    const minAmount = input.minAmount ?? amount;
    if (minAmount < 1 || minAmount > amount) fail('InvalidMinAmount.Malformed');
    if (input.hostNames !== undefined) {
      if (input.hostName !== undefined) fail('InvalidHostname.SingleAndMultiConflict');
      if (input.hostNames.length !== amount) fail('InvalidHostname.SizeInvalid');
    }
    if (input.privateIpAddress !== undefined && amount > 1) {
      fail('InvalidParameter.Conflict', { parameters: 'PrivateIpAddress and an Amount above 1' });
    }
    const created = await launchInstances(
      { ...input, ...readInterfaces(input, fail), passwordHash: context.prepared },
      { amount, minAmount, targetStatus: 'Running' },
      context,
    );
    if ((input.internetMaxBandwidthOut ?? 0) > 0) {
      for (const id of created) await allocatePublicAddress(id, context);
    }
    return { instanceIdSets: { instanceIdSet: created } };
  },
});

export const createInstance = defineAction(ecs.CreateInstance, {
  errors: launchErrors,
  prepare: async (input, { fail }) => preparePassword(input.password, fail),
  async change(input, context) {
    refuseNotBuilt(input, context.fail);
    const [instanceId] = await launchInstances(
      { ...input, passwordHash: context.prepared },
      { amount: 1, minAmount: 1, targetStatus: 'Stopped' },
      context,
    );
    return { instanceId };
  },
});

async function preparePassword(
  password: string | undefined,
  fail: Fail<'InvalidPassword.Malformed'>,
): Promise<string | undefined> {
  if (password === undefined) return undefined;
  if (!isWellFormedPassword(password)) fail('InvalidPassword.Malformed');
  return hashPassword(password);
}

function refuseNotBuilt(
  input: { readonly [Key in keyof typeof notBuiltYet]?: unknown },
  fail: Fail<'InvalidParameter'>,
): void {
  for (const [key, parameter] of Object.entries(notBuiltYet)) {
    const value = input[key as keyof typeof notBuiltYet];
    if (value !== undefined && !(Array.isArray(value) && value.length === 0)) {
      fail('InvalidParameter', { parameter, reason: 'this cloud has not built it yet.' });
    }
  }
}

/**
 * The newer way to say where the instance is plugged in: a primary network interface instead of VSwitchId,
 * SecurityGroupIds and PrivateIpAddress (Terraform and the console use it), and a secondary one.
 */
function readInterfaces(
  input: ecs.RunInstancesRequest,
  fail: Fail<'InvalidParameter' | 'InvalidParameter.Conflict'>,
): LaunchInterfacesInput & LaunchNetworkInput {
  const interfaces = input.networkInterface ?? [];
  // Secondary is the documented default.
  const [primary, ...otherPrimaries] = interfaces.filter((nic) => nic.instanceType === 'Primary');
  const [secondaryInterface, ...others] = interfaces.filter((nic) => nic.instanceType !== 'Primary');
  if (otherPrimaries.length > 0 || others.length > 0) {
    fail('InvalidParameter', {
      parameter: 'NetworkInterface',
      reason: 'an instance is made with one primary interface and at most one secondary one.',
    });
  }
  for (const nic of interfaces) checkInterface(nic, fail);
  if (primary && (input.vSwitchId !== undefined || input.securityGroupId !== undefined)) {
    fail('InvalidParameter.Conflict', {
      parameters: 'NetworkInterface, VSwitchId and SecurityGroupId',
    });
  }
  if ((input.amount ?? 1) > 1) {
    for (const nic of interfaces) {
      if (nic.networkInterfaceId === undefined && nic.primaryIpAddress === undefined) continue;
      fail('InvalidParameter.Conflict', {
        parameters: 'NetworkInterfaceId or PrimaryIpAddress, and an Amount above 1',
      });
    }
  }
  return {
    ...(secondaryInterface === undefined ? {} : { secondaryInterface }),
    ...(primary === undefined
      ? {}
      : {
          vSwitchId: primary.vSwitchId,
          securityGroupId: primary.securityGroupId,
          securityGroupIds: primary.securityGroupIds ?? input.securityGroupIds,
          privateIpAddress: primary.primaryIpAddress ?? input.privateIpAddress,
          secondaryPrivateIpAddressCount: primary.secondaryPrivateIpAddressCount,
        }),
  };
}

function checkInterface(
  nic: ecs.RunInstancesRequestNetworkInterface,
  fail: Fail<'InvalidParameter' | 'InvalidParameter.Conflict'>,
): void {
  const refuse = (parameter: string, reason: string): never =>
    fail('InvalidParameter', { parameter: `NetworkInterface.${parameter}`, reason });
  if (!['Primary', 'Secondary'].includes(nic.instanceType ?? 'Secondary')) {
    refuse('InstanceType', 'it is Primary or Secondary.');
  }
  if (nic.instanceType === 'Primary' && nic.networkInterfaceId !== undefined) {
    refuse('NetworkInterfaceId', 'only a secondary interface can be one that there is.');
  }
  if (nic.networkInterfaceTrafficMode === 'HighPerformance') {
    refuse('NetworkInterfaceTrafficMode', 'this cloud has no RDMA interfaces.');
  }
  if ((nic.ipv6Address?.length ?? 0) > 0 || nic.ipv6AddressCount !== undefined) {
    refuse('Ipv6Address', 'this cloud has no IPv6.');
  }
  const { networkInterfaceId, vSwitchId, primaryIpAddress, securityGroupId, securityGroupIds } = nic;
  const settings = [vSwitchId, primaryIpAddress, securityGroupId, securityGroupIds];
  if (networkInterfaceId !== undefined && settings.some((setting) => setting !== undefined)) {
    fail('InvalidParameter.Conflict', { parameters: 'NetworkInterfaceId and settings of a new interface' });
  }
}
