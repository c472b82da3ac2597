import { ecs } from '@openegs/schema';
import type { Fail } from '../../domain/errors.js';
import { createId } from '../../domain/ids.js';
import { isWellFormedName, requireStatus } from '../../domain/instance.js';
import { checkTags } from '../../domain/tags.js';
import { listDisksOf } from '../../store/disks.js';
import { findOwnImage, listOwnImages, deleteImage as removeImage } from '../../store/images.js';
import { getInstance } from '../../store/instances.js';
import type { Reader } from '../../store/store.js';
import type { Image } from '../../store/tables.js';
import { putTags } from '../../store/tags.js';
import { toSecondsTime } from '../../store/times.js';
import { pageAnswer, readNumberedPage } from '../../wire/paging.js';
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
    const image = await getOwnImage(tx.db, scope, input.imageId, fail);
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

export const modifyImageAttribute = defineAction(ecs.ModifyImageAttribute, {
  errors: [
    'InvalidDescription.Malformed',
    'InvalidImageFamily.Malformed',
    'InvalidImageId.NotFound',
    'InvalidImageName.Duplicated',
    'InvalidImageName.Malformed',
  ],
  async change(input, { tx, caller, regionId, fail }) {
    const scope = { accountId: caller.accountId, regionId };
    const image = await getOwnImage(tx.db, scope, input.imageId, fail);
    checkTexts(input, fail);
    for (const [value, parameter] of [
      [input.status, 'Status'],
      [input.bootMode, 'BootMode'],
      [input.licenseType, 'LicenseType'],
      [input.features, 'Features'],
    ] as const) {
      if (value !== undefined) {
        fail('InvalidParameter', { parameter, reason: 'this cloud has not built it yet.' });
      }
    }
    const { imageName: name, imageFamily: family, description } = input;
    const known = await listOwnImages(tx.db, scope);
    if (name !== undefined && known.some((each) => each.name === name && each.id !== image.id)) {
      fail('InvalidImageName.Duplicated', { name });
    }
    const values = {
      ...(name === undefined ? {} : { name }),
      ...(family === undefined ? {} : { family }),
      ...(description === undefined ? {} : { description }),
    };
    if (Object.keys(values).length === 0) return {};
    await tx.db.updateTable('images').set(values).where('id', '=', image.id).execute();
    await tx.record({
      resourceType: 'image',
      resourceId: image.id,
      action: 'ModifyImageAttribute',
      after: values,
    });
    return {};
  },
});

/** Images are their account's alone so far. Packer asks to share each that it builds, most often with nobody. */
export const modifyImageSharePermission = defineAction(ecs.ModifyImageSharePermission, {
  errors: ['InvalidImageId.NotFound'],
  async change(input, { tx, caller, regionId, fail }) {
    await getOwnImage(tx.db, { accountId: caller.accountId, regionId }, input.imageId, fail);
    const wishes = {
      AddAccount: (input.addAccount ?? []).length > 0,
      LaunchPermission: input.launchPermission !== undefined,
      IsPublic: input.isPublic === true,
    };
    for (const [parameter, isWished] of Object.entries(wishes)) {
      if (!isWished) continue;
      fail('InvalidParameter', { parameter, reason: 'this cloud does not share images with others yet.' });
    }
    return {};
  },
});

export const describeImageSharePermission = defineAction(ecs.DescribeImageSharePermission, {
  errors: ['InvalidImageId.NotFound'],
  async read(input, { db, caller, regionId, fail }) {
    const page = readNumberedPage(input, { maxPageSize: 100 });
    const scope = { accountId: caller.accountId, regionId };
    const image = await getOwnImage(db, scope, input.imageId, fail);
    return {
      ...pageAnswer(page, [], 0),
      regionId,
      imageId: image.id,
      accounts: { account: [] },
      shareGroups: { shareGroup: [] },
    };
  },
});

async function getOwnImage(
  db: Reader,
  scope: Parameters<typeof findOwnImage>[1],
  id: string,
  fail: Fail<'InvalidImageId.NotFound'>,
): Promise<Image> {
  return (await findOwnImage(db, scope, id)) ?? fail('InvalidImageId.NotFound', { id });
}

function checkTexts(
  input: Pick<ecs.CreateImageRequest, 'imageName' | 'imageFamily' | 'description'>,
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
