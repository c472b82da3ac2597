import { vpc } from '@openegs/schema';
import { groupBy } from '../../domain/collections.js';
import type { VpcId } from '../../domain/ids.js';
import { readTagFilters } from '../../domain/tags.js';
import { queryTagged, readTags } from '../../store/tags.js';
import { onPage, pageAnswer, readNumberedPage } from '../../wire/paging.js';
import { defineAction } from '../action.js';

/** Most ids that one request lists, separated by commas (DescribeVpcs, parameter VpcId). */
const maxIds = 20;

export const describeVpcs = defineAction(vpc.DescribeVpcs, {
  errors: ['InvalidVpcIdNumber.NotSupported'],
  async read(input, { db, caller, regionId, fail }) {
    const page = readNumberedPage(input, { maxPageSize: 50 });
    const scope = { accountId: caller.accountId, regionId, resourceType: 'vpc' } as const;
    let query = db
      .selectFrom('vpcs')
      .where('accountId', '=', caller.accountId)
      .where('regionId', '=', regionId)
      .where('status', '<>', 'Deleted');
    if (input.vpcId !== undefined) {
      const ids = input.vpcId.split(',').map((id) => id.trim() as VpcId);
      if (ids.length > maxIds) fail('InvalidVpcIdNumber.NotSupported', { limit: maxIds });
      query = query.where('id', 'in', ids);
    }
    if (input.vpcName !== undefined) query = query.where('name', '=', input.vpcName);
    if (input.isDefault !== undefined) query = query.where('isDefault', '=', input.isDefault ? 1 : 0);
    if (input.resourceGroupId !== undefined) {
      query = query.where('resourceGroupId', '=', input.resourceGroupId);
    }
    const filters = readTagFilters(input.tag, fail);
    if (filters.length > 0) query = query.where('id', 'in', queryTagged<VpcId>(db, scope, filters));
    // No VPC of this cloud has them.
    if (input.enableIpv6 === true || input.dhcpOptionsSetId !== undefined)
      query = query.where('id', 'in', []);

    const { total } = await query
      .select((eb) => eb.fn.countAll<number>().as('total'))
      .executeTakeFirstOrThrow();
    const rows = await query.selectAll().$call(onPage(page)).execute();
    const ids = rows.map((row) => row.id);
    const tags = await readTags(db, 'vpc', ids);
    const vSwitches = await db
      .selectFrom('vSwitches')
      .select(['id', 'vpcId'])
      .where('vpcId', 'in', ids)
      .where('status', '<>', 'Deleted')
      .orderBy('sequence')
      .execute();
    const vSwitchesOf = groupBy(vSwitches, (vSwitch) => vSwitch.vpcId);
    return {
      ...pageAnswer(page, rows, total),
      vpcs: {
        vpc: rows.map(
          (row): vpc.DescribeVpcsResponseVpcsVpc => ({
            vpcId: row.id,
            vpcName: row.name,
            description: row.description,
            regionId: row.regionId,
            cidrBlock: row.cidrBlock,
            status: row.status,
            isDefault: row.isDefault === 1,
            creationTime: row.creationTime,
            resourceGroupId: row.resourceGroupId,
            ownerId: Number(row.accountId),
            VRouterId: '',
            ipv6CidrBlock: '',
            enabledIpv6: false,
            cenStatus: 'Detached',
            dhcpOptionsSetId: '',
            vSwitchIds: { vSwitchId: (vSwitchesOf.get(row.id) ?? []).map((vSwitch) => vSwitch.id) },
            routerTableIds: { routerTableIds: [] },
            natGatewayIds: { natGatewayIds: [] },
            secondaryCidrBlocks: { secondaryCidrBlock: [] },
            userCidrs: { userCidr: [] },
            ipv6CidrBlocks: { ipv6CidrBlock: [] },
            tags: { tag: [...(tags.get(row.id) ?? [])].map(({ key, value }) => ({ key, value })) },
          }),
        ),
      },
    };
  },
});
