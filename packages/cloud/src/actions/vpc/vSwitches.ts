import { vpc } from '@openegs/schema';
import type { VpcId, VSwitchId, ZoneId } from '../../domain/ids.js';
import { usableAddressCount } from '../../domain/network/addresses.js';
import { readTagFilters } from '../../domain/tags.js';
import { queryTagged, readTags } from '../../store/tags.js';
import { onPage, pageAnswer, readNumberedPage } from '../../wire/paging.js';
import { defineAction } from '../action.js';

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
    let query = db
      .selectFrom('vSwitches')
      .where('accountId', '=', caller.accountId)
      .where('status', '<>', 'Deleted');
    if (input.regionId !== undefined) query = query.where('regionId', '=', regionId);
    if (input.vpcId !== undefined) query = query.where('vpcId', '=', input.vpcId as VpcId);
    if (input.vSwitchId !== undefined) {
      const ids = input.vSwitchId.split(',').map((id) => id.trim() as VSwitchId);
      if (ids.length > maxIds) fail('InvalidVSwitchIdNumber.NotSupported', { limit: maxIds });
      query = query.where('id', 'in', ids);
    }
    if (input.zoneId !== undefined) query = query.where('zoneId', '=', input.zoneId as ZoneId);
    if (input.vSwitchName !== undefined) query = query.where('name', '=', input.vSwitchName);
    if (input.isDefault !== undefined) query = query.where('isDefault', '=', input.isDefault ? 1 : 0);
    const filters = readTagFilters(input.tag, fail);
    if (filters.length > 0) query = query.where('id', 'in', queryTagged<VSwitchId>(db, scope, filters));
    // No vSwitch of this cloud has them.
    if (
      input.enableIpv6 === true ||
      input.routeTableId !== undefined ||
      input.resourceGroupId !== undefined
    ) {
      query = query.where('id', 'in', []);
    }

    const { total } = await query
      .select((eb) => eb.fn.countAll<number>().as('total'))
      .executeTakeFirstOrThrow();
    const rows = await query.selectAll().$call(onPage(page)).execute();
    const ids = rows.map((row) => row.id);
    const tags = await readTags(db, 'vswitch', ids);
    const used = await db
      .selectFrom('privateAddresses')
      .select((eb) => ['vSwitchId', eb.fn.countAll<number>().as('total')])
      .where('vSwitchId', 'in', ids)
      .groupBy('vSwitchId')
      .execute();
    const usedIn = new Map(used.map((row) => [row.vSwitchId, row.total]));
    return {
      ...pageAnswer(page, rows, total),
      vSwitches: {
        vSwitch: rows.map(
          (row): vpc.DescribeVSwitchesResponseVSwitchesVSwitch => ({
            vSwitchId: row.id,
            vSwitchName: row.name,
            description: row.description,
            vpcId: row.vpcId,
            zoneId: row.zoneId,
            cidrBlock: row.cidrBlock,
            ipv6CidrBlock: '',
            enabledIpv6: false,
            availableIpAddressCount: usableAddressCount(row.cidrBlock) - (usedIn.get(row.id) ?? 0),
            status: row.status,
            isDefault: row.isDefault === 1,
            creationTime: row.creationTime,
            resourceGroupId: '',
            networkAclId: '',
            ownerId: Number(row.accountId),
            tags: { tag: [...(tags.get(row.id) ?? [])].map(({ key, value }) => ({ key, value })) },
          }),
        ),
      },
    };
  },
});
