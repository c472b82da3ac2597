import { vpc } from '@openegs/schema';
import type { ErrorCode } from '../../domain/errors.js';
import type { NatGatewayId, NetworkInterfaceId, VpcId } from '../../domain/ids.js';
import { findEip, getPrimaryInterface, unassociateEips } from '../../store/eips.js';
import { findInstance } from '../../store/instances.js';
import { findEipUse, removeEipFromEntries } from '../../store/natGateways.js';
import type { Eip } from '../../store/tables.js';
import { type ChangeContext, defineAction } from '../action.js';

const targetErrors = [
  'EIP_CAN_NOT_ASSOCIATE_WITH_PUBLIC_IP',
  'Eni.Attached',
  'IllegalParam.Mode',
  'IncorrectInstanceStatus',
  'InvalidAssociation.Duplicated',
  'InvalidInstanId.NotFound',
  'InvalidParameter.InstanceTypeNotSupport',
  'OperationFailed.PrivateIpAddressNotExist',
] as const satisfies readonly ErrorCode[];

type TargetContext = ChangeContext<(typeof targetErrors)[number]>;

interface TargetInput {
  readonly instanceId: string;
  readonly privateIpAddress?: string | undefined;
  readonly mode?: string | undefined;
}

/** What of an EIP's row tells the thing that it is associated with. */
type Target = Pick<Eip, 'instanceType' | 'instanceId' | 'networkInterfaceId' | 'privateAddress'> & {
  readonly vpcId: VpcId;
};

async function readTarget(instanceType: string, input: TargetInput, context: TargetContext): Promise<Target> {
  switch (instanceType) {
    case 'EcsInstance':
      return readInstance(input, context);
    case 'NetworkInterface':
      return readInterface(input, context);
    case 'Nat':
      return readNatGateway(input, context);
    default:
      return context.fail('InvalidParameter.InstanceTypeNotSupport', { type: instanceType });
  }
}

async function readInstance(input: TargetInput, context: TargetContext): Promise<Target> {
  const { tx, caller, regionId, fail } = context;
  const id = input.instanceId;
  const instance = await findInstance(tx.db, caller.accountId, id);
  if (instance?.regionId !== regionId) return fail('InvalidInstanId.NotFound', { type: 'instance', id });
  if (instance.status !== 'Running' && instance.status !== 'Stopped') {
    fail('IncorrectInstanceStatus', { id, status: instance.status, needed: 'Running or Stopped' });
  }
  const held = await tx.db
    .selectFrom('eips')
    .select('owner')
    .where('instanceId', '=', instance.id)
    .executeTakeFirst();
  if (held?.owner === 'instance') fail('EIP_CAN_NOT_ASSOCIATE_WITH_PUBLIC_IP', { id });
  if (held) fail('InvalidAssociation.Duplicated', { id });
  const primary = await getPrimaryInterface(tx.db, instance.id);
  const privateAddress = await readPrivateAddress(primary.id, input, context);
  return {
    instanceType: 'EcsInstance',
    instanceId: id,
    vpcId: primary.vpcId,
    networkInterfaceId: primary.id,
    privateAddress,
  };
}

async function readInterface(input: TargetInput, context: TargetContext): Promise<Target> {
  const { tx, caller, regionId, fail } = context;
  const id = input.instanceId as NetworkInterfaceId;
  const nic =
    (await tx.db
      .selectFrom('networkInterfaces')
      .select(['vpcId', 'type', 'instanceId'])
      .where('id', '=', id)
      .where('accountId', '=', caller.accountId)
      .where('regionId', '=', regionId)
      .executeTakeFirst()) ?? fail('InvalidInstanId.NotFound', { type: 'network interface', id });
  if (nic.type === 'Primary') fail('Eni.Attached', { id: nic.instanceId ?? '' });
  if (input.mode !== undefined && input.mode !== 'NAT') fail('IllegalParam.Mode');
  const privateAddress = await readPrivateAddress(id, input, context);
  return {
    instanceType: 'NetworkInterface',
    instanceId: id,
    vpcId: nic.vpcId,
    networkInterfaceId: id,
    privateAddress,
  };
}

