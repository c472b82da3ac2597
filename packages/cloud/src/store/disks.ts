import { type DiskStatus, volumeNameOf } from '../domain/disk.js';
import type { Fail } from '../domain/errors.js';
import type { AccountId, DiskId, InstanceId, SnapshotId } from '../domain/ids.js';
import type { ClusterModel } from '../placement/index.js';
import { releaseAll } from './ledger.js';
import type { Reader, Transaction } from './store.js';
import type { Disk, DiskChange, Snapshot } from './tables.js';
import { deleteTags } from './tags.js';
import { toSecondsTime } from './times.js';

/** The account's disk with this id; one that is being deleted does not exist any more. */
export async function findDisk(db: Reader, accountId: AccountId, id: string): Promise<Disk | undefined> {
  return db
    .selectFrom('disks')
    .selectAll()
    .where('id', '=', id as DiskId)
    .where('accountId', '=', accountId)
    .where('status', '<>', 'Deleted')
    .executeTakeFirst();
}

/** As `findDisk`, but ends the request when there is none. */
export async function getDisk(
  db: Reader,
  accountId: AccountId,
  id: string,
  fail: Fail<'InvalidDiskId.NotFound'>,
): Promise<Disk> {
  return (await findDisk(db, accountId, id)) ?? fail('InvalidDiskId.NotFound', { id });
}

/** An instance's disks, its system disk first. */
export async function listDisksOf(db: Reader, instanceId: InstanceId): Promise<Disk[]> {
  return db
    .selectFrom('disks')
    .selectAll()
    .where('instanceId', '=', instanceId)
    .where('status', '<>', 'Deleted')
    .orderBy('type', 'desc')
    .orderBy('sequence')
    .execute();
}

/** The account's snapshot with this id. */
export async function findSnapshot(
  db: Reader,
  accountId: AccountId,
  id: string,
): Promise<Snapshot | undefined> {
  return db
    .selectFrom('snapshots')
    .selectAll()
    .where('id', '=', id as SnapshotId)
    .where('accountId', '=', accountId)
    .where('status', '<>', 'Deleted')
    .executeTakeFirst();
}

/** As `findSnapshot`, but ends the request when there is none. */
export async function getSnapshot(
  db: Reader,
  accountId: AccountId,
  id: string,
  fail: Fail<'InvalidSnapshotId.NotFound'>,
): Promise<Snapshot> {
  return (await findSnapshot(db, accountId, id)) ?? fail('InvalidSnapshotId.NotFound', { id });
}

/** Whether a snapshot of the disk is being taken. */
export async function isBeingSnapshotted(db: Reader, id: DiskId): Promise<boolean> {
  const found = await db
    .selectFrom('snapshots')
    .select('id')
    .where('diskId', '=', id)
    .where('status', '=', 'progressing')
    .executeTakeFirst();
  return found !== undefined;
}

/** Whether a volume is being made from the snapshot. */
export async function isBeingCopied(db: Reader, id: SnapshotId): Promise<boolean> {
  const found = await db
    .selectFrom('disks')
    .select('id')
    .where('contentSource', '=', id)
    .whereRef('volumeVersion', '<>', 'contentVersion')
    .where('status', '<>', 'Deleted')
    .executeTakeFirst();
  return found !== undefined;
}

/** Writes a change of a disk into the table and the event log. */
export async function changeDisk(
  tx: Transaction,
  disk: Disk,
  action: string,
  values: DiskChange,
): Promise<void> {
  await tx.db.updateTable('disks').set(values).where('id', '=', disk.id).execute();
  const names = Object.keys(values) as (keyof DiskChange & keyof Disk)[];
  await tx.record({
    resourceType: 'disk',
    resourceId: disk.id,
    action,
    before: Object.fromEntries(names.map((name) => [name, disk[name]])),
    after: Object.fromEntries(names.map((name) => [name, values[name]])),
  });
}

/** Has the loop remove a data disk and its content. */
export async function deleteDisk(tx: Transaction, disk: Disk, action: string): Promise<void> {
  await changeDisk(tx, disk, action, { status: 'Deleted', instanceId: null });
  await deleteTags(tx, 'disk', [disk.id]);
  tx.wake({ kind: 'disk', id: disk.id });
}

/** Forgets a disk of which nothing is left on its host. */
export async function forgetDisk(
  tx: Transaction,
  placement: ClusterModel,
  disk: Pick<Disk, 'id'>,
): Promise<void> {
  await releaseAll(tx, placement, disk.id);
  await tx.db.deleteFrom('disks').where('id', '=', disk.id).execute();
  await tx.record({ resourceType: 'disk', resourceId: disk.id, action: 'Released' });
}

/** Has the loop remove a snapshot. */
export async function deleteSnapshot(tx: Transaction, snapshot: Snapshot, action: string): Promise<void> {
  await tx.db.updateTable('snapshots').set({ status: 'Deleted' }).where('id', '=', snapshot.id).execute();
  await deleteTags(tx, 'snapshot', [snapshot.id]);
  await tx.record({ resourceType: 'snapshot', resourceId: snapshot.id, action });
  tx.wake({ kind: 'snapshot', id: snapshot.id });
}

/** A disk that leaves its instance. */
function detached(tx: Transaction, status: DiskStatus) {
  return { status, instanceId: null, device: null, detachedTime: toSecondsTime(tx.now) } as const;
}

/** The instance has gone from its host: its data disks go too, or wait for another instance with their data. */
export async function releaseDisks(tx: Transaction, instanceId: InstanceId): Promise<void> {
  for (const disk of await listDisksOf(tx.db, instanceId)) {
    if (disk.type === 'system') {
      await deleteTags(tx, 'disk', [disk.id]);
      await tx.db.deleteFrom('disks').where('id', '=', disk.id).execute();
    } else if (disk.deleteWithInstance === 1) {
      await deleteDisk(tx, disk, 'DeletedWithInstance');
    } else {
      // Content that is being put back goes on without the instance.
      const status = disk.status === 'ReIniting' ? 'ReIniting' : 'Available';
      await changeDisk(tx, disk, 'Detached', detached(tx, status));
      tx.wake({ kind: 'disk', id: disk.id });
    }
  }
}

/**
 * Ends Attaching and Detaching once the host is so. `plugged`: the volumes that the host was told of; what
 * a request has changed since then is left alone.
 */
export async function settleDisks(
  tx: Transaction,
  instanceId: InstanceId,
  plugged: ReadonlySet<string>,
): Promise<void> {
  for (const disk of await listDisksOf(tx.db, instanceId)) {
    const isPlugged = disk.volumeVersion > 0 && plugged.has(volumeNameOf(disk, disk.volumeVersion));
    if (disk.status === 'Attaching' && isPlugged) {
      await changeDisk(tx, disk, 'Attached', { status: 'In_use' });
    } else if (disk.status === 'Detaching' && !isPlugged) {
      await changeDisk(tx, disk, 'Detached', detached(tx, 'Available'));
    } else continue;
    tx.wake({ kind: 'disk', id: disk.id });
  }
}

/** The host cannot plug in or out what was wished: it stays as it was before. True when there was a wish. */
export async function giveUpDisks(tx: Transaction, instanceId: InstanceId): Promise<boolean> {
  let hadWish = false;
  for (const disk of await listDisksOf(tx.db, instanceId)) {
    if (disk.status === 'Attaching') {
      await changeDisk(tx, disk, 'AttachFailed', detached(tx, 'Available'));
    } else if (disk.status === 'Detaching') {
      await changeDisk(tx, disk, 'DetachFailed', { status: 'In_use' });
    } else continue;
    hadWish = true;
  }
  return hadWish;
}
