import * as Ecs from '@alicloud/ecs20140526';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { NetworkInterfaceId } from '../../../domain/ids.js';
import { ComputeError } from '../../../drivers/compute/driver.js';
import { codeOf } from '../../../testing/errorCode.js';
import { startTestCloud, type TestCloud } from '../../../testing/testCloud.js';
import { VpcFixture } from '../../../testing/vpcFixture.js';

/** Two network interfaces of six addresses, and 1 Gbit/s. */
const instanceType = 'ecs.c6.large';
const regionId = 'cn-hangzhou';

let cloud: TestCloud;
let vpc: VpcFixture;
/** A second vSwitch in the same zone, 10.0.2.0/24. */
let otherVSwitchId: string;
beforeAll(async () => {
  cloud = await startTestCloud();
  vpc = await VpcFixture.create(cloud);
  otherVSwitchId = await vpc.createVSwitch('10.0.2.0/24');
});
afterAll(() => cloud.stop());

/** Any action by its name, signed as V1. */
const call = (action: string, parameters: Record<string, unknown>) =>
  cloud.rpc().request(action, { RegionId: regionId, ...parameters }, { method: 'POST' });
const codeOfCall = (action: string, parameters: Record<string, unknown>) => codeOf(call(action, parameters));

async function create(request: Partial<Ecs.CreateNetworkInterfaceRequest> = {}) {
  const { body } = await cloud.ecs.createNetworkInterface(
    new Ecs.CreateNetworkInterfaceRequest({
      regionId,
      vSwitchId: vpc.vSwitchId,
      securityGroupId: vpc.securityGroupId,
      ...request,
    }),
  );
  return { ...body, id: body?.networkInterfaceId ?? '' };
}

async function show(networkInterfaceId: string) {
  const { body } = await cloud.ecs.describeNetworkInterfaceAttribute(
    new Ecs.DescribeNetworkInterfaceAttributeRequest({ regionId, networkInterfaceId }),
  );
  return {
    ...body,
    addresses: body?.privateIpSets?.privateIpSet?.map((each) => each.privateIpAddress) ?? [],
  };
}

const attach = (networkInterfaceId: string, instanceId: string) =>
  cloud.ecs.attachNetworkInterface(
    new Ecs.AttachNetworkInterfaceRequest({ regionId, networkInterfaceId, instanceId }),
  );
const detach = (networkInterfaceId: string, instanceId: string) =>
  cloud.ecs.detachNetworkInterface(
    new Ecs.DetachNetworkInterfaceRequest({ regionId, networkInterfaceId, instanceId }),
  );
const idle = () => cloud.cloud.reconciler.idle();

async function run(request: Partial<Ecs.RunInstancesRequest> = {}): Promise<string> {
  const id = await vpc.runInstance({ instanceType, ...request });
  await idle();
  return id;
}

async function stop(instanceId: string): Promise<void> {
  await cloud.ecs.stopInstance(new Ecs.StopInstanceRequest({ instanceId }));
  await idle();
}

async function remove(instanceId: string): Promise<void> {
  await cloud.ecs.deleteInstance(new Ecs.DeleteInstanceRequest({ instanceId, force: true }));
  await idle();
}

const portOf = async (id: string) =>
  (await vpc.applied(cloud)).ports.find((port) => port.networkInterfaceId === id);
const cardsOf = (instanceId: string) => cloud.compute.a.getSpec(instanceId).nics.map((nic) => nic.device);

