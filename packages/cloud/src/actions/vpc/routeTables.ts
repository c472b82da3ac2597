import { vpc } from '@openegs/schema';
import { groupBy } from '../../domain/collections.js';
import type { ErrorCode } from '../../domain/errors.js';
import { createId, type RouteTableId, type VpcId, type VRouterId } from '../../domain/ids.js';
import { readTagFilters } from '../../domain/tags.js';
import { countRows } from '../../store/countRows.js';
import { findRouteTable } from '../../store/routes.js';
import type { Reader } from '../../store/store.js';
import type { RouteTable } from '../../store/tables.js';
import { deleteTags, queryTagged, readTags } from '../../store/tags.js';
import { toSecondsTime } from '../../store/times.js';
import { findVpc, findVSwitch } from '../../store/vpcs.js';
import { onPage, pageAnswer, readNumberedPage } from '../../wire/paging.js';
import { type ChangeContext, defineAction } from '../action.js';
import { checkVpcTags, putVpcTags, vpcTagErrors } from './tagRules.js';
import { isVpcDescription, isVpcName } from './text.js';

export const describeRouteTableList = defineAction(vpc.DescribeRouteTableList, {
  errors: [],
  async read(input, { db, caller, regionId, fail }) {
    const page = readNumberedPage(input, { maxPageSize: 50 });
    const scope = { accountId: caller.accountId, regionId, resourceType: 'routetable' } as const;
    let query = db
      .selectFrom('routeTables')
      .where('accountId', '=', caller.accountId)
      .where('regionId', '=', regionId);
    if (input.routeTableId !== undefined) query = query.where('id', '=', input.routeTableId as RouteTableId);
    if (input.routeTableName !== undefined) query = query.where('name', '=', input.routeTableName);
    if (input.vpcId !== undefined) query = query.where('vpcId', '=', input.vpcId as VpcId);
    if (input.routeTableType !== undefined) {
      query = query.where('type', '=', input.routeTableType as RouteTable['type']);
    }
    if (input.routerId !== undefined) {
      const { routerId } = input;
      query = query.where('vpcId', 'in', (eb) =>
        eb
          .selectFrom('vpcs')
          .select('vpcs.id')
          .where('vpcs.vRouterId', '=', routerId as VRouterId),
      );
    }
    const filters = readTagFilters(input.tag, fail);
    if (filters.length > 0) query = query.where('id', 'in', queryTagged<RouteTableId>(db, scope, filters));
    // Tables of border routers, and tables in resource groups, are not here.
    const isOther = input.routerType !== undefined && input.routerType !== 'VRouter';
    if (isOther || input.resourceGroupId) query = query.where('id', 'in', []);

    const total = await countRows(query);
    const rows = await query.selectAll().$call(onPage(page)).execute();
    return {
      ...pageAnswer(page, rows, total),
      routerTableList: { routerTableListType: await describe(db, rows) },
    };
  },
});

async function describe(db: Reader, rows: readonly RouteTable[]) {
  const ids = rows.map((row) => row.id);
  const tags = await readTags(db, 'routetable', ids);
  const vSwitches = await db
    .selectFrom('vSwitches')
    .select(['id', 'routeTableId'])
    .where('routeTableId', 'in', ids)
    .orderBy('sequence')
    .execute();
  const vSwitchesOf = groupBy(vSwitches, (vSwitch) => vSwitch.routeTableId);
  const vpcs = await db
    .selectFrom('vpcs')
    .select(['id', 'vRouterId'])
    .where(
      'id',
      'in',
      rows.map((row) => row.vpcId),
    )
    .execute();
  const routerOf = new Map(vpcs.map((row) => [row.id, row.vRouterId]));
  return rows.map((row) => ({
    routeTableId: row.id,
    routeTableName: row.name,
    description: row.description,
    routeTableType: row.type,
    routerId: routerOf.get(row.vpcId) ?? '',
    routerType: 'VRouter',
    vpcId: row.vpcId,
    status: 'Available',
    associateType: 'VSwitch',
    routePropagationEnable: true,
    creationTime: row.creationTime,
    resourceGroupId: '',
    ownerId: Number(row.accountId),
    gatewayIds: { gatewayIds: [] },
    vSwitchIds: { vSwitchId: (vSwitchesOf.get(row.id) ?? []).map(({ id }) => id) },
    tags: { tag: (tags.get(row.id) ?? []).map(({ key, value }) => ({ key, value })) },
  }));
}

