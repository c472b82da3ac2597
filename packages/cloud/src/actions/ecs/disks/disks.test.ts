import * as Ecs from '@alicloud/ecs20140526';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { HostId } from '../../../domain/ids.js';
import { ComputeError } from '../../../drivers/compute/driver.js';
import { DiskFixture } from '../../../testing/diskFixture.js';
import { codeOf } from '../../../testing/errorCode.js';
import { startTestCloud, type TestCloud } from '../../../testing/testCloud.js';
import { VpcFixture } from '../../../testing/vpcFixture.js';

const regionId = 'cn-hangzhou';

let cloud: TestCloud;
let vpc: VpcFixture;
let disks: DiskFixture;
/** A running instance in zone a. */
let instanceId: string;
beforeAll(async () => {
  cloud = await startTestCloud({ config: { quotas: { dataDisks: 60 } } });
  vpc = await VpcFixture.create(cloud);
  disks = new DiskFixture({ ecs: cloud.ecs, idle: () => cloud.cloud.reconciler.idle() }, cloud.compute.a);
});
beforeEach(async () => {
  instanceId = await run();
});
afterAll(() => cloud.stop());

async function run(request: Partial<Ecs.RunInstancesRequest> = {}): Promise<string> {
  const id = await vpc.runInstance(request);
  await cloud.cloud.reconciler.idle();
  return id;
}

async function release(id: string): Promise<void> {
  await cloud.ecs.deleteInstance(new Ecs.DeleteInstanceRequest({ instanceId: id, force: true }));
  await cloud.cloud.reconciler.idle();
}

/** Any action by its name, signed as V1. */
const call = (action: string, parameters: Record<string, unknown>) =>
  cloud.rpc().request(action, { RegionId: regionId, ...parameters }, { method: 'POST' });
const codeOfCall = (action: string, parameters: Record<string, unknown>) => codeOf(call(action, parameters));

/** The disk space that is taken on the host of zone a. */
function takenGiB(): number {
  const host = 'fake-a' as HostId;
  return [...cloud.cloud.parts.placement.allocations()]
    .filter((allocation) => allocation.hostId === host)
    .reduce((sum, allocation) => sum + allocation.diskGiB, 0);
}

describe('CreateDisk and DeleteDisk', () => {
  it('give a disk that takes its room on a host, and give that back', async () => {
    const before = takenGiB();
    const id = await disks.create({ diskName: 'data', description: 'for tests', size: 30 });
    expect(await disks.show(id)).toMatchObject({
      diskId: id,
      diskName: 'data',
      description: 'for tests',
      status: 'Available',
      type: 'data',
      category: 'cloud_essd',
      performanceLevel: 'PL1',
      size: 30,
      zoneId: 'cn-hangzhou-a',
      instanceId: '',
      portable: true,
      deleteWithInstance: false,
      attachments: {},
    });
    expect(takenGiB()).toBe(before + 30);
    await cloud.ecs.deleteDisk(new Ecs.DeleteDiskRequest({ diskId: id }));
    expect(await disks.show(id)).toBeUndefined();
    await cloud.cloud.reconciler.idle();
    expect(takenGiB()).toBe(before);
    expect(await codeOfCall('DeleteDisk', { DiskId: id })).toBe('InvalidDiskId.NotFound');
  });

  it.each([
    ['no size', { Size: undefined }, 'MissingParameter'],
    ['no zone', { ZoneId: undefined }, 'MissingParameter'],
    ['a zone that there is not', { ZoneId: 'cn-hangzhou-z' }, 'InvalidZoneId.NotFound'],
    [
      'a category that there is not',
      { DiskCategory: 'cloud_paper' },
      'InvalidDataDiskCategory.ValueNotSupported',
    ],
    ['too small a size', { Size: 19 }, 'InvalidDataDiskSize.ValueNotSupported'],
    [
      'too small a size for its level',
      { PerformanceLevel: 'PL2', Size: 460 },
      'InvalidDataDiskSize.ValueNotSupported',
    ],
    ['too large a size', { DiskCategory: 'cloud', Size: 2001 }, 'InvalidDataDiskSize.ValueNotSupported'],
    ['a level that there is not', { PerformanceLevel: 'PL9' }, 'InvalidParameter'],
    ['more room than there is', { Size: 30_000 }, 'OperationDenied'],
    ['a bad name', { DiskName: 'http://x' }, 'InvalidDiskName.Malformed'],
    ['encryption', { Encrypted: true }, 'InvalidParameter.EncryptedNotSupported'],
    ['several instances', { MultiAttach: 'Enabled' }, 'InvalidParameter.MultiAttach'],
    ['a snapshot that there is not', { SnapshotId: 's-none' }, 'InvalidSnapshotId.NotFound'],
  ])('refuse %s', async (_what, change, code) => {
    const wished = { ZoneId: 'cn-hangzhou-a', DiskCategory: 'cloud_essd', Size: 20, ...change };
    const request = Object.fromEntries(Object.entries(wished).filter(([, value]) => value !== undefined));
    expect(await codeOfCall('CreateDisk', request)).toBe(code);
  });

  it('give smaller and larger disks by level, and nothing in a dry run', async () => {
    expect(await disks.show(await disks.create({ performanceLevel: 'PL0', size: 1 }))).toMatchObject({
      performanceLevel: 'PL0',
      size: 1,
    });
    expect(await disks.show(await disks.create({ diskCategory: 'cloud_ssd' }))).toMatchObject({
      performanceLevel: '',
    });
  });
});

