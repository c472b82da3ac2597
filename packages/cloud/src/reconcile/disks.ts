import type { Logger } from 'pino';
import type { CloudParts } from '../cloud.js';
import { volumeNameOf } from '../domain/disk.js';
import type { FaultPoints } from '../domain/faults.js';
import type { DiskId, HostId, InstanceId, SnapshotId } from '../domain/ids.js';
import { type ComputeDriver, ComputeError } from '../drivers/compute/driver.js';
import { changeDisk, deleteDisk, forgetDisk, listDisksOf } from '../store/disks.js';
import { wakeForPlugging } from '../store/networkInterfaces.js';
import type { Transaction } from '../store/store.js';
import type { Disk, DiskChange, Snapshot } from '../store/tables.js';
import { toSecondsTime } from '../store/times.js';

const actor = { name: 'disk-loop' };

export interface DiskLoopOptions {
  readonly parts: CloudParts;
  readonly computeDrivers: ReadonlyMap<HostId, ComputeDriver>;
  readonly faults: FaultPoints;
  readonly log: Logger;
}

/**
 * Brings data disks and snapshots in line with the store: makes their volumes, lets them grow, puts other
 * content in their place, removes them. Plugging them into instances is the instances' loop's. Every step
 * may be repeated, so a process that died between two of them goes on where it was.
 */
export class DiskLoop {
  constructor(private readonly options: DiskLoopOptions) {}

  /** One attempt for a disk; throws when it is to be repeated later. */
  async reconcile(id: DiskId): Promise<void> {
    // Before all else: what is to be kept is what was there when the snapshot was asked for, or shortly after.
    await this.takeSnapshots(id);
    const disk = await this.find(id);
    if (!disk || disk.type === 'system') return;
    switch (disk.status) {
      case 'Creating':
        return this.create(disk);
      case 'ReIniting':
        return this.renew(disk);
      case 'Deleted':
        return this.remove(disk);
      case 'Available':
      case 'In_use':
        await this.grow(disk);
        return this.removeOldVersions(disk);
      case 'Attaching':
      case 'Detaching':
        return this.grow(disk);
    }
  }

  /** Makes the volumes of an instance's disks that have none yet: empty ones get theirs when they are attached. */
  async prepare(instanceId: InstanceId): Promise<void> {
    for (const disk of await listDisksOf(this.options.parts.store.reader, instanceId)) {
      if (disk.status !== 'Attaching' || disk.volumeVersion > 0) continue;
      await this.makeVolume(disk);
      await this.change(disk, 'Created', placed(disk));
      this.options.faults.reach('disk.createdInStore');
    }
  }

  /** One attempt to remove a snapshot; those that are to be taken are taken with their disk. */
  async reconcileSnapshot(id: SnapshotId): Promise<void> {
    const { parts, faults } = this.options;
    const snapshot = await parts.store.reader
      .selectFrom('snapshots')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirst();
    if (snapshot?.status !== 'Deleted') return;
    await this.driverOf(snapshot.hostId).deleteVolume(id);
    faults.reach('snapshot.deletedOnHost');
    await parts.store.transaction(
      actor,
      async (tx) => {
        await tx.db.deleteFrom('snapshots').where('id', '=', id).execute();
        await tx.record({ resourceType: 'snapshot', resourceId: id, action: 'Released' });
      },
      'derived',
    );
    faults.reach('snapshot.deletedInStore');
  }

