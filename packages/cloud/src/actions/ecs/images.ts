import { ecs } from '@openegs/schema';
import type { PublicImage } from '../../catalog/images.js';
import type { ErrorCode } from '../../domain/errors.js';
import { readTagFilters } from '../../domain/tags.js';
import { matchesWildcard } from '../../domain/wildcard.js';
import { toMinuteTime } from '../../store/times.js';
import { pageAnswer, readNumberedPage, sliceOnPage } from '../../wire/paging.js';
import { defineAction, type ReadContext } from '../action.js';

const errors = [
  'InvalidArchitecture',
  'InvalidFilterKey.NotFound',
  'InvalidFilterValue',
  'InvalidImageOwnerAlias.ValueNotSupported',
  'InvalidInstanceType.ValueNotSupported',
  'InvalidOSType',
  'InvalidUsage',
] as const satisfies readonly ErrorCode[];

type Input = ecs.DescribeImagesRequest;
type Context = ReadContext<(typeof errors)[number]>;

const architectures = ['i386', 'x86_64', 'arm64'];
const owners = ['system', 'self', 'others', 'marketplace'];
const statuses = ['Creating', 'Waiting', 'Available', 'UnAvailable', 'CreateFailed', 'Deprecated'];

export const describeImages = defineAction(ecs.DescribeImages, {
  errors,
  async read(input, context) {
    const page = readNumberedPage(input, { maxPageSize: 100 });
    const used = await readUsedImages(context);
    const wished = readFilter(input, used, context);
    const matching = [...context.cloud.catalog.images.values()].filter(wished);
    const rows = sliceOnPage(matching, page);
    return {
      ...pageAnswer(page, rows, matching.length),
      regionId: context.regionId,
      images: { image: rows.map(({ item }) => describe(item, used)) },
    };
  },
});

export const describeImageFromFamily = defineAction(ecs.DescribeImageFromFamily, {
  errors: [],
  async read({ imageFamily }, context) {
    const newest = [...context.cloud.catalog.images.values()]
      .filter((image) => image.family === imageFamily)
      .sort((left, right) => left.creationTime.localeCompare(right.creationTime))
      .at(-1);
    // A family without images is answered with an empty image, as on the original.
    return { image: newest ? describe(newest, await readUsedImages(context)) : {} };
  },
});

/** Images from which the account has instances in the region. */
async function readUsedImages({ db, caller, regionId }: Context | ReadContext): Promise<Set<string>> {
  const rows = await db
    .selectFrom('instances')
    .select('imageId')
    .distinct()
    .where('accountId', '=', caller.accountId)
    .where('regionId', '=', regionId)
    .where('status', '<>', 'Deleted')
    .execute();
  return new Set(rows.map((row) => row.imageId));
}

/** Checks the filters of DescribeImages, and makes one condition of them. */
function readFilter(
  input: Input,
  used: ReadonlySet<string>,
  { fail, cloud }: Context,
): (image: PublicImage) => boolean {
  const { OSType, architecture, usage, imageOwnerAlias, instanceType } = input;
  if (OSType !== undefined && !['windows', 'linux'].includes(OSType)) fail('InvalidOSType', { type: OSType });
  if (architecture !== undefined && !architectures.includes(architecture)) {
    fail('InvalidArchitecture', { architecture });
  }
  if (usage !== undefined && !['instance', 'none'].includes(usage)) fail('InvalidUsage', { usage });
  if (imageOwnerAlias !== undefined && !owners.includes(imageOwnerAlias)) {
    fail('InvalidImageOwnerAlias.ValueNotSupported', { alias: imageOwnerAlias });
  }
  if (input.isPublic === true && imageOwnerAlias !== 'others') {
    fail('InvalidParameter', {
      parameter: 'IsPublic',
      reason: 'community images are asked for together with ImageOwnerAlias=others.',
    });
  }
  const type = instanceType === undefined ? undefined : cloud.catalog.instanceTypes.get(instanceType);
  if (instanceType !== undefined && !type) {
    fail('InvalidInstanceType.ValueNotSupported', { id: instanceType, reason: 'there is no such type.' });
  }
  const wishedStatuses = (input.status ?? 'Available').split(',').map((status) => status.trim());
  for (const status of wishedStatuses) {
    if (!statuses.includes(status)) {
      fail('InvalidParameter', {
        parameter: 'Status',
        reason: `${status} is not one of ${statuses.join(', ')}.`,
      });
    }
  }
  const ids = input.imageId?.split(',').map((id) => id.trim());
  const times = readTimes(input, fail);
  const hasTagFilter = readTagFilters(input.tag, fail).length > 0;

  return (image) =>
    (imageOwnerAlias === undefined || imageOwnerAlias === 'system') &&
    wishedStatuses.includes('Available') &&
    (ids === undefined || ids.includes(image.id)) &&
    (input.imageName === undefined || matchesWildcard(image.name, input.imageName)) &&
    (input.imageFamily === undefined || image.family === input.imageFamily) &&
    (OSType === undefined || image.osType === OSType) &&
    (architecture === undefined || image.architecture === architecture) &&
    (type === undefined || image.architecture === (type.cpuArchitecture === 'ARM' ? 'arm64' : 'x86_64')) &&
    (usage === undefined || used.has(image.id) === (usage === 'instance')) &&
    times.every((isWithin) => isWithin(image.creationTime)) &&
    input.isSupportCloudinit !== false &&
    input.isSupportIoOptimized !== false &&
    // Public images have no tags, no group, no snapshot and no owner among the accounts.
    !hasTagFilter &&
    input.resourceGroupId === undefined &&
    input.snapshotId === undefined &&
    input.imageOwnerId === undefined;
}

/** The conditions on the time of creation, of which `Filter.N` can set two. */
function readTimes(input: Input, fail: Context['fail']): ((time: string) => boolean)[] {
  return (input.filter ?? []).map(({ key, value = '' }) => {
    if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?Z$/.test(value)) return fail('InvalidFilterValue', { value });
    const limit = toMinuteTime(value);
    switch (key) {
      case 'CreationStartTime':
        return (time) => toMinuteTime(time) >= limit;
      case 'CreationEndTime':
        return (time) => toMinuteTime(time) <= limit;
      default:
        return fail('InvalidFilterKey.NotFound', { key: key ?? '' });
    }
  });
}

function describe(image: PublicImage, used: ReadonlySet<string>): ecs.DescribeImagesResponseImagesImage {
  return {
    imageId: image.id,
    imageName: image.name,
    imageFamily: image.family,
    imageVersion: '',
    description: image.description,
    imageOwnerAlias: 'system',
    status: 'Available',
    progress: '100%',
    usage: used.has(image.id) ? 'instance' : 'none',
    creationTime: image.creationTime,
    architecture: image.architecture,
    bootMode: 'BIOS',
    platform: image.platform,
    OSName: image.osName,
    OSNameEn: image.osNameEn,
    OSType: image.osType,
    size: image.sizeGiB,
    isPublic: true,
    isCopied: false,
    isSelfShared: '',
    isSubscribed: false,
    isSupportCloudinit: true,
    isSupportIoOptimized: true,
    loginAsNonRootSupported: false,
    productCode: '',
    resourceGroupId: '',
    diskDeviceMappings: { diskDeviceMapping: [] },
    tags: { tag: [] },
  };
}
