import * as ecs from '@alicloud/ecs20140526';
import * as vpc from '@alicloud/vpc20160428';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestCloud, type TestCloud } from '../../testing/testCloud.js';

/** The default network of an account, as the reading actions of ECS and VPC show it. */
const regionId = 'cn-hangzhou';

let cloud: TestCloud;
let instanceIds: string[];
let vpcId: string;
let securityGroupId: string;
beforeAll(async () => {
  cloud = await startTestCloud();
  const { body } = await cloud.ecs.runInstances(
    new ecs.RunInstancesRequest({
      regionId,
      zoneId: 'cn-hangzhou-a',
      imageId: 'debian_12_x64_egs',
      instanceType: 'ecs.t6-c1m1.large',
      amount: 3,
    }),
  );
  instanceIds = body?.instanceIdSets?.instanceIdSet ?? [];
  vpcId = (await vpcs())?.vpcs?.vpc?.[0]?.vpcId ?? '';
  securityGroupId = (await groups()).found[0]?.securityGroupId ?? '';
});
afterAll(() => cloud.stop());

const vpcs = async (input: Partial<vpc.DescribeVpcsRequest> = {}) =>
  (await cloud.vpc.describeVpcs(new vpc.DescribeVpcsRequest({ regionId, ...input }))).body;
const vSwitches = async (input: Partial<vpc.DescribeVSwitchesRequest> = {}) =>
  (await cloud.vpc.describeVSwitches(new vpc.DescribeVSwitchesRequest({ regionId, ...input }))).body;
const groups = async (input: Partial<ecs.DescribeSecurityGroupsRequest> = {}) => {
  const { body } = await cloud.ecs.describeSecurityGroups(
    new ecs.DescribeSecurityGroupsRequest({ regionId, ...input }),
  );
  return { ...body, found: body?.securityGroups?.securityGroup ?? [] };
};
const groupAttribute = async (input: Partial<ecs.DescribeSecurityGroupAttributeRequest> = {}) =>
  (
    await cloud.ecs.describeSecurityGroupAttribute(
      new ecs.DescribeSecurityGroupAttributeRequest({ regionId, securityGroupId, ...input }),
    )
  ).body;
const interfaces = async (input: Partial<ecs.DescribeNetworkInterfacesRequest> = {}) => {
  const { body } = await cloud.ecs.describeNetworkInterfaces(
    new ecs.DescribeNetworkInterfacesRequest({ regionId, ...input }),
  );
  return { ...body, found: body?.networkInterfaceSets?.networkInterfaceSet ?? [] };
};

describe('DescribeVpcs', () => {
  it('shows the default VPC with its vSwitches', async () => {
    const body = await vpcs();
    expect(body).toMatchObject({ totalCount: 1, pageNumber: 1, pageSize: 10 });
    expect(body?.vpcs?.vpc).toMatchObject([
      { vpcId, regionId, cidrBlock: '172.16.0.0/12', isDefault: true, status: 'Available' },
    ]);
    const ids = (await vSwitches())?.vSwitches?.vSwitch?.map((each) => each.vSwitchId);
    expect(body?.vpcs?.vpc?.[0]?.vSwitchIds?.vSwitchId).toEqual(ids);
    expect(ids).toHaveLength(2);
  });

  it('is there before the first instance', async () => {
    const fresh = await startTestCloud();
    try {
      const { body } = await fresh.vpc.describeVpcs(
        new vpc.DescribeVpcsRequest({ regionId, isDefault: true }),
      );
      expect(body?.totalCount).toBe(1);
    } finally {
      await fresh.stop();
    }
  });

  it('finds by id, name, default and tags', async () => {
    const count = async (input: Partial<vpc.DescribeVpcsRequest>) => (await vpcs(input))?.totalCount;
    expect(await count({ vpcId: `vpc-unknown,${vpcId}` })).toBe(1);
    expect(await count({ isDefault: true })).toBe(1);
    for (const filter of [
      { vpcId: 'vpc-unknown' },
      { vpcName: 'other' },
      { isDefault: false },
      { enableIpv6: true },
      { dhcpOptionsSetId: 'dopt-1' },
      { resourceGroupId: 'rg-1' },
      { tag: [new vpc.DescribeVpcsRequestTag({ key: 'a' })] },
    ]) {
      expect(await count(filter)).toBe(0);
    }
    await expect(count({ vpcId: Array(21).fill('vpc-1').join(',') })).rejects.toMatchObject({
      code: 'InvalidVpcIdNumber.NotSupported',
      statusCode: 400,
    });
  });

  it('is also an action of ECS, with the fields of that time', async () => {
    const answer = await cloud.rpc('2014-05-26').request('DescribeVpcs', { RegionId: regionId });
    expect(answer).toMatchObject({ Vpcs: { Vpc: [{ VpcId: vpcId, VSwitchIds: { VSwitchId: {} } }] } });
    expect(JSON.stringify(answer)).not.toContain('CenStatus');
    expect(
      JSON.stringify(await cloud.rpc('2016-04-28').request('DescribeVpcs', { RegionId: regionId })),
    ).toContain('CenStatus');
  });
});