export const createRouteTable = defineAction(vpc.CreateRouteTable, {
  errors: [
    ...vpcTagErrors,
    'InvalidParameter.Description.Malformed',
    'InvalidParameter.RouteTableName.Malformed',
    'InvalidVpcId.NotFound',
    'OperationUnsupported.AdvancedFeature',
    'QuotaExceeded.RouteTable',
  ],
  async change(input, { tx, caller, regionId, cloud, fail }) {
    const scope = { accountId: caller.accountId, regionId };
    const parent =
      (await findVpc(tx.db, scope, input.vpcId)) ?? fail('InvalidVpcId.NotFound', { id: input.vpcId });
    if (!isVpcName(input.routeTableName)) fail('InvalidParameter.RouteTableName.Malformed');
    if (!isVpcDescription(input.description)) fail('InvalidParameter.Description.Malformed');
    if (input.associateType !== undefined && input.associateType !== 'VSwitch') {
      fail('OperationUnsupported.AdvancedFeature');
    }
    const tags = checkVpcTags(input.tag, fail);
    const total = await countRows(
      tx.db.selectFrom('routeTables').where('vpcId', '=', parent.id).where('type', '=', 'Custom'),
    );
    const quota = cloud.config.quotas.routeTablesPerVpc;
    if (total >= quota) fail('QuotaExceeded.RouteTable', { quota });
    const id = createId('routeTable', cloud.catalog.getRegion(regionId).code);
    await tx.db
      .insertInto('routeTables')
      .values({
        ...scope,
        id,
        vpcId: parent.id,
        name: input.routeTableName ?? '',
        description: input.description ?? '',
        type: 'Custom',
        creationTime: toSecondsTime(tx.now),
      })
      .execute();
    await putVpcTags(tx, scope, { resourceType: 'routetable', resourceId: id }, tags, fail);
    await tx.record({
      resourceType: 'routeTable',
      resourceId: id,
      action: 'CreateRouteTable',
      after: { vpcId: parent.id },
    });
    tx.wake({ kind: 'vpc', id: parent.id });
    return { routeTableId: id };
  },
});

async function getRouteTable<Code extends ErrorCode>(
  id: string,
  { tx, caller, regionId }: ChangeContext<Code>,
  notFound: () => never,
): Promise<RouteTable> {
  return (await findRouteTable(tx.db, { accountId: caller.accountId, regionId }, id)) ?? notFound();
}

export const modifyRouteTableAttributes = defineAction(vpc.ModifyRouteTableAttributes, {
  errors: [
    'Abs.InvaliTableName.Malformed',
    'Abs.InvalidRouteTableId.NotExist',
    'InvalidDescription.Malformed',
  ],
  async change(input, context) {
    const { tx, fail } = context;
    const id = input.routeTableId;
    const table = await getRouteTable(id, context, () => fail('Abs.InvalidRouteTableId.NotExist', { id }));
    if (!isVpcName(input.routeTableName)) fail('Abs.InvaliTableName.Malformed');
    if (!isVpcDescription(input.description)) fail('InvalidDescription.Malformed');
    const after = {
      ...(input.routeTableName === undefined ? {} : { name: input.routeTableName }),
      ...(input.description === undefined ? {} : { description: input.description }),
    };
    if (Object.keys(after).length === 0) return {};
    await tx.db.updateTable('routeTables').set(after).where('id', '=', table.id).execute();
    await tx.record({
      resourceType: 'routeTable',
      resourceId: id,
      action: 'ModifyRouteTableAttributes',
      after,
    });
    return {};
  },
});