  /** Removes what nobody owns from a host, and tells of data that is not there any more. */
  async resyncHost(hostId: HostId, driver: ComputeDriver): Promise<void> {
    const { parts, log } = this.options;
    // The host first: what is made meanwhile has a row by the time that the rows are read.
    const observed = new Set((await driver.listVolumes()).map((volume) => volume.name));
    const { reader } = parts.store;
    const disks = await reader.selectFrom('disks').selectAll().where('hostId', '=', hostId).execute();
    const snapshots = await reader
      .selectFrom('snapshots')
      .select(['id', 'status'])
      .where('hostId', '=', hostId)
      .execute();
    const known = new Set<string>(snapshots.map((snapshot) => snapshot.id));
    for (const disk of disks) for (const name of volumesOf(disk)) known.add(name);
    for (const name of observed) {
      if (known.has(name)) continue;
      log.warn({ hostId, volume: name }, 'removing a volume that nobody owns');
      await driver.deleteVolume(name);
    }
    const expected = [
      ...disks
        .filter((disk) => disk.volumeVersion > 0 && disk.status !== 'Deleted')
        .map((disk) => volumeNameOf(disk, disk.volumeVersion)),
      ...snapshots.filter((snapshot) => snapshot.status === 'accomplished').map((snapshot) => snapshot.id),
    ];
    const missing = expected.filter((name) => !observed.has(name));
    if (missing.length > 0) log.error({ hostId, missing }, 'volumes are not on their host any more');
  }

  private async create(disk: Disk): Promise<void> {
    try {
      await this.makeVolume(disk);
    } catch (error) {
      if (!isFinal(error)) throw error;
      this.options.log.error({ err: error, diskId: disk.id }, 'disk could not be created');
      await this.transaction((tx) => deleteDisk(tx, disk, 'CreationFailed'));
      return;
    }
    await this.change(disk, 'Created', { ...placed(disk), status: 'Available' });
    this.options.faults.reach('disk.createdInStore');
  }

  private async makeVolume(disk: Disk): Promise<void> {
    await this.driverOf(disk.hostId).createVolume({
      name: volumeNameOf(disk, disk.contentVersion),
      sizeGiB: disk.sizeGiB,
      ...(disk.contentSource === null ? {} : { source: disk.contentSource }),
    });
    this.options.faults.reach('disk.createdOnHost');
  }

  /** The new content is made beside the old one, which stays in place until the instance has been given the new. */
  private async renew(disk: Disk): Promise<void> {
    const { faults } = this.options;
    let values: DiskChange = placed(disk);
    try {
      await this.makeVolume(disk);
      faults.reach('disk.renewedOnHost');
    } catch (error) {
      if (!isFinal(error)) throw error;
      this.options.log.error({ err: error, diskId: disk.id }, 'content of a disk could not be put back');
      await this.driverOf(disk.hostId).deleteVolume(volumeNameOf(disk, disk.contentVersion));
      values = { contentVersion: disk.volumeVersion };
    }
    await this.transaction(async (tx) => {
      const current = await tx.db
        .selectFrom('disks')
        .selectAll()
        .where('id', '=', disk.id)
        .executeTakeFirstOrThrow();
      if (current.status === 'ReIniting') {
        values = { ...values, status: current.instanceId === null ? 'Available' : 'Attaching' };
        if (current.instanceId !== null) await wakeForPlugging(tx, current.instanceId);
      }
      await changeDisk(tx, current, 'ReInitialized', values);
      tx.wake({ kind: 'disk', id: disk.id });
    });
    faults.reach('disk.renewedInStore');
  }

  private async grow(disk: Disk): Promise<void> {
    if (disk.sizeGiB === disk.appliedSizeGiB || disk.volumeVersion === 0) return;
    await this.driverOf(disk.hostId).growVolume(volumeNameOf(disk, disk.volumeVersion), disk.sizeGiB);
    this.options.faults.reach('disk.grownOnHost');
    await this.change(disk, 'Grown', { appliedSizeGiB: disk.sizeGiB });
  }

  private async removeOldVersions(disk: Disk): Promise<void> {
    if (disk.oldestVersion >= disk.volumeVersion) return;
    for (let version = disk.oldestVersion; version < disk.volumeVersion; version += 1) {
      await this.driverOf(disk.hostId).deleteVolume(volumeNameOf(disk, version));
    }
    this.options.faults.reach('disk.oldRemovedOnHost');
    await this.change(disk, 'OldContentRemoved', { oldestVersion: disk.volumeVersion });
  }

