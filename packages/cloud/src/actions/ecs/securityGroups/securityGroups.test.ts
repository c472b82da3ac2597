import * as Ecs from '@alicloud/ecs20140526';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { VpcId } from '../../../domain/ids.js';
import { startTestCloud, type TestCloud } from '../../../testing/testCloud.js';

let cloud: TestCloud;
const regionId = 'cn-hangzhou';
beforeAll(async () => {
  cloud = await startTestCloud();
});
afterAll(() => cloud.stop());

async function create(request: Partial<Ecs.CreateSecurityGroupRequest> = {}): Promise<string> {
  const { body } = await cloud.ecs.createSecurityGroup(
    new Ecs.CreateSecurityGroupRequest({ regionId, ...request }),
  );
  return body?.securityGroupId ?? '';
}

async function show(securityGroupId: string, direction = 'all') {
  const { body } = await cloud.ecs.describeSecurityGroupAttribute(
    new Ecs.DescribeSecurityGroupAttributeRequest({ regionId, securityGroupId, direction }),
  );
  return { ...body, rules: body?.permissions?.permission ?? [] };
}

const allow = (securityGroupId: string, rule: Partial<Ecs.AuthorizeSecurityGroupRequest>) =>
  cloud.ecs.authorizeSecurityGroup(
    new Ecs.AuthorizeSecurityGroupRequest({ regionId, securityGroupId, ...rule }),
  );

const web = { ipProtocol: 'tcp', portRange: '80/80', sourceCidrIp: '10.1.2.3/8' };

async function codeOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return 'OK';
  } catch (error) {
    return (error as { code: string }).code;
  }
}

/** A group as the host has it, which knows only groups that something is in. */
async function onHost(securityGroupId: string) {
  await cloud.ecs.runInstances(
    new Ecs.RunInstancesRequest({
      regionId,
      imageId: 'debian_12_x64_egs',
      instanceType: 'ecs.c6.large',
      securityGroupId,
    }),
  );
  await cloud.cloud.reconciler.idle();
  const { vpcId } = await show(securityGroupId);
  const network = cloud.network.networks.get(vpcId as VpcId);
  return network?.security.groups.find((group) => group.id === securityGroupId);
}

describe('security groups', () => {
  it('are created in the default VPC, shown, renamed and deleted', async () => {
    const id = await create({ securityGroupName: 'front', description: 'of the shop' });
    expect(await show(id)).toMatchObject({
      securityGroupName: 'front',
      description: 'of the shop',
      innerAccessPolicy: 'Accept',
      rules: [],
    });
    await cloud.ecs.modifySecurityGroupAttribute(
      new Ecs.ModifySecurityGroupAttributeRequest({
        regionId,
        securityGroupId: id,
        securityGroupName: 'back',
      }),
    );
    expect((await show(id)).securityGroupName).toBe('back');
    await cloud.ecs.deleteSecurityGroup(
      new Ecs.DeleteSecurityGroupRequest({ regionId, securityGroupId: id }),
    );
    expect(await codeOf(show(id))).toBe('InvalidSecurityGroupId.NotFound');
  });

  it('of the enterprise type keep their members apart', async () => {
    const id = await create({ securityGroupType: 'enterprise' });
    expect((await show(id)).innerAccessPolicy).toBe('Drop');
    expect(await onHost(id)).toMatchObject({ type: 'enterprise', innerAccessPolicy: 'drop' });
    const other = await create();
    expect(await codeOf(allow(id, { ...web, sourceCidrIp: undefined as never, sourceGroupId: other }))).toBe(
      'InvalidGroupAuthParameter.OperationDenied',
    );
  });

  it('switch the inner access of their members, and the host follows', async () => {
    const id = await create();
    const setPolicy = (innerAccessPolicy: string) =>
      cloud.ecs.modifySecurityGroupPolicy(
        new Ecs.ModifySecurityGroupPolicyRequest({ regionId, securityGroupId: id, innerAccessPolicy }),
      );
    await setPolicy('drop');
    expect((await show(id)).innerAccessPolicy).toBe('Drop');
    expect((await onHost(id))?.innerAccessPolicy).toBe('drop');
    expect(await codeOf(setPolicy('maybe'))).toBe('InvalidPolicy.Malformed');
  });

  it('cannot be deleted while another group names them', async () => {
    const named = await create();
    const naming = await create();
    await allow(naming, { ipProtocol: 'tcp', portRange: '1/65535', sourceGroupId: named });
    const remove = (securityGroupId: string) =>
      cloud.ecs.deleteSecurityGroup(new Ecs.DeleteSecurityGroupRequest({ regionId, securityGroupId }));
    expect(await codeOf(remove(named))).toBe('DependencyViolation');
    const { body } = await cloud.ecs.describeSecurityGroupReferences(
      new Ecs.DescribeSecurityGroupReferencesRequest({ regionId, securityGroupId: [named] }),
    );
    expect(body?.securityGroupReferences?.securityGroupReference).toMatchObject([
      {
        securityGroupId: named,
        referencingSecurityGroups: { referencingSecurityGroup: [{ securityGroupId: naming }] },
      },
    ]);
    await remove(naming);
    await remove(named);
  });

  it.each([
    ['an unknown VPC', { vpcId: 'vpc-none' }, 'InvalidVpcId.NotFound'],
    ['an unknown type', { securityGroupType: 'soft' }, 'InvalidParams.GroupType'],
    ['a name that is an address', { securityGroupName: 'https://x' }, 'InvalidSecurityGroupName.Malformed'],
    ['a description that is one', { description: 'http://x' }, 'InvalidSecurityGroupDiscription.Malformed'],
  ])('are not created with %s', async (_what, request, code) => {
    expect(await codeOf(create(request))).toBe(code);
  });
});

