import { vpc } from '@openegs/schema';
import type { RouteTableId, VRouterId } from '../../domain/ids.js';
import { serviceCidr } from '../../domain/network/vpcCidr.js';
import { countRows } from '../../store/countRows.js';
import { findRouteTable } from '../../store/routes.js';
import type { Reader } from '../../store/store.js';
import type { RouteTable } from '../../store/tables.js';
import { listVSwitches } from '../../store/vpcs.js';
import { onPage, pageAnswer, readNumberedPage, readTokenPage, sliceOnPage } from '../../wire/paging.js';
import { defineAction } from '../action.js';

/** An entry of a route table as the API shows it: those of the system, and those of users. */
interface ShownEntry {
  readonly routeEntryId: string;
  readonly routeEntryName: string;
  readonly description: string;
  readonly type: 'System' | 'Custom';
  readonly destinationCidrBlock: string;
  /** Entries of the system lead to the router itself. */
  readonly nextHopType: string;
  readonly nextHopId: string;
  readonly creationTime: string;
}

/** All entries of a table: the subnets of the VPC and the cloud's services first, then those of users. */
async function listEntries(db: Reader, table: RouteTable): Promise<ShownEntry[]> {
  const system = [
    ...(await listVSwitches(db, table.vpcId)).map(({ cidrBlock }) => cidrBlock),
    serviceCidr,
  ].map((destinationCidrBlock): ShownEntry => {
    const { creationTime } = table;
    const texts = { routeEntryId: '', routeEntryName: '', description: '', creationTime };
    return { ...texts, type: 'System', destinationCidrBlock, nextHopType: 'local', nextHopId: '' };
  });
  const custom = await db
    .selectFrom('routeEntries')
    .selectAll()
    .where('routeTableId', '=', table.id)
    .orderBy('sequence')
    .execute();
  return [
    ...system,
    ...custom.map(
      (entry): ShownEntry => ({
        routeEntryId: entry.id,
        routeEntryName: entry.name,
        description: entry.description,
        type: 'Custom',
        destinationCidrBlock: entry.destinationCidr,
        nextHopType: entry.nextHopType,
        nextHopId: entry.nextHopId,
        creationTime: entry.creationTime,
      }),
    ),
  ];
}

export const describeRouteEntryList = defineAction(vpc.DescribeRouteEntryList, {
  errors: ['IllegalParam.RouteEntryType', 'InvalidRouteTable.NotFound'],
  async read(input, { db, caller, regionId, fail }) {
    const page = readTokenPage(
      { nextToken: input.nextToken || undefined, maxResults: input.maxResult },
      { maxPageSize: 500, defaultSize: 50 },
    );
    const type = input.routeEntryType;
    if (type !== undefined && !['Custom', 'System', 'BGP', 'CEN', 'ECR'].includes(type)) {
      fail('IllegalParam.RouteEntryType', { type });
    }
    const table =
      (await findRouteTable(db, { accountId: caller.accountId, regionId }, input.routeTableId)) ??
      fail('InvalidRouteTable.NotFound', { id: input.routeTableId });
    const matches = (wished: string | undefined, value: string): boolean =>
      wished === undefined || wished === '' || wished === value;
    const entries = (await listEntries(db, table)).filter(
      (entry) =>
        matches(type, entry.type) &&
        matches(input.routeEntryId, entry.routeEntryId) &&
        matches(input.routeEntryName, entry.routeEntryName) &&
        matches(input.destinationCidrBlock, entry.destinationCidrBlock) &&
        (input.destCidrBlockList ?? [entry.destinationCidrBlock]).includes(entry.destinationCidrBlock) &&
        matches(input.nextHopId, entry.nextHopId) &&
        matches(input.nextHopType, entry.nextHopType) &&
        !/^ipv6$/i.test(input.ipVersion ?? ''),
    );
    const rows = sliceOnPage(entries, page);
    return {
      ...pageAnswer(page, rows, entries.length),
      routeEntrys: {
        routeEntry: rows.map(({ item }) => ({
          ...item,
          routeTableId: table.id,
          status: 'Available',
          ipVersion: 'ipv4',
          origin: 'RouteTable',
          serviceType: '',
          gmtModified: item.creationTime,
          nextHops: { nextHop: [describeNextHop(item)] },
        })),
      },
    };
  },
});

function describeNextHop(entry: ShownEntry) {
  return { nextHopId: entry.nextHopId, nextHopType: entry.nextHopType, enabled: 1, weight: 0 };
}

/** The older form: whole tables with their entries. Terraform's route_entry reads it. */
export const describeRouteTables = defineAction(vpc.DescribeRouteTables, {
  errors: [],
  async read(input, { db, caller, regionId }) {
    const page = readNumberedPage(input, { maxPageSize: 50 });
    let query = db
      .selectFrom('routeTables')
      .where('accountId', '=', caller.accountId)
      .where('regionId', '=', regionId);
    if (input.routeTableId !== undefined) query = query.where('id', '=', input.routeTableId as RouteTableId);
    if (input.routeTableName !== undefined) query = query.where('name', '=', input.routeTableName);
    const routerId = input.VRouterId ?? input.routerId;
    if (routerId !== undefined) {
      query = query.where('vpcId', 'in', (eb) =>
        eb
          .selectFrom('vpcs')
          .select('vpcs.id')
          .where('vpcs.vRouterId', '=', routerId as VRouterId),
      );
    }
    const isOther = input.routerType !== undefined && input.routerType !== 'VRouter';
    if (isOther || input.resourceGroupId) query = query.where('id', 'in', []);
    const total = await countRows(query);
    const rows = await query.selectAll().$call(onPage(page)).execute();
    const routeTable = [];
    for (const row of rows) routeTable.push(await describeTable(db, row));
    return { ...pageAnswer(page, rows, total), routeTables: { routeTable } };
  },
});

async function describeTable(db: Reader, table: RouteTable) {
  const { vRouterId } = await db
    .selectFrom('vpcs')
    .select('vRouterId')
    .where('id', '=', table.vpcId)
    .executeTakeFirstOrThrow();
  const vSwitches = await listVSwitches(db, table.vpcId);
  const entries = await listEntries(db, table);
  return {
    routeTableId: table.id,
    routeTableType: table.type,
    VRouterId: vRouterId,
    status: 'Available',
    creationTime: table.creationTime,
    resourceGroupId: '',
    vSwitchIds: {
      vSwitchId: vSwitches.filter((vSwitch) => vSwitch.routeTableId === table.id).map(({ id }) => id),
    },
    routeEntrys: {
      routeEntry: entries.map((entry) => ({
        ...entry,
        routeTableId: table.id,
        instanceId: entry.nextHopId,
        status: 'Available',
        nextHops: { nextHop: [describeNextHop(entry)] },
      })),
    },
  };
}
