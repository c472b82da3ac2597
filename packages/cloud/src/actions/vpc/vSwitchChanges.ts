import { vpc } from '@openegs/schema';
import type { ErrorCode, Fail } from '../../domain/errors.js';
import type { ZoneId } from '../../domain/ids.js';
import { cidrContains, cidrsOverlap, prefixLength } from '../../domain/network/cidr.js';
import { findCidrMistake, vSwitchMask } from '../../domain/network/vpcCidr.js';
import { createDefaultVSwitch as createDefaultVSwitchRow } from '../../store/accounts.js';
import type { Transaction } from '../../store/store.js';
import type { Vpc, VSwitch } from '../../store/tables.js';
import { deleteTags } from '../../store/tags.js';
import {
  createVSwitch as createVSwitchRow,
  findVpc,
  findVSwitch,
  listVSwitches,
  vpcCidrs,
} from '../../store/vpcs.js';
import { type ChangeContext, defineAction } from '../action.js';
import { checkVpcTags, putVpcTags, vpcTagErrors } from './tagRules.js';
import { isVpcDescription, isVpcName } from './text.js';

const rangeErrors = [
  'InvalidCidrBlock.Malformed',
  'InvalidCidrBlock.Overlapped',
  'InvalidCirdrBlock.MaskLength',
  'RouteConflict.AlreadyExist',
] as const satisfies readonly ErrorCode[];

const textErrors = [
  'InvalidVSwitchDiscription.Malformed',
  'InvalidVSwitchName.Malformed',
] as const satisfies readonly ErrorCode[];

function checkTexts(
  input: { readonly vSwitchName?: string | undefined; readonly description?: string | undefined },
  fail: Fail<(typeof textErrors)[number]>,
): void {
  if (!isVpcName(input.vSwitchName)) fail('InvalidVSwitchName.Malformed');
  if (!isVpcDescription(input.description)) fail('InvalidVSwitchDiscription.Malformed');
}

/** Inside one range of the VPC, apart from all other vSwitches, not the destination of a route entry. */
async function checkRange(
  { db }: Transaction,
  parent: Vpc,
  cidr: string,
  fail: Fail<(typeof rangeErrors)[number]>,
): Promise<void> {
  const mistake = findCidrMistake(cidr);
  if (mistake !== undefined) fail('InvalidCidrBlock.Malformed', { cidr, reason: mistake });
  const mask = prefixLength(cidr);
  if (mask < vSwitchMask.min || mask > vSwitchMask.max) fail('InvalidCirdrBlock.MaskLength', vSwitchMask);
  if (!vpcCidrs(parent).some((range) => cidrContains(range, cidr))) {
    fail('InvalidCidrBlock.Malformed', { cidr, reason: 'it is in no range of the VPC.' });
  }
  for (const other of await listVSwitches(db, parent.id)) {
    if (cidrsOverlap(other.cidrBlock, cidr)) {
      fail('InvalidCidrBlock.Overlapped', { cidr, other: other.cidrBlock, id: other.id });
    }
  }
  const entry = await db
    .selectFrom('routeEntries as entry')
    .innerJoin('routeTables as table', 'table.id', 'entry.routeTableId')
    .select('entry.id')
    .where('table.vpcId', '=', parent.id)
    .where('entry.destinationCidr', '=', cidr)
    .executeTakeFirst();
  if (entry) fail('RouteConflict.AlreadyExist', { cidr, id: entry.id });
}

async function checkQuota(
  parent: Vpc,
  { tx, cloud, fail }: ChangeContext<'QuotaExceeded.VSwitch'>,
): Promise<void> {
  const quota = cloud.config.quotas.vSwitchesPerVpc;
  if ((await listVSwitches(tx.db, parent.id)).length >= quota) fail('QuotaExceeded.VSwitch', { quota });
}

export const createVSwitch = defineAction(vpc.CreateVSwitch, {
  errors: [
    ...rangeErrors,
    ...textErrors,
    ...vpcTagErrors,
    'InvalidVpcId.NotFound',
    'InvalidZoneId.NotFound',
    'QuotaExceeded.VSwitch',
  ],
  async change(input, context) {
    const { tx, caller, regionId, cloud, fail } = context;
    const scope = { accountId: caller.accountId, regionId };
    const parent =
      (await findVpc(tx.db, scope, input.vpcId)) ?? fail('InvalidVpcId.NotFound', { id: input.vpcId });
    if (!cloud.catalog.hasZone(regionId, input.zoneId)) fail('InvalidZoneId.NotFound', { id: input.zoneId });
    checkTexts(input, fail);
    if (input.ipv6CidrBlock !== undefined || input.vpcIpv6CidrBlock !== undefined) {
      fail('InvalidParameter', { parameter: 'Ipv6CidrBlock', reason: 'this cloud has no IPv6.' });
    }
    const cidrBlock = input.cidrBlock ?? fail('MissingParameter', { parameter: 'CidrBlock' });
    await checkRange(tx, parent, cidrBlock, fail);
    const tags = checkVpcTags(input.tag, fail);
    await checkQuota(parent, context);
    const id = await createVSwitchRow(tx, cloud.catalog.getRegion(regionId).code, parent, {
      zoneId: input.zoneId as ZoneId,
      cidrBlock,
      name: input.vSwitchName ?? '',
      description: input.description ?? '',
    });
    await putVpcTags(tx, scope, { resourceType: 'vswitch', resourceId: id }, tags, fail);
    await tx.record({
      resourceType: 'vSwitch',
      resourceId: id,
      action: 'CreateVSwitch',
      after: { vpcId: parent.id, zoneId: input.zoneId, cidrBlock },
    });
    tx.wake({ kind: 'vpc', id: parent.id });
    return { vSwitchId: id };
  },
});

