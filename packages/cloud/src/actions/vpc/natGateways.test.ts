import * as Vpc from '@alicloud/vpc20160428';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { codeOf } from '../../testing/errorCode.js';
import { startTestCloud, type TestCloud } from '../../testing/testCloud.js';
import { VpcFixture } from '../../testing/vpcFixture.js';

const regionId = 'cn-hangzhou';
let cloud: TestCloud;
let home: VpcFixture;
let gateway: Awaited<ReturnType<VpcFixture['createNatGateway']>>;
let eip: { allocationId: string; eipAddress: string };
beforeAll(async () => {
  cloud = await startTestCloud({ config: { quotas: { natGatewaysPerVpc: 2 } } });
  home = await VpcFixture.create(cloud);
  await home.runInstance();
  gateway = await home.createNatGateway();
  eip = await home.allocateEip();
  await home.associateEip(eip.allocationId, gateway.natGatewayId, 'Nat');
  await cloud.cloud.reconciler.idle();
});
afterAll(() => cloud.stop());

async function describeGateway(natGatewayId: string) {
  const { body } = await cloud.vpc.describeNatGateways(
    new Vpc.DescribeNatGatewaysRequest({ regionId, natGatewayId }),
  );
  return body?.natGateways?.natGateway?.[0];
}

const deleteGateway = (natGatewayId: string, force = false) =>
  cloud.vpc.deleteNatGateway(new Vpc.DeleteNatGatewayRequest({ regionId, natGatewayId, force }));

async function createSnat(request: Partial<Vpc.CreateSnatEntryRequest> = {}) {
  const { body } = await cloud.vpc.createSnatEntry(
    new Vpc.CreateSnatEntryRequest({
      regionId,
      snatTableId: gateway.snatTableId,
      snatIp: eip.eipAddress,
      ...request,
    }),
  );
  return body?.snatEntryId ?? '';
}

const deleteSnat = (snatEntryId: string) =>
  cloud.vpc.deleteSnatEntry(
    new Vpc.DeleteSnatEntryRequest({ regionId, snatTableId: gateway.snatTableId, snatEntryId }),
  );

async function createForward(request: Partial<Vpc.CreateForwardEntryRequest> = {}) {
  const { body } = await cloud.vpc.createForwardEntry(
    new Vpc.CreateForwardEntryRequest({
      regionId,
      forwardTableId: gateway.forwardTableId,
      externalIp: eip.eipAddress,
      externalPort: '8080',
      internalIp: '10.0.1.10',
      internalPort: '80',
      ipProtocol: 'TCP',
      ...request,
    }),
  );
  return body?.forwardEntryId ?? '';
}

const deleteForward = (forwardEntryId: string) =>
  cloud.vpc.deleteForwardEntry(
    new Vpc.DeleteForwardEntryRequest({ regionId, forwardTableId: gateway.forwardTableId, forwardEntryId }),
  );

async function gatewayOnHost() {
  const { natGateways } = await home.applied(cloud);
  return natGateways.find(({ id }) => id === gateway.natGatewayId);
}