describe('DescribeVSwitches', () => {
  it('counts the addresses that are left', async () => {
    const [first, second] = (await vSwitches())?.vSwitches?.vSwitch ?? [];
    expect(first).toMatchObject({
      zoneId: 'cn-hangzhou-a',
      cidrBlock: '172.16.0.0/20',
      vpcId,
      isDefault: true,
    });
    expect(first?.availableIpAddressCount).toBe(4092 - instanceIds.length);
    expect(second?.availableIpAddressCount).toBe(4092);
  });

  it('finds by zone, VPC, id and default; also under ECS', async () => {
    const count = async (input: Partial<vpc.DescribeVSwitchesRequest>) =>
      (await vSwitches(input))?.totalCount;
    const id = (await vSwitches({ zoneId: 'cn-hangzhou-b' }))?.vSwitches?.vSwitch?.[0]?.vSwitchId ?? '';
    expect(await count({ vSwitchId: id })).toBe(1);
    expect(await count({ vpcId })).toBe(2);
    expect(await count({ vpcId: 'vpc-unknown' })).toBe(0);
    expect(await count({ isDefault: false })).toBe(0);
    expect(await cloud.rpc().request('DescribeVSwitches', { VpcId: vpcId })).toMatchObject({ TotalCount: 2 });
    await expect(cloud.rpc().request('DescribeVSwitches', {})).rejects.toMatchObject({
      code: 'MissingParameter',
    });
    await expect(count({ vSwitchId: Array(21).fill('vsw-1').join(',') })).rejects.toMatchObject({
      code: 'InvalidVSwitchIdNumber.NotSupported',
      statusCode: 404,
    });
  });
});

describe('DescribeSecurityGroups', () => {
  it('shows the default group with its use', async () => {
    const { found, totalCount } = await groups();
    expect(totalCount).toBe(1);
    expect(found).toMatchObject([
      {
        securityGroupId,
        vpcId,
        securityGroupType: 'normal',
        ecsCount: 3,
        ruleCount: 3,
        groupToGroupRuleCount: 0,
      },
    ]);
  });

  it('finds by ids, VPC, type and name; unknown ids find nothing', async () => {
    const count = async (input: Partial<ecs.DescribeSecurityGroupsRequest>) =>
      (await groups(input)).found.length;
    for (const filter of [
      { securityGroupId },
      { securityGroupIds: JSON.stringify([securityGroupId, 'sg-unknown']) },
      { vpcId },
      { securityGroupType: 'normal' },
      { networkType: 'vpc' },
      { fuzzyQuery: true, securityGroupName: '' },
    ]) {
      expect(await count(filter)).toBe(1);
    }
    for (const filter of [
      { securityGroupId: 'sg-unknown' },
      { securityGroupIds: '[]' },
      { vpcId: 'vpc-unknown' },
      { securityGroupType: 'enterprise' },
      { networkType: 'classic' },
      { securityGroupName: 'other' },
      { resourceGroupId: 'rg-1' },
      { serviceManaged: true },
    ]) {
      expect(await count(filter)).toBe(0);
    }
    await expect(count({ securityGroupType: 'odd' })).rejects.toMatchObject({
      code: 'InvalidParameter.SecurityGroupType',
      statusCode: 400,
    });
  });
});

describe('DescribeSecurityGroupAttribute', () => {
  it('shows the rules, each with its peer on the right side', async () => {
    const body = await groupAttribute();
    expect(body).toMatchObject({ securityGroupId, vpcId, innerAccessPolicy: 'Accept', regionId });
    expect(body?.permissions?.permission?.map((rule) => `${rule.ipProtocol} ${rule.portRange}`)).toEqual([
      'TCP 22/22',
      'TCP 3389/3389',
      'ICMP -1/-1',
    ]);
    expect(body?.permissions?.permission?.[0]).toMatchObject({
      direction: 'ingress',
      policy: 'Accept',
      priority: '100',
      nicType: 'intranet',
      sourceCidrIp: '0.0.0.0/0',
      destCidrIp: '',
      sourceGroupId: '',
      ipv6SourceCidrIp: '',
      securityGroupRuleId: expect.stringMatching(/^sgr-/),
    });
  });

  it('selects by direction and answers 404 for an unknown group', async () => {
    expect((await groupAttribute({ direction: 'egress' }))?.permissions?.permission).toEqual([]);
    expect((await groupAttribute({ direction: 'ingress' }))?.permissions?.permission).toHaveLength(3);
    await expect(groupAttribute({ securityGroupId: 'sg-unknown' })).rejects.toMatchObject({
      code: 'InvalidSecurityGroupId.NotFound',
      statusCode: 404,
    });
    await expect(groupAttribute({ direction: 'sideways' })).rejects.toMatchObject({
      code: 'InvalidParameter',
    });
    await expect(groupAttribute({ nicType: 'radio' })).rejects.toMatchObject({
      code: 'InvalidNicType.ValueNotSupported',
    });
  });
});

