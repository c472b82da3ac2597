import * as Vpc from '@alicloud/vpc20160428';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { codeOf } from '../../testing/errorCode.js';
import { startTestCloud, type TestCloud } from '../../testing/testCloud.js';
import { VpcFixture } from '../../testing/vpcFixture.js';

const regionId = 'cn-hangzhou';
let cloud: TestCloud;
let home: VpcFixture;
let instanceId: string;
let networkInterfaceId: string;
beforeAll(async () => {
  cloud = await startTestCloud({ config: { quotas: { routeTablesPerVpc: 2, routeEntriesPerTable: 4 } } });
  home = await VpcFixture.create(cloud);
  instanceId = await home.runInstance();
  ({ networkInterfaceId } = await home.primaryOf(instanceId));
});
afterAll(() => cloud.stop());

function createEntry(
  destinationCidrBlock: string,
  nextHopType: string,
  nextHopId: string,
  request: Partial<Vpc.CreateRouteEntryRequest> = {},
) {
  return cloud.vpc.createRouteEntry(
    new Vpc.CreateRouteEntryRequest({
      regionId,
      routeTableId: home.routeTableId,
      destinationCidrBlock,
      nextHopType,
      nextHopId,
      ...request,
    }),
  );
}

const deleteEntry = (request: Partial<Vpc.DeleteRouteEntryRequest>) =>
  cloud.vpc.deleteRouteEntry(new Vpc.DeleteRouteEntryRequest({ regionId, ...request }));

async function listEntries(routeTableId: string, request: Partial<Vpc.DescribeRouteEntryListRequest> = {}) {
  const { body } = await cloud.vpc.describeRouteEntryList(
    new Vpc.DescribeRouteEntryListRequest({ regionId, routeTableId, ...request }),
  );
  return body?.routeEntrys?.routeEntry ?? [];
}

async function createTable(request: Partial<Vpc.CreateRouteTableRequest> = {}) {
  const { body } = await cloud.vpc.createRouteTable(
    new Vpc.CreateRouteTableRequest({ regionId, vpcId: home.vpcId, ...request }),
  );
  return body?.routeTableId ?? '';
}

const deleteTable = (routeTableId: string) =>
  cloud.vpc.deleteRouteTable(new Vpc.DeleteRouteTableRequest({ regionId, routeTableId }));

async function tablesOnHost() {
  return (await home.applied(cloud)).routeTables;
}