describe('CreateNetworkInterface', () => {
  it('makes one that is attached to nothing, with the wished addresses, names and tags', async () => {
    const made = await create({
      primaryIpAddress: '10.0.1.50',
      privateIpAddress: ['10.0.1.52', '10.0.1.51'],
      networkInterfaceName: 'second',
      description: 'for tests',
      tag: [new Ecs.CreateNetworkInterfaceRequestTag({ key: 'role', value: 'test' })],
    });
    expect(made).toMatchObject({
      status: 'Available',
      type: 'Secondary',
      privateIpAddress: '10.0.1.50',
      vpcId: vpc.vpcId,
      zoneId: 'cn-hangzhou-a',
      securityGroupIds: { securityGroupId: [vpc.securityGroupId] },
      tags: { tag: [{ tagKey: 'role', tagValue: 'test' }] },
    });
    expect(made.macAddress).toMatch(/^00:16:3e:/);
    const shown = await show(made.id);
    expect(shown).toMatchObject({ networkInterfaceName: 'second', description: 'for tests', instanceId: '' });
    expect(shown.addresses).toEqual(['10.0.1.50', '10.0.1.51', '10.0.1.52']);
    expect(await portOf(made.id).catch(() => undefined)).toBeUndefined();
  });

  it('answers a repeated client token with the same one', async () => {
    const first = await create({ clientToken: 'once' });
    expect((await create({ clientToken: 'once' })).id).toBe(first.id);
  });

  it('never gives one address twice, however many ask at once', async () => {
    const made = await Promise.all(
      Array.from({ length: 20 }, () =>
        create({ vSwitchId: otherVSwitchId, secondaryPrivateIpAddressCount: 5 }),
      ),
    );
    const addresses = (await Promise.all(made.map(({ id }) => show(id)))).flatMap((each) => each.addresses);
    expect(addresses).toHaveLength(120);
    expect(new Set(addresses).size).toBe(120);
    await Promise.all(made.map(({ id }) => call('DeleteNetworkInterface', { NetworkInterfaceId: id })));
  });

  it('lets one of several have a wished address', async () => {
    const codes = await Promise.all(
      Array.from({ length: 4 }, () => codeOf(create({ primaryIpAddress: '10.0.1.60' }))),
    );
    expect(codes.sort()).toEqual([
      'InvalidPrivateIpAddress.Duplicated',
      'InvalidPrivateIpAddress.Duplicated',
      'InvalidPrivateIpAddress.Duplicated',
      'OK',
    ]);
  });

  it('refuses what does not fit', async () => {
    const other = await VpcFixture.create(cloud);
    const code = (parameters: Record<string, unknown>) =>
      codeOfCall('CreateNetworkInterface', {
        VSwitchId: vpc.vSwitchId,
        SecurityGroupId: vpc.securityGroupId,
        ...parameters,
      });
    expect(await code({ VSwitchId: 'vsw-unknown' })).toBe('InvalidVSwitchId.NotFound');
    expect(await code({ SecurityGroupId: 'sg-unknown' })).toBe('InvalidSecurityGroupId.NotFound');
    expect(await code({ SecurityGroupId: other.securityGroupId })).toBe('InvalidOperation.VpcMismatch');
    expect(await code({ SecurityGroupId: '' })).toBe('MissingParameter');
    expect(await code({ 'SecurityGroupIds.1': vpc.securityGroupId })).toBe(
      'InvalidSecurityGroupId.SingleIdAndMultiIdConflict',
    );
    expect(
      await code({
        SecurityGroupId: '',
        'SecurityGroupIds.1': vpc.securityGroupId,
        'SecurityGroupIds.2': vpc.securityGroupId,
      }),
    ).toBe('InvalidParameter.SecurityGroupIdRepeated');
    for (const address of ['10.0.9.1', '10.0.1.0', '10.0.1.253', '10.0.1.255', 'no-address']) {
      expect(await code({ PrimaryIpAddress: address }), address).toBe('InvalidVSwitchId.IpInvalid');
    }
    expect(await code({ 'PrivateIpAddress.1': '10.0.1.70', 'PrivateIpAddress.2': '10.0.1.70' })).toBe(
      'InvalidIp.IpRepeated',
    );
    expect(await code({ 'PrivateIpAddress.1': '10.0.1.70', SecondaryPrivateIpAddressCount: 1 })).toBe(
      'InvalidParameter.Conflict',
    );
    expect(await code({ SecondaryPrivateIpAddressCount: 50 })).toBe('MaxEniPrivateIpsCountExceeded');
    expect(await code({ NetworkInterfaceName: 'http://name' })).toBe('InvalidParams.NetworkInterfaceName');
    expect(await code({ Description: 'x' })).toBe('InvalidParameter');
    expect(await code({ Ipv6AddressCount: 1 })).toBe('InvalidParameter');
    expect(await code({ InstanceType: 'Trunk' })).toBe('InvalidOperation.TrunkingIsNotAllowed');
    expect(await code({ NetworkInterfaceTrafficMode: 'HighPerformance' })).toBe(
      'InvalidOperation.HighPerformanceTrafficModeIsNotAllowed',
    );
    expect(await code({ 'Tag.1.Key': 'acs:x' })).toBe('InvalidTagKey.Malformed');
  });

  it('says when the vSwitch is full, and when the quota is used up', async () => {
    const small = await startTestCloud({ config: { quotas: { networkInterfaces: 5 } } });
    try {
      // Of a /29, four addresses can be given out.
      const tight = await VpcFixture.create(small, { vSwitchCidr: '10.0.1.0/29' });
      const make = (count?: number) =>
        codeOf(
          small.ecs.createNetworkInterface(
            new Ecs.CreateNetworkInterfaceRequest({
              regionId,
              vSwitchId: tight.vSwitchId,
              securityGroupId: tight.securityGroupId,
              ...(count === undefined ? {} : { secondaryPrivateIpAddressCount: count }),
            }),
          ),
        );
      expect(await make(4)).toBe('InvalidVSwitchId.IpNotEnough');
      expect([await make(), await make(), await make(), await make()]).toEqual(Array(4).fill('OK'));
      expect(await make()).toBe('InvalidVSwitchId.IpNotEnough');
      const wide = await VpcFixture.create(small);
      const inWide = () =>
        codeOf(
          small.ecs.createNetworkInterface(
            new Ecs.CreateNetworkInterfaceRequest({
              regionId,
              vSwitchId: wide.vSwitchId,
              securityGroupId: wide.securityGroupId,
            }),
          ),
        );
      expect(await inWide()).toBe('OK');
      expect(await inWide()).toBe('MaxEniCountExceeded');
    } finally {
      await small.stop();
    }
  });
});