export const createDefaultVSwitch = defineAction(vpc.CreateDefaultVSwitch, {
  errors: [
    'InvalidZoneId.NotFound',
    'OperationFailed.DefaultVSwitchExist',
    'OperationFailed.DefaultVpcNotExist',
    'QuotaExceeded.VSwitch',
    'ResourceNotAvailable',
  ],
  async change({ zoneId }, context) {
    const { tx, caller, regionId, cloud, fail } = context;
    if (!cloud.catalog.hasZone(regionId, zoneId)) fail('InvalidZoneId.NotFound', { id: zoneId });
    const parent =
      (await tx.db
        .selectFrom('vpcs')
        .selectAll()
        .where('accountId', '=', caller.accountId)
        .where('regionId', '=', regionId)
        .where('isDefault', '=', 1)
        .where('status', '<>', 'Deleted')
        .executeTakeFirst()) ?? fail('OperationFailed.DefaultVpcNotExist');
    const known = (await listVSwitches(tx.db, parent.id)).find(
      (vSwitch) => vSwitch.zoneId === zoneId && vSwitch.isDefault === 1,
    );
    if (known) fail('OperationFailed.DefaultVSwitchExist', { id: known.id });
    await checkQuota(parent, context);
    const { code } = cloud.catalog.getRegion(regionId);
    const id =
      (await createDefaultVSwitchRow(tx, code, parent, zoneId as ZoneId)) ?? fail('ResourceNotAvailable');
    await tx.record({ resourceType: 'vSwitch', resourceId: id, action: 'CreateDefaultVSwitch' });
    tx.wake({ kind: 'vpc', id: parent.id });
    return { vSwitchId: id };
  },
});

export const modifyVSwitchAttribute = defineAction(vpc.ModifyVSwitchAttribute, {
  errors: [...textErrors, 'InvalidVSwitchId.NotFound'],
  async change(input, context) {
    const { tx, fail } = context;
    const found = await getVSwitch(input.vSwitchId, context);
    checkTexts(input, fail);
    if (input.enableIPv6 === true || input.ipv6CidrBlock !== undefined) {
      fail('InvalidParameter', { parameter: 'Ipv6CidrBlock', reason: 'this cloud has no IPv6.' });
    }
    const after = {
      ...(input.vSwitchName === undefined ? {} : { name: input.vSwitchName }),
      ...(input.description === undefined ? {} : { description: input.description }),
    };
    if (Object.keys(after).length === 0) return {};
    await tx.db.updateTable('vSwitches').set(after).where('id', '=', found.id).execute();
    await tx.record({
      resourceType: 'vSwitch',
      resourceId: found.id,
      action: 'ModifyVSwitchAttribute',
      after,
    });
    return {};
  },
});

async function getVSwitch(
  id: string,
  { tx, caller, regionId, fail }: ChangeContext<'InvalidVSwitchId.NotFound'>,
): Promise<VSwitch> {
  const found = await findVSwitch(tx.db, { accountId: caller.accountId, regionId }, id);
  return found ?? fail('InvalidVSwitchId.NotFound', { id });
}

export const deleteVSwitch = defineAction(vpc.DeleteVSwitch, {
  errors: [
    'DependencyViolation',
    'DependencyViolation.EnhancedNatgw',
    'DependencyViolation.RouteTable',
    'DependencyViolation.SnatEntry',
    'InvalidVSwitchId.NotFound',
  ],
  async change({ vSwitchId }, context) {
    const { tx } = context;
    const found = await getVSwitch(vSwitchId, context);
    await checkDependencies(found, context);
    await tx.db.deleteFrom('vSwitches').where('id', '=', found.id).execute();
    await deleteTags(tx, 'vswitch', [found.id]);
    await tx.record({ resourceType: 'vSwitch', resourceId: found.id, action: 'DeleteVSwitch' });
    tx.wake({ kind: 'vpc', id: found.vpcId });
    return {};
  },
});

async function checkDependencies(
  vSwitch: VSwitch,
  {
    tx,
    fail,
  }: ChangeContext<
    | 'DependencyViolation'
    | 'DependencyViolation.EnhancedNatgw'
    | 'DependencyViolation.RouteTable'
    | 'DependencyViolation.SnatEntry'
  >,
): Promise<void> {
  // Also those of an instance that is being released: its network may still be plugged in.
  const nic = await tx.db
    .selectFrom('networkInterfaces')
    .select('id')
    .where('vSwitchId', '=', vSwitch.id)
    .executeTakeFirst();
  if (nic) fail('DependencyViolation', { id: vSwitch.id, reason: `${nic.id} is in it.` });
  const gateway = await tx.db
    .selectFrom('natGateways')
    .select('id')
    .where('vSwitchId', '=', vSwitch.id)
    .executeTakeFirst();
  if (gateway) fail('DependencyViolation.EnhancedNatgw', { id: gateway.id });
  const snat = await tx.db
    .selectFrom('snatEntries')
    .select('id')
    .where('sourceVSwitchId', '=', vSwitch.id)
    .executeTakeFirst();
  if (snat) fail('DependencyViolation.SnatEntry', { id: snat.id });
  const table = await tx.db
    .selectFrom('routeTables')
    .select(['id', 'type'])
    .where('id', '=', vSwitch.routeTableId)
    .executeTakeFirstOrThrow();
  if (table.type === 'Custom') fail('DependencyViolation.RouteTable', { id: table.id });
}
