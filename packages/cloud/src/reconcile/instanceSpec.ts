import type { CloudParts } from '../cloud.js';
import type { NetworkNames } from '../domain/network/names.js';
import type { InstanceSpec } from '../drivers/compute/driver.js';
import type { Instance } from '../store/tables.js';
import { readGpuAttachment } from './gpuAttachment.js';

/** What an instance shall be on its host, read from the store. */
export async function readInstanceSpec(
  parts: CloudParts,
  names: NetworkNames,
  instance: Instance,
): Promise<InstanceSpec> {
  const db = parts.store.reader;
  const image = parts.catalog.images.get(instance.imageId);
  if (!image) throw new Error(`instance ${instance.id} has the unknown image ${instance.imageId}`);
  const nics = await db
    .selectFrom('networkInterfaces')
    .select(['id', 'vSwitchId', 'macAddress', 'deviceIndex'])
    .where('instanceId', '=', instance.id)
    .where('status', '<>', 'Detaching')
    .orderBy('deviceIndex')
    .execute();
  const systemDisk = await db
    .selectFrom('disks')
    .select('sizeGiB')
    .where('instanceId', '=', instance.id)
    .where('type', '=', 'system')
    .executeTakeFirstOrThrow();
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
    image: image.alias,
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
