import { ecs, vpc } from '@openegs/schema';
import type { ErrorCode, Fail } from '../../domain/errors.js';
import type { VpcId } from '../../domain/ids.js';
import { cidrContains, cidrsOverlap } from '../../domain/network/cidr.js';
import { findCidrMistake, findVpcCidrMistake } from '../../domain/network/vpcCidr.js';
import { ensureDefaultNetwork } from '../../store/accounts.js';
import { countRows } from '../../store/countRows.js';
import type { Transaction } from '../../store/store.js';
import type { Vpc } from '../../store/tables.js';
import { deleteTags } from '../../store/tags.js';
import { createVpc as createVpcRow, findVpc, listVSwitches, vpcCidrs } from '../../store/vpcs.js';
import { type ChangeContext, defineAction } from '../action.js';
import { checkVpcTags, putVpcTags, vpcTagErrors } from './tagRules.js';
import { isVpcDescription, isVpcName, splitList } from './text.js';

/** The range of a VPC that was created without one (CreateVpc, parameter CidrBlock). */
const defaultCidrBlock = '172.16.0.0/12';

const maxUserCidrs = 3;

const textErrors = [
  'InvalidVpcDiscription.Malformed',
  'InvalidVpcName.Malformed',
] as const satisfies readonly ErrorCode[];

function checkTexts(
  input: { readonly vpcName?: string | undefined; readonly description?: string | undefined },
  fail: Fail<(typeof textErrors)[number]>,
): void {
  if (!isVpcName(input.vpcName)) fail('InvalidVpcName.Malformed');
  if (!isVpcDescription(input.description)) fail('InvalidVpcDiscription.Malformed');
}

/** The user's own ranges, as JSON. */
function readUserCidrs(
  text: string,
  fail: Fail<'InvalidUserCidr.Malformed' | 'InvalidUserCidr.Quota'>,
): string {
  const cidrs = splitList(text);
  if (cidrs.length > maxUserCidrs) fail('InvalidUserCidr.Quota', { limit: maxUserCidrs });
  if (cidrs.some((cidr) => findCidrMistake(cidr) !== undefined)) fail('InvalidUserCidr.Malformed');
  return JSON.stringify(cidrs);
}

async function checkQuota({
  tx,
  caller,
  regionId,
  cloud,
  fail,
}: ChangeContext<'QuotaExceeded.Vpc'>): Promise<void> {
  const total = await countRows(
    tx.db
      .selectFrom('vpcs')
      .where('accountId', '=', caller.accountId)
      .where('regionId', '=', regionId)
      .where('status', '<>', 'Deleted'),
  );
  const quota = cloud.config.quotas.vpcs;
  if (total >= quota) fail('QuotaExceeded.Vpc', { quota });
}

async function describeCreated(tx: Transaction, created: Pick<Vpc, 'id' | 'vRouterId' | 'resourceGroupId'>) {
  const routeTable = await tx.db
    .selectFrom('routeTables')
    .select('id')
    .where('vpcId', '=', created.id)
    .where('type', '=', 'System')
    .executeTakeFirstOrThrow();
  return {
    vpcId: created.id,
    VRouterId: created.vRouterId,
    routeTableId: routeTable.id,
    resourceGroupId: created.resourceGroupId,
  };
}

export const createVpc = defineAction(vpc.CreateVpc, {
  errors: [
    ...textErrors,
    ...vpcTagErrors,
    'InvalidUserCidr.Malformed',
    'InvalidUserCidr.Quota',
    'OperationUnsupported.Ipv6Feature',
    'QuotaExceeded.Vpc',
    'UnsupportedFeature.Ipam',
  ],
  async change(input, context) {
    const { tx, caller, regionId, cloud, fail } = context;
    checkTexts(input, fail);
    const cidrBlock = input.cidrBlock ?? defaultCidrBlock;
    const mistake = findVpcCidrMistake(cidrBlock);
    if (mistake !== undefined) fail('InvalidParameter', { parameter: 'CidrBlock', reason: mistake });
    if (input.enableIpv6 === true || input.ipv6CidrBlock !== undefined) {
      fail('OperationUnsupported.Ipv6Feature');
    }
    if (input.ipv4IpamPoolId !== undefined || input.ipv6IpamPoolId !== undefined) {
      fail('UnsupportedFeature.Ipam');
    }
    refuseDnsHostname(input, fail);
    const userCidrs = readUserCidrs(input.userCidr ?? '', fail);
    const tags = checkVpcTags(input.tag, fail);
    await checkQuota(context);

    const scope = { accountId: caller.accountId, regionId };
    const created = await createVpcRow(tx, cloud.catalog.getRegion(regionId).code, {
      ...scope,
      cidrBlock,
      name: input.vpcName ?? '',
      description: input.description ?? '',
      userCidrs,
      resourceGroupId: input.resourceGroupId ?? '',
    });
    await putVpcTags(tx, scope, { resourceType: 'vpc', resourceId: created.id }, tags, fail);
    await tx.record({
      resourceType: 'vpc',
      resourceId: created.id,
      action: 'CreateVpc',
      after: { cidrBlock },
    });
    return describeCreated(tx, created);
  },
});

