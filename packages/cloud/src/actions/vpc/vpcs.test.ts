import * as Ecs from '@alicloud/ecs20140526';
import * as Vpc from '@alicloud/vpc20160428';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { VpcId } from '../../domain/ids.js';
import { codeOf } from '../../testing/errorCode.js';
import { startTestCloud, type TestCloud } from '../../testing/testCloud.js';

let cloud: TestCloud;
const regionId = 'cn-hangzhou';
const zoneId = 'cn-hangzhou-a';
beforeAll(async () => {
  cloud = await startTestCloud({ config: { quotas: { vpcs: 12, vSwitchesPerVpc: 3 } } });
});
afterAll(() => cloud.stop());

async function createVpc(request: Partial<Vpc.CreateVpcRequest> = {}) {
  const { body } = await cloud.vpc.createVpc(
    new Vpc.CreateVpcRequest({ regionId, cidrBlock: '10.0.0.0/16', ...request }),
  );
  return { vpcId: body?.vpcId ?? '', vRouterId: body?.VRouterId, routeTableId: body?.routeTableId ?? '' };
}

async function createVSwitch(
  vpcId: string,
  cidrBlock: string,
  request: Partial<Vpc.CreateVSwitchRequest> = {},
) {
  const { body } = await cloud.vpc.createVSwitch(
    new Vpc.CreateVSwitchRequest({ regionId, zoneId, vpcId, cidrBlock, ...request }),
  );
  return body?.vSwitchId ?? '';
}

const deleteVpc = (vpcId: string) => cloud.vpc.deleteVpc(new Vpc.DeleteVpcRequest({ regionId, vpcId }));
const deleteVSwitch = (vSwitchId: string) =>
  cloud.vpc.deleteVSwitch(new Vpc.DeleteVSwitchRequest({ regionId, vSwitchId }));
const describeVpc = async (vpcId: string) =>
  (await cloud.vpc.describeVpcAttribute(new Vpc.DescribeVpcAttributeRequest({ regionId, vpcId }))).body;
const describeVSwitch = async (vSwitchId: string) =>
  (
    await cloud.vpc.describeVSwitchAttributes(
      new Vpc.DescribeVSwitchAttributesRequest({ regionId, vSwitchId }),
    )
  ).body;

