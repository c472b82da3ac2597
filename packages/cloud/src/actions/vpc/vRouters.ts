import { vpc } from '@openegs/schema';
import { groupBy } from '../../domain/collections.js';
import type { VRouterId } from '../../domain/ids.js';
import { countRows } from '../../store/countRows.js';
import { onPage, pageAnswer, readNumberedPage } from '../../wire/paging.js';
import { defineAction } from '../action.js';
import { isVpcDescription, isVpcName } from './text.js';

/** Every VPC has one router, which comes and goes with it: its columns are in the VPC's row. */
export const describeVRouters = defineAction(vpc.DescribeVRouters, {
  errors: [],
  async read(input, { db, caller, regionId }) {
    const page = readNumberedPage(input, { maxPageSize: 50 });
    let query = db
      .selectFrom('vpcs')
      .where('accountId', '=', caller.accountId)
      .where('regionId', '=', regionId)
      .where('status', '<>', 'Deleted');
    if (input.VRouterId !== undefined) query = query.where('vRouterId', '=', input.VRouterId as VRouterId);
    const total = await countRows(query);
    const rows = await query.selectAll().$call(onPage(page)).execute();
    const tables = await db
      .selectFrom('routeTables')
      .select(['id', 'vpcId'])
      .where(
        'vpcId',
        'in',
        rows.map((row) => row.id),
      )
      .orderBy('sequence')
      .execute();
    const tablesOf = groupBy(tables, (table) => table.vpcId);
    return {
      ...pageAnswer(page, rows, total),
      VRouters: {
        VRouter: rows.map((row) => ({
          VRouterId: row.vRouterId,
          VRouterName: row.vRouterName,
          description: row.vRouterDescription,
          vpcId: row.id,
          regionId: row.regionId,
          creationTime: row.creationTime,
          routeTableIds: { routeTableId: (tablesOf.get(row.id) ?? []).map(({ id }) => id) },
        })),
      },
    };
  },
});

export const modifyVRouterAttribute = defineAction(vpc.ModifyVRouterAttribute, {
  errors: ['InvalidDescription.Malformed', 'InvalidVRouterId.NotFound', 'InvalidVRouterName.Malformed'],
  async change(input, { tx, caller, regionId, fail }) {
    const found =
      (await tx.db
        .selectFrom('vpcs')
        .select('id')
        .where('vRouterId', '=', input.VRouterId as VRouterId)
        .where('accountId', '=', caller.accountId)
        .where('regionId', '=', regionId)
        .where('status', '<>', 'Deleted')
        .executeTakeFirst()) ?? fail('InvalidVRouterId.NotFound', { id: input.VRouterId });
    if (!isVpcName(input.VRouterName)) fail('InvalidVRouterName.Malformed');
    if (!isVpcDescription(input.description)) fail('InvalidDescription.Malformed');
    const after = {
      ...(input.VRouterName === undefined ? {} : { vRouterName: input.VRouterName }),
      ...(input.description === undefined ? {} : { vRouterDescription: input.description }),
    };
    if (Object.keys(after).length === 0) return {};
    await tx.db.updateTable('vpcs').set(after).where('id', '=', found.id).execute();
    await tx.record({ resourceType: 'vpc', resourceId: found.id, action: 'ModifyVRouterAttribute', after });
    return {};
  },
});
