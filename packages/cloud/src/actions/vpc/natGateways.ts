import { vpc } from '@openegs/schema';
import { groupBy } from '../../domain/collections.js';
import type { Fail } from '../../domain/errors.js';
import { createId, type NatGatewayId, type VpcId, type ZoneId } from '../../domain/ids.js';
import { readTagFilters } from '../../domain/tags.js';
import { countRows } from '../../store/countRows.js';
import { unassociateEips } from '../../store/eips.js';
import { findNatGateway } from '../../store/natGateways.js';
import type { Reader, Transaction } from '../../store/store.js';
import type { NatGateway } from '../../store/tables.js';
import { deleteTags, queryTagged, readTags } from '../../store/tags.js';
import { toSecondsTime } from '../../store/times.js';
import { findVpc, findVSwitch, listVSwitches } from '../../store/vpcs.js';
import { onPage, pageAnswer, readNumberedPage } from '../../wire/paging.js';
import { type ChangeContext, defineAction } from '../action.js';
import { checkVpcTags, putVpcTags, vpcTagErrors } from './tagRules.js';
import { isVpcDescription } from './text.js';

const bindModes = ['MULTI_BINDED', 'NAT'];

/** 2 to 128 characters, the first a letter (CreateNatGateway, parameter Name). */
function checkTexts(
  input: { readonly name?: string | undefined; readonly description?: string | undefined },
  fail: Fail<'InvalidParameter.Name.Malformed' | 'InvalidParameter.Description.Malformed'>,
): void {
  if (input.name && !/^(?!https?:\/\/)\p{L}[\s\S]{1,127}$/u.test(input.name)) {
    fail('InvalidParameter.Name.Malformed');
  }
  if (!isVpcDescription(input.description)) fail('InvalidParameter.Description.Malformed');
}

function checkBindMode(mode: string | undefined, fail: Fail<'InvalidParameter'>): void {
  if (mode !== undefined && !bindModes.includes(mode)) {
    fail('InvalidParameter', { parameter: 'EipBindMode', reason: `it is not ${bindModes.join(' or ')}.` });
  }
}

export const createNatGateway = defineAction(vpc.CreateNatGateway, {
  errors: [
    ...vpcTagErrors,
    'InvalidParameter.Description.Malformed',
    'InvalidParameter.Name.Malformed',
    'InvalidVSWITCHID.NotFound',
    'InvalidVpcId.NotFound',
    'OperationFailed.VswNotBelongToVpc',
    'OperationUnsupported.MultiNatGateway',
    'UnsupportedFeature.VpcNat',
  ],
  async change(input, { tx, caller, regionId, cloud, fail }) {
    const scope = { accountId: caller.accountId, regionId };
    const parent =
      (await findVpc(tx.db, scope, input.vpcId)) ?? fail('InvalidVpcId.NotFound', { id: input.vpcId });
    checkTexts(input, fail);
    checkBindMode(input.eipBindMode, fail);
    if (input.networkType !== undefined && input.networkType !== 'internet') {
      fail('UnsupportedFeature.VpcNat');
    }
    if (input.natType !== undefined && input.natType !== 'Enhanced') {
      fail('InvalidParameter', { parameter: 'NatType', reason: 'it is not Enhanced.' });
    }
    if (input.privateLinkEnabled === true || input.securityProtectionEnabled === true) {
      const parameter = input.privateLinkEnabled ? 'PrivateLinkEnabled' : 'SecurityProtectionEnabled';
      fail('InvalidParameter', { parameter, reason: 'this cloud has not built it yet.' });
    }
    // Where clients of the time before enhanced gateways name no vSwitch, any will do.
    const vSwitchId =
      input.vSwitchId ??
      (await listVSwitches(tx.db, parent.id))[0]?.id ??
      fail('MissingParameter', { parameter: 'VSwitchId' });
    const vSwitch =
      (await findVSwitch(tx.db, scope, vSwitchId)) ?? fail('InvalidVSWITCHID.NotFound', { id: vSwitchId });
    if (vSwitch.vpcId !== parent.id) fail('OperationFailed.VswNotBelongToVpc', { id: vSwitchId });
    const tags = checkVpcTags(input.tag, fail);
    const total = await countRows(tx.db.selectFrom('natGateways').where('vpcId', '=', parent.id));
    const quota = cloud.config.quotas.natGatewaysPerVpc;
    if (total >= quota) fail('OperationUnsupported.MultiNatGateway', { quota });

    const { code } = cloud.catalog.getRegion(regionId);
    const id = createId('natGateway', code);
    const snatTableId = createId('snatTable', code);
    const forwardTableId = createId('forwardTable', code);
    await tx.db
      .insertInto('natGateways')
      .values({
        ...scope,
        id,
        vpcId: parent.id,
        vSwitchId: vSwitch.id,
        name: input.name ?? '',
        description: input.description ?? '',
        eipBindMode: input.eipBindMode ?? 'MULTI_BINDED',
        snatTableId,
        forwardTableId,
        icmpReplyEnabled: input.icmpReplyEnabled === false ? 0 : 1,
        creationTime: toSecondsTime(tx.now),
      })
      .execute();
    await addDefaultRoute(tx, parent.id, id, code);
    await putVpcTags(tx, scope, { resourceType: 'natgateway', resourceId: id }, tags, fail);
    await tx.record({
      resourceType: 'natGateway',
      resourceId: id,
      action: 'CreateNatGateway',
      after: { vpcId: parent.id, vSwitchId: vSwitch.id },
    });
    tx.wake({ kind: 'vpc', id: parent.id });
    return {
      natGatewayId: id,
      snatTableIds: { snatTableId: [snatTableId] },
      forwardTableIds: { forwardTableId: [forwardTableId] },
      fullNatTableIds: { fullNatTableId: [] },
    };
  },
});

