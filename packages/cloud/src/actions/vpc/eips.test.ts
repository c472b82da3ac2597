import * as Ecs from '@alicloud/ecs20140526';
import * as Vpc from '@alicloud/vpc20160428';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { codeOf } from '../../testing/errorCode.js';
import { startTestCloud, type TestCloud } from '../../testing/testCloud.js';
import { VpcFixture } from '../../testing/vpcFixture.js';

const regionId = 'cn-hangzhou';
let cloud: TestCloud;
let home: VpcFixture;
let instanceId: string;
beforeAll(async () => {
  cloud = await startTestCloud({
    config: { quotas: { eips: 6 }, network: { eipPools: [{ cidr: '198.51.100.0/28', local: true }] } },
  });
  home = await VpcFixture.create(cloud);
  instanceId = await home.runInstance();
  await cloud.cloud.reconciler.idle();
});
afterAll(() => cloud.stop());

const settle = () => cloud.cloud.reconciler.idle();

async function listEips(request: Partial<Vpc.DescribeEipAddressesRequest>) {
  const { body } = await cloud.vpc.describeEipAddresses(
    new Vpc.DescribeEipAddressesRequest({ regionId, ...request }),
  );
  return (body?.eipAddresses?.eipAddress ?? []).map((eip) => eip.allocationId);
}

const modify = (allocationId: string, request: Partial<Vpc.ModifyEipAddressAttributeRequest>) =>
  cloud.vpc.modifyEipAddressAttribute(
    new Vpc.ModifyEipAddressAttributeRequest({ regionId, allocationId, ...request }),
  );