describe('AttachDisk and DetachDisk', () => {
  it('keep what is written over detach, another instance and release', async () => {
    const id = await disks.create();
    await disks.attach(id, instanceId);
    expect(await disks.show(id)).toMatchObject({
      device: '/dev/xvdb',
      attachedTime: expect.stringMatching(/^\d{4}-/),
      attachments: { attachment: [{ instanceId, device: '/dev/xvdb' }] },
    });
    await disks.write(instanceId, id, 'kept');
    await disks.detach(id, instanceId);
    expect(await disks.show(id)).toMatchObject({
      device: '',
      detachedTime: expect.stringMatching(/^\d{4}-/),
    });
    const other = await run();
    await disks.attach(id, other);
    expect(await disks.read(other, id)).toBe('kept');
    await release(other);
    expect(await disks.show(id)).toMatchObject({ status: 'Available' });
    await disks.attach(id, instanceId);
    expect(await disks.read(instanceId, id)).toBe('kept');
  });

  it('work on a stopped instance, and delete with it when that is wished', async () => {
    await disks.stop(instanceId);
    const kept = await disks.create();
    const lost = await disks.create();
    await disks.attach(kept, instanceId);
    await disks.attach(lost, instanceId, { deleteWithInstance: true });
    expect((await disks.list({ instanceId })).map((disk) => disk.device).sort()).toEqual([
      '/dev/xvda',
      '/dev/xvdb',
      '/dev/xvdc',
    ]);
    await disks.start(instanceId);
    await disks.write(instanceId, kept, 'kept');
    await release(instanceId);
    expect(await disks.show(kept)).toMatchObject({ status: 'Available', deleteWithInstance: false });
    expect(await disks.show(lost)).toBeUndefined();
    expect(await disks.listVolumes()).toContain(kept);
    expect(await disks.listVolumes()).not.toContain(lost);
  });

  it('move a disk that holds nothing to the host of the instance, in its zone only', async () => {
    const id = await disks.create({ zoneId: 'cn-hangzhou-b' });
    expect(await codeOfCall('AttachDisk', { DiskId: id, InstanceId: instanceId })).toBe(
      'InvalidInstance.ZoneConflict',
    );
  });

  it('refuse what the states of disk and instance forbid', async () => {
    const id = await disks.create();
    const attach = { DiskId: id, InstanceId: instanceId };
    expect(await codeOfCall('AttachDisk', { ...attach, DiskId: 'd-none' })).toBe('InvalidDiskId.NotFound');
    expect(await codeOfCall('AttachDisk', { ...attach, InstanceId: 'i-none' })).toBe(
      'InvalidInstanceId.NotFound',
    );
    expect(await codeOfCall('AttachDisk', { ...attach, Device: '/dev/sda' })).toBe('InvalidDevice.Malformed');
    expect(await codeOfCall('AttachDisk', { ...attach, Bootable: true })).toBe('InvalidParameter');
    expect(await codeOfCall('DetachDisk', attach)).toBe('IncorrectDiskStatus');
    await disks.attach(id, instanceId, { device: '/dev/xvdf' });
    expect(await codeOfCall('AttachDisk', attach)).toBe('InvalidDisk.InUse');
    expect(await codeOfCall('DeleteDisk', { DiskId: id })).toBe('IncorrectDiskStatus');
    const second = await disks.create();
    expect(await codeOfCall('AttachDisk', { ...attach, DiskId: second, Device: '/dev/xvdf' })).toBe(
      'InvalidDevice.InUse',
    );
    const other = await run();
    expect(await codeOfCall('DetachDisk', { ...attach, InstanceId: other })).toBe('DependencyViolation');
    const [system] = await disks.list({ instanceId, diskType: 'system' });
    expect(await codeOfCall('DetachDisk', { DiskId: system?.diskId, InstanceId: instanceId })).toBe(
      'InvalidParameter',
    );
    expect(await codeOfCall('DeleteDisk', { DiskId: system?.diskId })).toBe('DiskTypeViolation');
  });

  it('answer an instance that is on its way with status 400', async () => {
    const id = await disks.create();
    cloud.compute.a.delaysMs.createInstance = 200;
    const starting = await vpc.runInstance();
    await expect(
      cloud.ecs.attachDisk(new Ecs.AttachDiskRequest({ diskId: id, instanceId: starting })),
    ).rejects.toMatchObject({ code: 'IncorrectInstanceStatus', statusCode: 400 });
    cloud.compute.a.delaysMs.createInstance = 0;
    await cloud.cloud.reconciler.idle();
  });

  it('leave the disk as it was when the host cannot attach it', async () => {
    const id = await disks.create();
    cloud.compute.a.failNext('updateInstance', new ComputeError('refused', 'no'));
    await cloud.ecs.attachDisk(new Ecs.AttachDiskRequest({ diskId: id, instanceId }));
    await cloud.cloud.reconciler.idle();
    expect(await disks.show(id)).toMatchObject({ status: 'Available', instanceId: '' });
    await disks.attach(id, instanceId);
  });
});