describe('NAT gateways', () => {
  it('show what they are, and bring a default route', async () => {
    expect(await describeGateway(gateway.natGatewayId)).toMatchObject({
      vpcId: home.vpcId,
      natType: 'Enhanced',
      networkType: 'internet',
      status: 'Available',
      snatTableIds: { snatTableId: [gateway.snatTableId] },
      forwardTableIds: { forwardTableId: [gateway.forwardTableId] },
      ipLists: { ipList: [{ allocationId: eip.allocationId, ipAddress: eip.eipAddress }] },
      natGatewayPrivateInfo: { vswitchId: home.vSwitchId, izNo: 'cn-hangzhou-a' },
    });
    const { routeTables, eips } = await home.applied(cloud);
    const nextHop = { kind: 'natGateway', natGatewayId: gateway.natGatewayId };
    expect(routeTables[0]?.entries).toEqual([{ destinationCidr: '0.0.0.0/0', nextHop }]);
    expect(eips).toMatchObject([{ address: eip.eipAddress, target: nextHop }]);
  });

  it('change their name, and are found by it', async () => {
    const modify = (request: Partial<Vpc.ModifyNatGatewayAttributeRequest>) =>
      cloud.vpc.modifyNatGatewayAttribute(
        new Vpc.ModifyNatGatewayAttributeRequest({
          regionId,
          natGatewayId: gateway.natGatewayId,
          ...request,
        }),
      );
    await modify({ name: 'door', description: 'to the world' });
    const { body } = await cloud.vpc.describeNatGateways(
      new Vpc.DescribeNatGatewaysRequest({ regionId, name: 'door', vpcId: home.vpcId }),
    );
    expect(body?.natGateways?.natGateway?.map(({ description }) => description)).toEqual(['to the world']);
    expect(await codeOf(modify({ name: '1' }))).toBe('InvalidParameter.Name.Malformed');
    expect(await codeOf(modify({ natGatewayId: 'ngw-none' }))).toBe('InvalidNatGatewayId.NotFound');
  });

  it('are deleted only when nothing needs them, or by force', async () => {
    const other = await home.createNatGateway();
    expect(await codeOf(home.createNatGateway())).toBe('OperationUnsupported.MultiNatGateway');
    const own = await home.allocateEip();
    await home.associateEip(own.allocationId, other.natGatewayId, 'Nat');
    await cloud.cloud.reconciler.idle();
    await cloud.vpc.createSnatEntry(
      new Vpc.CreateSnatEntryRequest({
        regionId,
        snatTableId: other.snatTableId,
        snatIp: own.eipAddress,
        sourceCIDR: '10.0.0.0/16',
      }),
    );
    const entry = {
      regionId,
      routeTableId: home.routeTableId,
      destinationCidrBlock: '30.0.0.0/8',
      nextHopId: other.natGatewayId,
    };
    await cloud.vpc.createRouteEntry(
      new Vpc.CreateRouteEntryRequest({ ...entry, nextHopType: 'NatGateway' }),
    );
    expect(await codeOf(deleteGateway(other.natGatewayId))).toBe('DependencyViolation.SnatEntry');
    expect(await codeOf(home.unassociateEip(own.allocationId))).toBe(
      'InvalidIpStatus.HasBeenUsedBySnatTable',
    );
    await home.unassociateEip(own.allocationId, { force: true });
    await cloud.cloud.reconciler.idle();
    expect((await home.describeEip(own.allocationId))?.status).toBe('Available');
    expect(await codeOf(deleteGateway(other.natGatewayId))).toBe('DependencyViolation.RouterEntry');
    await cloud.vpc.deleteRouteEntry(new Vpc.DeleteRouteEntryRequest(entry));
    await home.associateEip(own.allocationId, other.natGatewayId, 'Nat');
    expect(await codeOf(deleteGateway(other.natGatewayId))).toBe('DependencyViolation.EIPS');
    await deleteGateway(other.natGatewayId, true);
    await cloud.cloud.reconciler.idle();
    expect((await home.describeEip(own.allocationId))?.status).toBe('Available');
    expect(await describeGateway(other.natGatewayId)).toBeUndefined();
    expect(await codeOf(deleteGateway(other.natGatewayId))).toBe('InvalidNatGatewayId.NotFound');
    await home.releaseEip(own.allocationId);
  });

  it.each([
    [{ vpcId: 'vpc-none' }, 'InvalidVpcId.NotFound'],
    [{ vSwitchId: 'vsw-none' }, 'InvalidVSWITCHID.NotFound'],
    [{ networkType: 'intranet' }, 'UnsupportedFeature.VpcNat'],
    [{ natType: 'Normal' }, 'InvalidParameter'],
    [{ eipBindMode: 'x' }, 'InvalidParameter'],
    [{ name: 'http://x' }, 'InvalidParameter.Name.Malformed'],
  ])('are refused with %o', async (request, code) => {
    const create = cloud.vpc.createNatGateway(
      new Vpc.CreateNatGatewayRequest({
        regionId,
        vpcId: home.vpcId,
        vSwitchId: home.vSwitchId,
        ...request,
      }),
    );
    expect(await codeOf(create)).toBe(code);
  });

  it('keep a vSwitch and a VPC from being deleted, and can be protected themselves', async () => {
    const other = await VpcFixture.create(cloud);
    const { natGatewayId } = await other.createNatGateway();
    const vSwitch = { regionId, vSwitchId: other.vSwitchId };
    expect(await codeOf(cloud.vpc.deleteVSwitch(new Vpc.DeleteVSwitchRequest(vSwitch)))).toBe(
      'DependencyViolation.EnhancedNatgw',
    );
    const protect = (protectionEnable: boolean) =>
      cloud.vpc.deletionProtection(
        new Vpc.DeletionProtectionRequest({
          regionId,
          type: 'NATGW',
          instanceId: natGatewayId,
          protectionEnable,
        }),
      );
    await protect(true);
    expect(await codeOf(deleteGateway(natGatewayId, true))).toBe('InvalidOperation.DeletionProtection');
    await protect(false);
    await deleteGateway(natGatewayId);
    await cloud.vpc.deleteVSwitch(new Vpc.DeleteVSwitchRequest(vSwitch));
  });
});