describe('route entries', () => {
  it('lead to instances and network interfaces, on the host too', async () => {
    const { body } = await createEntry('192.168.0.0/24', 'Instance', instanceId, { routeEntryName: 'a' });
    await createEntry('192.168.1.0/24', 'NetworkInterface', networkInterfaceId);
    const nextHop = { kind: 'networkInterface', networkInterfaceId };
    expect(await tablesOnHost()).toEqual([
      {
        id: home.routeTableId,
        vSwitchIds: [home.vSwitchId],
        entries: [
          { destinationCidr: '192.168.0.0/24', nextHop },
          { destinationCidr: '192.168.1.0/24', nextHop },
        ],
      },
    ]);
    expect(await listEntries(home.routeTableId, { routeEntryType: 'Custom' })).toMatchObject([
      {
        routeEntryId: body?.routeEntryId,
        routeEntryName: 'a',
        destinationCidrBlock: '192.168.0.0/24',
        type: 'Custom',
        status: 'Available',
        nextHops: { nextHop: [{ nextHopType: 'Instance', nextHopId: instanceId }] },
      },
      { destinationCidrBlock: '192.168.1.0/24' },
    ]);
    await deleteEntry({ routeEntryId: body?.routeEntryId ?? '' });
    await deleteEntry({
      routeTableId: home.routeTableId,
      destinationCidrBlock: '192.168.1.0/24',
      nextHopId: networkInterfaceId,
    });
    expect((await tablesOnHost())[0]?.entries).toEqual([]);
  });

  it('of the system are the subnets and the services', async () => {
    expect(
      (await listEntries(home.routeTableId)).map((entry) => [entry.type, entry.destinationCidrBlock]),
    ).toEqual([
      ['System', '10.0.1.0/24'],
      ['System', '100.64.0.0/10'],
    ]);
  });

  it('come in pages', async () => {
    const first = await cloud.vpc.describeRouteEntryList(
      new Vpc.DescribeRouteEntryListRequest({ regionId, routeTableId: home.routeTableId, maxResult: 1 }),
    );
    const second = await cloud.vpc.describeRouteEntryList(
      new Vpc.DescribeRouteEntryListRequest({
        regionId,
        routeTableId: home.routeTableId,
        maxResult: 1,
        nextToken: first.body?.nextToken ?? '',
      }),
    );
    expect(
      [first, second].map(({ body }) => body?.routeEntrys?.routeEntry?.[0]?.destinationCidrBlock),
    ).toEqual(['10.0.1.0/24', '100.64.0.0/10']);
  });

  it('change their name and where they lead', async () => {
    const other = await home.runInstance();
    const { body } = await createEntry('192.168.0.0/24', 'Instance', instanceId);
    const routeEntryId = body?.routeEntryId ?? '';
    const modify = (request: Partial<Vpc.ModifyRouteEntryRequest>) =>
      cloud.vpc.modifyRouteEntry(new Vpc.ModifyRouteEntryRequest({ regionId, routeEntryId, ...request }));
    await modify({ routeEntryName: 'new', newNextHopType: 'Instance', newNextHopId: other });
    expect(await listEntries(home.routeTableId, { routeEntryId })).toMatchObject([
      { routeEntryName: 'new', nextHops: { nextHop: [{ nextHopId: other }] } },
    ]);
    expect(await codeOf(modify({ newNextHopId: other }))).toBe('MissingParam.NewNextHopType');
    expect(await codeOf(modify({ newNextHopType: 'Instance' }))).toBe('MissingParam.NewNextHopId');
    expect(await codeOf(modify({ routeEntryId: 'rte-none' }))).toBe('InvalidRouteEntryId.NotFound');
    await deleteEntry({ routeEntryId });
  });

  it('are made and deleted many at once, each for itself', async () => {
    const entry = (dstCidrBlock: string, nextHop = instanceId) =>
      new Vpc.CreateRouteEntriesRequestRouteEntries({
        routeTableId: home.routeTableId,
        dstCidrBlock,
        nextHop,
        nextHopType: 'Instance',
      });
    const { body } = await cloud.vpc.createRouteEntries(
      new Vpc.CreateRouteEntriesRequest({
        regionId,
        routeEntries: [entry('192.168.0.0/24'), entry('192.168.0.0/24'), entry('192.168.1.0/24', 'i-none')],
      }),
    );
    expect(body).toMatchObject({
      successCount: 1,
      failedCount: 2,
      failedRouteEntries: [
        { failedCode: 'InvalidCIDRBlock.Duplicate' },
        { failedCode: 'InvalidNextHopId.NotFound' },
      ],
    });
    const deleted = await cloud.vpc.deleteRouteEntries(
      new Vpc.DeleteRouteEntriesRequest({
        regionId,
        routeEntries: ['192.168.0.0/24', '192.168.1.0/24'].map(
          (dstCidrBlock) =>
            new Vpc.DeleteRouteEntriesRequestRouteEntries({ routeTableId: home.routeTableId, dstCidrBlock }),
        ),
      }),
    );
    expect(deleted.body).toMatchObject({ successCount: 1, failedCount: 1 });
  });

  const refused: [string, string, Partial<Vpc.CreateRouteEntryRequest>, string][] = [
    ['10.0.1.0/25', 'Instance', {}, 'OperationUnsupported.DestinationCidrBlockOverlapWithVSwitch'],
    ['100.64.0.0/16', 'Instance', {}, 'InvalidCidrBlock'],
    ['192.168.0.1/24', 'Instance', {}, 'InvalidCidrBlock'],
    ['::/0', 'Instance', {}, 'InvalidCidrBlock'],
    ['192.168.0.0/24', 'VpcPeer', {}, 'InvalidNextHopType'],
    ['192.168.0.0/24', 'NatGateway', {}, 'InvalidNextHopId.NotFound'],
    ['192.168.0.0/24', 'NetworkInterface', {}, 'InvalidNextHopId.NotFound'],
    ['192.168.0.0/24', 'Instance', { nextHopId: 'i-none' }, 'InvalidNextHopId.NotFound'],
    ['192.168.0.0/24', 'Instance', { routeTableId: 'vtb-none' }, 'InvalidRouteTableId.NotFound'],
    ['192.168.0.0/24', 'Instance', { routeEntryName: 'http://x' }, 'InvalidRouteEntryName.Malformed'],
    [
      '192.168.0.0/24',
      'Instance',
      { nextHopList: [new Vpc.CreateRouteEntryRequestNextHopList({ nextHopId: 'i-1' })] },
      'InvalidNexthopTypeAndList.BothNotNull',
    ],
  ];
  it.each(refused)('to %s by %s with %o are refused', async (cidr, type, request, code) => {
    expect(await codeOf(createEntry(cidr, type, instanceId, request))).toBe(code);
  });

  it('do not lead into another VPC', async () => {
    const other = await VpcFixture.create(cloud);
    const foreign = await other.runInstance();
    expect(await codeOf(createEntry('192.168.0.0/24', 'Instance', foreign))).toBe(
      'InvalidNextHopId.NotFound',
    );
  });

  it('keep to the quota, and are deleted by what names them exactly', async () => {
    for (let index = 0; index < 4; index += 1) {
      await createEntry(`192.168.${index}.0/24`, 'Instance', instanceId);
    }
    expect(await codeOf(createEntry('192.168.9.0/24', 'Instance', instanceId))).toBe('QuotaExceeded');
    const destinationCidrBlock = '192.168.0.0/24';
    expect(
      await codeOf(
        deleteEntry({ routeTableId: home.routeTableId, destinationCidrBlock, nextHopId: 'i-none' }),
      ),
    ).toBe('InvalidNextHop');
    for (let index = 0; index < 4; index += 1) {
      await deleteEntry({
        routeTableId: home.routeTableId,
        destinationCidrBlock: `192.168.${index}.0/24`,
      });
    }
    expect(await codeOf(deleteEntry({ routeTableId: home.routeTableId, destinationCidrBlock }))).toBe(
      'InvalidRouteEntry.NotFound',
    );
    expect(await codeOf(deleteEntry({ routeTableId: home.routeTableId }))).toBe('MissingParameter');
    expect(await codeOf(deleteEntry({}))).toBe('MissingParameter');
  });
});