describe('ResizeDisk', () => {
  it('makes a disk larger, before it was attached, live, and while it is detached', async () => {
    const id = await disks.create();
    const resize = async (newSize: number, type?: string): Promise<void> => {
      const before = takenGiB();
      const { size = 0 } = (await disks.show(id)) ?? {};
      await call('ResizeDisk', { DiskId: id, NewSize: newSize, ...(type ? { Type: type } : {}) });
      await cloud.cloud.reconciler.idle();
      expect(await disks.show(id)).toMatchObject({ size: newSize });
      expect(takenGiB()).toBe(before + newSize - size);
    };
    await resize(21);
    await disks.attach(id, instanceId);
    await resize(22, 'online');
    expect(await cloud.compute.a.listVolumes()).toContainEqual({ name: id, sizeGiB: 22 });
    expect(await codeOfCall('ResizeDisk', { DiskId: id, NewSize: 22 })).toBe('InvalidDiskSize.TooSmall');
    expect(await codeOfCall('ResizeDisk', { DiskId: id, NewSize: 30, Type: 'sideways' })).toBe(
      'InvalidParam.Type',
    );
    expect(await codeOfCall('ResizeDisk', { DiskId: id, NewSize: 60_000 })).toBe(
      'OperationDenied.NotEnoughCapacity',
    );
    await disks.stop(instanceId);
    expect(await codeOfCall('ResizeDisk', { DiskId: id, NewSize: 23, Type: 'online' })).toBe(
      'InvalidInstanceStatus.NotRunning',
    );
    await resize(23);
    await disks.detach(id, instanceId);
    await resize(24);
    expect(await cloud.compute.a.listVolumes()).toContainEqual({ name: id, sizeGiB: 24 });
  });

  it('makes the system disk of an instance larger', async () => {
    const [system] = await disks.list({ instanceId, diskType: 'system' });
    const before = takenGiB();
    await call('ResizeDisk', { DiskId: system?.diskId, NewSize: 60, Type: 'online' });
    await cloud.cloud.reconciler.idle();
    expect(cloud.compute.a.getSpec(instanceId)).toMatchObject({ rootDiskGiB: 60 });
    expect(takenGiB()).toBe(before + 20);
    expect(await codeOfCall('ResizeDisk', { DiskId: system?.diskId, NewSize: 2049 })).toBe(
      'InvalidSystemDiskSize.ValueNotSupported',
    );
  });
});