describe('EIPs', () => {
  it('come from the pools, and are Available until they are associated', async () => {
    const { allocationId, eipAddress } = await home.allocateEip({
      name: 'front',
      description: 'of the web',
      bandwidth: '20',
      internetChargeType: 'PayByTraffic',
      tag: [new Vpc.AllocateEipAddressRequestTag({ key: 'team', value: 'a' })],
    });
    expect(eipAddress).toMatch(/^198\.51\.100\.\d+$/);
    expect(await home.describeEip(allocationId)).toMatchObject({
      allocationId,
      ipAddress: eipAddress,
      name: 'front',
      description: 'of the web',
      status: 'Available',
      bandwidth: '20',
      internetChargeType: 'PayByTraffic',
      chargeType: 'PostPaid',
      instanceId: '',
      ISP: 'BGP',
      deletionProtection: false,
      tags: { tag: [{ key: 'team', value: 'a' }] },
    });
    await home.releaseEip(allocationId);
    expect(await home.describeEip(allocationId)).toBeUndefined();
    expect(await codeOf(home.releaseEip(allocationId))).toBe('InvalidAllocationId.NotFound');
  });

  it('belong to an instance while they are associated with it, on the host too', async () => {
    const { allocationId, eipAddress } = await home.allocateEip({ bandwidth: '20' });
    await home.associateEip(allocationId, instanceId);
    expect(['Associating', 'InUse']).toContain((await home.describeEip(allocationId))?.status);
    const { networkInterfaceId, address } = await home.primaryOf(instanceId);
    expect((await home.applied(cloud)).eips).toEqual([
      {
        id: allocationId,
        address: eipAddress,
        bandwidthKbits: 20_000,
        target: { kind: 'networkInterface', networkInterfaceId, privateAddress: address },
      },
    ]);
    expect(await home.describeEip(allocationId)).toMatchObject({
      status: 'InUse',
      instanceId,
      instanceType: 'EcsInstance',
      privateIpAddress: address,
      vpcId: home.vpcId,
    });
    expect(await home.describeInstance(instanceId)).toMatchObject({
      eipAddress: { allocationId, ipAddress: eipAddress, bandwidth: 20 },
      publicIpAddress: { ipAddress: [] },
    });
    await modify(allocationId, { bandwidth: '50' });
    expect((await home.applied(cloud)).eips[0]?.bandwidthKbits).toBe(50_000);

    expect(await codeOf(home.releaseEip(allocationId))).toBe('IncorrectEipStatus');
    expect(await codeOf(home.associateEip(allocationId, instanceId))).toBe('IncorrectEipStatus');
    const second = await home.allocateEip();
    expect(await codeOf(home.associateEip(second.allocationId, instanceId))).toBe(
      'InvalidAssociation.Duplicated',
    );
    expect(await codeOf(home.unassociateEip(second.allocationId))).toBe('IncorrectEipStatus');
    expect(await codeOf(home.unassociateEip(allocationId, { instanceId: 'i-none' }))).toBe(
      'InvalidBindInstance.NotFound',
    );
    await home.unassociateEip(allocationId, { instanceId });
    expect((await home.applied(cloud)).eips).toEqual([]);
    expect(await home.describeEip(allocationId)).toMatchObject({ status: 'Available', instanceId: '' });
    await home.releaseEip(allocationId);
    await home.releaseEip(second.allocationId);
  });

  it('become Available when their instance goes', async () => {
    const gone = await home.runInstance();
    await settle();
    const { allocationId } = await home.allocateEip();
    await home.associateEip(allocationId, gone);
    await settle();
    await cloud.ecs.deleteInstance(
      new Ecs.DeleteInstanceRequest({ regionId, instanceId: gone, force: true }),
    );
    await settle();
    expect(await home.describeEip(allocationId)).toMatchObject({ status: 'Available', instanceId: '' });
    await home.releaseEip(allocationId);
  });

  it('are found by everything that tells them apart', async () => {
    const one = await home.allocateEip({ name: 'one' });
    const two = await home.allocateEip({
      name: 'two',
      tag: [new Vpc.AllocateEipAddressRequestTag({ key: 'team', value: 'b' })],
    });
    await home.associateEip(two.allocationId, instanceId);
    await settle();
    const [a, b] = [one.allocationId, two.allocationId];
    expect(await listEips({})).toEqual([b, a]);
    expect(await listEips({ allocationId: `${a},eip-none` })).toEqual([a]);
    expect(await listEips({ eipAddress: two.eipAddress })).toEqual([b]);
    expect(await listEips({ status: 'Available' })).toEqual([a]);
    expect(await listEips({ eipName: 'two' })).toEqual([b]);
    expect(await listEips({ associatedInstanceType: 'EcsInstance' })).toEqual([b]);
    expect(
      await listEips({ associatedInstanceType: 'EcsInstance', associatedInstanceId: instanceId }),
    ).toEqual([b]);
    expect(await listEips({ associatedInstanceType: 'Nat' })).toEqual([]);
    expect(await listEips({ chargeType: 'PrePaid' })).toEqual([]);
    expect(await listEips({ lockReason: 'financial' })).toEqual([]);
    expect(
      await listEips({ tag: [new Vpc.DescribeEipAddressesRequestTag({ key: 'team', value: 'b' })] }),
    ).toEqual([b]);
    expect(await listEips({ pageSize: 1, pageNumber: 2 })).toEqual([a]);
    const from = [
      new Vpc.DescribeEipAddressesRequestFilter({ key: 'CreationStartTime', value: '2000-01-01T00:00Z' }),
    ];
    expect(await listEips({ filter: from })).toEqual([b, a]);
    expect(await codeOf(listEips({ associatedInstanceType: 'Car' }))).toBe(
      'InvalidIAssociatedInstanceType.ValueNotSupported',
    );
    expect(await codeOf(listEips({ chargeType: 'Free' }))).toBe('InvalidChargeType.ValueNotSupported');
    expect(await codeOf(listEips({ lockReason: 'mood' }))).toBe('InvalidLockReason.NotFound');

    const byEip = await cloud.ecs.describeInstances(
      new Ecs.DescribeInstancesRequest({ regionId, eipAddresses: JSON.stringify([two.eipAddress]) }),
    );
    expect(byEip.body?.instances?.instance?.map((row) => row.instanceId)).toEqual([instanceId]);
    await home.unassociateEip(b);
    await settle();
    for (const id of [a, b]) await home.releaseEip(id);
  });

  it.each([
    [{ bandwidth: '0' }, 'InvalidBandwidth.Malformed'],
    [{ bandwidth: '501' }, 'InvalidBandwidth.Malformed'],
    [{ bandwidth: '201', internetChargeType: 'PayByTraffic' }, 'InvalidBandwidth.Malformed'],
    [{ bandwidth: 'much' }, 'InvalidBandwidth.Malformed'],
    [{ ISP: 'ChinaMobile' }, 'IllegalParam.Isp'],
    [{ name: '1st' }, 'InvalidEipAddressName.Malformed'],
    [{ description: 'https://x' }, 'InvalidDescription.Malformed'],
    [{ internetChargeType: 'Free' }, 'InvalidParameter'],
    [{ publicIpAddressPoolId: 'pippool-1' }, 'ResourceNotFound.PublicIpAddressPool'],
    [{ ipAddress: '8.8.8.8' }, 'ResourceNotFound.Ip'],
  ])('are refused with %o', async (request, code) => {
    expect(await codeOf(home.allocateEip(request))).toBe(code);
  });

  it('can be asked for by address, which nobody else has then', async () => {
    const { allocationId } = await home.allocateEip({ ipAddress: '198.51.100.9' });
    expect(await codeOf(home.allocateEip({ ipAddress: '198.51.100.9' }))).toBe('Ip.Allocated');
    await home.releaseEip(allocationId);
  });

  it('keep to the quota', async () => {
    const ids: string[] = [];
    for (let index = 0; index < 6; index += 1) ids.push((await home.allocateEip()).allocationId);
    expect(await codeOf(home.allocateEip())).toBe('QuotaExceeded.Eip');
    for (const id of ids) await home.releaseEip(id);
  });

  it('are not reused at once', async () => {
    const one = await home.allocateEip();
    await home.releaseEip(one.allocationId);
    const two = await home.allocateEip();
    expect(two.eipAddress).not.toBe(one.eipAddress);
    await home.releaseEip(two.allocationId);
  });

  it('are protected from release while the protection is on', async () => {
    const { allocationId } = await home.allocateEip();
    const protect = (request: Partial<Vpc.DeletionProtectionRequest>) =>
      cloud.vpc.deletionProtection(
        new Vpc.DeletionProtectionRequest({
          regionId,
          type: 'EIP',
          instanceId: allocationId,
          protectionEnable: true,
          ...request,
        }),
      );
    await protect({});
    expect((await home.describeEip(allocationId))?.deletionProtection).toBe(true);
    expect(await codeOf(home.releaseEip(allocationId))).toBe('InvalidOperation.DeletionProtection');
    expect(await codeOf(protect({ type: 'CBWP' }))).toBe('DeletionProtection.TypeNotSupport');
    expect(await codeOf(protect({ instanceId: 'eip-none' }))).toBe('DeletionProtection.ResourceNotExist');
    await protect({ protectionEnable: false });
    await home.releaseEip(allocationId);
  });

  it('answer what Terraform asks about their modes and their monitoring', async () => {
    const { allocationId } = await home.allocateEip();
    const setMode = (mode: string) =>
      cloud.vpc.modifyEipForwardMode(
        new Vpc.ModifyEipForwardModeRequest({ regionId, instanceId: allocationId, mode }),
      );
    await setMode('NAT');
    expect(await codeOf(setMode('BINDED'))).toBe('IllegalParam.Mode');
    const monitor = (status: string) =>
      cloud.vpc.setHighDefinitionMonitorLogStatus(
        new Vpc.SetHighDefinitionMonitorLogStatusRequest({
          regionId,
          instanceId: allocationId,
          logProject: 'p',
          logStore: 's',
          status,
        }),
      );
    expect((await monitor('OFF')).body?.success).toBe('true');
    expect(await codeOf(monitor('ON'))).toBe('InvalidAction.NotSupport');
    const { body } = await cloud.vpc.describeHighDefinitionMonitorLogAttribute(
      new Vpc.DescribeHighDefinitionMonitorLogAttributeRequest({ regionId, instanceId: allocationId }),
    );
    expect(body?.instanceId).toBe(allocationId);
    await home.releaseEip(allocationId);
  });

  it('refuse what cannot have one', async () => {
    const { allocationId } = await home.allocateEip();
    const { networkInterfaceId } = await home.primaryOf(instanceId);
    const associate = (id: string, type?: string) => codeOf(home.associateEip(allocationId, id, type));
    expect(await associate('i-none')).toBe('InvalidInstanId.NotFound');
    expect(await associate('ngw-none', 'Nat')).toBe('InvalidInstanId.NotFound');
    expect(await associate('lb-1', 'SlbInstance')).toBe('InvalidParameter.InstanceTypeNotSupport');
    expect(await associate('eni-none', 'NetworkInterface')).toBe('InvalidInstanId.NotFound');
    expect(await associate(networkInterfaceId, 'NetworkInterface')).toBe('Eni.Attached');
    await home.releaseEip(allocationId);
  });
});