describe('attaching and detaching', () => {
  it('plugs into a running instance, and out again', async () => {
    const instanceId = await run();
    const { id } = await create({ vSwitchId: otherVSwitchId, primaryIpAddress: '10.0.2.200' });
    await attach(id, instanceId);
    await idle();
    expect(await show(id)).toMatchObject({
      status: 'InUse',
      instanceId,
      attachment: { instanceId, deviceIndex: 1 },
    });
    expect(cardsOf(instanceId)).toEqual(['eth0', 'eth1']);
    const { names } = cloud.network;
    expect(cloud.compute.a.getSpec(instanceId).nics[1]).toMatchObject({
      bridge: names.bridge(otherVSwitchId as Parameters<typeof names.bridge>[0]),
      hostDevice: names.hostDevice(id as NetworkInterfaceId),
    });
    expect(await portOf(id)).toMatchObject({
      vSwitchId: otherVSwitchId,
      primaryAddress: '10.0.2.200',
      securityGroupIds: [vpc.securityGroupId],
      ingressKbits: 1_000_000,
      egressKbits: 1_000_000,
    });
    const instance = await vpc.describeInstance(instanceId);
    expect(instance?.networkInterfaces?.networkInterface).toMatchObject([
      { type: 'Primary' },
      { type: 'Secondary', networkInterfaceId: id, primaryIpAddress: '10.0.2.200' },
    ]);

    await detach(id, instanceId);
    await idle();
    expect(await show(id)).toMatchObject({ status: 'Available', instanceId: '' });
    expect(cardsOf(instanceId)).toEqual(['eth0']);
    expect(await portOf(id)).toBeUndefined();
    await remove(instanceId);
  });

  it('plugs into a stopped instance, which has it when it starts', async () => {
    const instanceId = await run();
    await stop(instanceId);
    const { id } = await create();
    await attach(id, instanceId);
    await cloud.ecs.startInstance(new Ecs.StartInstanceRequest({ instanceId }));
    await idle();
    expect(await show(id)).toMatchObject({ status: 'InUse', instanceId });
    expect(cardsOf(instanceId)).toEqual(['eth0', 'eth1']);
    expect((await vpc.describeInstance(instanceId))?.status).toBe('Running');
    await stop(instanceId);
    await detach(id, instanceId);
    await idle();
    expect((await show(id)).status).toBe('Available');
    expect(cardsOf(instanceId)).toEqual(['eth0']);
    await remove(instanceId);
  });

  it('is Attaching and Detaching until the host has done it, and the network knows it all the time', async () => {
    const instanceId = await run();
    const { id } = await create();
    cloud.compute.a.setAvailable(false);
    await attach(id, instanceId);
    expect((await show(id)).status).toBe('Attaching');
    expect(await codeOf(detach(id, instanceId))).toBe('InvalidOperation.InvalidEniState');
    expect(await codeOf(attach(id, instanceId))).toBe('InvalidOperation.InvalidEniState');
    expect(await codeOfCall('DeleteNetworkInterface', { NetworkInterfaceId: id })).toBe(
      'InvalidOperation.InvalidEniState',
    );
    cloud.compute.a.setAvailable(true);
    await idle();
    expect((await show(id)).status).toBe('InUse');

    cloud.compute.a.setAvailable(false);
    await detach(id, instanceId);
    expect((await show(id)).status).toBe('Detaching');
    // Once more is allowed, as long as it lasts.
    await detach(id, instanceId);
    const { networks } = cloud.network;
    const ports = [...networks.values()].flatMap((network) => network.ports);
    expect(ports.map((port) => port.networkInterfaceId)).toContain(id);
    cloud.compute.a.setAvailable(true);
    await idle();
    expect((await show(id)).status).toBe('Available');
    expect(await portOf(id)).toBeUndefined();
    await remove(instanceId);
  });

  it('has the network know the port before the card is plugged in', async () => {
    const instanceId = await run();
    const { id } = await create();
    const updates = cloud.compute.a.calls.get('updateInstance') ?? 0;
    cloud.network.failNext();
    await attach(id, instanceId);
    await idle();
    expect(cloud.compute.a.calls.get('updateInstance')).toBe(updates + 1);
    expect((await show(id)).status).toBe('InUse');
    await remove(instanceId);
  });

  it('gives up what the host refuses: Available again, or still in use', async () => {
    const instanceId = await run();
    const { id } = await create();
    cloud.compute.a.failNext('updateInstance', new ComputeError('refused', 'no more cards'));
    await attach(id, instanceId);
    await idle();
    expect(await show(id)).toMatchObject({ status: 'Available', instanceId: '' });
    expect(cardsOf(instanceId)).toEqual(['eth0']);

    await attach(id, instanceId);
    await idle();
    cloud.compute.a.failNext('updateInstance', new ComputeError('refused', 'the card is held'));
    await detach(id, instanceId);
    await idle();
    expect(await show(id)).toMatchObject({ status: 'InUse', instanceId });
    expect(cardsOf(instanceId)).toEqual(['eth0', 'eth1']);
    await remove(instanceId);
  });

  it('does what was done, and then lost, once more without harm', async () => {
    const instanceId = await run();
    const { id } = await create();
    cloud.compute.a.failNext('updateInstance', new ComputeError('unavailable', 'gone'), 'after');
    await attach(id, instanceId);
    await idle();
    expect((await show(id)).status).toBe('InUse');
    expect(cardsOf(instanceId)).toEqual(['eth0', 'eth1']);
    await remove(instanceId);
  });

  it('refuses what does not fit together', async () => {
    const instanceId = await run();
    const { id } = await create();
    const code = (action: string, parameters: Record<string, unknown> = {}) =>
      codeOfCall(action, { NetworkInterfaceId: id, InstanceId: instanceId, ...parameters });
    const attachCode = (parameters: Record<string, unknown>) => code('AttachNetworkInterface', parameters);
    const detachCode = (parameters: Record<string, unknown>) => code('DetachNetworkInterface', parameters);
    const { networkInterfaceId: primary } = await vpc.primaryOf(instanceId);

    expect(await attachCode({ NetworkInterfaceId: 'eni-unknown' })).toBe('InvalidEniId.NotFound');
    expect(await attachCode({ InstanceId: 'i-unknown' })).toBe('InvalidEcsId.NotFound');
    expect(await attachCode({ NetworkInterfaceId: primary })).toBe('InvalidOperation.InvalidEniType');
    expect(await attachCode({ NetworkCardIndex: 1 })).toBe('InvalidParameter.NetworkCardIndexInvalid');
    expect(await attachCode({ TrunkNetworkInstanceId: 'eni-x' })).toBe(
      'InvalidOperation.TrunkingIsNotAllowed',
    );
    const other = await VpcFixture.create(cloud);
    const foreign = await create({
      vSwitchId: other.vSwitchId,
      securityGroupId: other.securityGroupId,
    });
    expect(await attachCode({ NetworkInterfaceId: foreign.id })).toBe('InvalidOperation.VpcMismatch');
    const inZoneB = await cloud
      .rpc('2016-04-28')
      .request<{ VSwitchId: string }>(
        'CreateVSwitch',
        { RegionId: regionId, ZoneId: 'cn-hangzhou-b', VpcId: vpc.vpcId, CidrBlock: '10.0.3.0/24' },
        { method: 'POST' },
      );
    const far = await create({ vSwitchId: inZoneB.VSwitchId });
    expect(await attachCode({ NetworkInterfaceId: far.id })).toBe(
      'InvalidOperation.AvailabilityZoneMismatch',
    );
    const rich = await create({ secondaryPrivateIpAddressCount: 6 });
    expect(await attachCode({ NetworkInterfaceId: rich.id })).toBe('InvalidOperation.Ipv4CountExceeded');

    expect(await detachCode({})).toBe('InvalidOperation.InvalidEniState');
    expect(await detachCode({ NetworkInterfaceId: primary })).toBe(
      'InvalidOperation.DetachPrimaryEniNotAllowed',
    );
    await attach(id, instanceId);
    await idle();
    const third = await create();
    expect(await attachCode({ NetworkInterfaceId: third.id })).toBe('EniPerInstanceLimitExceeded');
    const otherInstanceId = await run();
    expect(await detachCode({ InstanceId: otherInstanceId })).toBe('InvalidParameter.EniNotBelongEcs');

    cloud.compute.a.setAvailable(false);
    await cloud.ecs.stopInstance(new Ecs.StopInstanceRequest({ instanceId }));
    expect(await detachCode({})).toBe('InvalidOperation.InvalidEcsState');
    cloud.compute.a.setAvailable(true);
    await idle();
    await remove(instanceId);
    await remove(otherInstanceId);
  });

  it('answers with the documented statuses', async () => {
    const statusOf = async (call: Promise<unknown>) => {
      const error = await call.then(
        () => undefined,
        (thrown: { statusCode?: number }) => thrown,
      );
      return error?.statusCode;
    };
    const { id } = await create();
    expect(await statusOf(attach('eni-unknown', 'i-unknown'))).toBe(404);
    expect(await statusOf(detach(id, await run()))).toBe(400);
    expect(await statusOf(create({ primaryIpAddress: '10.9.9.9' }))).toBe(403);
  });
});

