import { ecs } from '@openegs/schema';
import type { Fail } from '../../domain/errors.js';
import { createId } from '../../domain/ids.js';
import { isWellFormedName, requireStatus } from '../../domain/instance.js';
import { checkTags } from '../../domain/tags.js';
import { listDisksOf } from '../../store/disks.js';
import { findOwnImage, listOwnImages, deleteImage as removeImage } from '../../store/images.js';
import { getInstance } from '../../store/instances.js';
import { putTags } from '../../store/tags.js';
import { toSecondsTime } from '../../store/times.js';
import { defineAction } from '../action.js';

export const createImage = defineAction(ecs.CreateImage, {
  errors: [
    'Duplicate.TagKey',
    'IncorrectInstanceStatus',
    'InvalidDescription.Malformed',
    'InvalidImageFamily.Malformed',
    'InvalidImageName.Duplicated',
    'InvalidImageName.Malformed',
    'InvalidInstanceId.NotFound',
    'InvalidTagKey.Malformed',
    'InvalidTagValue.Malformed',
    'QuotaExceed.Image',
    'QuotaExceed.Tags',
  ],
  async change(input, { tx, caller, regionId, cloud, fail }) {
    const scope = { accountId: caller.accountId, regionId };
    checkTexts(input, fail);
    const tags = checkTags(input.tag, fail);
    // InstanceId wins over the others, as on the original.
    const wishedId = input.instanceId ?? refuseOtherSources(input, fail);
    const instance = await getInstance(tx.db, caller.accountId, wishedId, fail);
    requireStatus(instance, ['Running', 'Stopped'], fail);
    const disks = await listDisksOf(tx.db, instance.id);
    if (disks.some((disk) => disk.type === 'data')) {
      fail('InvalidParameter', {
        parameter: 'InstanceId',
        reason: 'the instance has data disks, which this cloud does not put into images yet: detach them.',
      });
    }
    const known = await listOwnImages(tx.db, scope);
    if (known.length >= cloud.config.quotas.images)
      fail('QuotaExceed.Image', { quota: cloud.config.quotas.images });
    const id = createId('image', cloud.catalog.getRegion(regionId).code);
    const name = input.imageName ?? id;
    if (known.some((image) => image.name === name)) fail('InvalidImageName.Duplicated', { name });
    const parent = known.find((image) => image.id === instance.imageId);
    await tx.db
      .insertInto('images')
      .values({
        ...scope,
        id,
        hostId: instance.hostId,
        instanceId: instance.id,
        baseImageId: parent?.baseImageId ?? instance.imageId,
        name,
        description: input.description ?? '',
        family: input.imageFamily ?? '',
        version: input.imageVersion ?? '',
        sizeGiB: disks.find((disk) => disk.type === 'system')?.sizeGiB ?? 0,
        status: 'Creating',
        creationTime: toSecondsTime(tx.now),
        resourceGroupId: input.resourceGroupId ?? '',
      })
      .execute();
    await putTags(tx, { ...scope, resourceType: 'image', resourceId: id }, tags, fail);
    await tx.record({
      resourceType: 'image',
      resourceId: id,
      action: 'CreateImage',
      after: { name, instanceId: instance.id },
    });
    tx.wake({ kind: 'image', id });
    return { imageId: id };
  },
});

export const deleteImage = defineAction(ecs.DeleteImage, {
  errors: ['ImageIsPublic', 'ImageUsingByInstance', 'InvalidImageId.NotFound'],
  async change(input, { tx, caller, regionId, cloud, fail }) {
    if (cloud.catalog.images.has(input.imageId)) fail('ImageIsPublic', { id: input.imageId });
    const scope = { accountId: caller.accountId, regionId };
    const image =
      (await findOwnImage(tx.db, scope, input.imageId)) ??
      fail('InvalidImageId.NotFound', { id: input.imageId });
    const users = await tx.db
      .selectFrom('instances')
      .select(['id', 'status', 'created'])
      .where('accountId', '=', caller.accountId)
      .where('imageId', '=', image.id)
      .where('status', '<>', 'Deleted')
      .execute();
    // One that is still being made needs it, whatever the client wishes.
    const blocker = users.find((user) => input.force !== true || user.created === 0);
    if (blocker) fail('ImageUsingByInstance', { id: image.id, instance: blocker.id });
    await removeImage(tx, image);
    return {};
  },
});

function checkTexts(
  input: ecs.CreateImageRequest,
  fail: Fail<'InvalidImageName.Malformed' | 'InvalidImageFamily.Malformed' | 'InvalidDescription.Malformed'>,
): void {
  const { imageName, imageFamily, description } = input;
  const isReserved = (name: string): boolean => /^(aliyun|acs:)/i.test(name);
  if (imageName !== undefined && !isWellFormedName(imageName)) fail('InvalidImageName.Malformed');
  if (imageFamily !== undefined && (!isWellFormedName(imageFamily) || isReserved(imageFamily))) {
    fail('InvalidImageFamily.Malformed');
  }
  if (description !== undefined && description !== '' && !isWellFormedName(description, 2, 256)) {
    fail('InvalidDescription.Malformed');
  }
}

function refuseOtherSources(
  input: ecs.CreateImageRequest,
  fail: Fail<'InvalidParameter' | 'MissingParameter'>,
): never {
  const hasMapping = (input.diskDeviceMapping ?? []).length > 0;
  if (input.snapshotId === undefined && !hasMapping)
    return fail('MissingParameter', { parameter: 'InstanceId' });
  return fail('InvalidParameter', {
    parameter: hasMapping ? 'DiskDeviceMapping' : 'SnapshotId',
    reason: 'this cloud makes images of instances only so far.',
  });
}
