import { vpc } from '@openegs/schema';
import type { RouteTableId, VpcId, VSwitchId, ZoneId } from '../../domain/ids.js';
import { readTagFilters } from '../../domain/tags.js';
import { countRows } from '../../store/countRows.js';
import type { Reader } from '../../store/store.js';
import type { VSwitch } from '../../store/tables.js';
import { queryTagged, readTags } from '../../store/tags.js';
import { countFreeAddresses, findVSwitch } from '../../store/vpcs.js';
import { onPage, pageAnswer, readNumberedPage } from '../../wire/paging.js';
import { defineAction } from '../action.js';
import { splitList } from './text.js';

/** Most ids that one request lists, separated by commas (DescribeVSwitches, parameter VSwitchId). */
const maxIds = 20;

export const describeVSwitches = defineAction(vpc.DescribeVSwitches, {
  errors: ['InvalidVSwitchIdNumber.NotSupported'],
  async read(input, { db, caller, regionId, fail }) {
    const page = readNumberedPage(input, { maxPageSize: 50 });
    if (input.regionId === undefined && input.vpcId === undefined) {
      fail('MissingParameter', { parameter: 'RegionId' });
    }
    const scope = { accountId: caller.accountId, regionId, resourceType: 'vswitch' } as const;
    let query = db.selectFrom('vSwitches').where('accountId', '=', caller.accountId);
    if (input.regionId !== undefined) query = query.where('regionId', '=', regionId);
    if (input.vpcId !== undefined) query = query.where('vpcId', '=', input.vpcId as VpcId);
    if (input.vSwitchId !== undefined) {
      const ids = splitList(input.vSwitchId) as VSwitchId[];
      if (ids.length > maxIds) fail('InvalidVSwitchIdNumber.NotSupported', { limit: maxIds });
      query = query.where('id', 'in', ids);
    }
    if (input.zoneId !== undefined) query = query.where('zoneId', '=', input.zoneId as ZoneId);
    if (input.vSwitchName !== undefined) query = query.where('name', '=', input.vSwitchName);
    if (input.isDefault !== undefined) query = query.where('isDefault', '=', input.isDefault ? 1 : 0);
    if (input.routeTableId !== undefined) {
      query = query.where('routeTableId', '=', input.routeTableId as RouteTableId);
    }
    const filters = readTagFilters(input.tag, fail);
    if (filters.length > 0) query = query.where('id', 'in', queryTagged<VSwitchId>(db, scope, filters));
    const isForeign = input.vSwitchOwnerId !== undefined && input.vSwitchOwnerId !== Number(caller.accountId);
    // No vSwitch of this cloud has them.
    if (input.enableIpv6 === true || input.resourceGroupId !== undefined || isForeign) {
      query = query.where('id', 'in', []);
    }

    const total = await countRows(query);
    const rows = await query.selectAll().$call(onPage(page)).execute();
    return { ...pageAnswer(page, rows, total), vSwitches: { vSwitch: await describe(db, rows) } };
  },
});

export const describeVSwitchAttributes = defineAction(vpc.DescribeVSwitchAttributes, {
  errors: [],
  async read({ vSwitchId }, { db, caller, regionId }) {
    const found = await findVSwitch(db, { accountId: caller.accountId, regionId }, vSwitchId);
    // No error, for Terraform, as with DescribeVpcAttribute.
    if (!found) return { vSwitchId: '' };
    const [described] = await describe(db, [found]);
    return { ...described };
  },
});

/** vSwitches as the API shows them. */
async function describe(db: Reader, rows: readonly VSwitch[]) {
  const ids = rows.map((row) => row.id);
  const tags = await readTags(db, 'vswitch', ids);
  const free = await countFreeAddresses(db, rows);
  const tables = await db
    .selectFrom('routeTables')
    .select(['id', 'type'])
    .where(
      'id',
      'in',
      rows.map((row) => row.routeTableId),
    )
    .execute();
  const typeOf = new Map(tables.map((table) => [table.id, table.type]));
  return rows.map((row) => ({
    vSwitchId: row.id,
    vSwitchName: row.name,
    description: row.description,
    vpcId: row.vpcId,
    zoneId: row.zoneId,
    cidrBlock: row.cidrBlock,
    ipv6CidrBlock: '',
    enabledIpv6: false,
    availableIpAddressCount: free.get(row.id) ?? 0,
    status: row.status,
    isDefault: row.isDefault === 1,
    creationTime: row.creationTime,
    resourceGroupId: '',
    networkAclId: '',
    shareType: '',
    ownerId: Number(row.accountId),
    routeTable: { routeTableId: row.routeTableId, routeTableType: typeOf.get(row.routeTableId) ?? 'System' },
    tags: { tag: (tags.get(row.id) ?? []).map(({ key, value }) => ({ key, value })) },
  }));
}