describe('ModifyNetworkInterfaceAttribute and DeleteNetworkInterface', () => {
  it('change name, description and groups, and remove it with all that it holds', async () => {
    const instanceId = await run();
    const { id } = await create({ primaryIpAddress: '10.0.1.80' });
    await attach(id, instanceId);
    await idle();
    const second = await cloud.ecs.createSecurityGroup(
      new Ecs.CreateSecurityGroupRequest({ regionId, vpcId: vpc.vpcId }),
    );
    const groupId = second.body?.securityGroupId ?? '';
    await cloud.ecs.modifyNetworkInterfaceAttribute(
      new Ecs.ModifyNetworkInterfaceAttributeRequest({
        regionId,
        networkInterfaceId: id,
        networkInterfaceName: 'renamed',
        description: 'described',
        securityGroupId: [groupId],
        deleteOnRelease: true,
      }),
    );
    expect(await show(id)).toMatchObject({
      networkInterfaceName: 'renamed',
      description: 'described',
      deleteOnRelease: true,
      securityGroupIds: { securityGroupId: [groupId] },
    });
    expect(await portOf(id)).toMatchObject({ securityGroupIds: [groupId] });

    await detach(id, instanceId);
    await idle();
    await call('DeleteNetworkInterface', { NetworkInterfaceId: id });
    expect(await codeOf(show(id))).toBe('InvalidEniId.NotFound');
    // Its address is free, and the group has no member any more.
    expect((await create({ primaryIpAddress: '10.0.1.80' })).privateIpAddress).toBe('10.0.1.80');
    await call('DeleteSecurityGroup', { SecurityGroupId: groupId });
    await remove(instanceId);
  });

  it('refuse what does not fit', async () => {
    const instanceId = await run();
    const { networkInterfaceId: primary } = await vpc.primaryOf(instanceId);
    const { id } = await create();
    const other = await VpcFixture.create(cloud);
    const code = (parameters: Record<string, unknown>) =>
      codeOfCall('ModifyNetworkInterfaceAttribute', { NetworkInterfaceId: id, ...parameters });
    expect(await code({ NetworkInterfaceId: 'eni-unknown' })).toBe('InvalidEniId.NotFound');
    expect(await code({ NetworkInterfaceId: primary, NetworkInterfaceName: 'mine' })).toBe('OK');
    expect(await code({ NetworkInterfaceId: primary, 'SecurityGroupId.1': vpc.securityGroupId })).toBe(
      'InvalidOperation.PrimaryEniOnlySupportModifyNameAndDesc',
    );
    expect(await code({ 'SecurityGroupId.1': other.securityGroupId })).toBe('InvalidOperation.VpcMismatch');
    expect(await code({ 'SecurityGroupId.1': 'sg-unknown' })).toBe('InvalidSecurityGroupId.NotFound');
    expect(await code(groupList(6))).toBe('JoinedGroupLimitExceed');
    expect(await code({ NetworkInterfaceName: 'x' })).toBe('InvalidParams.NetworkInterfaceName');
    const enterprise = await call('CreateSecurityGroup', {
      VpcId: vpc.vpcId,
      SecurityGroupType: 'enterprise',
    });
    expect(
      await code({
        'SecurityGroupId.1': vpc.securityGroupId,
        'SecurityGroupId.2': (enterprise as { SecurityGroupId: string }).SecurityGroupId,
      }),
    ).toBe('InvalidOperation.MultiGroupType');

    expect(await codeOfCall('DeleteNetworkInterface', { NetworkInterfaceId: primary })).toBe(
      'InvalidOperation.InvalidEniType',
    );
    expect(await codeOfCall('DeleteNetworkInterface', { NetworkInterfaceId: 'eni-unknown' })).toBe(
      'InvalidEniId.NotFound',
    );
    await attach(id, instanceId);
    await idle();
    expect(await codeOfCall('DeleteNetworkInterface', { NetworkInterfaceId: id })).toBe(
      'InvalidOperation.InvalidEniState',
    );
    await remove(instanceId);
  });
});

