import * as Ecs from '@alicloud/ecs20140526';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ComputeError } from '../../../drivers/compute/driver.js';
import { releaseDueSnapshots } from '../../../reconcile/autoRelease.js';
import { DiskFixture } from '../../../testing/diskFixture.js';
import { codeOf } from '../../../testing/errorCode.js';
import { startTestCloud, type TestCloud } from '../../../testing/testCloud.js';
import { VpcFixture } from '../../../testing/vpcFixture.js';

const regionId = 'cn-hangzhou';

let cloud: TestCloud;
let disks: DiskFixture;
let instanceId: string;
beforeAll(async () => {
  cloud = await startTestCloud({ config: { quotas: { snapshotsPerDisk: 3 } } });
  const vpc = await VpcFixture.create(cloud);
  disks = new DiskFixture({ ecs: cloud.ecs, idle: () => cloud.cloud.reconciler.idle() }, cloud.compute.a);
  instanceId = await vpc.runInstance();
  await cloud.cloud.reconciler.idle();
});
afterAll(() => cloud.stop());

const call = (action: string, parameters: Record<string, unknown>) =>
  cloud.rpc().request(action, { RegionId: regionId, ...parameters }, { method: 'POST' });
const codeOfCall = (action: string, parameters: Record<string, unknown>) => codeOf(call(action, parameters));

/** A disk in the instance with this text on it. */
async function createWritten(text: string): Promise<string> {
  const id = await disks.create();
  await disks.attach(id, instanceId);
  await disks.write(instanceId, id, text);
  return id;
}

async function releaseDisk(id: string): Promise<void> {
  if ((await disks.show(id))?.status === 'In_use') await disks.detach(id, instanceId);
  await call('DeleteDisk', { DiskId: id });
  await cloud.cloud.reconciler.idle();
}