describe('SNAT entries', () => {
  it('let a vSwitch or a range out through EIPs of the gateway', async () => {
    const byVSwitch = await createSnat({ sourceVSwitchId: home.vSwitchId, snatEntryName: 'inside' });
    const byRange = await createSnat({ sourceCIDR: '10.0.0.0/16' });
    expect((await gatewayOnHost())?.snatEntries).toEqual([
      { sourceCidr: '10.0.1.0/24', addresses: [eip.eipAddress] },
      { sourceCidr: '10.0.0.0/16', addresses: [eip.eipAddress] },
    ]);
    const { body } = await cloud.vpc.describeSnatTableEntries(
      new Vpc.DescribeSnatTableEntriesRequest({ regionId, snatTableId: gateway.snatTableId }),
    );
    expect(body?.snatTableEntries?.snatTableEntry).toMatchObject([
      {
        snatEntryId: byVSwitch,
        snatEntryName: 'inside',
        sourceVSwitchId: home.vSwitchId,
        sourceCIDR: '10.0.1.0/24',
        snatIp: eip.eipAddress,
        status: 'Available',
      },
      { snatEntryId: byRange, sourceVSwitchId: '', sourceCIDR: '10.0.0.0/16' },
    ]);
    const second = await home.allocateEip();
    await home.associateEip(second.allocationId, gateway.natGatewayId, 'Nat');
    await cloud.vpc.modifySnatEntry(
      new Vpc.ModifySnatEntryRequest({
        regionId,
        snatTableId: gateway.snatTableId,
        snatEntryId: byRange,
        snatIp: `${eip.eipAddress},${second.eipAddress}`,
      }),
    );
    expect((await gatewayOnHost())?.snatEntries[1]?.addresses).toEqual([eip.eipAddress, second.eipAddress]);
    await home.unassociateEip(second.allocationId, { force: true });
    expect((await gatewayOnHost())?.snatEntries[1]?.addresses).toEqual([eip.eipAddress]);
    await deleteSnat(byVSwitch);
    await deleteSnat(byRange);
    expect((await gatewayOnHost())?.snatEntries).toEqual([]);
    expect(await codeOf(deleteSnat(byRange))).toBe('InvalidSnatEntryId.NotFound');
  });

  it.each([
    [{}, 'CreateSnatEntry.ParamExclusive.sourceVSwitchIdAndsourceCIDR'],
    [{ sourceCIDR: '10.0.0.1/16' }, 'InvalidSourceCIDR.Malformed'],
    [{ sourceVSwitchId: 'vsw-none' }, 'InvalidVSwitchId.NotFound'],
    [{ sourceCIDR: '10.0.0.0/16', snatTableId: 'stb-none' }, 'InvalidSnatTableId.NotFound'],
    [{ sourceCIDR: '10.0.0.0/16', snatIp: '203.0.113.250' }, 'EIP_NOT_IN_GATEWAY'],
    [{ sourceCIDR: '10.0.0.0/16', snatIp: ',' }, 'InvalidSnatIp.Malformed'],
    [{ sourceCIDR: '10.0.0.0/16', snatEntryName: '1' }, 'InvalidParameter.Name.Malformed'],
  ])('are refused with %o', async (request, code) => {
    expect(await codeOf(createSnat(request))).toBe(code);
  });

  it('have one source each, and keep its vSwitch', async () => {
    const vSwitchId = await home.createVSwitch('10.0.7.0/24');
    const id = await createSnat({ sourceVSwitchId: vSwitchId });
    expect(await codeOf(createSnat({ sourceCIDR: '10.0.7.0/24' }))).toBe(
      'Forbidden.SourceVSwitchId.Duplicated',
    );
    const deleteVSwitch = () =>
      cloud.vpc.deleteVSwitch(new Vpc.DeleteVSwitchRequest({ regionId, vSwitchId }));
    expect(await codeOf(deleteVSwitch())).toBe('DependencyViolation.SnatEntry');
    await deleteSnat(id);
    await deleteVSwitch();
  });
});

