import { expect } from 'vitest';
import { clientToken, type Json, type PlannedResource, type TerraformProvider, ZoneId } from './provider.js';

/** An instance, and a route of the VPC to it. */
export function planInstances(provider: TerraformProvider): readonly PlannedResource[] {
  return [
    {
      address: 'alicloud_instance',
      async create() {
        const answer = await provider.ecs<{ InstanceIdSets: { InstanceIdSet: string[] } }>('RunInstances', {
          ImageId: 'debian_12_x64_egs',
          InstanceType: 'ecs.t6-c2m1.large',
          VSwitchId: provider.ids.vSwitch,
          'SecurityGroupIds.1': provider.ids.group,
          InstanceName: 'first',
          HostName: 'first',
          Description: 'first of a plan',
          InstanceChargeType: 'PostPaid',
          InternetChargeType: 'PayByTraffic',
          InternetMaxBandwidthOut: 0,
          'SystemDisk.Category': 'cloud_efficiency',
          'SystemDisk.Size': 40,
          SpotStrategy: 'NoSpot',
          IoOptimized: 'optimized',
          DeletionProtection: false,
          UserData: Buffer.from('#!/bin/sh\n').toString('base64'),
          Amount: 1,
          'Tag.1.Key': 'plan',
          'Tag.1.Value': 'first',
          ClientToken: clientToken(),
        });
        provider.ids.instance = answer.InstanceIdSets.InstanceIdSet[0] ?? '';
      },
      async read() {
        const { Instances } = await provider.ecs<{ Instances: { Instance: Json[] } }>('DescribeInstances', {
          InstanceIds: JSON.stringify([provider.ids.instance]),
        });
        const [found] = Instances.Instance;
        if (!found) return undefined;
        const { UserData } = await provider.ecs('DescribeUserData', { InstanceId: provider.ids.instance });
        const { NetworkInterfaceSets } = await provider.ecs<{
          NetworkInterfaceSets: { NetworkInterfaceSet: Json[] };
        }>('DescribeNetworkInterfaces', { InstanceId: provider.ids.instance, Type: 'Primary' });
        return { ...found, UserData, card: NetworkInterfaceSets.NetworkInterfaceSet[0] };
      },
      written: {
        Status: 'Running',
        ZoneId,
        ImageId: 'debian_12_x64_egs',
        InstanceType: 'ecs.t6-c2m1.large',
        InstanceName: 'first',
        HostName: 'first',
        Description: 'first of a plan',
        InstanceChargeType: 'PostPaid',
        SpotStrategy: 'NoSpot',
        DeletionProtection: false,
        InternetMaxBandwidthOut: 0,
        UserData: Buffer.from('#!/bin/sh\n').toString('base64'),
        Tags: { Tag: [{ TagKey: 'plan', TagValue: 'first' }] },
        card: expect.objectContaining({
          PrivateIpSets: { PrivateIpSet: [expect.objectContaining({ Primary: true })] },
        }),
      },
      async update() {
        const InstanceId = provider.ids.instance;
        await provider.ecs('ModifyInstanceAttribute', {
          InstanceId,
          InstanceName: 'second',
          Description: 'x2',
        });
        const group = await provider.ecs<{ SecurityGroupId: string }>('CreateSecurityGroup', {
          VpcId: provider.ids.vpc,
        });
        provider.ids.otherGroup = group.SecurityGroupId;
        await provider.ecs('JoinSecurityGroup', { InstanceId, SecurityGroupId: provider.ids.otherGroup });
        await provider.ecs('LeaveSecurityGroup', { InstanceId, SecurityGroupId: provider.ids.group });
        await provider.ecs('StopInstance', { InstanceId, ForceStop: false });
        await provider.settle();
        await provider.ecs('ModifyInstanceSpec', { InstanceId, InstanceType: 'ecs.t6-c1m1.large' });
        await provider.ecs('StartInstance', { InstanceId });
        await provider.tagOf('ecs', 'instance', InstanceId).add('second');
      },
      updated: {
        Status: 'Running',
        InstanceName: 'second',
        Description: 'x2',
        InstanceType: 'ecs.t6-c1m1.large',
        Tags: { Tag: [{ TagKey: 'plan', TagValue: 'second' }] },
      },
      async delete() {
        await provider.ecs('StopInstance', { InstanceId: provider.ids.instance, ForceStop: true });
        await provider.settle();
        await provider.ecs('DeleteInstance', { InstanceId: provider.ids.instance, Force: true });
        await provider.settle();
        await provider.ecs('DeleteSecurityGroup', { SecurityGroupId: provider.ids.otherGroup });
      },
    },
    {
      address: 'alicloud_route_entry',
      async create() {
        await provider.vpc('CreateRouteEntry', {
          RouteTableId: provider.ids.routeTable,
          DestinationCidrBlock: '172.16.0.0/16',
          NextHopType: 'Instance',
          NextHopId: provider.ids.instance,
          ClientToken: clientToken(),
        });
      },
      async read() {
        interface Table {
          readonly RouteEntrys: { readonly RouteEntry: Json[] };
        }
        const { RouteTables } = await provider.vpc<{ RouteTables: { RouteTable: Table[] } }>(
          'DescribeRouteTables',
          {
            RouteTableId: provider.ids.routeTable,
          },
        );
        const entries = RouteTables.RouteTable[0]?.RouteEntrys.RouteEntry;
        return entries?.find((each) => each['DestinationCidrBlock'] === '172.16.0.0/16');
      },
      written: { Status: 'Available', NextHopType: 'Instance' },
      delete: () =>
        provider.vpc('DeleteRouteEntry', {
          RouteTableId: provider.ids.routeTable,
          DestinationCidrBlock: '172.16.0.0/16',
          NextHopId: provider.ids.instance,
        }),
    },
  ];
}
