import { expect } from 'vitest';
import {
  clientToken,
  type Json,
  labels,
  type PlannedResource,
  type TerraformProvider,
  ZoneId,
} from './provider.js';

const ruleOf = (SecurityGroupId: string, PortRange: string) => ({
  SecurityGroupId,
  NicType: 'intranet',
  IpProtocol: 'tcp',
  Policy: 'accept',
  Priority: 1,
  PortRange,
});

/** A VPC, a vSwitch in it, and a security group with its rules. */
export function planNetworks(provider: TerraformProvider): readonly PlannedResource[] {
  return [
    {
      address: 'alicloud_vpc',
      async create() {
        const { Name: VpcName, Description } = labels('first');
        const answer = await provider.vpc<{ VpcId: string }>('CreateVpc', {
          VpcName,
          Description,
          CidrBlock: '10.0.0.0/8',
          ClientToken: clientToken(),
        });
        provider.ids.vpc = answer.VpcId;
        await provider.tagOf('vpc', 'VPC', provider.ids.vpc).add('first');
      },
      async read() {
        const found = await provider.vpc('DescribeVpcAttribute', { VpcId: provider.ids.vpc });
        if (found['VpcId'] === '') return undefined;
        const { RouterTableList } = await provider.vpc<{ RouterTableList: { RouterTableListType: Json[] } }>(
          'DescribeRouteTableList',
          { VpcId: provider.ids.vpc },
        );
        const table = RouterTableList.RouterTableListType.find((each) => each['RouteTableType'] === 'System');
        provider.ids.routeTable = String(table?.['RouteTableId']);
        return { ...found, table, tags: await provider.tagOf('vpc', 'VPC', provider.ids.vpc).read() };
      },
      written: {
        Status: 'Available',
        CidrBlock: '10.0.0.0/8',
        VpcName: 'first',
        Description: 'first of a plan',
        VRouterId: expect.stringMatching(/^vrt-/),
        SecondaryCidrBlocks: { SecondaryCidrBlock: [] },
        table: expect.objectContaining({ RouteTableId: expect.stringMatching(/^vtb-/) }),
        tags: [['plan', 'first']],
      },
      async update() {
        await provider.vpc('ModifyVpcAttribute', {
          VpcId: provider.ids.vpc,
          VpcName: 'second',
          Description: 'changed',
        });
        await provider.vpc('AssociateVpcCidrBlock', {
          VpcId: provider.ids.vpc,
          SecondaryCidrBlock: '192.168.0.0/16',
        });
        await provider.vpc('ModifyRouteTableAttributes', {
          RouteTableId: provider.ids.routeTable,
          RouteTableName: 'table',
        });
        await provider.tagOf('vpc', 'VPC', provider.ids.vpc).remove();
        await provider.tagOf('vpc', 'VPC', provider.ids.vpc).add('second');
      },
      updated: {
        VpcName: 'second',
        Description: 'changed',
        SecondaryCidrBlocks: { SecondaryCidrBlock: ['192.168.0.0/16'] },
        table: expect.objectContaining({ RouteTableName: 'table' }),
        tags: [['plan', 'second']],
      },
      async delete() {
        await provider.vpc('UnassociateVpcCidrBlock', {
          VpcId: provider.ids.vpc,
          SecondaryCidrBlock: '192.168.0.0/16',
        });
        await provider.vpc('DeleteVpc', { VpcId: provider.ids.vpc });
      },
    },
    {
      address: 'alicloud_vswitch',
      async create() {
        const { Name: VSwitchName, Description } = labels('first');
        const answer = await provider.vpc<{ VSwitchId: string }>('CreateVSwitch', {
          VpcId: provider.ids.vpc,
          ZoneId,
          VSwitchName,
          Description,
          CidrBlock: '10.1.0.0/16',
          ClientToken: clientToken(),
        });
        provider.ids.vSwitch = answer.VSwitchId;
        await provider.tagOf('vpc', 'VSWITCH', provider.ids.vSwitch).add('first');
      },
      async read() {
        const found = await provider.vpc('DescribeVSwitchAttributes', { VSwitchId: provider.ids.vSwitch });
        if (found['VSwitchId'] === '') return undefined;
        return { ...found, tags: await provider.tagOf('vpc', 'VSWITCH', provider.ids.vSwitch).read() };
      },
      written: {
        Status: 'Available',
        ZoneId,
        CidrBlock: '10.1.0.0/16',
        VSwitchName: 'first',
        Description: 'first of a plan',
        tags: [['plan', 'first']],
      },
      async update() {
        await provider.vpc('ModifyVSwitchAttribute', {
          VSwitchId: provider.ids.vSwitch,
          VSwitchName: 'second',
          Description: 'x2',
        });
      },
      updated: { VSwitchName: 'second', Description: 'x2' },
      delete: () => provider.vpc('DeleteVSwitch', { VSwitchId: provider.ids.vSwitch }),
    },
    {
      address: 'alicloud_security_group',
      async create() {
        const { Name: SecurityGroupName, Description } = labels('first');
        const group = {
          VpcId: provider.ids.vpc,
          SecurityGroupName,
          Description,
          SecurityGroupType: 'normal',
        };
        const answer = await provider.ecs<{ SecurityGroupId: string }>('CreateSecurityGroup', {
          ...group,
          ClientToken: clientToken(),
        });
        provider.ids.group = answer.SecurityGroupId;
        // The provider writes the policy also when it is the default.
        await provider.ecs('ModifySecurityGroupPolicy', {
          SecurityGroupId: provider.ids.group,
          InnerAccessPolicy: 'Accept',
        });
        await provider.tagOf('ecs', 'securitygroup', provider.ids.group).add('first');
      },
      async read() {
        const { SecurityGroups } = await provider.ecs<{ SecurityGroups: { SecurityGroup: Json[] } }>(
          'DescribeSecurityGroups',
          { SecurityGroupId: provider.ids.group },
        );
        const [found] = SecurityGroups.SecurityGroup;
        if (!found) return undefined;
        return {
          ...found,
          ...(await provider.ecs('DescribeSecurityGroupAttribute', { SecurityGroupId: provider.ids.group })),
        };
      },
      written: {
        SecurityGroupName: 'first',
        SecurityGroupType: 'normal',
        Description: 'first of a plan',
        InnerAccessPolicy: 'Accept',
        Tags: { Tag: [{ TagKey: 'plan', TagValue: 'first' }] },
      },
      async update() {
        const SecurityGroupId = provider.ids.group;
        await provider.ecs('ModifySecurityGroupAttribute', { SecurityGroupId, SecurityGroupName: 'second' });
        await provider.ecs('ModifySecurityGroupPolicy', { SecurityGroupId, InnerAccessPolicy: 'Drop' });
      },
      updated: { SecurityGroupName: 'second', Description: 'first of a plan', InnerAccessPolicy: 'Drop' },
      delete: () => provider.ecs('DeleteSecurityGroup', { SecurityGroupId: provider.ids.group }),
    },
    ...(['ingress', 'egress'] as const).map((Direction): PlannedResource => {
      const suffix = Direction === 'ingress' ? '' : 'Egress';
      const peer = Direction === 'ingress' ? 'SourceCidrIp' : 'DestCidrIp';
      return {
        address: `alicloud_security_group_rule (${Direction})`,
        async create() {
          const permission = {
            ...ruleOf(provider.ids.group, '22/22'),
            [peer]: '0.0.0.0/0',
            Description: 'ssh',
          };
          await provider.ecs(`AuthorizeSecurityGroup${suffix}`, permission);
        },
        async read() {
          const { Permissions } = await provider.ecs<{ Permissions: { Permission: Json[] } }>(
            'DescribeSecurityGroupAttribute',
            { SecurityGroupId: provider.ids.group, Direction, NicType: 'intranet' },
          );
          return Permissions.Permission.find((each) => each['PortRange'] === '22/22');
        },
        written: {
          Direction,
          IpProtocol: expect.stringMatching(/^tcp$/i),
          Policy: expect.stringMatching(/^accept$/i),
          Priority: expect.stringMatching(/^1$/),
          NicType: 'intranet',
          [peer]: '0.0.0.0/0',
          Description: 'ssh',
        },
        delete: () =>
          provider.ecs(`RevokeSecurityGroup${suffix}`, {
            ...ruleOf(provider.ids.group, '22/22'),
            [peer]: '0.0.0.0/0',
          }),
      };
    }),
  ];
}