describe('rules', () => {
  it('are authorized once, however often, and reach the host', async () => {
    const id = await create();
    await allow(id, web);
    await allow(id, { ...web, sourceCidrIp: '10.0.0.0/8' });
    const { rules } = await show(id, 'ingress');
    expect(rules).toMatchObject([
      {
        ipProtocol: 'TCP',
        portRange: '80/80',
        sourceCidrIp: '10.0.0.0/8',
        policy: 'Accept',
        priority: '1',
        direction: 'ingress',
        nicType: 'intranet',
      },
    ]);
    expect((await onHost(id))?.rules).toMatchObject([
      {
        protocol: 'tcp',
        portRange: { first: 80, last: 80 },
        peer: { kind: 'cidr', cidr: '10.0.0.0/8' },
        policy: 'accept',
      },
    ]);
  });

  it('of a list are authorized and revoked together', async () => {
    const id = await create();
    const permissions = [
      { ipProtocol: 'UDP', portRange: '53/53', sourceCidrIp: '0.0.0.0/0', policy: 'drop', priority: '7' },
      { ipProtocol: 'ICMP', portRange: '-1/-1', sourceCidrIp: '192.168.0.1', destCidrIp: '10.0.0.1' },
    ];
    await allow(id, {
      permissions: permissions.map((each) => new Ecs.AuthorizeSecurityGroupRequestPermissions(each)),
    });
    expect((await show(id)).rules).toMatchObject([
      { ipProtocol: 'UDP', policy: 'Drop', priority: '7' },
      { ipProtocol: 'ICMP', sourceCidrIp: '192.168.0.1', destCidrIp: '10.0.0.1' },
    ]);
    await cloud.ecs.revokeSecurityGroup(
      new Ecs.RevokeSecurityGroupRequest({
        regionId,
        securityGroupId: id,
        permissions: permissions.map((each) => new Ecs.RevokeSecurityGroupRequestPermissions(each)),
      }),
    );
    expect((await show(id)).rules).toEqual([]);
  });

  it('are revoked by their ids, and revoking what is not there succeeds', async () => {
    const id = await create();
    await allow(id, web);
    const [rule] = (await show(id)).rules;
    const revoke = (request: Partial<Ecs.RevokeSecurityGroupRequest>) =>
      cloud.ecs.revokeSecurityGroup(
        new Ecs.RevokeSecurityGroupRequest({ regionId, securityGroupId: id, ...request }),
      );
    expect(await codeOf(revoke({ securityGroupRuleId: ['sgr-none'] }))).toBe(
      'InvalidSecurityGroupRuleId.NotFound',
    );
    await revoke({ securityGroupRuleId: [rule?.securityGroupRuleId ?? ''] });
    expect((await show(id)).rules).toEqual([]);
    expect(await codeOf(revoke(web))).toBe('OK');
  });

  it('of egress stand on the other side', async () => {
    const id = await create();
    await cloud.ecs.authorizeSecurityGroupEgress(
      new Ecs.AuthorizeSecurityGroupEgressRequest({
        regionId,
        securityGroupId: id,
        ipProtocol: 'all',
        portRange: '-1/-1',
        destCidrIp: '203.0.113.0/24',
        policy: 'drop',
      }),
    );
    expect((await show(id, 'egress')).rules).toMatchObject([
      { destCidrIp: '203.0.113.0/24', sourceCidrIp: '', direction: 'egress', policy: 'Drop' },
    ]);
    expect((await show(id, 'ingress')).rules).toEqual([]);
    await cloud.ecs.revokeSecurityGroupEgress(
      new Ecs.RevokeSecurityGroupEgressRequest({
        regionId,
        securityGroupId: id,
        ipProtocol: 'ALL',
        portRange: '-1/-1',
        destCidrIp: '203.0.113.0/24',
        policy: 'Drop',
      }),
    );
    expect((await show(id)).rules).toEqual([]);
  });

  it('are modified by their id, keeping what the request leaves out', async () => {
    const id = await create();
    await allow(id, { ...web, description: 'web' });
    const [rule] = (await show(id)).rules;
    const modify = (request: Partial<Ecs.ModifySecurityGroupRuleRequest>) =>
      cloud.ecs.modifySecurityGroupRule(
        new Ecs.ModifySecurityGroupRuleRequest({
          regionId,
          securityGroupId: id,
          securityGroupRuleId: rule?.securityGroupRuleId ?? '',
          ...request,
        }),
      );
    await modify({ portRange: '443/443', policy: 'drop' });
    expect((await show(id)).rules).toMatchObject([
      { portRange: '443/443', policy: 'Drop', sourceCidrIp: '10.0.0.0/8', description: 'web' },
    ]);
    expect(await codeOf(modify({ policy: 'drop' }))).toBe('InvalidParam.InvalidModifyRuleRequest');
    expect(await codeOf(modify({ securityGroupRuleId: 'sgr-none' }))).toBe(
      'InvalidSecurityGroupRuleId.NotFound',
    );
  });

  it.each([
    ['no source', { ...web, sourceCidrIp: undefined as never }, 'MissingParameter.Source'],
    ['two sources', { ...web, sourceGroupId: 'sg-x' }, 'InvalidParameter.Conflict'],
    [
      'an unknown group',
      { ...web, sourceCidrIp: undefined as never, sourceGroupId: 'sg-x' },
      'InvalidSourceGroupId.NotFound',
    ],
    [
      'an unknown prefix list',
      { ...web, sourceCidrIp: undefined as never, sourcePrefixListId: 'pl-x' },
      'InvalidPrefixListId.NotFound',
    ],
    ['an unknown protocol', { ...web, ipProtocol: 'sctp' }, 'InvalidIpProtocol.ValueNotSupported'],
    ['no protocol', { ...web, ipProtocol: undefined as never }, 'MissingParameter'],
    ['no ports', { ...web, portRange: undefined as never }, 'MissingParameter'],
    ['ports that are none', { ...web, portRange: '80' }, 'InvalidPortRange.Malformed'],
    ['ports the wrong way round', { ...web, portRange: '90/80' }, 'InvalidPortRange.Malformed'],
    ['ports above all', { ...web, portRange: '1/70000' }, 'InvalidPortRange.Malformed'],
    ['ports of a protocol without', { ...web, ipProtocol: 'gre' }, 'InvalidPortRange.Malformed'],
    ['source ports that are none', { ...web, sourcePortRange: 'x' }, 'InvalidSourcePortRange.Malformed'],
    ['a source that is no CIDR', { ...web, sourceCidrIp: '10.0.0.0/40' }, 'InvalidSourceCidrIp.Malformed'],
    ['a destination that is no CIDR', { ...web, destCidrIp: 'x' }, 'InvalidDestCidrIp.Malformed'],
    ['an unknown policy', { ...web, policy: 'maybe' }, 'InvalidPolicy.Malformed'],
    ['a priority of words', { ...web, priority: 'first' }, 'InvalidPriority.Malformed'],
    ['a priority above 100', { ...web, priority: '101' }, 'InvalidPriority.ValueNotSupported'],
    ['an unknown kind of interface', { ...web, nicType: 'wifi' }, 'InvalidNicType.ValueNotSupported'],
  ])('are refused with %s', async (_what, rule, code) => {
    const id = await create();
    expect(await codeOf(allow(id, rule))).toBe(code);
    expect((await show(id)).rules).toEqual([]);
  });

  it('are at most 200 in a group', async () => {
    const id = await create();
    const permissions = (first: number, count: number) =>
      Array.from(
        { length: count },
        (_, index) =>
          new Ecs.AuthorizeSecurityGroupRequestPermissions({
            ...web,
            portRange: `${first + index}/${first + index}`,
          }),
      );
    await allow(id, { permissions: permissions(1, 100) });
    await allow(id, { permissions: permissions(101, 100) });
    expect(await codeOf(allow(id, { ...web, portRange: '300/300' }))).toBe('AuthorizationLimitExceed');
    expect(await codeOf(allow(id, { ...web, permissions: permissions(1, 2) }))).toBe(
      'InvalidParam.Permissions',
    );
  });
});

