import { isDataDevice, maxDisksPerInstance, nextDevice } from '../../../domain/disk.js';
import type { ErrorCode, Fail } from '../../../domain/errors.js';
import { createId, type DiskId, type HostId, type InstanceId, type ZoneId } from '../../../domain/ids.js';
import type { HostConstraint } from '../../../placement/index.js';
import { onlyHosts } from '../../../placement/request.js';
import { findSnapshot } from '../../../store/disks.js';
import type { Snapshot } from '../../../store/tables.js';
import { toSecondsTime } from '../../../store/times.js';
import type { ChangeContext } from '../../action.js';
import { isDescription, isName, readShape } from '../disks/rules.js';

/** A data disk as RunInstances and CreateInstance take it. */
export interface LaunchDiskInput {
  readonly autoSnapshotPolicyId?: string | undefined;
  readonly burstingEnabled?: boolean | undefined;
  readonly category?: string | undefined;
  readonly deleteWithInstance?: boolean | undefined;
  readonly description?: string | undefined;
  readonly device?: string | undefined;
  readonly diskName?: string | undefined;
  readonly encryptAlgorithm?: string | undefined;
  readonly encrypted?: string | boolean | undefined;
  readonly KMSKeyId?: string | undefined;
  readonly performanceLevel?: string | undefined;
  readonly provisionedIops?: number | undefined;
  readonly size?: number | undefined;
  readonly snapshotId?: string | undefined;
  readonly storageClusterId?: string | undefined;
}

export const launchDiskErrors = [
  'InstanceDiskNumber.LimitExceed',
  'InvalidDataDiskCategory.ValueNotSupported',
  'InvalidDataDiskSize.ValueNotSupported',
  'InvalidDataDiskSnapshotId.NotFound',
  'InvalidDiskDescription.Malformed',
  'InvalidDiskName.Malformed',
  'InvalidSnapshotId.NotReady',
] as const satisfies readonly ErrorCode[];

type LaunchDiskFail = Fail<(typeof launchDiskErrors)[number] | 'InvalidParameter' | 'MissingParameter'>;

interface LaunchDiskContext extends Pick<ChangeContext, 'tx' | 'caller' | 'regionId' | 'cloud'> {
  readonly fail: LaunchDiskFail;
}

/** A data disk that each of the new instances gets. */
export interface LaunchDisk {
  readonly category: string;
  readonly performanceLevel: string | null;
  readonly sizeGiB: number;
  readonly name: string;
  readonly description: string;
  readonly device: string;
  readonly deleteWithInstance: boolean;
  readonly snapshot: Snapshot | undefined;
}

const defaultCategory = 'cloud_efficiency';

/** Checks the data disks of a launch. */
export async function readLaunchDisks(
  inputs: readonly LaunchDiskInput[] | undefined,
  context: LaunchDiskContext,
): Promise<LaunchDisk[]> {
  const { tx, caller, fail } = context;
  const disks: LaunchDisk[] = [];
  if ((inputs?.length ?? 0) >= maxDisksPerInstance) {
    fail('InstanceDiskNumber.LimitExceed', { limit: maxDisksPerInstance - 1 });
  }
  const wishedDevices = (inputs ?? []).flatMap(({ device }) => (device === undefined ? [] : [device]));
  for (const device of wishedDevices) {
    if (isDataDevice(device) && wishedDevices.filter((each) => each === device).length === 1) continue;
    fail('InvalidParameter', {
      parameter: 'DataDisk.Device',
      reason: `${device} is not one of /dev/xvdb to /dev/xvdz, or is given twice.`,
    });
  }
  for (const input of inputs ?? []) {
    refuseNotBuilt(input, fail);
    if (!isName(input.diskName)) fail('InvalidDiskName.Malformed');
    if (!isDescription(input.description)) fail('InvalidDiskDescription.Malformed');
    const { snapshotId } = input;
    const snapshot =
      snapshotId === undefined
        ? undefined
        : ((await findSnapshot(tx.db, caller.accountId, snapshotId)) ??
          fail('InvalidDataDiskSnapshotId.NotFound', { id: snapshotId }));
    if (snapshot && snapshot.status !== 'accomplished') {
      fail('InvalidSnapshotId.NotReady', { id: snapshot.id, status: snapshot.status });
    }
    const shape = readShape(
      {
        category: input.category ?? defaultCategory,
        performanceLevel: input.performanceLevel,
        sizeGiB: input.size,
        snapshot,
      },
      fail,
    );
    disks.push({
      ...shape,
      name: input.diskName ?? '',
      description: input.description ?? '',
      device: input.device ?? nextDevice([...wishedDevices, ...disks.map((disk) => disk.device)]),
      deleteWithInstance: input.deleteWithInstance ?? true,
      snapshot,
    });
  }
  return disks;
}

/** Instances with disks from snapshots can only be where the snapshots are. */
export function hostsOfSnapshots(disks: readonly { readonly disk: LaunchDisk }[]): HostConstraint[] {
  return disks.flatMap(({ disk: { snapshot } }) =>
    snapshot ? [onlyHosts([snapshot.hostId], `snapshot ${snapshot.id} is on another host`)] : [],
  );
}

/** Writes down the data disks of one new instance, for which there is room on its host. */
export async function createLaunchDisks(
  disks: readonly { readonly id: DiskId; readonly disk: LaunchDisk }[],
  instance: { readonly id: InstanceId; readonly zoneId: ZoneId; readonly hostId: HostId },
  { tx, caller, regionId }: Omit<LaunchDiskContext, 'fail'>,
): Promise<void> {
  for (const { id, disk } of disks) {
    const { snapshot, ...described } = disk;
    await tx.db
      .insertInto('disks')
      .values({
        ...described,
        id,
        accountId: caller.accountId,
        regionId,
        zoneId: instance.zoneId,
        hostId: instance.hostId,
        instanceId: instance.id,
        type: 'data',
        status: 'Attaching',
        contentSource: snapshot?.id ?? null,
        sourceSnapshotId: snapshot?.id ?? null,
        appliedSizeGiB: disk.sizeGiB,
        deleteWithInstance: disk.deleteWithInstance ? 1 : 0,
        creationTime: toSecondsTime(tx.now),
        attachedTime: toSecondsTime(tx.now),
      })
      .execute();
    await tx.record({
      resourceType: 'disk',
      resourceId: id,
      action: 'CreateDisk',
      after: { instanceId: instance.id, sizeGiB: disk.sizeGiB, category: disk.category },
    });
  }
}

/** Ids for the disks of one instance, and the room that they need on its host. */
export function nameLaunchDisks(disks: readonly LaunchDisk[], regionCode: string) {
  return disks.map((disk) => {
    const id = createId('disk', regionCode);
    return { id, disk, share: { owner: id, diskGiB: disk.sizeGiB } };
  });
}

function refuseNotBuilt(input: LaunchDiskInput, fail: Fail<'InvalidParameter'>): void {
  const wishes = {
    AutoSnapshotPolicyId: input.autoSnapshotPolicyId,
    BurstingEnabled: input.burstingEnabled === true ? true : undefined,
    Encrypted: String(input.encrypted ?? false) === 'true' ? true : undefined,
    EncryptAlgorithm: input.encryptAlgorithm,
    KMSKeyId: input.KMSKeyId,
    ProvisionedIops: input.provisionedIops,
    StorageClusterId: input.storageClusterId,
  };
  for (const [parameter, value] of Object.entries(wishes)) {
    if (value === undefined) continue;
    fail('InvalidParameter', {
      parameter: `DataDisk.${parameter}`,
      reason: 'this cloud has not built it yet.',
    });
  }
}