describe('public addresses of instances', () => {
  const allocate = (id: string, ipAddress?: string) =>
    cloud.ecs.allocatePublicIpAddress(
      new Ecs.AllocatePublicIpAddressRequest({
        instanceId: id,
        ...(ipAddress === undefined ? {} : { ipAddress }),
      }),
    );
  const modifySpec = (id: string, request: Partial<Ecs.ModifyInstanceNetworkSpecRequest>) =>
    cloud.ecs.modifyInstanceNetworkSpec(
      new Ecs.ModifyInstanceNetworkSpecRequest({ instanceId: id, ...request }),
    );
  const remove = async (id: string) => {
    await cloud.ecs.deleteInstance(new Ecs.DeleteInstanceRequest({ regionId, instanceId: id, force: true }));
    await settle();
  };

  it('come with a bandwidth at launch, and go with the instance', async () => {
    const id = await home.runInstance({ internetMaxBandwidthOut: 10 });
    await settle();
    const [address = ''] = (await home.describeInstance(id))?.publicIpAddress?.ipAddress ?? [];
    expect(address).toMatch(/^198\.51\.100\./);
    expect((await home.applied(cloud)).eips).toMatchObject([{ address, bandwidthKbits: 10_000 }]);
    expect(await listEips({})).toEqual([]);
    const found = await cloud.ecs.describeInstances(
      new Ecs.DescribeInstancesRequest({ regionId, publicIpAddresses: JSON.stringify([address]) }),
    );
    expect(found.body?.instances?.instance?.map((row) => row.instanceId)).toEqual([id]);
    const { allocationId } = await home.allocateEip();
    expect(await codeOf(home.associateEip(allocationId, id))).toBe('EIP_CAN_NOT_ASSOCIATE_WITH_PUBLIC_IP');
    await home.releaseEip(allocationId);
    await remove(id);
    expect(await cloud.cloud.parts.store.reader.selectFrom('eips').selectAll().execute()).toEqual([]);
  });

  it('are given later, and work with a bandwidth only', async () => {
    const id = await home.runInstance();
    await settle();
    const { body } = await allocate(id);
    expect((await home.describeInstance(id))?.publicIpAddress?.ipAddress).toEqual([body?.ipAddress]);
    expect((await home.applied(cloud)).eips).toEqual([]);
    await modifySpec(id, { internetMaxBandwidthOut: 5 });
    expect((await home.applied(cloud)).eips).toMatchObject([{ bandwidthKbits: 5000 }]);
    expect(await codeOf(allocate(id))).toBe('AllocatedAlready');
    await cloud.ecs.releasePublicIpAddress(
      new Ecs.ReleasePublicIpAddressRequest({ regionId, publicIpAddress: body?.ipAddress ?? '' }),
    );
    await settle();
    expect((await home.describeInstance(id))?.publicIpAddress?.ipAddress).toEqual([]);
    await modifySpec(id, { allocatePublicIp: true });
    await settle();
    expect((await home.applied(cloud)).eips).toHaveLength(1);
    await remove(id);
  });

  it('are refused where they cannot be', async () => {
    const id = await home.runInstance();
    await settle();
    expect(await codeOf(allocate(id, 'x'))).toBe('InvalidIpAddress.Malformed');
    expect(await codeOf(allocate(id, '8.8.8.8'))).toBe('InvalidIpAddress.NotFound');
    const held = await home.allocateEip();
    expect(await codeOf(allocate(id, held.eipAddress))).toBe('IpInUse');
    await home.releaseEip(held.allocationId);
    expect(await codeOf(allocate('i-none'))).toBe('InvalidInstanceId.NotFound');
    expect(await codeOf(modifySpec(id, { internetMaxBandwidthOut: 101 }))).toBe(
      'InvalidInternetMaxBandwidthOut.ValueNotSupported',
    );
    expect(await codeOf(modifySpec(id, { networkChargeType: 'Free' }))).toBe(
      'InvalidInternetChargeType.ValueNotSupported',
    );
    await remove(id);
  });

  it('run out like any others', async () => {
    const ids: string[] = [];
    let code = 'OK';
    while (code === 'OK' && ids.length < 20) {
      try {
        ids.push(await home.runInstance({ internetMaxBandwidthOut: 1 }));
      } catch (error) {
        code = (error as { code: string }).code;
      }
    }
    expect(code).toBe('InvalidOperation.PublicIpAddressNoStock');
    expect(ids).toHaveLength(14);
    await settle();
    await cloud.ecs.deleteInstances(
      new Ecs.DeleteInstancesRequest({ regionId, instanceId: ids, force: true }),
    );
    await settle();
  });
});