describe('route tables', () => {
  it('are used by the vSwitches that are associated with them', async () => {
    const id = await createTable({ routeTableName: 'own', description: 'for one' });
    const vSwitchId = await home.createVSwitch('10.0.2.0/24');
    const pair = { regionId, routeTableId: id, vSwitchId };
    await cloud.vpc.associateRouteTable(new Vpc.AssociateRouteTableRequest(pair));
    await createEntry('192.168.0.0/24', 'Instance', instanceId, { routeTableId: id });
    expect((await tablesOnHost()).find((table) => table.id === id)).toMatchObject({
      vSwitchIds: [vSwitchId],
      entries: [{ destinationCidr: '192.168.0.0/24' }],
    });
    const { body } = await cloud.vpc.describeRouteTableList(
      new Vpc.DescribeRouteTableListRequest({ regionId, vpcId: home.vpcId, routeTableType: 'Custom' }),
    );
    expect(body?.routerTableList?.routerTableListType).toMatchObject([
      {
        routeTableId: id,
        routeTableName: 'own',
        description: 'for one',
        routerId: home.vRouterId,
        vpcId: home.vpcId,
        status: 'Available',
        vSwitchIds: { vSwitchId: [vSwitchId] },
      },
    ]);
    const deleteVSwitch = () =>
      cloud.vpc.deleteVSwitch(new Vpc.DeleteVSwitchRequest({ regionId, vSwitchId }));
    expect(await codeOf(deleteVSwitch())).toBe('DependencyViolation.RouteTable');
    expect(await codeOf(deleteTable(id))).toBe('IncorrectRouteTableStatus');
    expect(await codeOf(cloud.vpc.associateRouteTable(new Vpc.AssociateRouteTableRequest(pair)))).toBe(
      'Forbidden.VSwitchAlreadyAssociatedRouteTable',
    );
    await cloud.vpc.unassociateRouteTable(new Vpc.UnassociateRouteTableRequest(pair));
    expect(await codeOf(cloud.vpc.unassociateRouteTable(new Vpc.UnassociateRouteTableRequest(pair)))).toBe(
      'OperationFailed.VSwitchNotAssociate',
    );
    expect(await codeOf(deleteTable(id))).toBe('IncorrectRouteTableStatus.RouteEntryExist');
    await deleteEntry({ routeTableId: id, destinationCidrBlock: '192.168.0.0/24' });
    await deleteTable(id);
    await deleteVSwitch();
    expect(await codeOf(deleteTable(id))).toBe('InvalidRouteTableId.NotFound');
  });

  it('keep to the quota, and can be renamed', async () => {
    const ids = [await createTable(), await createTable()];
    expect(await codeOf(createTable())).toBe('QuotaExceeded.RouteTable');
    const [routeTableId = ''] = ids;
    const modify = (request: Partial<Vpc.ModifyRouteTableAttributesRequest>) =>
      cloud.vpc.modifyRouteTableAttributes(
        new Vpc.ModifyRouteTableAttributesRequest({ regionId, routeTableId, ...request }),
      );
    await modify({ routeTableName: 'renamed', description: 'and described' });
    const { body } = await cloud.vpc.describeRouteTableList(
      new Vpc.DescribeRouteTableListRequest({ regionId, routeTableName: 'renamed' }),
    );
    expect(body?.routerTableList?.routerTableListType?.map((table) => table.routeTableId)).toEqual([
      routeTableId,
    ]);
    expect(await codeOf(modify({ routeTableName: 'http://x' }))).toBe('Abs.InvaliTableName.Malformed');
    expect(await codeOf(modify({ routeTableId: 'vtb-none' }))).toBe('Abs.InvalidRouteTableId.NotExist');
    for (const id of ids) await deleteTable(id);
  });

  it('of the system go with their VPC only', async () => {
    const pair = { regionId, routeTableId: home.routeTableId, vSwitchId: home.vSwitchId };
    expect(await codeOf(deleteTable(home.routeTableId))).toBe('IncorrectRouteTableType');
    expect(await codeOf(cloud.vpc.associateRouteTable(new Vpc.AssociateRouteTableRequest(pair)))).toBe(
      'OperationDenied.SwitchToSystemRouteTable',
    );
    expect(await codeOf(cloud.vpc.unassociateRouteTable(new Vpc.UnassociateRouteTableRequest(pair)))).toBe(
      'OperationUnsupported.SystemRouteTable',
    );
  });

  it('are not shared between VPCs, and are not for gateways', async () => {
    const other = await VpcFixture.create(cloud);
    const routeTableId = await createTable();
    expect(
      await codeOf(
        cloud.vpc.associateRouteTable(
          new Vpc.AssociateRouteTableRequest({ regionId, routeTableId, vSwitchId: other.vSwitchId }),
        ),
      ),
    ).toBe('Forbidden.NotInSameVpc');
    expect(await codeOf(createTable({ associateType: 'Gateway' }))).toBe(
      'OperationUnsupported.AdvancedFeature',
    );
    expect(await codeOf(createTable({ vpcId: 'vpc-none' }))).toBe('InvalidVpcId.NotFound');
    await deleteTable(routeTableId);
  });

  it('are shown whole by the older action, as Terraform reads them', async () => {
    await createEntry('192.168.0.0/24', 'Instance', instanceId);
    const { body } = await cloud.vpc.describeRouteTables(
      new Vpc.DescribeRouteTablesRequest({ regionId, routeTableId: home.routeTableId }),
    );
    expect(body?.routeTables?.routeTable?.[0]).toMatchObject({ VRouterId: home.vRouterId });
    expect(
      body?.routeTables?.routeTable?.[0]?.routeEntrys?.routeEntry?.map((entry) => [
        entry.destinationCidrBlock,
        entry.nextHopType,
        entry.instanceId,
      ]),
    ).toEqual([
      ['10.0.1.0/24', 'local', ''],
      ['100.64.0.0/10', 'local', ''],
      ['192.168.0.0/24', 'Instance', instanceId],
    ]);
    await deleteEntry({ routeTableId: home.routeTableId, destinationCidrBlock: '192.168.0.0/24' });
  });
});