describe('ModifyDiskAttribute and ModifyDiskSpec', () => {
  it('change names, and what becomes of the disk with its instance', async () => {
    const [one, two] = [await disks.create(), await disks.create()];
    await cloud.ecs.modifyDiskAttribute(
      new Ecs.ModifyDiskAttributeRequest({ diskIds: [one, two], diskName: 'pair', deleteWithInstance: true }),
    );
    for (const id of [one, two]) {
      expect(await disks.show(id)).toMatchObject({ diskName: 'pair', deleteWithInstance: true });
    }
    expect(await codeOfCall('ModifyDiskAttribute', { DiskId: one })).toBe('NoAttributeToModify');
    expect(await codeOfCall('ModifyDiskAttribute', { DiskName: 'x' })).toBe(
      'MissingParameter.DiskIdOrDiskIds',
    );
    expect(await codeOfCall('ModifyDiskAttribute', { DiskId: 'd-none', DiskName: 'ab' })).toBe(
      'InvalidDiskId.NotFound',
    );
  });

  it('change category and level where the size allows it', async () => {
    const id = await disks.create();
    const modify = (parameters: Record<string, unknown>) =>
      codeOfCall('ModifyDiskSpec', { DiskId: id, ...parameters });
    expect(await modify({ PerformanceLevel: 'PL1' })).toBe('NoChangeInDiskCategoryAndPerformanceLevel');
    expect(await modify({ PerformanceLevel: 'PL2' })).toBe('OperationDenied.PerformanceLevelNotMatch');
    expect(await modify({ PerformanceLevel: 'PL9' })).toBe('InvalidPerformanceLevel.Malformed');
    expect(await modify({ DiskCategory: 'paper' })).toBe('InvalidDiskCategory.ValueNotSupported');
    await call('ModifyDiskSpec', { DiskId: id, DiskCategory: 'cloud_ssd' });
    expect(await disks.show(id)).toMatchObject({ category: 'cloud_ssd', performanceLevel: '' });
    await call('ModifyDiskSpec', { DiskId: id, DiskCategory: 'cloud_essd', PerformanceLevel: 'PL0' });
    expect(await disks.show(id)).toMatchObject({ category: 'cloud_essd', performanceLevel: 'PL0' });
  });
});

describe('ReInitDisk', () => {
  it('empties a disk, but only in an instance that is stopped', async () => {
    const id = await disks.create();
    await disks.attach(id, instanceId);
    await disks.write(instanceId, id, 'gone');
    expect(await codeOfCall('ReInitDisk', { DiskId: id })).toBe('IncorrectInstanceStatus');
    await disks.stop(instanceId);
    await call('ReInitDisk', { DiskId: id });
    expect((await disks.show(id))?.status).toMatch(/^(ReIniting|Attaching|In_use)$/);
    await cloud.cloud.reconciler.idle();
    expect(await disks.show(id)).toMatchObject({ status: 'In_use', instanceId });
    await disks.start(instanceId);
    expect(await disks.read(instanceId, id)).toBeUndefined();
    // Of the old content nothing is left.
    expect((await disks.listVolumes()).filter((name) => name.startsWith(id))).toEqual([`${id}-2`]);
  });

  it('leaves the old content when the new one cannot be made', async () => {
    const id = await disks.create();
    await disks.attach(id, instanceId);
    await disks.write(instanceId, id, 'still here');
    await disks.stop(instanceId);
    cloud.compute.a.failNext('createVolume', new ComputeError('no-space', 'the pool is full'));
    await call('ReInitDisk', { DiskId: id });
    await cloud.cloud.reconciler.idle();
    expect(await disks.show(id)).toMatchObject({ status: 'In_use' });
    await disks.start(instanceId);
    expect(await disks.read(instanceId, id)).toBe('still here');
  });
});