describe('snapshots', () => {
  it('bring back what was on the disk, in place and on new disks', async () => {
    const id = await createWritten('one');
    const first = await disks.snapshot(id, { snapshotName: 'first', description: 'state one' });
    await disks.write(instanceId, id, 'two');
    const second = await disks.snapshot(id);
    await disks.write(instanceId, id, 'three');

    expect(await codeOfCall('ResetDisk', { DiskId: id, SnapshotId: first })).toBe('IncorrectInstanceStatus');
    await disks.stop(instanceId);
    await call('ResetDisk', { DiskId: id, SnapshotId: first });
    await cloud.cloud.reconciler.idle();
    expect(await disks.show(id)).toMatchObject({ status: 'In_use', instanceId });
    await disks.start(instanceId);
    expect(await disks.read(instanceId, id)).toBe('one');

    // Back and forth, and while the disk is attached to nothing.
    await disks.detach(id, instanceId);
    await call('ResetDisk', { DiskId: id, SnapshotId: second });
    await cloud.cloud.reconciler.idle();
    expect(await disks.show(id)).toMatchObject({ status: 'Available' });
    await disks.attach(id, instanceId);
    expect(await disks.read(instanceId, id)).toBe('two');

    const copy = await disks.create({ snapshotId: first, size: 25 });
    await cloud.cloud.reconciler.idle();
    expect(await disks.show(copy)).toMatchObject({ status: 'Available', size: 25, sourceSnapshotId: first });
    await disks.attach(copy, instanceId);
    expect(await disks.read(instanceId, copy)).toBe('one');
    await disks.write(instanceId, copy, 'other');
    expect(await disks.read(instanceId, id)).toBe('two');
    // A disk from a snapshot begins anew with the snapshot.
    await disks.stop(instanceId);
    await call('ReInitDisk', { DiskId: copy });
    await cloud.cloud.reconciler.idle();
    await disks.start(instanceId);
    expect(await disks.read(instanceId, copy)).toBe('one');

    for (const disk of [id, copy]) await releaseDisk(disk);
    for (const snapshot of [first, second]) await disks.deleteSnapshot(snapshot);
    expect(await disks.listVolumes()).toEqual([]);
  });

  it('live longer than their disk, and are deleted in any order', async () => {
    const id = await createWritten('one');
    const snapshots = [await disks.snapshot(id)];
    await disks.write(instanceId, id, 'two');
    snapshots.push(await disks.snapshot(id));
    await releaseDisk(id);
    const [first = '', second = ''] = snapshots;
    const copy = await disks.create({ snapshotId: second });
    await cloud.cloud.reconciler.idle();
    expect(await codeOfCall('DeleteSnapshot', { SnapshotId: second })).toBe('SnapshotCreatedDisk');
    await disks.deleteSnapshot(first);
    await disks.deleteSnapshot(second, true);
    await disks.attach(copy, instanceId);
    expect(await disks.read(instanceId, copy)).toBe('two');
    await disks.stop(instanceId);
    expect(await codeOfCall('ReInitDisk', { DiskId: copy })).toBe('InvalidSourceSnapshot');
    await disks.start(instanceId);
    await releaseDisk(copy);
    expect(await disks.listVolumes()).toEqual([]);
    expect(await disks.listSnapshots()).toEqual([]);
  });

  it('are filtered, changed, tagged and kept within their quota', async () => {
    const id = await createWritten('x');
    const snapshot = await disks.snapshot(id, {
      snapshotName: 'named',
      tag: [new Ecs.CreateSnapshotRequestTag({ key: 'team', value: 'blue' })],
    });
    expect(await disks.listSnapshots()).toMatchObject([
      {
        snapshotId: snapshot,
        snapshotName: 'named',
        sourceDiskId: id,
        sourceDiskSize: '20',
        sourceDiskType: 'data',
        snapshotType: 'user',
        usage: 'none',
        tags: { tag: [{ tagKey: 'team', tagValue: 'blue' }] },
      },
    ]);
    const hits = [
      { diskId: id },
      { instanceId },
      { snapshotName: 'nam*' },
      { status: 'accomplished' },
      { usage: 'none' },
      { snapshotType: 'user' },
      { sourceDiskType: 'Data' },
      { tag: [new Ecs.DescribeSnapshotsRequestTag({ key: 'team' })] },
    ];
    for (const request of hits)
      expect(await disks.listSnapshots(request), JSON.stringify(request)).toHaveLength(1);
    const misses = [
      { diskId: 'd-none' },
      { instanceId: 'i-none' },
      { snapshotName: 'other' },
      { status: 'failed' },
      { usage: 'disk' },
      { snapshotType: 'auto' },
      { sourceDiskType: 'system' },
      { encrypted: true },
    ];
    for (const request of misses)
      expect(await disks.listSnapshots(request), JSON.stringify(request)).toEqual([]);
    expect(await codeOfCall('DescribeSnapshots', { Status: 'lost' })).toBe('InvalidStatus.NotFound');
    expect(await codeOfCall('DescribeSnapshots', { Usage: 'fun' })).toBe('InvalidUsage');

    await call('ModifySnapshotAttribute', {
      SnapshotId: snapshot,
      SnapshotName: 'renamed',
      RetentionDays: 10,
    });
    expect(await disks.listSnapshots()).toMatchObject([{ snapshotName: 'renamed', retentionDays: 10 }]);
    expect(await codeOfCall('ModifySnapshotAttribute', { SnapshotId: snapshot, RetentionDays: 9 })).toBe(
      'InvalidOperation.DecreaseRetentionDaysUnsupported',
    );
    expect(await codeOfCall('ModifySnapshotAttribute', { SnapshotId: snapshot })).toBe('NoAttributeToModify');
    expect(await codeOfCall('ModifySnapshotAttribute', { SnapshotId: 's-none', SnapshotName: 'ab' })).toBe(
      'InvalidSnapshotId.NotFound',
    );
    for (const _more of [1, 2]) await disks.snapshot(id);
    expect(await codeOfCall('CreateSnapshot', { DiskId: id })).toBe('QuotaExceed.Snapshot');
    for (const each of await disks.listSnapshots()) await disks.deleteSnapshot(each.snapshotId ?? '');
    await releaseDisk(id);
  });

  it('are refused of disks that hold nothing, of system disks, and with bad values', async () => {
    const id = await disks.create();
    expect(await codeOfCall('CreateSnapshot', { DiskId: id })).toBe('IncorrectDiskStatus.NeverAttached');
    const [system] = await disks.list({ instanceId, diskType: 'system' });
    expect(await codeOfCall('CreateSnapshot', { DiskId: system?.diskId })).toBe('InvalidParameter');
    expect(await codeOfCall('CreateSnapshot', { DiskId: 'd-none' })).toBe('InvalidDiskId.NotFound');
    await disks.attach(id, instanceId);
    expect(await codeOfCall('CreateSnapshot', { DiskId: id, SnapshotName: 'auto1' })).toBe(
      'InvalidSnapshotName.Malformed',
    );
    expect(await codeOfCall('CreateSnapshot', { DiskId: id, RetentionDays: 0 })).toBe(
      'InvalidRetentionDays.Malformed',
    );
    const other = await createWritten('other');
    const snapshot = await disks.snapshot(other);
    expect(await codeOfCall('ResetDisk', { DiskId: id, SnapshotId: snapshot })).toBe(
      'InvalidParameter.Mismatch',
    );
    expect(await codeOfCall('ResetDisk', { DiskId: id, SnapshotId: 's-none' })).toBe(
      'InvalidSnapshotId.NotFound',
    );
    for (const disk of [id, other]) await releaseDisk(disk);
    await disks.deleteSnapshot(snapshot);
  });

  it('hold back what would disturb them while they are taken', async () => {
    const id = await createWritten('x');
    cloud.compute.a.failNext('createVolume', new ComputeError('unavailable', 'later'));
    const { body } = await cloud.ecs.createSnapshot(new Ecs.CreateSnapshotRequest({ diskId: id }));
    const snapshotId = body?.snapshotId ?? '';
    expect(await disks.listSnapshots()).toMatchObject([{ status: 'progressing', progress: '0%' }]);
    expect(await codeOfCall('CreateSnapshot', { DiskId: id })).toBe('IncorrectDiskStatus.CreatingSnapshot');
    expect(await codeOfCall('ResizeDisk', { DiskId: id, NewSize: 30 })).toBe('DiskCreatingSnapshot');
    expect(await codeOfCall('DeleteSnapshot', { SnapshotId: snapshotId })).toBe('Operation.Conflict');
    expect(
      await codeOfCall('CreateDisk', {
        SnapshotId: snapshotId,
        ZoneId: 'cn-hangzhou-a',
        DiskCategory: 'cloud_ssd',
      }),
    ).toBe('InvalidSnapshotId.NotReady');
    await cloud.cloud.reconciler.idle();
    expect(await disks.listSnapshots()).toMatchObject([{ status: 'accomplished' }]);
    await disks.deleteSnapshot(snapshotId);
    await releaseDisk(id);
  });

  it('fail in sight when the host has no room, and their disks with them', async () => {
    const id = await createWritten('x');
    cloud.compute.a.failNext('createVolume', new ComputeError('no-space', 'the pool is full'));
    await cloud.ecs.createSnapshot(new Ecs.CreateSnapshotRequest({ diskId: id }));
    await cloud.cloud.reconciler.idle();
    const [failed] = await disks.listSnapshots();
    expect(failed).toMatchObject({ status: 'failed', available: false });
    await disks.deleteSnapshot(failed?.snapshotId ?? '');
    const snapshot = await disks.snapshot(id);
    cloud.compute.a.failNext('createVolume', new ComputeError('no-space', 'the pool is full'));
    const copy = await disks.create({ snapshotId: snapshot });
    await cloud.cloud.reconciler.idle();
    expect(await disks.show(copy)).toBeUndefined();
    await disks.deleteSnapshot(snapshot);
    await releaseDisk(id);
    expect(await disks.listVolumes()).toEqual([]);
  });

  it('go by themselves when their time is over', async () => {
    const id = await createWritten('x');
    const [kept, due] = [await disks.snapshot(id), await disks.snapshot(id, { retentionDays: 1 })];
    const { store } = cloud.cloud.parts;
    await releaseDueSnapshots(store);
    expect(await disks.listSnapshots()).toHaveLength(2);
    await releaseDueSnapshots(store, new Date(Date.now() + 86_400_000));
    await cloud.cloud.reconciler.idle();
    expect((await disks.listSnapshots()).map((each) => each.snapshotId)).toEqual([kept]);
    expect(await disks.listVolumes()).not.toContain(due);
    await disks.deleteSnapshot(kept);
    await releaseDisk(id);
  });

  it('give new instances disks with their content, on the host where they are', async () => {
    const id = await createWritten('from a snapshot');
    const snapshot = await disks.snapshot(id);
    const { body } = await cloud.ecs.runInstances(
      new Ecs.RunInstancesRequest({
        regionId,
        imageId: 'debian_12_x64_egs',
        instanceType: 'ecs.c6.large',
        zoneId: 'cn-hangzhou-a',
        dataDisk: [new Ecs.RunInstancesRequestDataDisk({ snapshotId: snapshot, category: 'cloud_essd' })],
      }),
    );
    await cloud.cloud.reconciler.idle();
    const other = body?.instanceIdSets?.instanceIdSet?.[0] ?? '';
    const [copy] = await disks.list({ instanceId: other, diskType: 'data' });
    expect(copy).toMatchObject({ size: 20, status: 'In_use', sourceSnapshotId: snapshot });
    expect(await disks.read(other, copy?.diskId ?? '')).toBe('from a snapshot');
    await call('DeleteInstance', { InstanceId: other, Force: true });
    await cloud.cloud.reconciler.idle();
    await disks.deleteSnapshot(snapshot);
    await releaseDisk(id);
    expect(await disks.listVolumes()).toEqual([]);
  });
});