const groupList = (count: number) =>
  Object.fromEntries(
    Array.from({ length: count }, (_, index) => [`SecurityGroupId.${index + 1}`, `sg-${index}`]),
  );

describe('secondary addresses', () => {
  it('are assigned and unassigned, and the host knows', async () => {
    const instanceId = await run();
    const { networkInterfaceId } = await vpc.primaryOf(instanceId);
    const { body } = await cloud.ecs.assignPrivateIpAddresses(
      new Ecs.AssignPrivateIpAddressesRequest({
        regionId,
        networkInterfaceId,
        privateIpAddress: ['10.0.1.90', '10.0.1.91'],
      }),
    );
    expect(body?.assignedPrivateIpAddressesSet).toMatchObject({
      networkInterfaceId,
      privateIpSet: { privateIpAddress: ['10.0.1.90', '10.0.1.91'] },
    });
    const automatic = await cloud.ecs.assignPrivateIpAddresses(
      new Ecs.AssignPrivateIpAddressesRequest({
        regionId,
        networkInterfaceId,
        secondaryPrivateIpAddressCount: 1,
      }),
    );
    const [chosen] = automatic.body?.assignedPrivateIpAddressesSet?.privateIpSet?.privateIpAddress ?? [];
    const secondary = (await portOf(networkInterfaceId))?.secondaryAddresses ?? [];
    expect([...secondary].sort()).toEqual(['10.0.1.90', '10.0.1.91', chosen].sort());

    await call('UnassignPrivateIpAddresses', {
      NetworkInterfaceId: networkInterfaceId,
      'PrivateIpAddress.1': '10.0.1.90',
      'PrivateIpAddress.2': chosen,
    });
    expect((await portOf(networkInterfaceId))?.secondaryAddresses).toEqual(['10.0.1.91']);
    await remove(instanceId);
  });

  it('are refused where they do not fit', async () => {
    const instanceId = await run();
    const { networkInterfaceId: primary, address } = await vpc.primaryOf(instanceId);
    const { id } = await create();
    const assign = (parameters: Record<string, unknown>) =>
      codeOfCall('AssignPrivateIpAddresses', { NetworkInterfaceId: primary, ...parameters });
    const unassign = (parameters: Record<string, unknown>) =>
      codeOfCall('UnassignPrivateIpAddresses', { NetworkInterfaceId: primary, ...parameters });

    expect(await assign({ NetworkInterfaceId: 'eni-unknown', SecondaryPrivateIpAddressCount: 1 })).toBe(
      'InvalidEniId.NotFound',
    );
    expect(await assign({})).toBe('MissingParameter');
    expect(await assign({ 'PrivateIpAddress.1': '10.0.1.95', SecondaryPrivateIpAddressCount: 1 })).toBe(
      'InvalidParameter.Conflict',
    );
    expect(await assign({ 'PrivateIpAddress.1': '10.0.2.95' })).toBe('InvalidVSwitchId.IpInvalid');
    expect(await assign({ 'PrivateIpAddress.1': address })).toBe('InvalidPrivateIpAddress.Duplicated');
    expect(await assign({ SecondaryPrivateIpAddressCount: 6 })).toBe('InvalidOperation.Ipv4CountExceeded');
    expect(await assign({ SecondaryPrivateIpAddressCount: 5 })).toBe('OK');
    expect(await assign({ NetworkInterfaceId: id, SecondaryPrivateIpAddressCount: 50 })).toBe(
      'MaxEniPrivateIpsCountExceeded',
    );
    expect(await assign({ Ipv4PrefixCount: 1 })).toBe('InvalidParameter');

    expect(await unassign({})).toBe('MissingParameter');
    expect(await unassign({ 'PrivateIpAddress.1': '10.0.1.250' })).toBe('InvalidIp.IpUnassigned');
    expect(await unassign({ 'PrivateIpAddress.1': address })).toBe('InvalidIp.IpUnassigned');
    expect(await codeOfCall('AssignIpv6Addresses', { NetworkInterfaceId: id, Ipv6AddressCount: 1 })).toBe(
      'InvalidVSwitch.Ipv6NotTurnOn',
    );
    expect(
      await codeOfCall('UnassignIpv6Addresses', { NetworkInterfaceId: id, 'Ipv6Address.1': 'fd00::1' }),
    ).toBe('InvalidIp.IpUnassigned');
    await remove(instanceId);
  });
});