describe('VPCs', () => {
  it('are created with a router and a system route table, and are there at once', async () => {
    const created = await createVpc({
      vpcName: 'web',
      description: 'front',
      userCidr: '30.0.0.0/8,31.0.0.0/8',
      tag: [new Vpc.CreateVpcRequestTag({ key: 'team', value: 'a' })],
    });
    expect(created.vRouterId).toMatch(/^vrt-bp1/);
    expect(await describeVpc(created.vpcId)).toMatchObject({
      vpcId: created.vpcId,
      vpcName: 'web',
      description: 'front',
      status: 'Available',
      cidrBlock: '10.0.0.0/16',
      isDefault: false,
      VRouterId: created.vRouterId,
      classicLinkEnabled: false,
      userCidrs: { userCidr: ['30.0.0.0/8', '31.0.0.0/8'] },
      tags: { tag: [{ key: 'team', value: 'a' }] },
    });
    const { body } = await cloud.vpc.describeVpcs(
      new Vpc.DescribeVpcsRequest({ regionId, tag: [new Vpc.DescribeVpcsRequestTag({ key: 'team' })] }),
    );
    expect(body?.vpcs?.vpc?.map((row) => row.routerTableIds?.routerTableIds)).toEqual([
      [created.routeTableId],
    ]);
    await deleteVpc(created.vpcId);
  });

  it('have 172.16.0.0/12 when no range is named', async () => {
    const { vpcId } = await createVpc({ cidrBlock: undefined as unknown as string });
    expect((await describeVpc(vpcId))?.cidrBlock).toBe('172.16.0.0/12');
    await deleteVpc(vpcId);
  });

  it.each([
    ['10.0.0.1/16', 'bits below the mask'],
    ['10.0.0.0/29', 'a mask that is too long'],
    ['0.0.0.0/7', 'a mask that is too short'],
    ['100.64.0.0/16', 'the range of the services'],
    ['100.0.0.0/8', 'a range around that of the services'],
    ['224.0.0.0/8', 'multicast'],
    ['127.0.0.0/16', 'loopback'],
    ['169.254.0.0/16', 'link-local'],
    ['10.0.0.0', 'no mask'],
    ['fd00::/64', 'IPv6'],
  ])('do not have the range %s: %s', async (cidrBlock) => {
    expect(await codeOf(createVpc({ cidrBlock }))).toBe('InvalidParameter');
  });

  it.each([
    [{ vpcName: 'http://x' }, 'InvalidVpcName.Malformed'],
    [{ vpcName: 'x'.repeat(129) }, 'InvalidVpcName.Malformed'],
    [{ description: 'https://x' }, 'InvalidVpcDiscription.Malformed'],
    [{ userCidr: '1.0.0.0/8,2.0.0.0/8,3.0.0.0/8,4.0.0.0/8' }, 'InvalidUserCidr.Quota'],
    [{ userCidr: 'x' }, 'InvalidUserCidr.Malformed'],
    [{ enableIpv6: true }, 'OperationUnsupported.Ipv6Feature'],
    [{ ipv4IpamPoolId: 'ipam-1' }, 'UnsupportedFeature.Ipam'],
    [{ tag: [new Vpc.CreateVpcRequestTag({ key: 'acs:x' })] }, 'InvalidTagKey'],
    [{ dryRun: true }, 'DryRunOperation'],
  ])('refuse %o', async (request, code) => {
    expect(await codeOf(createVpc(request))).toBe(code);
  });

  it('keep to the quota', async () => {
    const created: string[] = [];
    let code = 'OK';
    while (code === 'OK' && created.length < 20) {
      try {
        created.push((await createVpc()).vpcId);
      } catch (error) {
        code = (error as { code: string }).code;
      }
    }
    expect(code).toBe('QuotaExceeded.Vpc');
    for (const id of created) await deleteVpc(id);
  });

  it('change their name, their description and their range around what is in it', async () => {
    const { vpcId } = await createVpc({ cidrBlock: '10.0.0.0/16' });
    const vSwitchId = await createVSwitch(vpcId, '10.0.1.0/24');
    const modify = (request: Partial<Vpc.ModifyVpcAttributeRequest>) =>
      cloud.vpc.modifyVpcAttribute(new Vpc.ModifyVpcAttributeRequest({ regionId, vpcId, ...request }));
    await modify({ vpcName: 'new', description: 'newer', cidrBlock: '10.0.0.0/8' });
    expect(await describeVpc(vpcId)).toMatchObject({
      vpcName: 'new',
      description: 'newer',
      cidrBlock: '10.0.0.0/8',
    });
    expect(await codeOf(modify({ cidrBlock: '192.168.0.0/16' }))).toBe('IllegalCidrBlock');
    expect(await codeOf(modify({ cidrBlock: '10.0.0.1/16' }))).toBe('InvalidCidrBlock.Malformed');
    expect(await codeOf(modify({ vpcName: 'http://x' }))).toBe('InvalidVpcName.Malformed');
    expect(await codeOf(modify({ vpcId: 'vpc-none' }))).toBe('InvalidVpcId.NotFound');
    await deleteVSwitch(vSwitchId);
    await deleteVpc(vpcId);
  });

  it('have secondary ranges, in which vSwitches can be', async () => {
    const { vpcId } = await createVpc();
    const associate = (secondaryCidrBlock: string) =>
      cloud.vpc.associateVpcCidrBlock(
        new Vpc.AssociateVpcCidrBlockRequest({ regionId, vpcId, secondaryCidrBlock }),
      );
    const unassociate = (secondaryCidrBlock: string) =>
      cloud.vpc.unassociateVpcCidrBlock(
        new Vpc.UnassociateVpcCidrBlockRequest({ regionId, vpcId, secondaryCidrBlock }),
      );
    await associate('192.168.0.0/16');
    expect((await describeVpc(vpcId))?.secondaryCidrBlocks?.secondaryCidrBlock).toEqual(['192.168.0.0/16']);
    expect(await codeOf(associate('192.168.1.0/24'))).toBe('Duplicated.SecondaryCidrBlock');
    expect(await codeOf(associate('10.0.128.0/17'))).toBe('Duplicated.SecondaryCidrBlock');
    expect(await codeOf(associate('100.64.0.0/16'))).toBe('IllegalParam.SecondaryCidrBlock');
    const vSwitchId = await createVSwitch(vpcId, '192.168.4.0/24');
    expect(await codeOf(unassociate('192.168.0.0/16'))).toBe('OperationFailed.CidrInUse');
    await deleteVSwitch(vSwitchId);
    await unassociate('192.168.0.0/16');
    expect(await codeOf(unassociate('192.168.0.0/16'))).toBe('InvalidSecondaryCidrBlock.NotFound');
    await deleteVpc(vpcId);
  });

  it('are deleted only when nothing is in them, and leave nothing', async () => {
    const { vpcId } = await createVpc();
    const vSwitchId = await createVSwitch(vpcId, '10.0.1.0/24');
    const { body: group } = await cloud.ecs.createSecurityGroup(
      new Ecs.CreateSecurityGroupRequest({ regionId, vpcId }),
    );
    const securityGroupId = group?.securityGroupId ?? '';
    expect(await codeOf(deleteVpc(vpcId))).toBe('DependencyViolation.VSwitch');
    await deleteVSwitch(vSwitchId);
    expect(await codeOf(deleteVpc(vpcId))).toBe('DependencyViolation.SecurityGroup');
    await cloud.ecs.deleteSecurityGroup(new Ecs.DeleteSecurityGroupRequest({ regionId, securityGroupId }));
    await deleteVpc(vpcId);
    expect(await describeVpc(vpcId)).toMatchObject({ vpcId: '' });
    expect(await codeOf(deleteVpc(vpcId))).toBe('Forbidden.VpcNotFound');
    await cloud.cloud.reconciler.idle();
    const { reader } = cloud.cloud.parts.store;
    const rows = await reader
      .selectFrom('vpcs')
      .select('id')
      .where('id', '=', vpcId as VpcId)
      .execute();
    const tables = await reader
      .selectFrom('routeTables')
      .select('id')
      .where('vpcId', '=', vpcId as VpcId)
      .execute();
    expect([rows, tables]).toEqual([[], []]);
    expect(cloud.network.networks.has(vpcId as VpcId)).toBe(false);
  });

  it('have no classic link', async () => {
    const { vpcId } = await createVpc();
    const request = { regionId, vpcId };
    expect(await codeOf(cloud.vpc.enableVpcClassicLink(new Vpc.EnableVpcClassicLinkRequest(request)))).toBe(
      'Forbidden.EnableClassicLink',
    );
    await cloud.vpc.disableVpcClassicLink(new Vpc.DisableVpcClassicLinkRequest(request));
    await deleteVpc(vpcId);
  });

  it('move between resource groups', async () => {
    const { vpcId } = await createVpc();
    const move = (resourceType: string, resourceId: string) =>
      cloud.vpc.moveResourceGroup(
        new Vpc.MoveResourceGroupRequest({ regionId, resourceType, resourceId, newResourceGroupId: 'rg-1' }),
      );
    await move('vpc', vpcId);
    expect((await describeVpc(vpcId))?.resourceGroupId).toBe('rg-1');
    expect(await codeOf(move('vpc', 'vpc-none'))).toBe('InvalidResourceId.NotFound');
    expect(await codeOf(move('FlowLog', vpcId))).toBe('IllegalParam.ResourceType');
    await deleteVpc(vpcId);
  });
});