function refuseDnsHostname(
  input: { readonly enableDnsHostname?: boolean | undefined },
  fail: Fail<'InvalidParameter'>,
): void {
  if (input.enableDnsHostname === true) {
    fail('InvalidParameter', { parameter: 'EnableDnsHostname', reason: 'this cloud has not built it yet.' });
  }
}

export const createDefaultVpc = defineAction(vpc.CreateDefaultVpc, {
  errors: ['OperationFailed.DefaultVpcExist', 'OperationUnsupported.Ipv6Feature', 'QuotaExceeded.Vpc'],
  async change(input, context) {
    const { tx, caller, regionId, cloud, fail } = context;
    if (input.enableIpv6 === true || input.ipv6CidrBlock !== undefined) {
      fail('OperationUnsupported.Ipv6Feature');
    }
    const known = await tx.db
      .selectFrom('vpcs')
      .select('id')
      .where('accountId', '=', caller.accountId)
      .where('regionId', '=', regionId)
      .where('isDefault', '=', 1)
      .where('status', '<>', 'Deleted')
      .executeTakeFirst();
    if (known) fail('OperationFailed.DefaultVpcExist', { id: known.id });
    await checkQuota(context);
    const region = cloud.config.regions.find((each) => each.id === regionId);
    if (!region) throw new Error(`no region ${regionId}`);
    const id = await ensureDefaultNetwork(tx, caller.accountId, region, cloud.config);
    const created = await tx.db
      .updateTable('vpcs')
      .set({ resourceGroupId: input.resourceGroupId ?? '' })
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirstOrThrow();
    return describeCreated(tx, created);
  },
});

const modifyErrors = [
  ...textErrors,
  'IllegalCidrBlock',
  'InvalidCidrBlock.Malformed',
  'InvalidUserCidr.Malformed',
  'InvalidUserCidr.Quota',
  'InvalidVpcId.NotFound',
  'OperationUnsupported.Ipv6Feature',
] as const satisfies readonly ErrorCode[];

interface ModifyInput extends vpc.ModifyVpcAttributeRequest {
  /** In the ECS form of the action only. */
  readonly userCidr?: string | undefined;
}

async function modify(
  input: ModifyInput,
  { tx, caller, regionId, fail }: ChangeContext<(typeof modifyErrors)[number]>,
) {
  const found =
    (await findVpc(tx.db, { accountId: caller.accountId, regionId }, input.vpcId)) ??
    fail('InvalidVpcId.NotFound', { id: input.vpcId });
  checkTexts(input, fail);
  if (input.enableIPv6 === true) fail('OperationUnsupported.Ipv6Feature');
  refuseDnsHostname(input, fail);
  const { cidrBlock } = input;
  if (cidrBlock !== undefined && cidrBlock !== found.cidrBlock) {
    const mistake = findVpcCidrMistake(cidrBlock);
    if (mistake !== undefined) fail('InvalidCidrBlock.Malformed', { cidr: cidrBlock, reason: mistake });
    const ranges = [cidrBlock, ...vpcCidrs(found).slice(1)];
    if (ranges.slice(1).some((other) => cidrsOverlap(other, cidrBlock))) {
      fail('IllegalCidrBlock', { cidr: cidrBlock, reason: 'it overlaps a secondary range.' });
    }
    for (const vSwitch of await listVSwitches(tx.db, found.id)) {
      if (ranges.some((range) => cidrContains(range, vSwitch.cidrBlock))) continue;
      fail('IllegalCidrBlock', { cidr: cidrBlock, reason: `the vSwitch ${vSwitch.id} is outside of it.` });
    }
  }
  const after = {
    ...(input.vpcName === undefined ? {} : { name: input.vpcName }),
    ...(input.description === undefined ? {} : { description: input.description }),
    ...(cidrBlock === undefined ? {} : { cidrBlock }),
    ...(input.userCidr === undefined ? {} : { userCidrs: readUserCidrs(input.userCidr, fail) }),
  };
  if (Object.keys(after).length === 0) return {};
  await tx.db.updateTable('vpcs').set(after).where('id', '=', found.id).execute();
  await tx.record({ resourceType: 'vpc', resourceId: found.id, action: 'ModifyVpcAttribute', after });
  if (cidrBlock !== undefined) tx.wake({ kind: 'vpc', id: found.id });
  return {};
}