describe('membership', () => {
  it('is joined and left by instances, and the host follows', async () => {
    const { body } = await cloud.ecs.runInstances(
      new Ecs.RunInstancesRequest({
        regionId,
        imageId: 'debian_12_x64_egs',
        instanceType: 'ecs.c6.large',
      }),
    );
    const instanceId = body?.instanceIdSets?.instanceIdSet?.[0] ?? '';
    await cloud.cloud.reconciler.idle();
    const groupsOf = async () => {
      const answer = await cloud.ecs.describeInstanceAttribute(
        new Ecs.DescribeInstanceAttributeRequest({ instanceId }),
      );
      return answer.body?.securityGroupIds?.securityGroupId ?? [];
    };
    const [first = ''] = await groupsOf();
    const second = await create();
    const member = (securityGroupId: string) => ({ regionId, instanceId, securityGroupId });
    const join = (id: string) => cloud.ecs.joinSecurityGroup(new Ecs.JoinSecurityGroupRequest(member(id)));
    const leave = (id: string) => cloud.ecs.leaveSecurityGroup(new Ecs.LeaveSecurityGroupRequest(member(id)));

    expect(await codeOf(leave(first))).toBe('InstanceLastSecurityGroup');
    expect(await codeOf(leave(second))).toBe('InstanceNotInSecurityGroup');
    await join(second);
    expect(await groupsOf()).toEqual([first, second]);
    expect(await codeOf(join(second))).toBe('InvalidInstanceId.AlreadyExists');
    expect(await codeOf(join(await create({ securityGroupType: 'enterprise' })))).toBe(
      'InvalidOperation.MultiGroupType',
    );
    await leave(first);
    expect(await groupsOf()).toEqual([second]);
    await cloud.cloud.reconciler.idle();
    const { vpcId } = await show(second);
    const ports = cloud.network.networks.get(vpcId as VpcId)?.ports ?? [];
    expect(ports.map((port) => port.securityGroupIds)).toContainEqual([second]);
    expect(
      await codeOf(
        cloud.ecs.deleteSecurityGroup(
          new Ecs.DeleteSecurityGroupRequest({ regionId, securityGroupId: second }),
        ),
      ),
    ).toBe('DependencyViolation');
    for (let count = 0; count < 4; count += 1) await join(await create());
    expect(await codeOf(join(await create()))).toBe('InstanceSecurityGroupLimitExceeded');
  });

  it('wants either an instance or a network interface', async () => {
    const securityGroupId = await create();
    const join = (request: Partial<Ecs.JoinSecurityGroupRequest>) =>
      codeOf(
        cloud.ecs.joinSecurityGroup(
          new Ecs.JoinSecurityGroupRequest({ regionId, securityGroupId, ...request }),
        ),
      );
    expect(await join({})).toBe('MissingParameter');
    expect(await join({ instanceId: 'i-x', networkInterfaceId: 'eni-x' })).toBe(
      'InvalidParam.EniIdAndInstanceId.Conflict',
    );
    expect(await join({ instanceId: 'i-x' })).toBe('InvalidInstanceId.NotFound');
    expect(await join({ networkInterfaceId: 'eni-x' })).toBe('InvalidEniId.NotFound');
  });
});
