import { ecs } from '@openegs/schema';
import { dataSizesOf } from '../../../catalog/disks.js';
import type { Fail } from '../../../domain/errors.js';
import { changeDisk, findSnapshot, getDisk, getSnapshot, isBeingSnapshotted } from '../../../store/disks.js';
import { growDiskSpace } from '../../../store/ledger.js';
import type { Disk, DiskChange } from '../../../store/tables.js';
import { type ChangeContext, defineAction } from '../../action.js';
import {
  checkTexts,
  findCategory,
  requireDataDisk,
  requireDiskStatus,
  requireInstanceStatus,
  requireNoSnapshot,
} from './rules.js';

export const modifyDiskAttribute = defineAction(ecs.ModifyDiskAttribute, {
  errors: [
    'InvalidDescription.Malformed',
    'InvalidDiskId.NotFound',
    'InvalidDiskName.Malformed',
    'MissingParameter.DiskIdOrDiskIds',
    'NoAttributeToModify',
    'ParameterConflict.DiskIdAndDiskIds',
  ],
  async change(input, { tx, caller, fail }) {
    if (input.diskId !== undefined && input.diskIds !== undefined) fail('ParameterConflict.DiskIdAndDiskIds');
    const ids = input.diskIds ?? (input.diskId === undefined ? [] : [input.diskId]);
    if (ids.length === 0) fail('MissingParameter.DiskIdOrDiskIds');
    checkTexts(input, fail);
    if (input.burstingEnabled === true) {
      fail('InvalidParameter', { parameter: 'BurstingEnabled', reason: 'this cloud has not built it yet.' });
    }
    const change: DiskChange = {
      ...(input.diskName === undefined ? {} : { name: input.diskName }),
      ...(input.description === undefined ? {} : { description: input.description }),
      ...toFlag('deleteWithInstance', input.deleteWithInstance),
      ...toFlag('deleteAutoSnapshot', input.deleteAutoSnapshot),
      ...toFlag('enableAutoSnapshot', input.enableAutoSnapshot),
    };
    if (Object.keys(change).length === 0) fail('NoAttributeToModify');
    for (const id of ids) {
      const disk = await getDisk(tx.db, caller.accountId, id, fail);
      if (disk.type === 'system' && input.deleteWithInstance === false) {
        requireDataDisk(disk, 'keep without its instance', fail);
      }
      await changeDisk(tx, disk, 'ModifyDiskAttribute', change);
    }
    return {};
  },
});

function toFlag<Name extends string>(
  name: Name,
  value: boolean | undefined,
): Partial<Readonly<Record<Name, 0 | 1>>> {
  if (value === undefined) return {};
  const flag: 0 | 1 = value ? 1 : 0;
  return { [name]: flag } as Readonly<Record<Name, 0 | 1>>;
}

export const resizeDisk = defineAction(ecs.ResizeDisk, {
  errors: [
    'DiskCreatingSnapshot',
    'IncorrectDiskStatus',
    'IncorrectInstanceStatus',
    'InvalidDataDiskSize.ValueNotSupported',
    'InvalidDiskId.NotFound',
    'InvalidDiskSize.TooSmall',
    'InvalidInstanceStatus.NotRunning',
    'InvalidParam.Type',
    'InvalidSystemDiskSize.ValueNotSupported',
    'OperationDenied.NotEnoughCapacity',
  ],
  async change({ diskId, newSize, type = 'offline' }, context) {
    const { tx, caller, cloud, fail } = context;
    if (!['offline', 'online'].includes(type)) fail('InvalidParam.Type', { type });
    const disk = await getDisk(tx.db, caller.accountId, diskId, fail);
    requireDiskStatus(disk, ['In_use', 'Available'], fail);
    await requireNoSnapshot(tx.db, disk, fail);
    if (newSize <= disk.sizeGiB) fail('InvalidDiskSize.TooSmall', { id: disk.id, sizeGiB: disk.sizeGiB });
    checkMaximum(disk, newSize, fail);
    const instance =
      disk.instanceId === null
        ? undefined
        : await requireInstanceStatus(tx.db, disk.instanceId, ['Running', 'Stopped'], fail);
    if (type === 'online' && instance?.status !== 'Running') {
      fail('InvalidInstanceStatus.NotRunning', { id: disk.id });
    }
    const owner = disk.type === 'system' && instance ? instance.id : disk.id;
    const obstacle = await growDiskSpace(tx, cloud.placement, owner, newSize - disk.sizeGiB);
    if (obstacle !== undefined) fail('OperationDenied.NotEnoughCapacity', { reason: obstacle });
    const hasVolume = disk.type === 'data' && disk.volumeVersion > 0;
    await changeDisk(tx, disk, 'ResizeDisk', {
      sizeGiB: newSize,
      ...(hasVolume ? {} : { appliedSizeGiB: newSize }),
    });
    if (disk.type === 'system' && instance) {
      await tx.db
        .updateTable('instances')
        .set({ generation: instance.generation + 1 })
        .where('id', '=', instance.id)
        .execute();
      tx.wake({ kind: 'instance', id: instance.id });
    }
    tx.wake({ kind: 'disk', id: disk.id });
    return {};
  },
});

function checkMaximum(
  disk: Disk,
  newSize: number,
  fail: Fail<'InvalidDataDiskSize.ValueNotSupported' | 'InvalidSystemDiskSize.ValueNotSupported'>,
): void {
  const category = findCategory(disk.category);
  if (!category) throw new Error(`disk ${disk.id} is of the unknown category ${disk.category}`);
  if (disk.type === 'data') {
    const { min, max } = dataSizesOf(category, disk.performanceLevel);
    if (newSize > max) fail('InvalidDataDiskSize.ValueNotSupported', { min, max });
  } else if (newSize > category.systemGiB.max) {
    fail('InvalidSystemDiskSize.ValueNotSupported', category.systemGiB);
  }
}

