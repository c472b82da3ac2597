import { ecs } from '@openegs/schema';
import { visibleDiskStatuses } from '../../../domain/disk.js';
import type { DiskId, InstanceId, SnapshotId, ZoneId } from '../../../domain/ids.js';
import { readTagFilters } from '../../../domain/tags.js';
import { countRows } from '../../../store/countRows.js';
import { matchesPattern } from '../../../store/patterns.js';
import type { Disk } from '../../../store/tables.js';
import { queryTagged, readTags } from '../../../store/tags.js';
import { onPage, pageAnswer, readPage } from '../../../wire/paging.js';
import { defineAction } from '../../action.js';
import { readTimeFilters } from '../timeFilter.js';
import { findCategory } from './rules.js';

export const describeDisks = defineAction(ecs.DescribeDisks, {
  errors: [
    'InvalidCategory.ValueNotSupported',
    'InvalidDiskChargeType.NotFound',
    'InvalidDiskType.ValueNotSupported',
    'InvalidFilterKey.NotFound',
    'InvalidFilterValue',
    'InvalidLockReason.NotFound',
    'InvalidParameter.MultiAttach',
    'InvalidStatus.ValueNotSupported',
  ],
  async read(input, { db, caller, regionId, fail }) {
    const isTokenStyle = input.maxResults !== undefined || input.nextToken !== undefined;
    const page = readPage(input, { maxPageSize: isTokenStyle ? 500 : 100 });
    const scope = { accountId: caller.accountId, regionId, resourceType: 'disk' } as const;
    let query = db
      .selectFrom('disks')
      .where('accountId', '=', caller.accountId)
      .where('regionId', '=', regionId)
      .where('status', '<>', 'Deleted');
    if (input.diskIds !== undefined) query = query.where('id', 'in', input.diskIds as DiskId[]);
    if (input.instanceId !== undefined)
      query = query.where('instanceId', '=', input.instanceId as InstanceId);
    if (input.zoneId !== undefined) query = query.where('zoneId', '=', input.zoneId as ZoneId);
    if (input.snapshotId !== undefined) {
      query = query.where('sourceSnapshotId', '=', input.snapshotId as SnapshotId);
    }
    if (input.diskName !== undefined) query = query.where(matchesPattern('name', input.diskName));
    if (input.resourceGroupId !== undefined) {
      query = query.where('resourceGroupId', '=', input.resourceGroupId);
    }

    const status = input.status ?? 'All';
    if (status !== 'All') {
      const known =
        visibleDiskStatuses.find((each) => each === status) ??
        fail('InvalidStatus.ValueNotSupported', { status });
      query = query.where('status', '=', known);
    }
    const type = input.diskType ?? 'all';
    if (type !== 'all') {
      if (type !== 'system' && type !== 'data') return fail('InvalidDiskType.ValueNotSupported', { type });
      query = query.where('type', '=', type);
    }
    const category = input.category ?? 'all';
    if (category !== 'all') {
      // Local kinds can be asked for; this cloud has none.
      if (!findCategory(category) && !/^(local|ephemeral|elastic_ephemeral)_/.test(category)) {
        fail('InvalidCategory.ValueNotSupported', { category });
      }
      query = query.where('category', '=', category);
    }
    if (input.deleteWithInstance !== undefined) {
      query = query.where('deleteWithInstance', '=', input.deleteWithInstance ? 1 : 0);
    }
    if (input.deleteAutoSnapshot !== undefined) {
      query = query.where('deleteAutoSnapshot', '=', input.deleteAutoSnapshot ? 1 : 0);
    }
    if (input.enableAutoSnapshot !== undefined) {
      query = query.where('enableAutoSnapshot', '=', input.enableAutoSnapshot ? 1 : 0);
    }
    if (input.portable !== undefined) query = query.where('type', '=', input.portable ? 'data' : 'system');
    for (const condition of readTimeFilters(input.filter, fail)) query = query.where(condition);
    const tags = readTagFilters(input.tag, fail);
    if (tags.length > 0) query = query.where('id', 'in', queryTagged<DiskId>(db, scope, tags));
    if (hasNone()) query = query.where('id', 'in', []);

    const total = await countRows(query);
    const rows = await query.selectAll().$call(onPage(page, 'newest first')).execute();
    const tagsOf = await readTags(
      db,
      'disk',
      rows.map((row) => row.id),
    );
    return {
      ...pageAnswer(page, rows, total),
      disks: {
        disk: rows.map((row) => ({
          ...describe(row),
          tags: {
            tag: (tagsOf.get(row.id) ?? []).map(({ key, value }) => ({ tagKey: key, tagValue: value })),
          },
        })),
      },
    };

    /** Whether the request asks for what no disk of this cloud is or has. */
    function hasNone(): boolean {
      const { diskChargeType, lockReason, multiAttach } = input;
      if (diskChargeType !== undefined && !['PrePaid', 'PostPaid'].includes(diskChargeType)) {
        fail('InvalidDiskChargeType.NotFound', { type: diskChargeType });
      }
      const reasons = ['financial', 'security', 'recycling', 'dedicatedhostfinancial'];
      if (lockReason !== undefined && !reasons.includes(lockReason)) {
        fail('InvalidLockReason.NotFound', { value: lockReason });
      }
      if (multiAttach !== undefined && !['Disabled', 'Enabled', 'LegacyShared'].includes(multiAttach)) {
        fail('InvalidParameter.MultiAttach');
      }
      return (
        diskChargeType === 'PrePaid' ||
        lockReason !== undefined ||
        (multiAttach !== undefined && multiAttach !== 'Disabled') ||
        input.enableShared === true ||
        input.encrypted === true ||
        input.KMSKeyId !== undefined ||
        input.autoSnapshotPolicyId !== undefined ||
        input.enableAutomatedSnapshotPolicy === true
      );
    }
  },
});