export const deleteRouteTable = defineAction(vpc.DeleteRouteTable, {
  errors: [
    'IncorrectRouteTableStatus',
    'IncorrectRouteTableStatus.RouteEntryExist',
    'IncorrectRouteTableType',
    'InvalidRouteTableId.NotFound',
  ],
  async change({ routeTableId: id }, context) {
    const { tx, fail } = context;
    const table = await getRouteTable(id, context, () => fail('InvalidRouteTableId.NotFound', { id }));
    if (table.type === 'System') fail('IncorrectRouteTableType');
    const vSwitch = await tx.db
      .selectFrom('vSwitches')
      .select('id')
      .where('routeTableId', '=', table.id)
      .executeTakeFirst();
    if (vSwitch) fail('IncorrectRouteTableStatus', { id: vSwitch.id });
    const entry = await tx.db
      .selectFrom('routeEntries')
      .select('id')
      .where('routeTableId', '=', table.id)
      .executeTakeFirst();
    if (entry) fail('IncorrectRouteTableStatus.RouteEntryExist', { id: entry.id });
    await tx.db.deleteFrom('routeTables').where('id', '=', table.id).execute();
    await deleteTags(tx, 'routetable', [table.id]);
    await tx.record({ resourceType: 'routeTable', resourceId: id, action: 'DeleteRouteTable' });
    tx.wake({ kind: 'vpc', id: table.vpcId });
    return {};
  },
});

const associationErrors = [
  'Forbidden.NotInSameVpc',
  'InvalidRouteTableId.NotFound',
  'InvalidVSwitchId.NotFound',
] as const satisfies readonly ErrorCode[];

async function readPair(
  input: { readonly routeTableId: string; readonly vSwitchId: string },
  context: ChangeContext<(typeof associationErrors)[number]>,
) {
  const { tx, caller, regionId, fail } = context;
  const table = await getRouteTable(input.routeTableId, context, () =>
    fail('InvalidRouteTableId.NotFound', { id: input.routeTableId }),
  );
  const vSwitch =
    (await findVSwitch(tx.db, { accountId: caller.accountId, regionId }, input.vSwitchId)) ??
    fail('InvalidVSwitchId.NotFound', { id: input.vSwitchId });
  if (vSwitch.vpcId !== table.vpcId) fail('Forbidden.NotInSameVpc');
  return { table, vSwitch };
}

export const associateRouteTable = defineAction(vpc.AssociateRouteTable, {
  errors: [
    ...associationErrors,
    'Forbidden.VSwitchAlreadyAssociatedRouteTable',
    'OperationDenied.SwitchToSystemRouteTable',
  ],
  async change(input, context) {
    const { tx, fail } = context;
    const { table, vSwitch } = await readPair(input, context);
    if (table.type === 'System') fail('OperationDenied.SwitchToSystemRouteTable');
    if (vSwitch.routeTableId === table.id) {
      fail('Forbidden.VSwitchAlreadyAssociatedRouteTable', { id: table.id });
    }
    await tx.db
      .updateTable('vSwitches')
      .set({ routeTableId: table.id })
      .where('id', '=', vSwitch.id)
      .execute();
    await tx.record({
      resourceType: 'vSwitch',
      resourceId: vSwitch.id,
      action: 'AssociateRouteTable',
      before: { routeTableId: vSwitch.routeTableId },
      after: { routeTableId: table.id },
    });
    tx.wake({ kind: 'vpc', id: table.vpcId });
    return {};
  },
});

export const unassociateRouteTable = defineAction(vpc.UnassociateRouteTable, {
  errors: [
    ...associationErrors,
    'OperationFailed.VSwitchNotAssociate',
    'OperationUnsupported.SystemRouteTable',
  ],
  async change(input, context) {
    const { tx, fail } = context;
    const { table, vSwitch } = await readPair(input, context);
    if (table.type === 'System') fail('OperationUnsupported.SystemRouteTable');
    if (vSwitch.routeTableId !== table.id) fail('OperationFailed.VSwitchNotAssociate');
    const system = await tx.db
      .selectFrom('routeTables')
      .select('id')
      .where('vpcId', '=', table.vpcId)
      .where('type', '=', 'System')
      .executeTakeFirstOrThrow();
    await tx.db
      .updateTable('vSwitches')
      .set({ routeTableId: system.id })
      .where('id', '=', vSwitch.id)
      .execute();
    await tx.record({
      resourceType: 'vSwitch',
      resourceId: vSwitch.id,
      action: 'UnassociateRouteTable',
      before: { routeTableId: table.id },
      after: { routeTableId: system.id },
    });
    tx.wake({ kind: 'vpc', id: table.vpcId });
    return {};
  },
});