describe('DNAT entries', () => {
  it('forward ports and whole addresses', async () => {
    const one = await createForward({ forwardEntryName: 'web' });
    const range = await createForward({
      externalPort: '9000/9002',
      internalPort: '7000/7002',
      ipProtocol: 'UDP',
    });
    expect((await gatewayOnHost())?.dnatEntries).toEqual([
      {
        protocol: 'tcp',
        externalAddress: eip.eipAddress,
        externalPorts: { first: 8080, last: 8080 },
        internalAddress: '10.0.1.10',
        internalPort: 80,
      },
      {
        protocol: 'udp',
        externalAddress: eip.eipAddress,
        externalPorts: { first: 9000, last: 9002 },
        internalAddress: '10.0.1.10',
        internalPort: 7000,
      },
    ]);
    const list = async (request: Partial<Vpc.DescribeForwardTableEntriesRequest>) => {
      const { body } = await cloud.vpc.describeForwardTableEntries(
        new Vpc.DescribeForwardTableEntriesRequest({
          regionId,
          forwardTableId: gateway.forwardTableId,
          ...request,
        }),
      );
      return body?.forwardTableEntries?.forwardTableEntry ?? [];
    };
    expect(await list({ forwardEntryName: 'web' })).toMatchObject([
      {
        forwardEntryId: one,
        externalPort: '8080',
        internalPort: '80',
        ipProtocol: 'tcp',
        status: 'Available',
      },
    ]);
    expect((await list({ ipProtocol: 'UDP' })).map(({ forwardEntryId }) => forwardEntryId)).toEqual([range]);
    expect(await codeOf(home.unassociateEip(eip.allocationId))).toBe(
      'InvalidIpStatus.HasBeenUsedByForwardEntry',
    );
    await cloud.vpc.modifyForwardEntry(
      new Vpc.ModifyForwardEntryRequest({
        regionId,
        forwardTableId: gateway.forwardTableId,
        forwardEntryId: one,
        internalPort: '81',
      }),
    );
    expect((await gatewayOnHost())?.dnatEntries[0]?.internalPort).toBe(81);
    await deleteForward(one);
    await deleteForward(range);
    const whole = await createForward({ externalPort: 'Any', internalPort: 'Any', ipProtocol: 'Any' });
    expect((await gatewayOnHost())?.dnatEntries).toMatchObject([{ protocol: 'all' }]);
    expect(await codeOf(createForward())).toBe('ForwardEntry.Duplicated');
    expect(await codeOf(createSnat({ sourceCIDR: '10.0.0.0/16' }))).toBe('Forbidden.IpUsedInForwardTable');
    await deleteForward(whole);
    expect(await codeOf(deleteForward(whole))).toBe('InvalidForwardEntryId.NotFound');
  });

  it('share an address by ports and by protocol, but not one port', async () => {
    const tcp = await createForward({ externalPort: '100/200', internalPort: '100/200' });
    const udp = await createForward({ externalPort: '150', ipProtocol: 'UDP' });
    expect(await codeOf(createForward({ externalPort: '200' }))).toBe('ForwardEntry.Duplicated');
    const next = await createForward({ externalPort: '201' });
    for (const id of [tcp, udp, next]) await deleteForward(id);
  });

  it('do not take a whole address that goes out with SNAT', async () => {
    const snat = await createSnat({ sourceCIDR: '10.0.0.0/16' });
    expect(await codeOf(createForward({ externalPort: 'any', internalPort: 'any', ipProtocol: 'any' }))).toBe(
      'Forbidden.ExternalIp.UsedInSnatTable',
    );
    await deleteForward(await createForward());
    await deleteSnat(snat);
  });

  it.each([
    [{ externalPort: '0' }, 'InvalidExternalPort.Malformed'],
    [{ externalPort: '70000' }, 'InvalidExternalPort.Malformed'],
    [{ externalPort: '20/10' }, 'InvalidExternalPort.Malformed'],
    [{ externalPort: '10/20' }, 'InvalidInternalPort.Malformed'],
    [{ internalPort: 'x' }, 'InvalidInternalPort.Malformed'],
    [{ ipProtocol: 'Any' }, 'AnyPort.PortMustBeZero'],
    [{ ipProtocol: 'SCTP' }, 'InvalidProtocal.ValueNotSupported'],
    [{ externalIp: 'x' }, 'InvalidExternalIp.Malformed'],
    [{ externalIp: '203.0.113.250' }, 'InvalidIp.NotInNatgw'],
    [{ internalIp: 'x' }, 'InvalidInternalIp.Malformed'],
    [{ internalIp: '192.168.0.1' }, 'Forbidden.DestnationIpOutOfVpcCIDR'],
    [{ forwardTableId: 'ftb-none' }, 'InvalidForwardTableId.NotFound'],
    [{ forwardEntryName: '1' }, 'InvalidParameter.Name.Malformed'],
  ])('are refused with %o', async (request, code) => {
    expect(await codeOf(createForward(request))).toBe(code);
  });
});

