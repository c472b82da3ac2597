import { ecs } from '@openegs/schema';
import { isDataDevice, maxDisksPerInstance, nextDevice } from '../../../domain/disk.js';
import { requireStatus } from '../../../domain/instance.js';
import { changeDisk, getDisk, isBeingSnapshotted, listDisksOf } from '../../../store/disks.js';
import { getInstance } from '../../../store/instances.js';
import { putDiskOnHost } from '../../../store/ledger.js';
import { wakeForPlugging } from '../../../store/networkInterfaces.js';
import type { Disk, Instance } from '../../../store/tables.js';
import { toSecondsTime } from '../../../store/times.js';
import { type ChangeContext, defineAction } from '../../action.js';
import { requireDataDisk, requireDiskStatus } from './rules.js';

export const attachDisk = defineAction(ecs.AttachDisk, {
  errors: [
    'DiskId.ValueNotSupported',
    'IncorrectDiskStatus',
    'IncorrectInstanceStatus',
    'InstanceDiskLimitExceeded',
    'InvalidDevice.InUse',
    'InvalidDevice.Malformed',
    'InvalidDisk.InUse',
    'InvalidDiskId.NotFound',
    'InvalidInstance.ZoneConflict',
    'InvalidInstanceId.NotFound',
  ],
  async change(input, context) {
    const { tx, caller, fail } = context;
    if (input.bootable === true) {
      fail('InvalidParameter', { parameter: 'Bootable', reason: 'this cloud boots from system disks only.' });
    }
    const instance = await getInstance(tx.db, caller.accountId, input.instanceId, fail);
    const disk = await getDisk(tx.db, caller.accountId, input.diskId, fail);
    if (disk.status === 'In_use') fail('InvalidDisk.InUse', { id: disk.id });
    requireDiskStatus(disk, ['Available'], fail);
    if (await isBeingSnapshotted(tx.db, disk.id)) {
      fail('IncorrectDiskStatus', { id: disk.id, status: 'being copied', needed: 'the snapshot to end' });
    }
    requireStatus(instance, ['Running', 'Stopped'], fail);
    if (disk.zoneId !== instance.zoneId) {
      fail('InvalidInstance.ZoneConflict', { id: disk.id, zone: disk.zoneId });
    }
    const present = await listDisksOf(tx.db, instance.id);
    if (present.length >= maxDisksPerInstance) {
      fail('InstanceDiskLimitExceeded', { limit: maxDisksPerInstance });
    }
    const taken = present.map((each) => each.device);
    if (input.device !== undefined) {
      if (!isDataDevice(input.device)) fail('InvalidDevice.Malformed', { device: input.device });
      if (taken.includes(input.device)) fail('InvalidDevice.InUse', { device: input.device });
    }
    await bringToHost(disk, instance, context);
    await changeDisk(tx, disk, 'AttachDisk', {
      status: 'Attaching',
      instanceId: instance.id,
      hostId: instance.hostId,
      device: input.device ?? nextDevice(taken),
      attachedTime: toSecondsTime(tx.now),
      ...(input.deleteWithInstance === undefined
        ? {}
        : { deleteWithInstance: input.deleteWithInstance ? 1 : 0 }),
    });
    await wakeForPlugging(tx, instance.id);
    return {};
  },
});

export const detachDisk = defineAction(ecs.DetachDisk, {
  errors: [
    'DependencyViolation',
    'IncorrectDiskStatus',
    'IncorrectInstanceStatus',
    'InvalidDiskId.NotFound',
    'InvalidInstanceId.NotFound',
  ],
  async change(input, { tx, caller, fail }) {
    const instance = await getInstance(tx.db, caller.accountId, input.instanceId, fail);
    const disk = await getDisk(tx.db, caller.accountId, input.diskId, fail);
    requireDataDisk(disk, 'detach', fail);
    requireDiskStatus(disk, ['In_use'], fail);
    if (disk.instanceId !== instance.id) {
      fail('DependencyViolation', { id: disk.id, reason: 'it is attached to another instance.' });
    }
    requireStatus(instance, ['Running', 'Stopped'], fail);
    await changeDisk(tx, disk, 'DetachDisk', {
      status: 'Detaching',
      ...(input.deleteWithInstance === undefined
        ? {}
        : { deleteWithInstance: input.deleteWithInstance ? 1 : 0 }),
    });
    await wakeForPlugging(tx, instance.id);
    return {};
  },
});

/** A disk that was never attached has no data yet, and its place goes to the instance's host. */
async function bringToHost(
  disk: Disk,
  instance: Instance,
  { tx, cloud, fail }: ChangeContext<'DiskId.ValueNotSupported'>,
): Promise<void> {
  if (disk.hostId === instance.hostId) return;
  if (disk.volumeVersion > 0) {
    fail('DiskId.ValueNotSupported', {
      id: disk.id,
      reason: 'its data is on another host than the instance, and cannot be moved there yet.',
    });
  }
  const share = { owner: disk.id, diskGiB: disk.sizeGiB };
  const obstacle = await putDiskOnHost(tx, cloud.placement, share, instance.hostId);
  if (obstacle !== undefined) {
    fail('DiskId.ValueNotSupported', { id: disk.id, reason: `the instance's host has no room: ${obstacle}` });
  }
}
