import type { DiskId } from './ids.js';

/**
 * What a client sees a disk to be. `Deleted` is never shown: it is the state between the answer of
 * DeleteDisk and the moment when nothing is left of the disk on its host.
 */
export type DiskStatus =
  | 'Creating'
  | 'Available'
  | 'Attaching'
  | 'In_use'
  | 'Detaching'
  | 'ReIniting'
  | 'Deleted';

export const visibleDiskStatuses = [
  'In_use',
  'Available',
  'Attaching',
  'Detaching',
  'Creating',
  'ReIniting',
] as const;

/** `Deleted` is not shown either. */
export type SnapshotStatus = 'progressing' | 'accomplished' | 'failed' | 'Deleted';

/** `Deleted` is not shown either. */
export type ImageStatus = 'Creating' | 'Available' | 'CreateFailed' | 'Deleted';

/** States in which an instance that has the disk sees its volume. */
export const pluggedDiskStatuses: readonly DiskStatus[] = ['Attaching', 'In_use', 'ReIniting'];

/** Cloud disks of one instance, its system disk among them. */
export const maxDisksPerInstance = 17;

/** The engine's name of one version of a disk's content. */
export function volumeNameOf(disk: { readonly id: DiskId }, version: number): string {
  return version === 1 ? disk.id : `${disk.id}-${version}`;
}

/** Where a container finds a data disk, whatever else changes. */
export function mountPathOf(disk: { readonly id: DiskId }): string {
  return `/mnt/${disk.id}`;
}

/** Device names of data disks, in the order in which they are given out. */
const dataDevices = [...'bcdefghijklmnopqrstuvwxyz'].map((letter) => `/dev/xvd${letter}`);

export function isDataDevice(device: string): boolean {
  return dataDevices.includes(device);
}

/** The first device name that none of an instance's disks has. */
export function nextDevice(taken: Iterable<string | null>): string {
  const used = new Set(taken);
  const free = dataDevices.find((device) => !used.has(device));
  if (free === undefined) throw new Error('an instance has more disks than device names');
  return free;
}