/** The address of the interface that the EIP stands for: the wished one, else the primary one; it has no other EIP. */
async function readPrivateAddress(
  networkInterfaceId: NetworkInterfaceId,
  { privateIpAddress: wished }: TargetInput,
  { tx, fail }: TargetContext,
): Promise<string> {
  const row = await tx.db
    .selectFrom('privateAddresses')
    .select('address')
    .where('networkInterfaceId', '=', networkInterfaceId)
    .$if(wished === undefined, (query) => query.where('isPrimary', '=', 1))
    .$if(wished !== undefined, (query) => query.where('address', '=', wished ?? ''))
    .executeTakeFirst();
  const { address } = row ?? fail('OperationFailed.PrivateIpAddressNotExist', { address: wished ?? '' });
  const held = await tx.db
    .selectFrom('eips')
    .select('id')
    .where('networkInterfaceId', '=', networkInterfaceId)
    .where('privateAddress', '=', address)
    .executeTakeFirst();
  if (held) fail('InvalidAssociation.Duplicated', { id: networkInterfaceId });
  return address;
}

async function readNatGateway(
  { instanceId: id }: TargetInput,
  { tx, caller, regionId, fail }: TargetContext,
): Promise<Target> {
  const gateway =
    (await tx.db
      .selectFrom('natGateways')
      .select('vpcId')
      .where('id', '=', id as NatGatewayId)
      .where('accountId', '=', caller.accountId)
      .where('regionId', '=', regionId)
      .executeTakeFirst()) ?? fail('InvalidInstanId.NotFound', { type: 'NAT gateway', id });
  return {
    instanceType: 'Nat',
    instanceId: id,
    vpcId: gateway.vpcId,
    networkInterfaceId: null,
    privateAddress: null,
  };
}

export const associateEipAddress = defineAction(vpc.AssociateEipAddress, {
  errors: [...targetErrors, 'IncorrectEipStatus', 'InvalidAllocationId.NotFound'],
  async change(input, context) {
    const { tx, caller, regionId, fail } = context;
    const eip =
      (await findEip(tx.db, { accountId: caller.accountId, regionId }, input.allocationId)) ??
      fail('InvalidAllocationId.NotFound', { id: input.allocationId });
    if (eip.status !== 'Available') {
      fail('IncorrectEipStatus', { id: eip.id, status: eip.status, needed: 'Available' });
    }
    const target = await readTarget(input.instanceType ?? 'EcsInstance', input, context);
    await tx.db
      .updateTable('eips')
      .set({ ...target, status: 'Associating' })
      .where('id', '=', eip.id)
      .execute();
    await tx.record({
      resourceType: 'eip',
      resourceId: eip.id,
      action: 'AssociateEipAddress',
      after: { instanceType: target.instanceType, instanceId: target.instanceId },
    });
    tx.wake({ kind: 'vpc', id: target.vpcId });
    return {};
  },
});

export const unassociateEipAddress = defineAction(vpc.UnassociateEipAddress, {
  errors: [
    'IncorrectEipStatus',
    'InvalidAllocationId.NotFound',
    'InvalidBindInstance.NotFound',
    'InvalidIpStatus.HasBeenUsedByForwardEntry',
    'InvalidIpStatus.HasBeenUsedBySnatTable',
  ],
  async change(input, { tx, caller, regionId, fail }) {
    const eip =
      (await findEip(tx.db, { accountId: caller.accountId, regionId }, input.allocationId)) ??
      fail('InvalidAllocationId.NotFound', { id: input.allocationId });
    if (eip.status !== 'InUse' && eip.status !== 'Associating') {
      fail('IncorrectEipStatus', { id: eip.id, status: eip.status, needed: 'InUse' });
    }
    const { instanceId, instanceType } = input;
    if (instanceId && instanceId !== eip.instanceId) fail('InvalidBindInstance.NotFound', { id: instanceId });
    if (instanceType && instanceType !== eip.instanceType) {
      fail('InvalidBindInstance.NotFound', { id: instanceId ?? instanceType });
    }
    const use = await findEipUse(tx.db, eip.address);
    if (use && input.force !== true) {
      fail(
        use.kind === 'snat'
          ? 'InvalidIpStatus.HasBeenUsedBySnatTable'
          : 'InvalidIpStatus.HasBeenUsedByForwardEntry',
        { id: use.id },
      );
    }
    await removeEipFromEntries(tx, eip.address);
    await unassociateEips(tx, { eipId: eip.id });
    return {};
  },
});