/** A disk as the API shows it, but for its tags. */
function describe(disk: Disk): ecs.DescribeDisksResponseDisksDisk {
  const attachedTime = disk.instanceId === null ? '' : (disk.attachedTime ?? '');
  const instanceId = disk.instanceId ?? '';
  const device = disk.device ?? '';
  return {
    diskId: disk.id,
    diskName: disk.name,
    description: disk.description,
    status: disk.status,
    type: disk.type,
    category: disk.category,
    performanceLevel: disk.performanceLevel ?? '',
    size: disk.sizeGiB,
    regionId: disk.regionId,
    zoneId: disk.zoneId,
    instanceId,
    device,
    serialNumber: disk.id.slice(2),
    attachedTime,
    detachedTime: disk.detachedTime ?? '',
    creationTime: disk.creationTime,
    expiredTime: '2999-09-08T16:00Z',
    attachments: { attachment: disk.instanceId === null ? [] : [{ instanceId, device, attachedTime }] },
    mountInstanceNum: disk.instanceId === null ? 0 : 1,
    mountInstances: {
      mountInstance: disk.instanceId === null ? [] : [{ instanceId, device, attachedTime }],
    },
    imageId: disk.imageId ?? '',
    sourceSnapshotId: disk.sourceSnapshotId ?? '',
    deleteWithInstance: disk.deleteWithInstance === 1,
    deleteAutoSnapshot: disk.deleteAutoSnapshot === 1,
    enableAutoSnapshot: disk.enableAutoSnapshot === 1,
    enableAutomatedSnapshotPolicy: false,
    autoSnapshotPolicyId: '',
    diskChargeType: 'PostPaid',
    portable: disk.type === 'data',
    encrypted: false,
    KMSKeyId: '',
    multiAttach: 'Disabled',
    burstingEnabled: false,
    bdfId: '',
    productCode: '',
    resourceGroupId: disk.resourceGroupId,
    storageSetId: '',
    operationLocks: { operationLock: [] },
  };
}
