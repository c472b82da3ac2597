import { ecs } from '@openegs/schema';
import type { Fail } from '../../../domain/errors.js';
import { createId } from '../../../domain/ids.js';
import { checkTags } from '../../../domain/tags.js';
import { countRows } from '../../../store/countRows.js';
import {
  getDisk,
  getSnapshot,
  isBeingCopied,
  isBeingSnapshotted,
  deleteSnapshot as removeSnapshot,
} from '../../../store/disks.js';
import { putTags } from '../../../store/tags.js';
import { toSecondsTime } from '../../../store/times.js';
import { defineAction } from '../../action.js';
import { isDescription, isName, requireDataDisk, requireDiskStatus } from '../disks/rules.js';

const maxRetentionDays = 65_536;
const msPerDay = 86_400_000;

export const createSnapshot = defineAction(ecs.CreateSnapshot, {
  errors: [
    'Duplicate.TagKey',
    'IncorrectDiskStatus',
    'IncorrectDiskStatus.CreatingSnapshot',
    'IncorrectDiskStatus.NeverAttached',
    'InvalidDescription.Malformed',
    'InvalidDiskId.NotFound',
    'InvalidRetentionDays.Malformed',
    'InvalidSnapshotCategory.Malformed',
    'InvalidSnapshotName.Malformed',
    'InvalidTagKey.Malformed',
    'InvalidTagValue.Malformed',
    'QuotaExceed.Snapshot',
    'QuotaExceed.Tags',
  ],
  async change(input, { tx, caller, cloud, regionId, fail }) {
    const disk = await getDisk(tx.db, caller.accountId, input.diskId, fail);
    requireDataDisk(disk, 'take snapshots of', fail);
    checkSnapshotTexts({ name: input.snapshotName, description: input.description }, fail);
    const retentionDays = input.retentionDays ?? null;
    if (retentionDays !== null) checkRetention(retentionDays, fail);
    const category = (input.category ?? 'standard').toLowerCase();
    if (!['standard', 'flash'].includes(category)) fail('InvalidSnapshotCategory.Malformed', { category });
    if (input.storageLocationArn !== undefined) {
      fail('InvalidParameter', { parameter: 'StorageLocationArn', reason: 'this cloud has no such places.' });
    }
    const tags = checkTags(input.tag, fail);
    requireDiskStatus(disk, ['In_use', 'Available'], fail);
    if (disk.volumeVersion === 0) fail('IncorrectDiskStatus.NeverAttached', { id: disk.id });
    if (await isBeingSnapshotted(tx.db, disk.id)) {
      fail('IncorrectDiskStatus.CreatingSnapshot', { id: disk.id });
    }
    const total = await countRows(
      tx.db.selectFrom('snapshots').where('diskId', '=', disk.id).where('status', '<>', 'Deleted'),
    );
    const quota = cloud.config.quotas.snapshotsPerDisk;
    if (total >= quota) fail('QuotaExceed.Snapshot', { quota });

    const id = createId('snapshot', cloud.catalog.getRegion(regionId).code);
    const now = toSecondsTime(tx.now);
    await tx.db
      .insertInto('snapshots')
      .values({
        id,
        accountId: caller.accountId,
        regionId,
        hostId: disk.hostId,
        diskId: disk.id,
        diskSizeGiB: disk.sizeGiB,
        diskCategory: disk.category,
        name: input.snapshotName ?? '',
        description: input.description ?? '',
        status: 'progressing',
        retentionDays,
        releaseTime: toReleaseTime(tx.now, retentionDays),
        creationTime: now,
        lastModifiedTime: now,
        resourceGroupId: input.resourceGroupId ?? '',
      })
      .execute();
    await putTags(
      tx,
      { resourceType: 'snapshot', resourceId: id, accountId: caller.accountId, regionId },
      tags,
      fail,
    );
    await tx.record({
      resourceType: 'snapshot',
      resourceId: id,
      action: 'CreateSnapshot',
      after: { diskId: disk.id },
    });
    tx.wake({ kind: 'disk', id: disk.id });
    return { snapshotId: id };
  },
});