export const modifyDiskSpec = defineAction(ecs.ModifyDiskSpec, {
  errors: [
    'DiskCreatingSnapshot',
    'IncorrectDiskStatus',
    'InvalidDiskCategory.ValueNotSupported',
    'InvalidDiskId.NotFound',
    'InvalidPerformanceLevel.Malformed',
    'NoChangeInDiskCategoryAndPerformanceLevel',
    'OperationDenied.PerformanceLevelNotMatch',
  ],
  async change(input, { tx, caller, fail }) {
    for (const [value, parameter] of [
      [input.provisionedIops, 'ProvisionedIops'],
      [input.performanceControlOptions, 'PerformanceControlOptions'],
      [input.destinationZoneId, 'DestinationZoneId'],
    ] as const) {
      if (value !== undefined) {
        fail('InvalidParameter', { parameter, reason: 'this cloud has not built it yet.' });
      }
    }
    const disk = await getDisk(tx.db, caller.accountId, input.diskId, fail);
    requireDiskStatus(disk, ['In_use', 'Available'], fail);
    await requireNoSnapshot(tx.db, disk, fail);
    const category =
      findCategory(input.diskCategory ?? disk.category) ??
      fail('InvalidDiskCategory.ValueNotSupported', { category: input.diskCategory ?? '' });
    const wished =
      input.performanceLevel ?? (category.id === disk.category ? disk.performanceLevel : undefined);
    const usual = category.levels?.[0]?.id ?? null;
    const level = category.levels ? (wished ?? usual) : null;
    const isKnown = category.levels?.some((each) => each.id === wished) ?? false;
    if (input.performanceLevel !== undefined && !isKnown) fail('InvalidPerformanceLevel.Malformed');
    if (category.id === disk.category && level === disk.performanceLevel) {
      fail('NoChangeInDiskCategoryAndPerformanceLevel');
    }
    const { min, max } = disk.type === 'data' ? dataSizesOf(category, level) : category.systemGiB;
    const least = Math.max(min, category.levels?.find((each) => each.id === level)?.minGiB ?? 0);
    if (disk.sizeGiB < least || disk.sizeGiB > max) {
      fail('OperationDenied.PerformanceLevelNotMatch', { id: disk.id, min: least, max });
    }
    await changeDisk(tx, disk, 'ModifyDiskSpec', { category: category.id, performanceLevel: level });
    return {};
  },
});

export const reInitDisk = defineAction(ecs.ReInitDisk, {
  errors: [
    'DiskCreatingSnapshot',
    'IncorrectDiskStatus',
    'IncorrectInstanceStatus',
    'InvalidDiskId.NotFound',
    'InvalidSourceSnapshot',
  ],
  async change(input, context) {
    const { tx, caller, fail } = context;
    const disk = await getDisk(tx.db, caller.accountId, input.diskId, fail);
    requireDataDisk(disk, 'initialize anew', fail);
    requireDiskStatus(disk, ['In_use'], fail);
    if (disk.instanceId !== null) await requireInstanceStatus(tx.db, disk.instanceId, ['Stopped'], fail);
    await requireNoSnapshot(tx.db, disk, fail);
    if (disk.sourceSnapshotId !== null) {
      const source = await findSnapshot(tx.db, caller.accountId, disk.sourceSnapshotId);
      if (source?.status !== 'accomplished') fail('InvalidSourceSnapshot', { id: disk.sourceSnapshotId });
    }
    await putContent(disk, 'ReInitDisk', { contentSource: disk.sourceSnapshotId }, context);
    return {};
  },
});

export const resetDisk = defineAction(ecs.ResetDisk, {
  errors: [
    'IncorrectDiskStatus',
    'IncorrectDiskStatus.HasUnfinishedSnapshot',
    'IncorrectInstanceStatus',
    'InvalidDiskId.NotFound',
    'InvalidParameter.Mismatch',
    'InvalidSnapshotId.NotFound',
    'InvalidSnapshotId.NotReady',
  ],
  async change(input, context) {
    const { tx, caller, fail } = context;
    const disk = await getDisk(tx.db, caller.accountId, input.diskId, fail);
    const snapshot = await getSnapshot(tx.db, caller.accountId, input.snapshotId, fail);
    if (snapshot.diskId !== disk.id) {
      fail('InvalidParameter.Mismatch', { reason: `${snapshot.id} is not a snapshot of ${disk.id}.` });
    }
    if (snapshot.status !== 'accomplished') {
      fail('InvalidSnapshotId.NotReady', { id: snapshot.id, status: snapshot.status });
    }
    requireDiskStatus(disk, ['In_use', 'Available'], fail);
    if (disk.instanceId !== null) await requireInstanceStatus(tx.db, disk.instanceId, ['Stopped'], fail);
    if (await isBeingSnapshotted(tx.db, disk.id)) {
      fail('IncorrectDiskStatus.HasUnfinishedSnapshot', { id: disk.id });
    }
    await putContent(disk, 'ResetDisk', { contentSource: snapshot.id }, context);
    return {};
  },
});

/** Has the loop put other content in the place of the disk's. */
async function putContent(
  disk: Disk,
  action: string,
  content: Pick<Disk, 'contentSource'>,
  { tx }: ChangeContext,
): Promise<void> {
  await changeDisk(tx, disk, action, {
    ...content,
    status: 'ReIniting',
    contentVersion: disk.contentVersion + 1,
  });
  tx.wake({ kind: 'disk', id: disk.id });
}