describe('default VPC', () => {
  it('is one of its kind, and comes back when it is asked for', async () => {
    const create = () => cloud.vpc.createDefaultVpc(new Vpc.CreateDefaultVpcRequest({ regionId }));
    expect(await codeOf(create())).toBe('OperationFailed.DefaultVpcExist');
    const { body } = await cloud.vpc.describeVpcs(new Vpc.DescribeVpcsRequest({ regionId, isDefault: true }));
    const [found] = body?.vpcs?.vpc ?? [];
    for (const id of found?.vSwitchIds?.vSwitchId ?? []) await deleteVSwitch(id);
    const { body: groups } = await cloud.ecs.describeSecurityGroups(
      new Ecs.DescribeSecurityGroupsRequest({ regionId, vpcId: found?.vpcId ?? '' }),
    );
    for (const { securityGroupId = '' } of groups?.securityGroups?.securityGroup ?? []) {
      await cloud.ecs.deleteSecurityGroup(new Ecs.DeleteSecurityGroupRequest({ regionId, securityGroupId }));
    }
    await deleteVpc(found?.vpcId ?? '');
    const createVSwitchIn = (zone: string) =>
      cloud.vpc.createDefaultVSwitch(new Vpc.CreateDefaultVSwitchRequest({ regionId, zoneId: zone }));
    expect(await codeOf(createVSwitchIn(zoneId))).toBe('OperationFailed.DefaultVpcNotExist');

    const created = (await create()).body;
    const again = await describeVpc(created?.vpcId ?? '');
    expect(again).toMatchObject({ isDefault: true, cidrBlock: '172.16.0.0/12' });
    const [first = ''] = again?.vSwitchIds?.vSwitchId ?? [];
    const { cidrBlock, zoneId: zone = '' } = (await describeVSwitch(first)) ?? {};
    expect(await codeOf(createVSwitchIn(zone))).toBe('OperationFailed.DefaultVSwitchExist');
    await deleteVSwitch(first);
    const { body: vSwitch } = await createVSwitchIn(zone);
    expect(await describeVSwitch(vSwitch?.vSwitchId ?? '')).toMatchObject({ cidrBlock, isDefault: true });
    expect(await codeOf(createVSwitchIn('cn-nowhere-a'))).toBe('InvalidZoneId.NotFound');
  });
});

