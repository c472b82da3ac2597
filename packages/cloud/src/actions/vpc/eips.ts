import { vpc } from '@openegs/schema';
import type { ErrorCode, Fail } from '../../domain/errors.js';
import { createId, type EipId, type VpcId } from '../../domain/ids.js';
import { isIpv4Cidr } from '../../domain/network/cidr.js';
import type { TagInput } from '../../domain/tags.js';
import { countRows } from '../../store/countRows.js';
import { findEip, findPublicAddress, isPoolAddress } from '../../store/eips.js';
import type { Eip } from '../../store/tables.js';
import { deleteTags } from '../../store/tags.js';
import { toSecondsTime } from '../../store/times.js';
import { type ChangeContext, defineAction } from '../action.js';
import { checkVpcTags, putVpcTags, vpcTagErrors } from './tagRules.js';

/** Mbit/s of an EIP that was allocated without (AllocateEipAddress, parameter Bandwidth). */
const defaultBandwidthMbits = 5;

/** Most Mbit/s, by how the EIP is paid for. */
function maxBandwidthMbits(chargeType: string, internetChargeType: string): number {
  if (chargeType === 'PrePaid') return 1000;
  return internetChargeType === 'PayByTraffic' ? 200 : 500;
}

function checkBandwidth(
  eip: Pick<Eip, 'chargeType' | 'internetChargeType'>,
  text: string,
  fail: Fail<'InvalidBandwidth.Malformed'>,
): number {
  const max = maxBandwidthMbits(eip.chargeType, eip.internetChargeType);
  const bandwidth = Number(text);
  if (!Number.isInteger(bandwidth) || bandwidth < 1 || bandwidth > max) {
    fail('InvalidBandwidth.Malformed', { max });
  }
  return bandwidth;
}

function checkTexts(
  input: { readonly name?: string | undefined; readonly description?: string | undefined },
  fail: Fail<'InvalidEipAddressName.Malformed' | 'InvalidDescription.Malformed'>,
): void {
  if (input.name && !/^\p{L}[\p{L}\p{N}._-]{0,127}$/u.test(input.name)) {
    fail('InvalidEipAddressName.Malformed');
  }
  if (input.description && !/^(?!https?:\/\/)\p{L}[\s\S]{1,255}$/u.test(input.description)) {
    fail('InvalidDescription.Malformed');
  }
}

const allocateErrors = [
  ...vpcTagErrors,
  'IllegalParam.Isp',
  'InvalidBandwidth.Malformed',
  'InvalidDescription.Malformed',
  'InvalidEipAddressName.Malformed',
  'Ip.Allocated',
  'OperationFailed.ResourceNotEnough',
  'QuotaExceeded.Eip',
  'ResourceNotFound.Ip',
  'ResourceNotFound.PublicIpAddressPool',
] as const satisfies readonly ErrorCode[];

interface AllocateInput {
  readonly bandwidth?: string | undefined;
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  readonly ISP?: string | undefined;
  readonly netmode?: string | undefined;
  readonly instanceId?: string | undefined;
  readonly ipAddress?: string | undefined;
  readonly publicIpAddressPoolId?: string | undefined;
  readonly instanceChargeType?: string | undefined;
  readonly internetChargeType?: string | undefined;
  readonly securityProtectionTypes?: readonly string[] | undefined;
  readonly resourceGroupId?: string | undefined;
  readonly tag?: readonly TagInput[] | undefined;
}