describe('data disks of RunInstances and CreateInstance', () => {
  it('come with the instance, and go with it unless they shall stay', async () => {
    const id = await run({
      dataDisk: [
        new Ecs.RunInstancesRequestDataDisk({ size: 20, category: 'cloud_essd', diskName: 'first' }),
        new Ecs.RunInstancesRequestDataDisk({ size: 30, deleteWithInstance: false }),
      ],
    });
    const [first, second] = (await disks.list({ instanceId: id, diskType: 'data' })).sort((left, right) =>
      (left.device ?? '').localeCompare(right.device ?? ''),
    );
    expect(first).toMatchObject({
      status: 'In_use',
      size: 20,
      diskName: 'first',
      device: '/dev/xvdb',
      deleteWithInstance: true,
    });
    expect(second).toMatchObject({ status: 'In_use', size: 30, category: 'cloud_efficiency' });
    await disks.write(id, second?.diskId ?? '', 'kept');
    await release(id);
    expect(await disks.show(first?.diskId ?? '')).toBeUndefined();
    expect(await disks.show(second?.diskId ?? '')).toMatchObject({ status: 'Available' });
    await disks.attach(second?.diskId ?? '', instanceId);
    expect(await disks.read(instanceId, second?.diskId ?? '')).toBe('kept');
  });

  it('come with an instance that is created stopped', async () => {
    const { body } = await cloud.ecs.createInstance(
      new Ecs.CreateInstanceRequest({
        regionId,
        imageId: 'debian_12_x64_egs',
        instanceType: 'ecs.c6.large',
        vSwitchId: vpc.vSwitchId,
        securityGroupId: vpc.securityGroupId,
        dataDisk: [new Ecs.CreateInstanceRequestDataDisk({ size: 20 })],
      }),
    );
    await cloud.cloud.reconciler.idle();
    expect(await disks.list({ instanceId: body?.instanceId ?? '', diskType: 'data' })).toMatchObject([
      { status: 'In_use', size: 20 },
    ]);
  });

  it('leave nothing behind when the instance cannot be made', async () => {
    const before = takenGiB();
    const volumes = await disks.listVolumes();
    cloud.compute.a.failNext('createInstance', new ComputeError('refused', 'no'));
    await run({
      dataDisk: [new Ecs.RunInstancesRequestDataDisk({ size: 20, deleteWithInstance: false })],
    });
    expect(takenGiB()).toBe(before);
    expect(await disks.listVolumes()).toEqual(volumes);
  });

  it.each([
    ['a size that the category has not', { Size: 5 }, 'InvalidDataDiskSize.ValueNotSupported'],
    [
      'a category that there is not',
      { Category: 'paper', Size: 20 },
      'InvalidDataDiskCategory.ValueNotSupported',
    ],
    ['a snapshot that there is not', { SnapshotId: 's-none' }, 'InvalidDataDiskSnapshotId.NotFound'],
    ['encryption', { Size: 20, Encrypted: 'true' }, 'InvalidParameter'],
    ['a device that is none', { Size: 20, Device: '/dev/xvda' }, 'InvalidParameter'],
  ])('refuse %s', async (_what, disk, code) => {
    expect(
      await codeOfCall('RunInstances', {
        ImageId: 'debian_12_x64_egs',
        InstanceType: 'ecs.c6.large',
        VSwitchId: vpc.vSwitchId,
        SecurityGroupId: vpc.securityGroupId,
        DataDisk: [disk],
      }),
    ).toBe(code);
  });
});