describe('vSwitches', () => {
  let vpcId: string;
  beforeAll(async () => {
    ({ vpcId } = await createVpc({ cidrBlock: '10.0.0.0/16' }));
  });
  afterAll(() => deleteVpc(vpcId));

  it('show what they are, how many addresses are left, and what routes for them', async () => {
    const id = await createVSwitch(vpcId, '10.0.0.0/24', { vSwitchName: 'one', description: 'first' });
    expect(await describeVSwitch(id)).toMatchObject({
      vSwitchName: 'one',
      description: 'first',
      vpcId,
      zoneId,
      status: 'Available',
      availableIpAddressCount: 252,
      isDefault: false,
      routeTable: { routeTableType: 'System' },
    });
    await cloud.vpc.modifyVSwitchAttribute(
      new Vpc.ModifyVSwitchAttributeRequest({
        regionId,
        vSwitchId: id,
        vSwitchName: 'two',
        description: 'second',
      }),
    );
    const { body } = await cloud.vpc.describeVSwitches(
      new Vpc.DescribeVSwitchesRequest({ regionId, vpcId, vSwitchName: 'two' }),
    );
    expect(body?.vSwitches?.vSwitch?.map((row) => [row.vSwitchId, row.description])).toEqual([
      [id, 'second'],
    ]);
    await deleteVSwitch(id);
    expect(await describeVSwitch(id)).toMatchObject({ vSwitchId: '' });
    expect(await codeOf(deleteVSwitch(id))).toBe('InvalidVSwitchId.NotFound');
  });

  it.each([
    ['10.1.0.0/24', {}, 'InvalidCidrBlock.Malformed'],
    ['10.0.0.1/24', {}, 'InvalidCidrBlock.Malformed'],
    ['10.0.0.0/30', {}, 'InvalidCirdrBlock.MaskLength'],
    ['10.0.9.0/24', { vSwitchName: 'http://x' }, 'InvalidVSwitchName.Malformed'],
    ['10.0.9.0/24', { description: 'http://x' }, 'InvalidVSwitchDiscription.Malformed'],
    ['10.0.9.0/24', { zoneId: 'cn-nowhere-a' }, 'InvalidZoneId.NotFound'],
    ['10.0.9.0/24', { vpcId: 'vpc-none' }, 'InvalidVpcId.NotFound'],
    ['10.0.9.0/24', { ipv6CidrBlock: 1 }, 'InvalidParameter'],
  ])('refuse %s with %o', async (cidrBlock, request, code) => {
    expect(await codeOf(createVSwitch(vpcId, cidrBlock, request))).toBe(code);
  });

  it('do not overlap, and keep to the quota', async () => {
    const ids = [
      await createVSwitch(vpcId, '10.0.0.0/24'),
      await createVSwitch(vpcId, '10.0.2.0/23'),
      await createVSwitch(vpcId, '10.0.1.0/29'),
    ];
    expect(await codeOf(createVSwitch(vpcId, '10.0.3.0/24'))).toBe('InvalidCidrBlock.Overlapped');
    expect(await codeOf(createVSwitch(vpcId, '10.0.9.0/24'))).toBe('QuotaExceeded.VSwitch');
    for (const id of ids) await deleteVSwitch(id);
  });

  it('stay while an instance is in them', async () => {
    const vSwitchId = await createVSwitch(vpcId, '10.0.0.0/24');
    const { body: group } = await cloud.ecs.createSecurityGroup(
      new Ecs.CreateSecurityGroupRequest({ regionId, vpcId }),
    );
    const securityGroupId = group?.securityGroupId ?? '';
    const { body } = await cloud.ecs.runInstances(
      new Ecs.RunInstancesRequest({
        regionId,
        imageId: 'debian_12_x64_egs',
        instanceType: 'ecs.c6.large',
        vSwitchId,
        securityGroupId,
      }),
    );
    const [instanceId = ''] = body?.instanceIdSets?.instanceIdSet ?? [];
    await cloud.cloud.reconciler.idle();
    expect((await describeVSwitch(vSwitchId))?.availableIpAddressCount).toBe(251);
    expect(await codeOf(deleteVSwitch(vSwitchId))).toBe('DependencyViolation');
    expect(cloud.network.networks.get(vpcId as VpcId)).toMatchObject({
      cidrs: ['10.0.0.0/16'],
      vSwitches: [{ id: vSwitchId, cidr: '10.0.0.0/24', gateway: '10.0.0.253' }],
      outboundNat: false,
    });
    await cloud.ecs.deleteInstance(new Ecs.DeleteInstanceRequest({ regionId, instanceId, force: true }));
    await cloud.cloud.reconciler.idle();
    await deleteVSwitch(vSwitchId);
    await cloud.ecs.deleteSecurityGroup(new Ecs.DeleteSecurityGroupRequest({ regionId, securityGroupId }));
  });
});