describe('the ECS forms', () => {
  it('do the same under the older names', async () => {
    const rpc = cloud.rpc();
    const listed = await rpc.request<{ NatGateways: { NatGateway: { NatGatewayId: string }[] } }>(
      'DescribeNatGateways',
      { RegionId: regionId, VpcId: home.vpcId },
    );
    expect(listed.NatGateways.NatGateway.map(({ NatGatewayId }) => NatGatewayId)).toEqual([
      gateway.natGatewayId,
    ]);
    const { ForwardEntryId } = await rpc.request<{ ForwardEntryId: string }>('CreateForwardEntry', {
      RegionId: regionId,
      ForwardTableId: gateway.forwardTableId,
      ExternalIp: eip.eipAddress,
      ExternalPort: '8080',
      InternalIp: '10.0.1.10',
      InternalPort: '80',
      IpProtocol: 'TCP',
    });
    const table = { RegionId: regionId, ForwardTableId: gateway.forwardTableId };
    await rpc.request('ModifyForwardEntry', { ...table, ForwardEntryId, ExternalPort: '8081' });
    const entries = await rpc.request<{
      ForwardTableEntries: { ForwardTableEntry: { ExternalPort: string }[] };
    }>('DescribeForwardTableEntries', table);
    expect(entries.ForwardTableEntries.ForwardTableEntry.map(({ ExternalPort }) => ExternalPort)).toEqual([
      '8081',
    ]);
    await rpc.request('DeleteForwardEntry', { ...table, ForwardEntryId });
  });
});