const everywhere = '0.0.0.0/0';

/** A VPC whose system table leads nowhere gets a way out through its first gateway, as on the original. */
async function addDefaultRoute(
  { db, now }: Transaction,
  vpcId: VpcId,
  natGatewayId: NatGatewayId,
  regionCode: string,
): Promise<void> {
  const system = await db
    .selectFrom('routeTables')
    .select('id')
    .where('vpcId', '=', vpcId)
    .where('type', '=', 'System')
    .executeTakeFirstOrThrow();
  await db
    .insertInto('routeEntries')
    .values({
      id: createId('routeEntry', regionCode),
      routeTableId: system.id,
      destinationCidr: everywhere,
      nextHopType: 'NatGateway',
      nextHopId: natGatewayId,
      description: 'Created with the NAT gateway.',
      creationTime: toSecondsTime(now),
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

export const modifyNatGatewayAttribute = defineAction(vpc.ModifyNatGatewayAttribute, {
  errors: [
    'InvalidNatGatewayId.NotFound',
    'InvalidParameter.Description.Malformed',
    'InvalidParameter.Name.Malformed',
  ],
  async change(input, context) {
    const { tx, fail } = context;
    const gateway = await getGateway(input.natGatewayId, context);
    checkTexts(input, fail);
    checkBindMode(input.eipBindMode, fail);
    const after = {
      ...(input.name === undefined ? {} : { name: input.name }),
      ...(input.description === undefined ? {} : { description: input.description }),
      ...(input.eipBindMode === undefined ? {} : { eipBindMode: input.eipBindMode }),
      ...(input.icmpReplyEnabled === undefined
        ? {}
        : { icmpReplyEnabled: input.icmpReplyEnabled ? (1 as const) : (0 as const) }),
    };
    if (Object.keys(after).length === 0) return {};
    await tx.db.updateTable('natGateways').set(after).where('id', '=', gateway.id).execute();
    await tx.record({
      resourceType: 'natGateway',
      resourceId: gateway.id,
      action: 'ModifyNatGatewayAttribute',
      after,
    });
    return {};
  },
});

async function getGateway(
  id: string,
  { tx, caller, regionId, fail }: ChangeContext<'InvalidNatGatewayId.NotFound'>,
): Promise<NatGateway> {
  const gateway = await findNatGateway(tx.db, { accountId: caller.accountId, regionId }, 'id', id);
  return gateway ?? fail('InvalidNatGatewayId.NotFound', { id });
}

export const deleteNatGateway = defineAction(vpc.DeleteNatGateway, {
  errors: [
    'DependencyViolation.EIPS',
    'DependencyViolation.ForwardEntry',
    'DependencyViolation.RouterEntry',
    'DependencyViolation.SnatEntry',
    'InvalidNatGatewayId.NotFound',
    'InvalidOperation.DeletionProtection',
  ],
  async change(input, context) {
    const { tx, fail } = context;
    const gateway = await getGateway(input.natGatewayId, context);
    if (gateway.deletionProtection === 1) fail('InvalidOperation.DeletionProtection', { id: gateway.id });
    if (input.force !== true) await checkDependencies(gateway, context);
    await unassociateEips(tx, { instanceId: gateway.id });
    await tx.db.deleteFrom('routeEntries').where('nextHopId', '=', gateway.id).execute();
    await tx.db.deleteFrom('natGateways').where('id', '=', gateway.id).execute();
    await deleteTags(tx, 'natgateway', [gateway.id]);
    await tx.record({ resourceType: 'natGateway', resourceId: gateway.id, action: 'DeleteNatGateway' });
    tx.wake({ kind: 'vpc', id: gateway.vpcId });
    return {};
  },
});

/** The default route of the system table goes with the gateway, as it came; all else must be gone before. */
async function checkDependencies(
  gateway: NatGateway,
  {
    tx: { db },
    fail,
  }: ChangeContext<
    | 'DependencyViolation.EIPS'
    | 'DependencyViolation.ForwardEntry'
    | 'DependencyViolation.RouterEntry'
    | 'DependencyViolation.SnatEntry'
  >,
): Promise<void> {
  const snat = await db
    .selectFrom('snatEntries')
    .select('id')
    .where('natGatewayId', '=', gateway.id)
    .executeTakeFirst();
  if (snat) fail('DependencyViolation.SnatEntry', { id: snat.id });
  const dnat = await db
    .selectFrom('forwardEntries')
    .select('id')
    .where('natGatewayId', '=', gateway.id)
    .executeTakeFirst();
  if (dnat) fail('DependencyViolation.ForwardEntry', { id: dnat.id });
  const eip = await db
    .selectFrom('eips')
    .select('id')
    .where('instanceId', '=', gateway.id)
    .where('status', '<>', 'Unassociating')
    .executeTakeFirst();
  if (eip) fail('DependencyViolation.EIPS', { id: eip.id });
  const entry = await db
    .selectFrom('routeEntries as entry')
    .innerJoin('routeTables as table', 'table.id', 'entry.routeTableId')
    .select('entry.id')
    .where('entry.nextHopId', '=', gateway.id)
    .where((eb) => eb.or([eb('table.type', '=', 'Custom'), eb('entry.destinationCidr', '<>', everywhere)]))
    .executeTakeFirst();
  if (entry) fail('DependencyViolation.RouterEntry', { id: entry.id });
}

export const describeNatGateways = defineAction(vpc.DescribeNatGateways, {
  errors: [],
  async read(input, { db, caller, regionId, fail }) {
    const page = readNumberedPage(input, { maxPageSize: 50 });
    const scope = { accountId: caller.accountId, regionId, resourceType: 'natgateway' } as const;
    let query = db
      .selectFrom('natGateways')
      .where('accountId', '=', caller.accountId)
      .where('regionId', '=', regionId);
    if (input.natGatewayId !== undefined) query = query.where('id', '=', input.natGatewayId as NatGatewayId);
    if (input.vpcId !== undefined) query = query.where('vpcId', '=', input.vpcId as VpcId);
    if (input.name !== undefined) query = query.where('name', '=', input.name);
    if (input.zoneId !== undefined) {
      const zone = input.zoneId;
      query = query.where('vSwitchId', 'in', (eb) =>
        eb
          .selectFrom('vSwitches')
          .select('vSwitches.id')
          .where('vSwitches.zoneId', '=', zone as ZoneId),
      );
    }
    const filters = readTagFilters(input.tag, fail);
    if (filters.length > 0) query = query.where('id', 'in', queryTagged<NatGatewayId>(db, scope, filters));
    const differs = (wished: string | undefined, value: string): boolean =>
      wished !== undefined && wished !== '' && wished !== value;
    if (
      differs(input.natType, 'Enhanced') ||
      differs(input.networkType, 'internet') ||
      differs(input.status, 'Available') ||
      differs(input.instanceChargeType, 'PostPaid') ||
      input.resourceGroupId
    ) {
      query = query.where('id', 'in', []);
    }
    const total = await countRows(query);
    const rows = await query.selectAll().$call(onPage(page, 'newest first')).execute();
    return { ...pageAnswer(page, rows, total), natGateways: { natGateway: await describe(db, rows) } };
  },
});

async function describe(db: Reader, rows: readonly NatGateway[]) {
  const ids = rows.map((row) => row.id);
  const tags = await readTags(db, 'natgateway', ids);
  const eips = await db.selectFrom('eips').selectAll().where('instanceId', 'in', ids).execute();
  const eipsOf = groupBy(eips, (eip) => eip.instanceId ?? '');
  const zones = await db
    .selectFrom('vSwitches')
    .select(['id', 'zoneId'])
    .where(
      'id',
      'in',
      rows.map((row) => row.vSwitchId),
    )
    .execute();
  const zoneOf = new Map(zones.map((row) => [row.id, row.zoneId]));
  return rows.map((row) => ({
    natGatewayId: row.id,
    name: row.name,
    description: row.description,
    regionId: row.regionId,
    vpcId: row.vpcId,
    natType: 'Enhanced',
    networkType: 'internet',
    status: 'Available',
    businessStatus: 'Normal',
    spec: '',
    instanceChargeType: 'PostPaid',
    internetChargeType: 'PayByLcu',
    autoPay: false,
    expiredTime: '',
    creationTime: row.creationTime,
    deletionProtection: row.deletionProtection === 1,
    ecsMetricEnabled: false,
    eipBindMode: row.eipBindMode,
    icmpReplyEnabled: row.icmpReplyEnabled === 1,
    privateLinkEnabled: false,
    resourceGroupId: '',
    snatTableIds: { snatTableId: [row.snatTableId] },
    forwardTableIds: { forwardTableId: [row.forwardTableId] },
    fullNatTableIds: { fullNatTableId: [] },
    ipLists: {
      ipList: (eipsOf.get(row.id) ?? []).map((eip) => ({
        allocationId: eip.id,
        ipAddress: eip.address,
        privateIpAddress: '',
        snatEntryEnabled: true,
        usingStatus: eip.status === 'InUse' ? 'Available' : eip.status,
      })),
    },
    natGatewayPrivateInfo: {
      vswitchId: row.vSwitchId,
      izNo: zoneOf.get(row.vSwitchId) ?? '',
      privateIpAddress: '',
      eniInstanceId: '',
    },
    tags: {
      tag: (tags.get(row.id) ?? []).map(({ key, value }) => ({ tagKey: key, tagValue: value })),
    },
  }));
}