describe('the end of an instance', () => {
  it('takes the primary interface and those that shall go with it, and leaves the others', async () => {
    const instanceId = await run({ instanceType: 'ecs.g7.large' });
    const { networkInterfaceId: primary } = await vpc.primaryOf(instanceId);
    const kept = await create({ primaryIpAddress: '10.0.1.100' });
    const going = await create({ deleteOnRelease: true });
    const eip = await vpc.allocateEip();
    for (const { id } of [kept, going]) await attach(id, instanceId);
    await vpc.associateEip(eip.allocationId, going.id, 'NetworkInterface');
    await idle();
    expect(cardsOf(instanceId)).toEqual(['eth0', 'eth1', 'eth2']);
    expect(await show(going.id)).toMatchObject({
      associatedPublicIp: { allocationId: eip.allocationId, publicIpAddress: eip.eipAddress },
    });
    await remove(instanceId);
    expect(await codeOf(show(primary))).toBe('InvalidEniId.NotFound');
    expect(await codeOf(show(going.id))).toBe('InvalidEniId.NotFound');
    expect(await show(kept.id)).toMatchObject({ status: 'Available', privateIpAddress: '10.0.1.100' });
    expect((await vpc.describeEip(eip.allocationId))?.status).toBe('Available');

    const nextId = await run();
    await attach(kept.id, nextId);
    await idle();
    expect(await show(kept.id)).toMatchObject({ status: 'InUse', instanceId: nextId });
    await remove(nextId);
  });
});