async function allocate(input: AllocateInput, context: ChangeContext<(typeof allocateErrors)[number]>) {
  const { tx, caller, regionId, cloud, fail } = context;
  const scope = { accountId: caller.accountId, regionId };
  const chargeType = oneOf('InstanceChargeType', input.instanceChargeType, ['PostPaid', 'PrePaid'], fail);
  const charges = ['PayByBandwidth', 'PayByTraffic'];
  const internetChargeType = oneOf('InternetChargeType', input.internetChargeType, charges, fail);
  oneOf('Netmode', input.netmode, ['public'], fail);
  if (input.ISP !== undefined && input.ISP !== 'BGP') fail('IllegalParam.Isp', { isp: input.ISP });
  const pool = input.publicIpAddressPoolId;
  if (pool !== undefined) fail('ResourceNotFound.PublicIpAddressPool', { id: pool });
  if ((input.securityProtectionTypes ?? []).length > 0 || input.instanceId !== undefined) {
    fail('InvalidParameter', {
      parameter: input.instanceId === undefined ? 'SecurityProtectionTypes' : 'InstanceId',
      reason: 'this cloud has not built it yet.',
    });
  }
  checkTexts(input, fail);
  const paid = { chargeType, internetChargeType };
  const bandwidthMbits = checkBandwidth(paid, input.bandwidth ?? String(defaultBandwidthMbits), fail);
  const tags = checkVpcTags(input.tag, fail);
  await checkQuota(context);
  const address = await chooseAddress(input.ipAddress, context);
  const id = createId('eip', cloud.catalog.getRegion(regionId).code);
  await tx.db
    .insertInto('eips')
    .values({
      ...scope,
      ...paid,
      id,
      owner: 'account',
      address,
      name: input.name ?? '',
      description: input.description ?? '',
      bandwidthMbits,
      status: 'Available',
      creationTime: toSecondsTime(tx.now),
      resourceGroupId: input.resourceGroupId ?? '',
    })
    .execute();
  await putVpcTags(tx, scope, { resourceType: 'eip', resourceId: id }, tags, fail);
  await tx.record({ resourceType: 'eip', resourceId: id, action: 'AllocateEipAddress', after: { address } });
  return { allocationId: id, eipAddress: address, resourceGroupId: input.resourceGroupId ?? '' };
}

/** One of the values, the first of which is the default. */
function oneOf(
  parameter: string,
  value: string | undefined,
  values: readonly string[],
  fail: Fail<'InvalidParameter'>,
): string {
  const [first = ''] = values;
  if (value === undefined || value === '') return first;
  if (!values.includes(value)) {
    fail('InvalidParameter', { parameter, reason: `it is not one of ${values.join(', ')}.` });
  }
  return value;
}

async function checkQuota({
  tx,
  caller,
  regionId,
  cloud,
  fail,
}: ChangeContext<'QuotaExceeded.Eip'>): Promise<void> {
  const total = await countRows(
    tx.db
      .selectFrom('eips')
      .where('accountId', '=', caller.accountId)
      .where('regionId', '=', regionId)
      .where('owner', '=', 'account'),
  );
  const quota = cloud.config.quotas.eips;
  if (total >= quota) fail('QuotaExceeded.Eip', { quota });
}

async function chooseAddress(
  wished: string | undefined,
  {
    tx,
    cloud,
    fail,
  }: ChangeContext<'Ip.Allocated' | 'OperationFailed.ResourceNotEnough' | 'ResourceNotFound.Ip'>,
): Promise<string> {
  const pools = cloud.config.network.eipPools;
  if (wished === undefined) {
    return (await findPublicAddress(tx, pools)) ?? fail('OperationFailed.ResourceNotEnough');
  }
  if (wished.includes('/') || !isIpv4Cidr(wished) || !isPoolAddress(pools, wished)) {
    fail('ResourceNotFound.Ip', { address: wished });
  }
  const held = await tx.db.selectFrom('eips').select('id').where('address', '=', wished).executeTakeFirst();
  if (held) fail('Ip.Allocated', { address: wished });
  return wished;
}

export const allocateEipAddress = defineAction(vpc.AllocateEipAddress, {
  errors: allocateErrors,
  change: allocate,
});

export const allocateEipAddressPro = defineAction(vpc.AllocateEipAddressPro, {
  errors: allocateErrors,
  change: allocate,
});

