import { ecs } from '@openegs/schema';
import type { Fail } from '../../../domain/errors.js';
import { isWellFormedPassword } from '../../../domain/instance.js';
import { hashPassword } from '../../../domain/password.js';
import { defineAction } from '../../action.js';
import { type LaunchInput, launchErrors, launchInstances } from './launch.js';
import { allocatePublicAddress } from './publicAddresses.js';

/** Parameters that would change the result, and that the cloud does not honour yet. */
const notBuiltYet = {
  dataDisk: 'DataDisk',
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
      { ...input, ...readPrimaryInterface(input, fail), passwordHash: context.prepared },
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
 * The newer way to say where the instance is plugged in: one primary network interface instead of
 * VSwitchId, SecurityGroupIds and PrivateIpAddress (Terraform and the console use it).
 */
function readPrimaryInterface(
  input: ecs.RunInstancesRequest,
  fail: Fail<'InvalidParameter' | 'InvalidParameter.Conflict'>,
): Pick<LaunchInput, 'vSwitchId' | 'securityGroupId' | 'securityGroupIds' | 'privateIpAddress'> {
  const [primary, ...others] = input.networkInterface ?? [];
  if (!primary) return {};
  if (others.length > 0 || primary.networkInterfaceId || primary.instanceType === 'Secondary') {
    fail('InvalidParameter', {
      parameter: 'NetworkInterface',
      reason: 'secondary network interfaces at creation are not built yet.',
    });
  }
  if (input.vSwitchId !== undefined || input.securityGroupId !== undefined) {
    fail('InvalidParameter.Conflict', {
      parameters: 'NetworkInterface, VSwitchId and SecurityGroupId',
    });
  }
  return {
    vSwitchId: primary.vSwitchId,
    securityGroupId: primary.securityGroupId,
    securityGroupIds: primary.securityGroupIds ?? input.securityGroupIds,
    privateIpAddress: primary.primaryIpAddress ?? input.privateIpAddress,
  };
}
