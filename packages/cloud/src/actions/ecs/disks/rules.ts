import { type DiskCategory, dataSizesOf, diskCategories } from '../../../catalog/disks.js';
import type { DiskStatus } from '../../../domain/disk.js';
import type { Fail } from '../../../domain/errors.js';
import type { InstanceId } from '../../../domain/ids.js';
import { type InstanceStatus, isWellFormedName } from '../../../domain/instance.js';
import { isBeingSnapshotted } from '../../../store/disks.js';
import type { Reader } from '../../../store/store.js';
import type { Disk, Instance, Snapshot } from '../../../store/tables.js';

/** What a new data disk shall be, as requests say it. */
export interface DataDiskWish {
  readonly category: string;
  readonly performanceLevel?: string | undefined;
  readonly sizeGiB?: number | undefined;
  readonly snapshot?: Snapshot | undefined;
}

type ShapeFail = Fail<
  | 'InvalidDataDiskCategory.ValueNotSupported'
  | 'InvalidDataDiskSize.ValueNotSupported'
  | 'InvalidParameter'
  | 'MissingParameter'
>;

/** Category, level and size of a new data disk. One from a snapshot has at least the size of that. */
export function readShape(
  wish: DataDiskWish,
  fail: ShapeFail,
): Pick<Disk, 'category' | 'performanceLevel' | 'sizeGiB'> {
  const category =
    findCategory(wish.category) ??
    fail('InvalidDataDiskCategory.ValueNotSupported', { category: wish.category });
  const performanceLevel = readLevel(category, wish.performanceLevel, fail);
  if (wish.sizeGiB === undefined && !wish.snapshot) fail('MissingParameter', { parameter: 'Size' });
  const sizeGiB = Math.max(wish.sizeGiB ?? 0, wish.snapshot?.diskSizeGiB ?? 0);
  const { min, max } = dataSizesOf(category, performanceLevel);
  if (sizeGiB < min || sizeGiB > max) fail('InvalidDataDiskSize.ValueNotSupported', { min, max });
  return { category: category.id, performanceLevel, sizeGiB };
}

export function findCategory(id: string): DiskCategory | undefined {
  return diskCategories.find((category) => category.id === id);
}

function readLevel(
  category: DiskCategory,
  level: string | undefined,
  fail: Fail<'InvalidParameter'>,
): string | null {
  const [usual] = category.levels ?? [];
  if (!usual) return null;
  const known = level === undefined ? usual : category.levels?.find((each) => each.id === level);
  return (
    known?.id ?? fail('InvalidParameter', { parameter: 'PerformanceLevel', reason: 'it is PL0 to PL3.' })
  );
}

/** Whether a text may be the name of a disk or a snapshot. Empty: it has none. */
export function isName(name: string | undefined): boolean {
  return name === undefined || name === '' || isWellFormedName(name);
}

/** Whether a text may be the description of a disk or a snapshot. */
export function isDescription(description: string | undefined): boolean {
  return description === undefined || description === '' || isWellFormedName(description, 2, 256);
}

/** Ends the request unless the texts may be name and description of a disk. */
export function checkTexts(
  {
    diskName,
    description,
  }: { readonly diskName?: string | undefined; readonly description?: string | undefined },
  fail: Fail<'InvalidDiskName.Malformed' | 'InvalidDescription.Malformed'>,
): void {
  if (!isName(diskName)) fail('InvalidDiskName.Malformed');
  if (!isDescription(description)) fail('InvalidDescription.Malformed');
}

/** Ends the request unless the disk is in one of the states that it needs. */
export function requireDiskStatus(
  disk: Pick<Disk, 'id' | 'status'>,
  needed: readonly DiskStatus[],
  fail: Fail<'IncorrectDiskStatus'>,
): void {
  if (needed.includes(disk.status)) return;
  fail('IncorrectDiskStatus', { id: disk.id, status: disk.status, needed: needed.join(' or ') });
}

/** Ends the request for a system disk, with which this cannot be done here. */
export function requireDataDisk(
  disk: Pick<Disk, 'id' | 'type'>,
  what: string,
  fail: Fail<'InvalidParameter'>,
): void {
  if (disk.type === 'data') return;
  fail('InvalidParameter', {
    parameter: 'DiskId',
    reason: `${disk.id} is a system disk, which this cloud cannot ${what} yet.`,
  });
}

/** Ends the request while a snapshot of the disk is being taken. */
export async function requireNoSnapshot(
  db: Reader,
  disk: Pick<Disk, 'id'>,
  fail: Fail<'DiskCreatingSnapshot'>,
): Promise<void> {
  if (await isBeingSnapshotted(db, disk.id)) fail('DiskCreatingSnapshot', { id: disk.id });
}

/** The instance that has the disk, which must be in one of these states. */
export async function requireInstanceStatus(
  db: Reader,
  instanceId: InstanceId,
  needed: readonly InstanceStatus[],
  fail: Fail<'IncorrectInstanceStatus'>,
): Promise<Instance> {
  const instance = await db
    .selectFrom('instances')
    .selectAll()
    .where('id', '=', instanceId)
    .executeTakeFirstOrThrow();
  if (!needed.includes(instance.status)) {
    fail('IncorrectInstanceStatus', {
      id: instance.id,
      status: instance.status,
      needed: needed.join(' or '),
    });
  }
  return instance;
}