describe('RunInstances', () => {
  it('gives each instance a secondary interface', async () => {
    const { body } = await cloud.ecs.runInstances(
      new Ecs.RunInstancesRequest({
        regionId,
        imageId: 'debian_12_x64_egs',
        instanceType,
        amount: 2,
        networkInterface: [
          new Ecs.RunInstancesRequestNetworkInterface({
            instanceType: 'Primary',
            vSwitchId: vpc.vSwitchId,
            securityGroupId: vpc.securityGroupId,
          }),
          new Ecs.RunInstancesRequestNetworkInterface({
            vSwitchId: otherVSwitchId,
            networkInterfaceName: 'second',
            secondaryPrivateIpAddressCount: 2,
          }),
        ],
      }),
    );
    await idle();
    const ids = body?.instanceIdSets?.instanceIdSet ?? [];
    expect(ids).toHaveLength(2);
    for (const id of ids) {
      expect(cardsOf(id)).toEqual(['eth0', 'eth1']);
      const [, secondary] = (await vpc.describeInstance(id))?.networkInterfaces?.networkInterface ?? [];
      const shown = await show(secondary?.networkInterfaceId ?? '');
      expect(shown).toMatchObject({
        status: 'InUse',
        networkInterfaceName: 'second',
        vSwitchId: otherVSwitchId,
        deleteOnRelease: true,
        securityGroupIds: { securityGroupId: [vpc.securityGroupId] },
      });
      expect(shown.addresses).toHaveLength(3);
      await remove(id);
      expect(await codeOf(show(secondary?.networkInterfaceId ?? ''))).toBe('InvalidEniId.NotFound');
    }
  });

  it('takes a secondary interface that there is', async () => {
    const { id } = await create();
    const instanceId = await run({
      networkInterface: [new Ecs.RunInstancesRequestNetworkInterface({ networkInterfaceId: id })],
    });
    expect(await show(id)).toMatchObject({ status: 'InUse', instanceId });
    expect(cardsOf(instanceId)).toEqual(['eth0', 'eth1']);
    await remove(instanceId);
    expect((await show(id)).status).toBe('Available');
  });

  it('refuses interfaces that do not fit', async () => {
    const code = (parameters: Record<string, unknown>) =>
      codeOfCall('RunInstances', {
        ImageId: 'debian_12_x64_egs',
        InstanceType: instanceType,
        VSwitchId: vpc.vSwitchId,
        SecurityGroupId: vpc.securityGroupId,
        ...parameters,
      });
    const other = await VpcFixture.create(cloud);
    const { id } = await create({ vSwitchId: other.vSwitchId, securityGroupId: other.securityGroupId });
    const first = 'NetworkInterface.1.';
    expect(await code({ [`${first}NetworkInterfaceId`]: 'eni-unknown' })).toBe('InvalidEniId.NotFound');
    expect(await code({ [`${first}NetworkInterfaceId`]: id })).toBe(
      'InvalidOperation.InvalidNetworkInterfaceId',
    );
    expect(await code({ [`${first}NetworkInterfaceId`]: id, Amount: 2 })).toBe('InvalidParameter.Conflict');
    expect(await code({ [`${first}NetworkInterfaceId`]: id, [`${first}VSwitchId`]: otherVSwitchId })).toBe(
      'InvalidParameter.Conflict',
    );
    expect(await code({ [`${first}VSwitchId`]: other.vSwitchId })).toBe('InvalidParameter.NetworkInterface');
    expect(await code({ [`${first}SecurityGroupId`]: other.securityGroupId })).toBe(
      'InvalidSecurityGroup.VpcMismatch',
    );
    expect(await code({ [`${first}SecondaryPrivateIpAddressCount`]: 6 })).toBe(
      'InvalidOperation.Ipv4CountExceeded',
    );
    expect(await code({ [`${first}NetworkInterfaceName`]: 'x' })).toBe('InvalidParameter.NetworkInterface');
    expect(await code({ [`${first}InstanceType`]: 'Primary' })).toBe('InvalidParameter.Conflict');
    expect(await code({ [`${first}Description`]: 'aa', 'NetworkInterface.2.Description': 'bb' })).toBe(
      'InvalidParameter',
    );
    expect(await code({ PrivateIpAddress: 'no-address' })).toBe('InvalidPrivateIpAddress');
  });
});

describe('the bandwidth of ports', () => {
  it('is that of the instance type in both directions, also after a change of type', async () => {
    const instanceId = await run({ instanceType: 'ecs.t6-c1m1.large' });
    const { networkInterfaceId } = await vpc.primaryOf(instanceId);
    expect(await portOf(networkInterfaceId)).toMatchObject({ ingressKbits: 80_000, egressKbits: 80_000 });
    await stop(instanceId);
    await call('ModifyInstanceSpec', { InstanceId: instanceId, InstanceType: 'ecs.g7.large' });
    await idle();
    expect(await portOf(networkInterfaceId)).toMatchObject({
      ingressKbits: 2_000_000,
      egressKbits: 2_000_000,
    });
    await remove(instanceId);
  });
});
