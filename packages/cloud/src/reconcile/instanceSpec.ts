import type { CloudParts } from '../cloud.js';
import { mountPathOf, pluggedDiskStatuses, volumeNameOf } from '../domain/disk.js';
import type { NetworkNames } from '../domain/network/names.js';
import type { InstanceSpec } from '../drivers/compute/driver.js';
import { listDisksOf } from '../store/disks.js';
import type { Instance } from '../store/tables.js';
import { readGpuAttachment } from './gpuAttachment.js';

/** What an instance shall be on its host, read from the store. */
export async function readInstanceSpec(
  parts: CloudParts,
  names: NetworkNames,
  instance: Instance,
): Promise<InstanceSpec> {
  const db = parts.store.reader;
  const nics = await db
    .selectFrom('networkInterfaces')
    .select(['id', 'vSwitchId', 'macAddress', 'deviceIndex'])
    .where('instanceId', '=', instance.id)
    .where('status', '<>', 'Detaching')
    .orderBy('deviceIndex')
    .execute();
  const disks = await listDisksOf(db, instance.id);
  const systemDisk = disks.find((disk) => disk.type === 'system');
  if (!systemDisk) throw new Error(`instance ${instance.id} has no system disk`);
  const keyPair =
    instance.keyPairName === null
      ? undefined
      : await db
          .selectFrom('keyPairs')
          .select('publicKey')
          .where('accountId', '=', instance.accountId)
          .where('regionId', '=', instance.regionId)
          .where('name', '=', instance.keyPairName)
          .executeTakeFirst();
  const gpus = await readGpuAttachment(parts, instance);
  return {
    name: instance.id,
    // A custom image goes by its id on the host. It may be gone, once the instance has been made.
    image: parts.catalog.images.get(instance.imageId)?.alias ?? instance.imageId,
    kind: 'container',
    vcpus: instance.vcpus,
    memoryMiB: instance.memoryMiB,
    rootDiskGiB: systemDisk.sizeGiB,
    nics: nics.map((nic) => ({
      device: `eth${nic.deviceIndex}`,
      bridge: names.bridge(nic.vSwitchId),
      macAddress: nic.macAddress,
      hostDevice: names.hostDevice(nic.id),
    })),
    disks: disks
      .filter((disk) => disk.volumeVersion > 0 && pluggedDiskStatuses.includes(disk.status))
      .map((disk) => ({ volume: volumeNameOf(disk, disk.volumeVersion), path: mountPathOf(disk) })),
    ...(gpus === undefined ? {} : { gpus }),
    seed: {
      instanceId: instance.id,
      hostName: instance.hostName,
      authorizedKeys: keyPair ? [keyPair.publicKey] : [],
      ...(instance.passwordHash === null ? {} : { passwordHash: instance.passwordHash }),
      // Clients may fold Base64 into lines.
      ...(instance.userData === null ? {} : { userDataBase64: instance.userData.replaceAll(/\s/g, '') }),
    },
  };
}