describe('routers', () => {
  it('have a name that can be changed', async () => {
    const modify = (request: Partial<Vpc.ModifyVRouterAttributeRequest>) =>
      cloud.vpc.modifyVRouterAttribute(
        new Vpc.ModifyVRouterAttributeRequest({ regionId, VRouterId: home.vRouterId, ...request }),
      );
    await modify({ VRouterName: 'hub' });
    const { body } = await cloud.vpc.describeVRouters(
      new Vpc.DescribeVRoutersRequest({ regionId, VRouterId: home.vRouterId }),
    );
    expect(body?.VRouters?.VRouter).toMatchObject([
      { VRouterName: 'hub', vpcId: home.vpcId, routeTableIds: { routeTableId: [home.routeTableId] } },
    ]);
    expect(await codeOf(modify({ VRouterId: 'vrt-none' }))).toBe('InvalidVRouterId.NotFound');
    expect(await codeOf(modify({ VRouterName: 'http://x' }))).toBe('InvalidVRouterName.Malformed');
  });
});

describe('a VPC range', () => {
  it('is refused to a vSwitch where a route entry leads', async () => {
    await createEntry('10.0.8.0/24', 'Instance', instanceId);
    expect(await codeOf(home.createVSwitch('10.0.8.0/24'))).toBe('RouteConflict.AlreadyExist');
    await deleteEntry({ routeTableId: home.routeTableId, destinationCidrBlock: '10.0.8.0/24' });
  });
});

describe('the ECS forms', () => {
  it('do the same under the older names', async () => {
    const rpc = cloud.rpc();
    const entry = { RouteTableId: home.routeTableId, DestinationCidrBlock: '192.168.0.0/24' };
    await rpc.request('CreateRouteEntry', { ...entry, NextHopId: instanceId, NextHopType: 'Instance' });
    const listed = await rpc.request<{
      RouteTables: { RouteTable: { RouteEntrys: { RouteEntry: { DestinationCidrBlock: string }[] } }[] };
    }>('DescribeRouteTables', { RegionId: regionId, VRouterId: home.vRouterId });
    expect(
      listed.RouteTables.RouteTable[0]?.RouteEntrys.RouteEntry.map((each) => each.DestinationCidrBlock),
    ).toContain('192.168.0.0/24');
    await rpc.request('DeleteRouteEntry', { ...entry, NextHopId: instanceId });
  });
});
