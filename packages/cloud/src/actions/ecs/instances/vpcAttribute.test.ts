import * as Ecs from '@alicloud/ecs20140526';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { VpcId, VSwitchId } from '../../../domain/ids.js';
import { codeOf } from '../../../testing/errorCode.js';
import { startTestCloud, type TestCloud } from '../../../testing/testCloud.js';
import { VpcFixture } from '../../../testing/vpcFixture.js';

const regionId = 'cn-hangzhou';

let cloud: TestCloud;
let vpc: VpcFixture;
let other: VpcFixture;
beforeAll(async () => {
  cloud = await startTestCloud();
  vpc = await VpcFixture.create(cloud);
  other = await VpcFixture.create(cloud);
});
afterAll(() => cloud.stop());

const idle = () => cloud.cloud.reconciler.idle();

async function runStopped(): Promise<string> {
  const instanceId = await vpc.runInstance();
  await idle();
  await cloud.ecs.stopInstance(new Ecs.StopInstanceRequest({ instanceId }));
  await idle();
  return instanceId;
}

async function modify(
  instanceId: string,
  request: Partial<Ecs.ModifyInstanceVpcAttributeRequest>,
): Promise<void> {
  await cloud.ecs.modifyInstanceVpcAttribute(
    new Ecs.ModifyInstanceVpcAttributeRequest({ instanceId, vSwitchId: vpc.vSwitchId, ...request }),
  );
  await idle();
}

const placeOf = async (instanceId: string) => (await vpc.describeInstance(instanceId))?.vpcAttributes;
const portIn = (vpcId: string, id: string) =>
  cloud.network.networks.get(vpcId as VpcId)?.ports.find((port) => port.networkInterfaceId === id);

describe('ModifyInstanceVpcAttribute', () => {
  it('gives a stopped instance another address, and its EIP leads there', async () => {
    const instanceId = await runStopped();
    const { networkInterfaceId } = await vpc.primaryOf(instanceId);
    const eip = await vpc.allocateEip();
    await vpc.associateEip(eip.allocationId, instanceId);
    await modify(instanceId, { privateIpAddress: '10.0.1.77' });
    expect((await placeOf(instanceId))?.privateIpAddress?.ipAddress).toEqual(['10.0.1.77']);
    const network = await vpc.applied(cloud);
    expect(portIn(vpc.vpcId, networkInterfaceId)?.primaryAddress).toBe('10.0.1.77');
    expect(network.eips).toMatchObject([{ target: { privateAddress: '10.0.1.77' } }]);
    await cloud.ecs.startInstance(new Ecs.StartInstanceRequest({ instanceId }));
    await idle();
    expect((await vpc.describeInstance(instanceId))?.status).toBe('Running');
  });

  it('moves it to another vSwitch and plugs it in there', async () => {
    const instanceId = await runStopped();
    const { networkInterfaceId } = await vpc.primaryOf(instanceId);
    const vSwitchId = await vpc.createVSwitch('10.0.5.0/24');
    await modify(instanceId, { vSwitchId });
    expect((await placeOf(instanceId))?.vSwitchId).toBe(vSwitchId);
    expect(portIn(vpc.vpcId, networkInterfaceId)?.primaryAddress).toMatch(/^10\.0\.5\./);
    const [nic] = cloud.compute.a.getSpec(instanceId).nics;
    expect(nic?.bridge).toBe(cloud.network.names.bridge(vSwitchId as VSwitchId));
  });

  it('moves it to another VPC', async () => {
    const instanceId = await runStopped();
    const { networkInterfaceId } = await vpc.primaryOf(instanceId);
    await modify(instanceId, {
      vpcId: other.vpcId,
      vSwitchId: other.vSwitchId,
      securityGroupId: [other.securityGroupId],
    });
    expect(await placeOf(instanceId)).toMatchObject({ vpcId: other.vpcId, vSwitchId: other.vSwitchId });
    expect(portIn(vpc.vpcId, networkInterfaceId)).toBeUndefined();
    expect(portIn(other.vpcId, networkInterfaceId)?.securityGroupIds).toEqual([other.securityGroupId]);
  });

  it('refuses what does not fit', async () => {
    const running = await vpc.runInstance();
    const instanceId = await runStopped();
    const { networkInterfaceId, address } = await vpc.primaryOf(running);
    const code = (request: Partial<Ecs.ModifyInstanceVpcAttributeRequest>, id = instanceId) =>
      codeOf(modify(id, request));
    const elsewhere = {
      vpcId: other.vpcId,
      vSwitchId: other.vSwitchId,
      securityGroupId: [other.securityGroupId],
    };
    expect(await code({}, 'i-unknown')).toBe('InvalidInstanceId.NotFound');
    expect(await code({}, running)).toBe('IncorrectInstanceStatus');
    expect(await code({ vSwitchId: 'vsw-unknown' })).toBe('InvalidVSwitchId.NotFound');
    expect(await code({ vSwitchId: other.vSwitchId })).toBe('InvalidVSwitch.NotBelongToVpc');
    expect(await code({ vpcId: vpc.vpcId })).toBe('InvalidParameter.AlreadyInTargetVpc');
    expect(await code({ securityGroupId: [vpc.securityGroupId] })).toBe('InvalidParameter.MustBeEmpty');
    expect(await code({ privateIpAddress: 'no-address' })).toBe('InvalidPrivateIpAddress.Malformed');
    expect(await code({ privateIpAddress: '10.0.9.9' })).toBe('InvalidPrivateIpAddress.Mismatch');
    expect(await code({ privateIpAddress: address })).toBe('InvalidPrivateIpAddress.Duplicated');
    expect(await code({ ...elsewhere, securityGroupId: [] })).toBe('InvalidParameter.SecurityGroupId');
    expect(await code({ ...elsewhere, securityGroupId: [vpc.securityGroupId] })).toBe(
      'InvalidParameter.SecurityGroupId',
    );

    const own = await vpc.primaryOf(instanceId);
    await cloud.ecs.assignPrivateIpAddresses(
      new Ecs.AssignPrivateIpAddressesRequest({
        regionId,
        networkInterfaceId: own.networkInterfaceId,
        secondaryPrivateIpAddressCount: 1,
      }),
    );
    expect(await code({ privateIpAddress: '10.0.1.99' })).toBe('PrimaryEniHasSubIp');
    expect(await code(elsewhere)).toBe('InvalidIp.MultiPrimaryIp');
    expect(networkInterfaceId).not.toBe(own.networkInterfaceId);
    const secondary = await cloud.ecs.createNetworkInterface(
      new Ecs.CreateNetworkInterfaceRequest({
        regionId,
        vSwitchId: vpc.vSwitchId,
        securityGroupId: vpc.securityGroupId,
      }),
    );
    await cloud.ecs.attachNetworkInterface(
      new Ecs.AttachNetworkInterfaceRequest({
        regionId,
        instanceId,
        networkInterfaceId: secondary.body?.networkInterfaceId ?? '',
      }),
    );
    await idle();
    expect(await code(elsewhere)).toBe('InvalidInstance.AttachedEni');
  });
});
