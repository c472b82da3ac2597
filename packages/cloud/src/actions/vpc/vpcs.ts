import { vpc } from '@openegs/schema';
import { groupBy } from '../../domain/collections.js';
import type { VpcId } from '../../domain/ids.js';
import { readTagFilters } from '../../domain/tags.js';
import { countRows } from '../../store/countRows.js';
import type { Reader } from '../../store/store.js';
import type { Vpc } from '../../store/tables.js';
import { queryTagged, readTags } from '../../store/tags.js';
import { findVpc, vpcCidrs } from '../../store/vpcs.js';
import { onPage, pageAnswer, readNumberedPage } from '../../wire/paging.js';
import { defineAction } from '../action.js';
import { splitList } from './text.js';

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
      const ids = splitList(input.vpcId) as VpcId[];
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
    const isForeign = input.vpcOwnerId !== undefined && input.vpcOwnerId !== Number(caller.accountId);
    // No VPC of this cloud has them.
    if (input.enableIpv6 === true || input.dhcpOptionsSetId !== undefined || isForeign) {
      query = query.where('id', 'in', []);
    }

    const total = await countRows(query);
    const rows = await query.selectAll().$call(onPage(page)).execute();
    return { ...pageAnswer(page, rows, total), vpcs: { vpc: await describe(db, rows) } };
  },
});

export const describeVpcAttribute = defineAction(vpc.DescribeVpcAttribute, {
  errors: [],
  async read({ vpcId }, { db, caller, regionId }) {
    const found = await findVpc(db, { accountId: caller.accountId, regionId }, vpcId);
    // No error: Terraform takes an answer with an empty id for "gone", and an error for a failed deletion.
    if (!found) return { vpcId: '' };
    const [described] = await describe(db, [found]);
    const counts = {
      VSwitch: described?.vSwitchIds.vSwitchId.length ?? 0,
      VRouter: 1,
      RouteTable: described?.routerTableIds.routerTableIds.length ?? 0,
      NatGateway: described?.natGatewayIds.natGatewayIds.length ?? 0,
    };
    return {
      ...described,
      classicLinkEnabled: false,
      supportIpv4Gateway: false,
      ipv4GatewayId: '',
      associatedCens: { associatedCen: [] },
      cloudResources: {
        cloudResourceSetType: Object.entries(counts)
          .filter(([, count]) => count > 0)
          .map(([resourceType, resourceCount]) => ({ resourceType, resourceCount })),
      },
    };
  },
});

/** VPCs as the API shows them. */
async function describe(db: Reader, rows: readonly Vpc[]) {
  const ids = rows.map((row) => row.id);
  const tags = await readTags(db, 'vpc', ids);
  const idsIn = async (table: 'vSwitches' | 'routeTables' | 'natGateways') =>
    groupBy(
      await db
        .selectFrom(table)
        .select(['id', 'vpcId'])
        .where('vpcId', 'in', ids)
        .orderBy('sequence')
        .execute(),
      (row) => row.vpcId,
    );
  const [vSwitches, routeTables, natGateways] = [
    await idsIn('vSwitches'),
    await idsIn('routeTables'),
    await idsIn('natGateways'),
  ];
  return rows.map((row) => ({
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
    VRouterId: row.vRouterId,
    ipv6CidrBlock: '',
    enabledIpv6: false,
    cenStatus: 'Detached',
    dhcpOptionsSetId: '',
    dhcpOptionsSetStatus: '',
    dnsHostnameStatus: 'DISABLED',
    vSwitchIds: { vSwitchId: (vSwitches.get(row.id) ?? []).map(({ id }) => id) },
    routerTableIds: { routerTableIds: (routeTables.get(row.id) ?? []).map(({ id }) => id) },
    natGatewayIds: { natGatewayIds: (natGateways.get(row.id) ?? []).map(({ id }) => id) },
    secondaryCidrBlocks: { secondaryCidrBlock: vpcCidrs(row).slice(1) },
    userCidrs: { userCidr: JSON.parse(row.userCidrs) as string[] },
    ipv6CidrBlocks: { ipv6CidrBlock: [] },
    tags: { tag: (tags.get(row.id) ?? []).map(({ key, value }) => ({ key, value })) },
  }));
}