export const deleteSnapshot = defineAction(ecs.DeleteSnapshot, {
  errors: ['InvalidSnapshotId.NotFound', 'Operation.Conflict', 'SnapshotCreatedDisk'],
  async change(input, { tx, caller, fail }) {
    const snapshot = await getSnapshot(tx.db, caller.accountId, input.snapshotId, fail);
    if (snapshot.status === 'progressing') {
      fail('Operation.Conflict', { reason: `${snapshot.id} is still being taken.` });
    }
    if (await isBeingCopied(tx.db, snapshot.id)) {
      fail('Operation.Conflict', { reason: `a disk is being made from ${snapshot.id}.` });
    }
    if (input.force !== true) {
      const disk = await tx.db
        .selectFrom('disks')
        .select('id')
        .where('sourceSnapshotId', '=', snapshot.id)
        .where('status', '<>', 'Deleted')
        .executeTakeFirst();
      if (disk) fail('SnapshotCreatedDisk', { id: snapshot.id, disk: disk.id });
    }
    await removeSnapshot(tx, snapshot, 'DeleteSnapshot');
    return {};
  },
});

export const modifySnapshotAttribute = defineAction(ecs.ModifySnapshotAttribute, {
  errors: [
    'InvalidDescription.Malformed',
    'InvalidOperation.DecreaseRetentionDaysUnsupported',
    'InvalidRetentionDays.Malformed',
    'InvalidSnapshotId.NotFound',
    'InvalidSnapshotName.Malformed',
    'NoAttributeToModify',
  ],
  async change(input, { tx, caller, fail }) {
    const snapshot = await getSnapshot(tx.db, caller.accountId, input.snapshotId, fail);
    const { snapshotName: name, description, retentionDays } = input;
    if (name === undefined && description === undefined && retentionDays === undefined) {
      // Snapshots are at hand at once anyway; there is nothing to be switched off.
      if (input.disableInstantAccess === undefined) fail('NoAttributeToModify');
      return {};
    }
    checkSnapshotTexts({ name, description }, fail);
    if (retentionDays !== undefined) {
      checkRetention(retentionDays, fail);
      if (retentionDays < (snapshot.retentionDays ?? 0)) {
        fail('InvalidOperation.DecreaseRetentionDaysUnsupported', { days: snapshot.retentionDays ?? 0 });
      }
    }
    const values = {
      ...(name === undefined ? {} : { name }),
      ...(description === undefined ? {} : { description }),
      ...(retentionDays === undefined
        ? {}
        : { retentionDays, releaseTime: toReleaseTime(new Date(snapshot.creationTime), retentionDays) }),
      lastModifiedTime: toSecondsTime(tx.now),
    };
    await tx.db.updateTable('snapshots').set(values).where('id', '=', snapshot.id).execute();
    await tx.record({
      resourceType: 'snapshot',
      resourceId: snapshot.id,
      action: 'ModifySnapshotAttribute',
      after: values,
    });
    return {};
  },
});

function checkSnapshotTexts(
  texts: { readonly name: string | undefined; readonly description: string | undefined },
  fail: Fail<'InvalidSnapshotName.Malformed' | 'InvalidDescription.Malformed'>,
): void {
  // The names of automatic snapshots begin with `auto`.
  if (!isName(texts.name) || texts.name?.startsWith('auto')) fail('InvalidSnapshotName.Malformed');
  if (!isDescription(texts.description)) fail('InvalidDescription.Malformed');
}

function checkRetention(days: number, fail: Fail<'InvalidRetentionDays.Malformed'>): void {
  if (days < 1 || days > maxRetentionDays) fail('InvalidRetentionDays.Malformed', { max: maxRetentionDays });
}

function toReleaseTime(from: Date, retentionDays: number | null): string | null {
  return retentionDays === null ? null : new Date(from.getTime() + retentionDays * msPerDay).toISOString();
}
