import { ecs } from '@openegs/schema';
import type { Catalog } from '../../catalog/catalog.js';
import type { PublicImage } from '../../catalog/images.js';
import type { ErrorCode } from '../../domain/errors.js';
import { readTagFilters, type Tag } from '../../domain/tags.js';
import { matchesWildcard } from '../../domain/wildcard.js';
import { listOwnImages } from '../../store/images.js';
import type { Image } from '../../store/tables.js';
import { readTags } from '../../store/tags.js';
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

/** An image as clients see it: of the cloud (`system`), or the account's own (`self`). */
interface ShownImage
  extends Pick<
    PublicImage,
    | 'id'
    | 'family'
    | 'name'
    | 'description'
    | 'osName'
    | 'osNameEn'
    | 'osType'
    | 'platform'
    | 'architecture'
    | 'sizeGiB'
    | 'creationTime'
  > {
  readonly owner: 'system' | 'self';
  readonly status: Exclude<Image['status'], 'Deleted'>;
  readonly version: string;
  readonly resourceGroupId: string;
  readonly tags: readonly Tag[];
}

const architectures = ['i386', 'x86_64', 'arm64'];
const owners = ['system', 'self', 'others', 'marketplace'];
const statuses = ['Creating', 'Waiting', 'Available', 'UnAvailable', 'CreateFailed', 'Deprecated'];

export const describeImages = defineAction(ecs.DescribeImages, {
  errors,
  async read(input, context) {
    const page = readNumberedPage(input, { maxPageSize: 100 });
    const used = await readUsedImages(context);
    const wished = readFilter(input, used, context);
    const matching = (await listImages(context)).filter(wished);
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
    const newest = (await listImages(context))
      .filter((image) => image.family === imageFamily && image.status === 'Available')
      .sort((left, right) => left.creationTime.localeCompare(right.creationTime))
      .at(-1);
    // A family without images is answered with an empty image, as on the original.
    return { image: newest ? describe(newest, await readUsedImages(context)) : {} };
  },
});

/** All images that the account sees in the region: its own, newest first, then those of the cloud. */
async function listImages({ db, cloud, caller, regionId }: Context | ReadContext): Promise<ShownImage[]> {
  const own = await listOwnImages(db, { accountId: caller.accountId, regionId });
  const tags = await readTags(
    db,
    'image',
    own.map((image) => image.id),
  );
  return [
    ...own.reverse().flatMap((image) => showOwn(image, tags.get(image.id) ?? [], cloud.catalog)),
    ...Array.from(cloud.catalog.images.values(), (image) => ({
      ...image,
      owner: 'system' as const,
      status: 'Available' as const,
      version: '',
      resourceGroupId: '',
      tags: [],
    })),
  ];
}

function showOwn(image: Image, tags: readonly Tag[], catalog: Catalog): ShownImage[] {
  const { status } = image;
  if (status === 'Deleted') return [];
  const base = catalog.images.get(image.baseImageId);
  return [
    {
      ...image,
      status,
      owner: 'self',
      tags,
      osName: base?.osName ?? '',
      osNameEn: base?.osNameEn ?? '',
      osType: base?.osType ?? 'linux',
      platform: base?.platform ?? '',
      architecture: base?.architecture ?? 'x86_64',
    },
  ];
}

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
): (image: ShownImage) => boolean {
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
  const tagFilters = readTagFilters(input.tag, fail);

  return (image) =>
    (imageOwnerAlias === undefined || imageOwnerAlias === image.owner) &&
    wishedStatuses.includes(image.status) &&
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
    tagFilters.every(({ key, value }) =>
      image.tags.some((tag) => tag.key === key && (value === undefined || tag.value === value)),
    ) &&
    (input.resourceGroupId === undefined || image.resourceGroupId === input.resourceGroupId) &&
    // None is made of a snapshot, or was shared by another account.
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

function describe(image: ShownImage, used: ReadonlySet<string>): ecs.DescribeImagesResponseImagesImage {
  return {
    imageId: image.id,
    imageName: image.name,
    imageFamily: image.family,
    imageVersion: image.version,
    description: image.description,
    imageOwnerAlias: image.owner,
    status: image.status,
    progress: image.status === 'Available' ? '100%' : '0%',
    usage: used.has(image.id) ? 'instance' : 'none',
    creationTime: image.creationTime,
    architecture: image.architecture,
    bootMode: 'BIOS',
    platform: image.platform,
    OSName: image.osName,
    OSNameEn: image.osNameEn,
    OSType: image.osType,
    size: image.sizeGiB,
    isPublic: image.owner === 'system',
    isCopied: false,
    isSelfShared: '',
    isSubscribed: false,
    isSupportCloudinit: true,
    isSupportIoOptimized: true,
    loginAsNonRootSupported: false,
    productCode: '',
    resourceGroupId: image.resourceGroupId,
    diskDeviceMappings: {
      diskDeviceMapping:
        image.owner === 'system'
          ? []
          : [{ device: '/dev/xvda', type: 'system', size: String(image.sizeGiB), snapshotId: '' }],
    },
    tags: { tag: image.tags.map(({ key, value }) => ({ tagKey: key, tagValue: value })) },
  };
}