export const modifyVpcAttribute = defineAction(vpc.ModifyVpcAttribute, {
  errors: modifyErrors,
  change: modify,
});

export const modifyVpcAttributeOfEcs = defineAction(ecs.ModifyVpcAttribute, {
  errors: modifyErrors,
  change: modify,
});

export const deleteVpc = defineAction(vpc.DeleteVpc, {
  errors: [
    'DependencyViolation.CustomRouteTable',
    'DependencyViolation.NatGateway',
    'DependencyViolation.RouteEntry',
    'DependencyViolation.SecurityGroup',
    'DependencyViolation.VSwitch',
    'Forbidden.VpcNotFound',
  ],
  async change({ vpcId }, { tx, caller, regionId, fail }) {
    const found =
      (await findVpc(tx.db, { accountId: caller.accountId, regionId }, vpcId)) ??
      // Terraform takes this code, not InvalidVpcId.NotFound, for "it is gone".
      fail('Forbidden.VpcNotFound', { id: vpcId });
    await checkDependencies(tx, found.id, fail);
    const tables = await tx.db
      .deleteFrom('routeTables')
      .where('vpcId', '=', found.id)
      .returning('id')
      .execute();
    await deleteTags(
      tx,
      'routetable',
      tables.map((table) => table.id),
    );
    await deleteTags(tx, 'vpc', [found.id]);
    await tx.db.updateTable('vpcs').set({ status: 'Deleted' }).where('id', '=', found.id).execute();
    await tx.record({ resourceType: 'vpc', resourceId: found.id, action: 'DeleteVpc' });
    tx.wake({ kind: 'vpc', id: found.id });
    return {};
  },
});

async function checkDependencies(
  { db }: Transaction,
  vpcId: VpcId,
  fail: Fail<
    | 'DependencyViolation.CustomRouteTable'
    | 'DependencyViolation.NatGateway'
    | 'DependencyViolation.RouteEntry'
    | 'DependencyViolation.SecurityGroup'
    | 'DependencyViolation.VSwitch'
  >,
): Promise<void> {
  const [vSwitch] = await listVSwitches(db, vpcId);
  if (vSwitch) fail('DependencyViolation.VSwitch', { id: vSwitch.id });
  const gateway = await db
    .selectFrom('natGateways')
    .select('id')
    .where('vpcId', '=', vpcId)
    .executeTakeFirst();
  if (gateway) fail('DependencyViolation.NatGateway', { id: gateway.id });
  const group = await db
    .selectFrom('securityGroups')
    .select('id')
    .where('vpcId', '=', vpcId)
    .executeTakeFirst();
  if (group) fail('DependencyViolation.SecurityGroup', { id: group.id });
  const table = await db
    .selectFrom('routeTables')
    .select('id')
    .where('vpcId', '=', vpcId)
    .where('type', '=', 'Custom')
    .executeTakeFirst();
  if (table) fail('DependencyViolation.CustomRouteTable', { id: table.id });
  const entry = await db
    .selectFrom('routeEntries as entry')
    .innerJoin('routeTables as table', 'table.id', 'entry.routeTableId')
    .select('entry.id')
    .where('table.vpcId', '=', vpcId)
    .executeTakeFirst();
  if (entry) fail('DependencyViolation.RouteEntry', { id: entry.id });
}