describe('the ECS forms', () => {
  it('do the same under the older names', async () => {
    const rpc = cloud.rpc();
    const eip = await rpc.request<{ AllocationId: string; EipAddress: string }>('AllocateEipAddress', {
      RegionId: regionId,
      Bandwidth: 5,
    });
    const AllocationId = eip.AllocationId;
    await rpc.request('AssociateEipAddress', { AllocationId, InstanceId: instanceId });
    await settle();
    const listed = await rpc.request<{ EipAddresses: { EipAddress: { Status: string }[] } }>(
      'DescribeEipAddresses',
      { RegionId: regionId, AllocationId },
    );
    expect(listed.EipAddresses.EipAddress.map(({ Status }) => Status)).toEqual(['InUse']);
    await rpc.request('ModifyEipAddressAttribute', { AllocationId, Bandwidth: 6 });
    await rpc.request('UnassociateEipAddress', { AllocationId, InstanceId: instanceId });
    await settle();
    await rpc.request('ReleaseEipAddress', { AllocationId });
  });
});

describe('default VPC', () => {
  it('has a way out through the host, unless the configuration says otherwise', async () => {
    const { body } = await cloud.ecs.runInstances(
      new Ecs.RunInstancesRequest({
        regionId,
        imageId: 'debian_12_x64_egs',
        instanceType: 'ecs.c6.large',
      }),
    );
    await settle();
    const instance = await home.describeInstance(body?.instanceIdSets?.instanceIdSet?.[0] ?? '');
    const vpcId = instance?.vpcAttributes?.vpcId ?? '';
    expect(cloud.network.networks.get(vpcId as never)?.outboundNat).toBe(true);
    expect((await home.applied(cloud)).outboundNat).toBe(false);
  });
});
