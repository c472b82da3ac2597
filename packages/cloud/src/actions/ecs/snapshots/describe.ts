import { ecs } from '@openegs/schema';
import type { DiskId, InstanceId, SnapshotId } from '../../../domain/ids.js';
import { readTagFilters } from '../../../domain/tags.js';
import { countRows } from '../../../store/countRows.js';
import { matchesPattern } from '../../../store/patterns.js';
import type { Snapshot } from '../../../store/tables.js';
import { queryTagged, readTags } from '../../../store/tags.js';
import { onPage, pageAnswer, readPage } from '../../../wire/paging.js';
import { defineAction } from '../../action.js';
import { readTimeFilters } from '../timeFilter.js';

const statuses = ['progressing', 'accomplished', 'failed'] as const;

export const describeSnapshots = defineAction(ecs.DescribeSnapshots, {
  errors: [
    'InvalidFilterKey.NotFound',
    'InvalidFilterValue',
    'InvalidSnapshotCategory.Malformed',
    'InvalidSnapshotType.NotFound',
    'InvalidSourceDiskType',
    'InvalidStatus.NotFound',
    'InvalidUsage',
  ],
  async read(input, { db, caller, regionId, fail }) {
    const page = readPage(input, { maxPageSize: 100 });
    const scope = { accountId: caller.accountId, regionId, resourceType: 'snapshot' } as const;
    let query = db
      .selectFrom('snapshots')
      .where('accountId', '=', caller.accountId)
      .where('regionId', '=', regionId)
      .where('status', '<>', 'Deleted');
    if (input.snapshotIds !== undefined) {
      query = query.where('id', 'in', input.snapshotIds as SnapshotId[]);
    }
    if (input.diskId !== undefined) query = query.where('diskId', '=', input.diskId as DiskId);
    const { instanceId } = input;
    if (instanceId !== undefined) {
      const disks = db
        .selectFrom('disks')
        .select('id')
        .where('instanceId', '=', instanceId as InstanceId);
      query = query.where('diskId', 'in', disks);
    }
    if (input.snapshotName !== undefined) {
      query = query.where(matchesPattern('name', input.snapshotName));
    }
    if (input.resourceGroupId !== undefined) {
      query = query.where('resourceGroupId', '=', input.resourceGroupId);
    }
    const status = input.status ?? 'all';
    if (status !== 'all') {
      const known = statuses.find((each) => each === status) ?? fail('InvalidStatus.NotFound', { status });
      query = query.where('status', '=', known);
    }
    const usage = input.usage;
    if (usage !== undefined) {
      if (!['image', 'disk', 'image_disk', 'none'].includes(usage)) fail('InvalidUsage', { usage });
      const used = db
        .selectFrom('disks')
        .select('sourceSnapshotId')
        .where('sourceSnapshotId', 'is not', null)
        .where('status', '<>', 'Deleted')
        .$narrowType<{ sourceSnapshotId: SnapshotId }>();
      if (usage === 'disk') query = query.where('id', 'in', used);
      else if (usage === 'none') query = query.where('id', 'not in', used);
      else query = query.where('id', 'in', []);
    }
    for (const condition of readTimeFilters(input.filter, fail)) query = query.where(condition);
    const tags = readTagFilters(input.tag, fail);
    if (tags.length > 0) query = query.where('id', 'in', queryTagged<SnapshotId>(db, scope, tags));
    if (hasNone()) query = query.where('id', 'in', []);

    const total = await countRows(query);
    const rows = await query.selectAll().$call(onPage(page, 'newest first')).execute();
    const ids = rows.map((row) => row.id);
    const tagsOf = await readTags(db, 'snapshot', ids);
    const users = await db
      .selectFrom('disks')
      .select('sourceSnapshotId')
      .distinct()
      .where('sourceSnapshotId', 'in', ids)
      .where('status', '<>', 'Deleted')
      .execute();
    const used = new Set(users.map((user) => user.sourceSnapshotId));
    return {
      ...pageAnswer(page, rows, total),
      snapshots: {
        snapshot: rows.map((row) => ({
          ...describe(row),
          usage: used.has(row.id) ? 'disk' : 'none',
          tags: {
            tag: (tagsOf.get(row.id) ?? []).map(({ key, value }) => ({ tagKey: key, tagValue: value })),
          },
        })),
      },
    };

    /** Whether the request asks for what no snapshot of this cloud is or has. */
    function hasNone(): boolean {
      const type = input.snapshotType ?? 'all';
      if (!['auto', 'user', 'all'].includes(type)) fail('InvalidSnapshotType.NotFound', { type });
      const diskType = input.sourceDiskType?.toLowerCase();
      if (diskType !== undefined && !['system', 'data'].includes(diskType)) {
        fail('InvalidSourceDiskType', { type: input.sourceDiskType ?? '' });
      }
      const category = input.category?.toLowerCase();
      if (category !== undefined && !['standard', 'flash', 'archive'].includes(category)) {
        fail('InvalidSnapshotCategory.Malformed', { category });
      }
      return (
        type === 'auto' ||
        diskType === 'system' ||
        (category !== undefined && category !== 'standard') ||
        input.encrypted === true ||
        input.KMSKeyId !== undefined ||
        input.snapshotLinkId !== undefined
      );
    }
  },
});

/** A snapshot as the API shows it, but for its tags and use. */
function describe(snapshot: Snapshot): ecs.DescribeSnapshotsResponseSnapshotsSnapshot {
  return {
    snapshotId: snapshot.id,
    snapshotSN: snapshot.id,
    snapshotName: snapshot.name,
    description: snapshot.description,
    status: snapshot.status,
    progress: snapshot.status === 'accomplished' ? '100%' : '0%',
    available: snapshot.status === 'accomplished',
    remainTime: 0,
    snapshotType: 'user',
    category: 'standard',
    instantAccess: false,
    instantAccessRetentionDays: 0,
    encrypted: false,
    KMSKeyId: '',
    regionId: snapshot.regionId,
    sourceDiskId: snapshot.diskId,
    sourceDiskSize: String(snapshot.diskSizeGiB),
    sourceDiskType: 'data',
    sourceStorageType: 'disk',
    sourceSnapshotId: '',
    sourceRegionId: '',
    snapshotLinkId: '',
    ...(snapshot.retentionDays === null ? {} : { retentionDays: snapshot.retentionDays }),
    creationTime: snapshot.creationTime,
    lastModifiedTime: snapshot.lastModifiedTime,
    productCode: '',
    resourceGroupId: snapshot.resourceGroupId,
  };
}
