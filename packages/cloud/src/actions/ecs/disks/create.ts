import { ecs } from '@openegs/schema';
import type { Fail } from '../../../domain/errors.js';
import { createId, type HostId, type ZoneId } from '../../../domain/ids.js';
import { checkTags } from '../../../domain/tags.js';
import { countRows } from '../../../store/countRows.js';
import { getDisk, getSnapshot, deleteDisk as removeDisk } from '../../../store/disks.js';
import { placeDisk, putDiskOnHost } from '../../../store/ledger.js';
import type { Snapshot } from '../../../store/tables.js';
import { putTags } from '../../../store/tags.js';
import { toSecondsTime } from '../../../store/times.js';
import { type ChangeContext, defineAction } from '../../action.js';
import { checkTexts, readShape, requireDiskStatus, requireNoSnapshot } from './rules.js';

/** What `CreateDisk` says when it names none. */
const defaultCategory = 'cloud';

/** Parameters that would change the result, and that the cloud does not honour. */
const notBuiltYet = {
  instanceId: 'InstanceId',
  provisionedIops: 'ProvisionedIops',
  storageSetId: 'StorageSetId',
  storageClusterId: 'StorageClusterId',
  arn: 'Arn',
} as const;

export const createDisk = defineAction(ecs.CreateDisk, {
  errors: [
    'Duplicate.TagKey',
    'InvalidDataDiskCategory.ValueNotSupported',
    'InvalidDataDiskSize.ValueNotSupported',
    'InvalidDescription.Malformed',
    'InvalidDiskName.Malformed',
    'InvalidParameter.EncryptedNotSupported',
    'InvalidParameter.MultiAttach',
    'InvalidSnapshotId.NotFound',
    'InvalidSnapshotId.NotReady',
    'InvalidTagKey.Malformed',
    'InvalidTagValue.Malformed',
    'InvalidZoneId.NotFound',
    'OperationDenied',
    'QuotaExceed.PostPaidDisk',
    'QuotaExceed.Tags',
  ],
  async change(input, context) {
    const { tx, caller, cloud, regionId, fail } = context;
    refuseNotBuilt(input, fail);
    checkTexts(input, fail);
    const tags = checkTags(input.tag, fail);
    const region = cloud.catalog.getRegion(regionId);
    const wishedZone = input.zoneId ?? fail('MissingParameter', { parameter: 'ZoneId' });
    const { catalog } = cloud;
    const zoneId = catalog.hasZone(regionId, wishedZone)
      ? wishedZone
      : fail('InvalidZoneId.NotFound', { id: wishedZone });
    const snapshot =
      input.snapshotId === undefined
        ? undefined
        : await getSnapshot(tx.db, caller.accountId, input.snapshotId, fail);
    if (snapshot && snapshot.status !== 'accomplished') {
      fail('InvalidSnapshotId.NotReady', { id: snapshot.id, status: snapshot.status });
    }
    const shape = readShape(
      {
        category: input.diskCategory ?? defaultCategory,
        performanceLevel: input.performanceLevel,
        sizeGiB: input.size,
        snapshot,
      },
      fail,
    );
    await checkQuota(context);

    const id = createId('disk', region.code);
    const hostId = await takeRoom({ owner: id, diskGiB: shape.sizeGiB }, zoneId, snapshot, context);
    await tx.db
      .insertInto('disks')
      .values({
        ...shape,
        id,
        accountId: caller.accountId,
        regionId,
        zoneId,
        hostId,
        type: 'data',
        // An empty one has all that it needs until it is attached.
        status: snapshot ? 'Creating' : 'Available',
        contentSource: snapshot?.id ?? null,
        sourceSnapshotId: snapshot?.id ?? null,
        appliedSizeGiB: shape.sizeGiB,
        name: input.diskName ?? '',
        description: input.description ?? '',
        deleteWithInstance: 0,
        creationTime: toSecondsTime(tx.now),
        resourceGroupId: input.resourceGroupId ?? '',
      })
      .execute();
    await putTags(
      tx,
      { resourceType: 'disk', resourceId: id, accountId: caller.accountId, regionId },
      tags,
      fail,
    );
    await tx.record({
      resourceType: 'disk',
      resourceId: id,
      action: 'CreateDisk',
      after: { ...shape, zoneId, hostId, snapshotId: snapshot?.id },
    });
    tx.wake({ kind: 'disk', id });
    return { diskId: id };
  },
});