  private async remove(disk: Disk): Promise<void> {
    const { parts, faults } = this.options;
    for (const name of volumesOf(disk)) await this.driverOf(disk.hostId).deleteVolume(name);
    faults.reach('disk.deletedOnHost');
    await this.transaction((tx) => forgetDisk(tx, parts.placement, disk));
    faults.reach('disk.deletedInStore');
  }

  private async takeSnapshots(diskId: DiskId): Promise<void> {
    const { reader } = this.options.parts.store;
    const snapshots = await reader
      .selectFrom('snapshots')
      .selectAll()
      .where('diskId', '=', diskId)
      .where('status', '=', 'progressing')
      .orderBy('sequence')
      .execute();
    if (snapshots.length === 0) return;
    const disk = await this.find(diskId);
    for (const snapshot of snapshots) await this.takeSnapshot(snapshot, disk);
  }

  private async takeSnapshot(snapshot: Snapshot, disk: Disk | undefined): Promise<void> {
    const { faults, log } = this.options;
    let status: Snapshot['status'];
    try {
      if (!disk) throw new ComputeError('not-found', `No disk ${snapshot.diskId}`);
      const driver = this.driverOf(snapshot.hostId);
      await driver.createVolume({
        name: snapshot.id,
        sizeGiB: disk.appliedSizeGiB,
        source: volumeNameOf(disk, disk.volumeVersion),
      });
      faults.reach('snapshot.takenOnHost');
      status = 'accomplished';
    } catch (error) {
      if (!isFinal(error)) throw error;
      log.error({ err: error, snapshotId: snapshot.id }, 'snapshot could not be taken');
      status = 'failed';
    }
    await this.transaction(async (tx) => {
      const lastModifiedTime = toSecondsTime(tx.now);
      await tx.db
        .updateTable('snapshots')
        .set({ status, lastModifiedTime })
        .where('id', '=', snapshot.id)
        .where('status', '=', 'progressing')
        .execute();
      await tx.record({
        resourceType: 'snapshot',
        resourceId: snapshot.id,
        action: status === 'accomplished' ? 'Taken' : 'TakingFailed',
        after: { status },
      });
    });
    faults.reach('snapshot.takenInStore');
  }

  /** Writes the outcome of a step. A request that has moved the disk on meanwhile keeps its wish. */
  private async change(disk: Disk, action: string, values: DiskChange): Promise<void> {
    await this.transaction(async (tx) => {
      const current = await tx.db
        .selectFrom('disks')
        .selectAll()
        .where('id', '=', disk.id)
        .executeTakeFirst();
      if (!current) return;
      const { status, ...rest } = values;
      const moves = status !== undefined && current.status === disk.status;
      await changeDisk(tx, current, action, moves ? values : rest);
      // Something may have been asked for since this step began.
      tx.wake({ kind: 'disk', id: disk.id });
    });
  }

  private transaction<Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result> {
    return this.options.parts.store.transaction(actor, work, 'derived');
  }

  private async find(id: DiskId): Promise<Disk | undefined> {
    return this.options.parts.store.reader
      .selectFrom('disks')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirst();
  }

  private driverOf(hostId: HostId): ComputeDriver {
    const driver = this.options.computeDrivers.get(hostId);
    if (!driver) throw new ComputeError('unavailable', `host ${hostId} is not configured`);
    return driver;
  }
}

/** What is so once the volume that was wished is there. */
function placed(disk: Disk): DiskChange {
  return { volumeVersion: disk.contentVersion, appliedSizeGiB: disk.sizeGiB };
}

/** Names of all the volumes that a disk may have on its host. */
function volumesOf(disk: Disk): string[] {
  if (disk.type === 'system') return [];
  const names: string[] = [];
  for (let version = disk.oldestVersion; version <= disk.contentVersion; version += 1) {
    names.push(volumeNameOf(disk, version));
  }
  return names;
}

/** Whether another attempt would end the same way. */
function isFinal(error: unknown): error is ComputeError {
  return error instanceof ComputeError && ['refused', 'no-space', 'not-found'].includes(error.reason);
}