describe('the ECS forms', () => {
  it('do the same under the older names', async () => {
    const rpc = cloud.rpc();
    const vpc = await rpc.request<{ VpcId: string; VRouterId: string }>('CreateVpc', {
      RegionId: regionId,
      CidrBlock: '10.0.0.0/16',
      VpcName: 'old',
    });
    const vSwitch = await rpc.request<{ VSwitchId: string }>('CreateVSwitch', {
      RegionId: regionId,
      ZoneId: zoneId,
      VpcId: vpc.VpcId,
      CidrBlock: '10.0.0.0/24',
    });
    await rpc.request('ModifyVSwitchAttribute', {
      RegionId: regionId,
      VSwitchId: vSwitch.VSwitchId,
      VSwitchName: 'newer',
    });
    await rpc.request('ModifyVpcAttribute', {
      RegionId: regionId,
      VpcId: vpc.VpcId,
      VpcName: 'newer',
      UserCidr: '30.0.0.0/8',
    });
    const listed = await rpc.request<{ Vpcs: { Vpc: { VpcName: string }[] } }>('DescribeVpcs', {
      RegionId: regionId,
      VpcId: vpc.VpcId,
    });
    expect(listed.Vpcs.Vpc.map(({ VpcName }) => VpcName)).toEqual(['newer']);
    expect((await describeVpc(vpc.VpcId))?.userCidrs?.userCidr).toEqual(['30.0.0.0/8']);
    const routers = await rpc.request<{ VRouters: { VRouter: { VpcId: string }[] } }>('DescribeVRouters', {
      RegionId: regionId,
      VRouterId: vpc.VRouterId,
    });
    expect(routers.VRouters.VRouter.map(({ VpcId }) => VpcId)).toEqual([vpc.VpcId]);
    expect(await codeOf(rpc.request('DeleteVpc', { VpcId: vpc.VpcId }))).toBe('DependencyViolation.VSwitch');
    await rpc.request('DeleteVSwitch', { VSwitchId: vSwitch.VSwitchId });
    await rpc.request('DeleteVpc', { VpcId: vpc.VpcId });
  });
});