export const deleteDisk = defineAction(ecs.DeleteDisk, {
  errors: ['DiskCreatingSnapshot', 'DiskTypeViolation', 'IncorrectDiskStatus', 'InvalidDiskId.NotFound'],
  async change(input, { tx, caller, fail }) {
    const disk = await getDisk(tx.db, caller.accountId, input.diskId, fail);
    if (disk.type === 'system') fail('DiskTypeViolation', { id: disk.id });
    requireDiskStatus(disk, ['Available'], fail);
    await requireNoSnapshot(tx.db, disk, fail);
    await removeDisk(tx, disk, 'DeleteDisk');
    return {};
  },
});

function refuseNotBuilt(
  input: ecs.CreateDiskRequest,
  fail: Fail<'InvalidParameter' | 'InvalidParameter.EncryptedNotSupported' | 'InvalidParameter.MultiAttach'>,
): void {
  for (const [key, parameter] of Object.entries(notBuiltYet)) {
    const value = input[key as keyof typeof notBuiltYet];
    if (value === undefined || (Array.isArray(value) && value.length === 0)) continue;
    fail('InvalidParameter', { parameter, reason: 'this cloud has not built it yet.' });
  }
  if (input.encrypted === true || input.KMSKeyId !== undefined) {
    fail('InvalidParameter.EncryptedNotSupported');
  }
  if (input.multiAttach !== undefined && input.multiAttach !== 'Disabled') {
    fail('InvalidParameter.MultiAttach');
  }
  if (input.burstingEnabled === true) {
    fail('InvalidParameter', { parameter: 'BurstingEnabled', reason: 'this cloud has not built it yet.' });
  }
}

async function checkQuota({
  tx,
  caller,
  regionId,
  cloud,
  fail,
}: ChangeContext<'QuotaExceed.PostPaidDisk'>): Promise<void> {
  const total = await countRows(
    tx.db
      .selectFrom('disks')
      .where('accountId', '=', caller.accountId)
      .where('regionId', '=', regionId)
      .where('type', '=', 'data')
      .where('status', '<>', 'Deleted'),
  );
  const quota = cloud.config.quotas.dataDisks;
  if (total >= quota) fail('QuotaExceed.PostPaidDisk', { quota });
}

/** Room for a disk: any host of the zone will do for an empty one, and only the snapshot's for a copy of that. */
async function takeRoom(
  share: Parameters<typeof placeDisk>[2],
  zoneId: ZoneId,
  snapshot: Snapshot | undefined,
  { tx, cloud, fail }: ChangeContext<'OperationDenied'>,
): Promise<HostId> {
  if (!snapshot) {
    const placed = await placeDisk(tx, cloud.placement, share, zoneId);
    return 'hostId' in placed ? placed.hostId : fail('OperationDenied', { reason: placed.refusal });
  }
  const host = cloud.placement.getHost(snapshot.hostId).host;
  if (host.zoneId !== zoneId) {
    fail('OperationDenied', { reason: `the snapshot is in zone ${host.zoneId}, and cannot leave it yet.` });
  }
  const obstacle = await putDiskOnHost(tx, cloud.placement, share, snapshot.hostId);
  if (obstacle !== undefined) {
    fail('OperationDenied', { reason: `the host of the snapshot has no room: ${obstacle}` });
  }
  return snapshot.hostId;
}