describe('DescribeDisks', () => {
  it('filters by all that a disk has, and pages in both styles', async () => {
    const id = await disks.create({
      diskName: 'filtered',
      diskCategory: 'cloud_ssd',
      tag: [new Ecs.CreateDiskRequestTag({ key: 'team', value: 'blue' })],
    });
    const found = async (request: Partial<Ecs.DescribeDisksRequest>) =>
      (await disks.list({ pageSize: 100, ...request })).some((disk) => disk.diskId === id);
    const hits: Partial<Ecs.DescribeDisksRequest>[] = [
      {},
      { diskName: 'filt*' },
      { category: 'cloud_ssd' },
      { diskType: 'data' },
      { status: 'Available' },
      { zoneId: 'cn-hangzhou-a' },
      { portable: true },
      { deleteWithInstance: false },
      { encrypted: false },
      { multiAttach: 'Disabled' },
      { diskChargeType: 'PostPaid' },
      { tag: [new Ecs.DescribeDisksRequestTag({ key: 'team', value: 'blue' })] },
      {
        filter: [
          new Ecs.DescribeDisksRequestFilter({ key: 'CreationStartTime', value: '2020-01-01T00:00Z' }),
        ],
      },
    ];
    for (const request of hits) expect(await found(request), JSON.stringify(request)).toBe(true);
    const misses: Partial<Ecs.DescribeDisksRequest>[] = [
      { diskName: 'other' },
      { category: 'cloud' },
      { diskType: 'system' },
      { status: 'In_use' },
      { zoneId: 'cn-hangzhou-b' },
      { portable: false },
      { deleteWithInstance: true },
      { encrypted: true },
      { multiAttach: 'Enabled' },
      { diskChargeType: 'PrePaid' },
      { instanceId },
      { snapshotId: 's-none' },
      { lockReason: 'security' },
      { tag: [new Ecs.DescribeDisksRequestTag({ key: 'team', value: 'red' })] },
      {
        filter: [new Ecs.DescribeDisksRequestFilter({ key: 'CreationEndTime', value: '2020-01-01T00:00Z' })],
      },
    ];
    for (const request of misses) expect(await found(request), JSON.stringify(request)).toBe(false);
    expect(await disks.list({ diskIds: '["d-none"]' })).toEqual([]);

    const { body } = await cloud.ecs.describeDisks(new Ecs.DescribeDisksRequest({ regionId, maxResults: 1 }));
    expect(body?.disks?.disk).toHaveLength(1);
    const next = await cloud.ecs.describeDisks(
      new Ecs.DescribeDisksRequest({ regionId, maxResults: 1, nextToken: body?.nextToken ?? '' }),
    );
    expect(next.body?.disks?.disk?.[0]?.diskId).not.toBe(body?.disks?.disk?.[0]?.diskId);
  });

  it.each([
    [{ Status: 'Lost' }, 'InvalidStatus.ValueNotSupported'],
    [{ DiskType: 'floppy' }, 'InvalidDiskType.ValueNotSupported'],
    [{ Category: 'paper' }, 'InvalidCategory.ValueNotSupported'],
    [{ DiskChargeType: 'Gift' }, 'InvalidDiskChargeType.NotFound'],
    [{ LockReason: 'fun' }, 'InvalidLockReason.NotFound'],
    [{ Filter: [{ Key: 'Colour', Value: '2020-01-01T00:00Z' }] }, 'InvalidFilterKey.NotFound'],
  ])('refuses %j', async (request, code) => {
    expect(await codeOfCall('DescribeDisks', request)).toBe(code);
  });
});

it('a host that comes back loses volumes that nobody owns, and keeps the others', async () => {
  const id = await disks.create();
  await disks.attach(id, instanceId);
  await cloud.compute.a.createVolume({ name: 'd-nobody', sizeGiB: 1 });
  cloud.compute.a.setAvailable(false);
  cloud.compute.a.setAvailable(true);
  // The event comes with the next turn of the loop.
  await new Promise((resolve) => setImmediate(resolve));
  await cloud.cloud.reconciler.idle();
  const volumes = await disks.listVolumes();
  expect(volumes).toContain(id);
  expect(volumes).not.toContain('d-nobody');
});