describe('DescribeNetworkInterfaces', () => {
  it('shows the primary interface of an instance', async () => {
    const { found } = await interfaces({ instanceId: instanceIds[0] ?? '' });
    expect(found).toMatchObject([
      {
        instanceId: instanceIds[0],
        type: 'Primary',
        status: 'InUse',
        vpcId,
        zoneId: 'cn-hangzhou-a',
        macAddress: expect.stringMatching(/^00:16:3e:/),
        securityGroupIds: { securityGroupId: [securityGroupId] },
        attachment: { instanceId: instanceIds[0], deviceIndex: 0 },
      },
    ]);
    expect(found[0]?.privateIpSets?.privateIpSet).toMatchObject([
      { primary: true, privateIpAddress: found[0]?.privateIpAddress },
    ]);
  });

  it('finds by every filter', async () => {
    const all = (await interfaces()).found;
    expect(all).toHaveLength(3);
    const [one] = all;
    const id = one?.networkInterfaceId ?? '';
    const count = async (input: Partial<ecs.DescribeNetworkInterfacesRequest>) =>
      (await interfaces(input)).found.length;
    expect(await count({ networkInterfaceId: [id, 'eni-unknown'] })).toBe(1);
    expect(await count({ primaryIpAddress: one?.privateIpAddress ?? '' })).toBe(1);
    expect(await count({ privateIpAddress: all.map((each) => each.privateIpAddress ?? '') })).toBe(3);
    expect(await count({ vpcId, vSwitchId: one?.vSwitchId ?? '', securityGroupId })).toBe(3);
    expect(await count({ type: 'Primary', status: 'InUse' })).toBe(3);
    for (const filter of [
      { networkInterfaceId: ['eni-unknown'] },
      { instanceId: 'i-unknown' },
      { type: 'Secondary' },
      { status: 'Available' },
      { securityGroupId: 'sg-unknown' },
      { networkInterfaceName: 'other' },
      { serviceManaged: true },
      { ipv6Address: ['fd00::1'] },
      { tag: [new ecs.DescribeNetworkInterfacesRequestTag({ key: 'a' })] },
    ]) {
      expect(await count(filter)).toBe(0);
    }
    await expect(count({ type: 'Tertiary' })).rejects.toMatchObject({ code: 'InvalidParameter' });
    await expect(count({ status: 'Broken' })).rejects.toMatchObject({ code: 'InvalidParameter' });
  });

  it('answers in pages of either style', async () => {
    const byNumber = await interfaces({ pageNumber: 2, pageSize: 2 });
    expect(byNumber).toMatchObject({ totalCount: 3, pageNumber: 2, pageSize: 2 });
    expect(byNumber.found).toHaveLength(1);
    // Fewer than ten count as ten.
    expect((await interfaces({ maxResults: 1 })).found).toHaveLength(3);
  });
});

describe('what Terraform asks before it begins', () => {
  it('is told that the endpoint of a product is where it asked', async () => {
    const hostName = cloud.cloud.endpoint.replace('http://', '');
    const ask = (parameters: object) =>
      cloud
        .rpc('2015-06-12')
        .request('DescribeEndpoints', { Id: regionId, ServiceCode: 'ecs', ...parameters });
    expect(await ask({ Type: 'openAPI' })).toMatchObject({
      Endpoints: {
        Endpoint: [{ Endpoint: hostName, Id: regionId, SerivceCode: 'ecs', Type: 'openAPI' }],
      },
    });
    expect(await ask({ ServiceCode: 'slb' })).toMatchObject({ Endpoints: { Endpoint: [] } });
    await expect(ask({ Id: 'cn-nowhere' })).rejects.toMatchObject({ code: 'InvalidRegionId.NotFound' });
  });

  it('may ask for bought instances, and is answered without Code and Message', async () => {
    const answer = await cloud.rpc('2017-12-14').request<object>('QueryAvailableInstances', { PageNum: 1 });
    expect(answer).toMatchObject({ Success: true, Data: { TotalCount: 0, InstanceList: [] } });
    expect(Object.keys(answer)).not.toContain('Code');
    expect(Object.keys(answer)).not.toContain('Message');
  });
});