async function getEip(
  id: string,
  { tx, caller, regionId, fail }: ChangeContext<'InvalidAllocationId.NotFound'>,
): Promise<Eip> {
  const eip = await findEip(tx.db, { accountId: caller.accountId, regionId }, id);
  return eip ?? fail('InvalidAllocationId.NotFound', { id });
}

export const modifyEipAddressAttribute = defineAction(vpc.ModifyEipAddressAttribute, {
  errors: [
    'IncorrectEipStatus',
    'InvalidAllocationId.NotFound',
    'InvalidBandwidth.Malformed',
    'InvalidDescription.Malformed',
    'InvalidEipAddressName.Malformed',
  ],
  async change(input, context) {
    const { tx, fail } = context;
    const eip = await getEip(input.allocationId, context);
    checkTexts(input, fail);
    if (eip.status !== 'Available' && eip.status !== 'InUse') {
      fail('IncorrectEipStatus', { id: eip.id, status: eip.status, needed: 'Available or InUse' });
    }
    const after = {
      ...(input.name === undefined ? {} : { name: input.name }),
      ...(input.description === undefined ? {} : { description: input.description }),
      ...(input.bandwidth === undefined
        ? {}
        : { bandwidthMbits: checkBandwidth(eip, input.bandwidth, fail) }),
    };
    if (Object.keys(after).length === 0) return {};
    await tx.db.updateTable('eips').set(after).where('id', '=', eip.id).execute();
    await tx.record({ resourceType: 'eip', resourceId: eip.id, action: 'ModifyEipAddressAttribute', after });
    if (eip.vpcId !== null) tx.wake({ kind: 'vpc', id: eip.vpcId as VpcId });
    return {};
  },
});

export const releaseEipAddress = defineAction(vpc.ReleaseEipAddress, {
  errors: ['IncorrectEipStatus', 'InvalidAllocationId.NotFound', 'InvalidOperation.DeletionProtection'],
  async change({ allocationId }, context) {
    const { tx, fail } = context;
    const eip = await getEip(allocationId, context);
    if (eip.deletionProtection === 1) fail('InvalidOperation.DeletionProtection', { id: eip.id });
    if (eip.status !== 'Available') {
      fail('IncorrectEipStatus', { id: eip.id, status: eip.status, needed: 'Available' });
    }
    await tx.db
      .deleteFrom('eips')
      .where('id', '=', eip.id as EipId)
      .execute();
    await deleteTags(tx, 'eip', [eip.id]);
    await tx.record({ resourceType: 'eip', resourceId: eip.id, action: 'ReleaseEipAddress' });
    return {};
  },
});

/** The guest of this cloud never sees its EIP on its own card: the other modes cannot be had. */
export const modifyEipForwardMode = defineAction(vpc.ModifyEipForwardMode, {
  errors: ['IllegalParam.Mode', 'InvalidAllocationId.NotFound'],
  async change({ instanceId, mode }, context) {
    await getEip(instanceId, context);
    if (mode !== 'NAT') context.fail('IllegalParam.Mode');
    return {};
  },
});

export const setHighDefinitionMonitorLogStatus = defineAction(vpc.SetHighDefinitionMonitorLogStatus, {
  errors: ['InvalidAction.NotSupport', 'InvalidAllocationId.NotFound'],
  async change({ instanceId, status }, context) {
    await getEip(instanceId, context);
    if (status !== 'OFF') context.fail('InvalidAction.NotSupport');
    return { success: 'true' };
  },
});

export const describeHighDefinitionMonitorLogAttribute = defineAction(
  vpc.DescribeHighDefinitionMonitorLogAttribute,
  {
    errors: ['InvalidAllocationId.NotFound'],
    async read({ instanceId }, { db, caller, regionId, fail }) {
      const eip = await findEip(db, { accountId: caller.accountId, regionId }, instanceId);
      if (!eip) fail('InvalidAllocationId.NotFound', { id: instanceId });
      return { instanceId, instanceType: 'EIP', logProject: '', logStore: '', success: 'true' };
    },
  },
);
