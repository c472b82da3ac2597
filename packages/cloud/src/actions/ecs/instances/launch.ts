import { randomUUID } from 'node:crypto';
import { diskCategories } from '../../../catalog/disks.js';
import type { InstanceType } from '../../../catalog/instanceTypes.js';
import type { ErrorCode } from '../../../domain/errors.js';
import { createId, type HostId, type InstanceId } from '../../../domain/ids.js';
import { checkHostName, isWellFormedName, numberedNames } from '../../../domain/instance.js';
import { checkTags, type TagInput } from '../../../domain/tags.js';
import { onlyHosts } from '../../../placement/request.js';
import { claimOf } from '../../../store/claim.js';
import { findOwnImage, listOwnImages } from '../../../store/images.js';
import { totalInstances } from '../../../store/instances.js';
import { placeInstance } from '../../../store/ledger.js';
import { putTags } from '../../../store/tags.js';
import { toMinuteTime, toSecondsTime } from '../../../store/times.js';
import type { ChangeContext } from '../../action.js';
import { checkAutoReleaseTime, checkMetadataOptions, checkUserData } from './attributes.js';
import {
  createLaunchDisks,
  hostsOfSnapshots,
  type LaunchDiskInput,
  launchDiskErrors,
  nameLaunchDisks,
  readLaunchDisks,
} from './launchDisks.js';
import { createInterfaces, type LaunchInterfacesInput, launchInterfaceErrors } from './launchInterfaces.js';
import { type LaunchNetwork, type LaunchNetworkInput, readLaunchNetworks } from './launchNetwork.js';

/** What RunInstances and CreateInstance have in common. */
export interface LaunchInput extends LaunchNetworkInput, LaunchInterfacesInput {
  readonly imageId?: string | undefined;
  readonly imageFamily?: string | undefined;
  readonly instanceType?: string | undefined;
  readonly instanceName?: string | undefined;
  readonly description?: string | undefined;
  readonly hostName?: string | undefined;
  readonly hostNames?: readonly string[] | undefined;
  readonly uniqueSuffix?: boolean | undefined;
  readonly passwordHash?: string | undefined;
  readonly keyPairName?: string | undefined;
  readonly userData?: string | undefined;
  readonly systemDisk?:
    | {
        readonly size?: string | number | undefined;
        readonly category?: string | undefined;
        readonly diskName?: string | undefined;
        readonly description?: string | undefined;
        readonly performanceLevel?: string | undefined;
      }
    | undefined;
  readonly dataDisk?: readonly LaunchDiskInput[] | undefined;
  readonly tag?: readonly TagInput[] | undefined;
  readonly deletionProtection?: boolean | undefined;
  readonly autoReleaseTime?: string | undefined;
  readonly instanceChargeType?: string | undefined;
  readonly internetChargeType?: string | undefined;
  readonly internetMaxBandwidthIn?: number | undefined;
  readonly internetMaxBandwidthOut?: number | undefined;
  readonly spotStrategy?: string | undefined;
  readonly creditSpecification?: string | undefined;
  readonly resourceGroupId?: string | undefined;
  readonly httpEndpoint?: string | undefined;
  readonly httpTokens?: string | undefined;
  readonly httpPutResponseHopLimit?: number | undefined;
}

export interface LaunchPlan {
  readonly amount: number;
  readonly minAmount: number;
  /** RunInstances starts what it creates, CreateInstance leaves it Stopped. */
  readonly targetStatus: 'Running' | 'Stopped';
}

export const launchErrors = [
  ...launchDiskErrors,
  ...launchInterfaceErrors,
  'Duplicate.TagKey',
  'InvalidAutoReleaseTime.Malformed',
  'InvalidDescription.Malformed',
  'InvalidHostName.Malformed',
  'InvalidHttpEndpoint.NotSupported',
  'InvalidHttpPutResponseHopLimit.NotSupported',
  'InvalidHttpTokens.NotSupported',
  'InvalidImageFamily.MissingAvailableImage',
  'InvalidImageId.NotFound',
  'InvalidInstanceChargeType.NotFound',
  'InvalidInstanceName.Malformed',
  'InvalidInstanceType.ValueNotSupported',
  'InvalidInternetChargeType.ValueNotSupported',
  'InvalidKeyPairName.NotFound',
  'InvalidPassword.Malformed',
  'InvalidSystemDiskCategory.ValueNotSupported',
  'InvalidSystemDiskSize.ValueNotSupported',
  'InvalidTagKey.Malformed',
  'InvalidTagValue.Malformed',
  'InvalidUserData.Base64FormatInvalid',
  'InvalidUserData.SizeExceeded',
  'OperationDenied.NoStock',
  'QuotaExceed.ElasticQuota',
  'QuotaExceed.Tags',
  'UnexpectedImageFamily.ImageIdSupplied',
] as const satisfies readonly ErrorCode[];

type LaunchContext = ChangeContext<(typeof launchErrors)[number], unknown>;

const defaultDiskCategory = 'cloud_essd';
const defaultSystemDiskGiB = 40;

/** Checks a launch, takes capacity and addresses for it, and writes down what shall be. */
export async function launchInstances(
  input: LaunchInput,
  plan: LaunchPlan,
  context: LaunchContext,
): Promise<InstanceId[]> {
  const { fail, tx, caller, regionId, cloud } = context;
  const type = readInstanceType(input, context);
  const image = await readImage(input, context);
  const { category, diskGiB } = readSystemDisk(input, image, context);
  const dataDisks = await readLaunchDisks(input.dataDisk, context);
  checkNames(input, context);
  checkCharging(input, context);
  if (input.userData !== undefined) checkUserData(input.userData, fail);
  if (input.autoReleaseTime !== undefined) checkAutoReleaseTime(input.autoReleaseTime, context.now, fail);
  checkMetadataOptions(input, fail);
  const tags = checkTags(input.tag, fail);
  if (input.keyPairName !== undefined) await requireKeyPair(input.keyPairName, context);
  await checkQuota(plan.amount, type, context);

  const candidates = await readLaunchNetworks(input, context);
  const region = cloud.catalog.getRegion(regionId);
  const names =
    input.instanceName && numberedNames(input.instanceName, plan.amount, input.uniqueSuffix ?? false);
  const hostNames =
    input.hostNames ??
    (input.hostName && numberedNames(input.hostName, plan.amount, input.uniqueSuffix ?? false));
  const created: InstanceId[] = [];
  for (let index = 0; index < plan.amount; index += 1) {
    const id = createId('instance', region.code);
    const disks = nameLaunchDisks(dataDisks, region.code);
    const placed = await placeInCandidates(id, candidates, type, { diskGiB, disks, image }, context);
    if ('refusal' in placed) {
      if (created.length >= plan.minAmount) break;
      return fail('OperationDenied.NoStock', { id: type.id, reason: placed.refusal });
    }
    const { vSwitch, hostId } = placed;
    await tx.db
      .insertInto('instances')
      .values({
        id,
        accountId: caller.accountId,
        regionId,
        zoneId: vSwitch.zoneId,
        hostId,
        name: names?.[index] ?? id,
        hostName: hostNames?.[index] ?? defaultHostName(id),
        description: input.description ?? '',
        instanceType: type.id,
        vcpus: type.vcpus,
        memoryMiB: type.memoryMiB,
        imageId: image.id,
        status: 'Pending',
        targetStatus: plan.targetStatus,
        creationTime: toMinuteTime(tx.now.toISOString()),
        autoReleaseTime: input.autoReleaseTime ?? null,
        deletionProtection: input.deletionProtection ? 1 : 0,
        keyPairName: input.keyPairName ?? null,
        passwordHash: input.passwordHash ?? null,
        userData: input.userData ?? null,
        serialNumber: randomUUID(),
        vpcId: vSwitch.vpcId,
        vSwitchId: vSwitch.id,
        internetChargeType: input.internetChargeType ?? 'PayByTraffic',
        internetMaxBandwidthIn: input.internetMaxBandwidthIn ?? 0,
        internetMaxBandwidthOut: input.internetMaxBandwidthOut ?? 0,
        instanceChargeType: input.instanceChargeType ?? 'PostPaid',
        spotStrategy: input.spotStrategy ?? 'NoSpot',
        creditSpecification: input.creditSpecification ?? null,
        resourceGroupId: input.resourceGroupId ?? '',
        httpEndpoint: input.httpEndpoint ?? 'enabled',
        httpTokens: input.httpTokens ?? 'optional',
        httpPutResponseHopLimit: input.httpPutResponseHopLimit ?? 1,
      })
      .execute();
    await tx.db
      .insertInto('disks')
      .values({
        id: createId('disk', region.code),
        accountId: caller.accountId,
        regionId,
        zoneId: vSwitch.zoneId,
        hostId,
        instanceId: id,
        status: 'In_use',
        appliedSizeGiB: diskGiB,
        type: 'system',
        category,
        performanceLevel: category === 'cloud_essd' ? (input.systemDisk?.performanceLevel ?? 'PL1') : null,
        sizeGiB: diskGiB,
        name: input.systemDisk?.diskName ?? '',
        description: input.systemDisk?.description ?? '',
        device: '/dev/xvda',
        imageId: image.id,
        creationTime: toSecondsTime(tx.now),
        attachedTime: toSecondsTime(tx.now),
      })
      .execute();
    await createLaunchDisks(disks, { id, zoneId: vSwitch.zoneId, hostId }, context);
    await createInterfaces(id, type, placed, input, context);
    await putTags(
      tx,
      { resourceType: 'instance', resourceId: id, accountId: caller.accountId, regionId },
      tags,
      fail,
    );
    await tx.record({
      resourceType: 'instance',
      resourceId: id,
      action: 'CreateInstance',
      after: { instanceType: type.id, imageId: image.id, zoneId: vSwitch.zoneId, hostId },
    });
    tx.wake({ kind: 'instance', id });
    created.push(id);
  }
  return created;
}

/** `iZ` and the body of the id, as the original names hosts that nobody named. */
function defaultHostName(id: InstanceId): string {
  return `iZ${id.slice(2)}Z`;
}

function readInstanceType(input: LaunchInput, { fail, cloud }: LaunchContext): InstanceType {
  const id = input.instanceType ?? fail('MissingParameter', { parameter: 'InstanceType' });
  return (
    cloud.catalog.instanceTypes.get(id) ??
    fail('InvalidInstanceType.ValueNotSupported', { id, reason: 'there is no such type.' })
  );
}

/** What a new instance is made from. Custom images are on one host, public ones on all. */
interface LaunchImage {
  readonly id: string;
  readonly sizeGiB: number;
  readonly hostId?: HostId;
}

async function readImage(
  input: LaunchInput,
  { tx, caller, regionId, fail, cloud }: LaunchContext,
): Promise<LaunchImage> {
  const scope = { accountId: caller.accountId, regionId };
  const { images } = cloud.catalog;
  if (input.imageId !== undefined) {
    if (input.imageFamily !== undefined) fail('UnexpectedImageFamily.ImageIdSupplied');
    const known = images.get(input.imageId) ?? (await findOwnImage(tx.db, scope, input.imageId));
    const isUsable = known !== undefined && (!('status' in known) || known.status === 'Available');
    return isUsable ? known : fail('InvalidImageId.NotFound', { id: input.imageId });
  }
  const family = input.imageFamily ?? fail('MissingParameter', { parameter: 'ImageId' });
  const own = await listOwnImages(tx.db, scope);
  const ofFamily = [...images.values(), ...own.filter((image) => image.status === 'Available')].filter(
    (image) => image.family === family,
  );
  return ofFamily.at(-1) ?? fail('InvalidImageFamily.MissingAvailableImage', { family });
}

function readSystemDisk(
  { systemDisk }: LaunchInput,
  image: LaunchImage,
  { fail }: LaunchContext,
): { readonly category: string; readonly diskGiB: number } {
  const category = systemDisk?.category ?? defaultDiskCategory;
  const { systemGiB } =
    diskCategories.find((known) => known.id === category) ??
    fail('InvalidSystemDiskCategory.ValueNotSupported', { category });
  const min = Math.max(systemGiB.min, image.sizeGiB);
  const diskGiB = Number(systemDisk?.size ?? Math.max(defaultSystemDiskGiB, min));
  if (!Number.isInteger(diskGiB) || diskGiB < min || diskGiB > systemGiB.max) {
    fail('InvalidSystemDiskSize.ValueNotSupported', { min, max: systemGiB.max });
  }
  return { category, diskGiB };
}

function checkNames(input: LaunchInput, { fail }: LaunchContext): void {
  if (input.instanceName !== undefined && !isWellFormedName(input.instanceName)) {
    fail('InvalidInstanceName.Malformed');
  }
  if (input.description !== undefined && !isWellFormedName(input.description, 2, 256)) {
    fail('InvalidDescription.Malformed');
  }
  for (const name of [...(input.hostNames ?? []), ...(input.hostName ? [input.hostName] : [])]) {
    for (const numbered of numberedNames(name, 1, false)) checkHostName(numbered, fail);
  }
}

function checkCharging(input: LaunchInput, { fail }: LaunchContext): void {
  if (input.instanceChargeType && !['PostPaid', 'PrePaid'].includes(input.instanceChargeType)) {
    fail('InvalidInstanceChargeType.NotFound', { value: input.instanceChargeType });
  }
  if (input.internetChargeType && !['PayByTraffic', 'PayByBandwidth'].includes(input.internetChargeType)) {
    fail('InvalidInternetChargeType.ValueNotSupported', { value: input.internetChargeType });
  }
}

async function requireKeyPair(name: string, { tx, caller, regionId, fail }: LaunchContext): Promise<void> {
  const keyPair = await tx.db
    .selectFrom('keyPairs')
    .select('id')
    .where('accountId', '=', caller.accountId)
    .where('regionId', '=', regionId)
    .where('name', '=', name)
    .executeTakeFirst();
  if (!keyPair) fail('InvalidKeyPairName.NotFound', { id: name });
}

async function checkQuota(amount: number, type: InstanceType, context: LaunchContext): Promise<void> {
  const { tx, caller, regionId, cloud, fail } = context;
  const { quotas } = cloud.config;
  const used = await totalInstances(tx.db, caller.accountId, regionId);
  if (used.instances + amount > quotas.instances) {
    fail('QuotaExceed.ElasticQuota', { quota: quotas.instances, what: 'instances', used: used.instances });
  }
  if (used.vcpus + amount * type.vcpus > quotas.vcpus) {
    fail('QuotaExceed.ElasticQuota', { quota: quotas.vcpus, what: 'vCPUs', used: used.vcpus });
  }
}

async function placeInCandidates(
  id: InstanceId,
  candidates: readonly LaunchNetwork[],
  type: InstanceType,
  {
    diskGiB,
    disks,
    image,
  }: {
    readonly diskGiB: number;
    readonly disks: ReturnType<typeof nameLaunchDisks>;
    readonly image: LaunchImage;
  },
  { tx, cloud }: LaunchContext,
): Promise<(LaunchNetwork & { hostId: HostId }) | { refusal: string }> {
  const refusals = new Set<string>();
  for (const candidate of candidates) {
    const claim = claimOf(cloud, type, diskGiB);
    const request = {
      ...claim.request,
      zoneId: candidate.vSwitch.zoneId,
      constraints: [
        ...(claim.request.constraints ?? []),
        ...hostsOfSnapshots(disks),
        ...(image.hostId ? [onlyHosts([image.hostId], `image ${image.id} is on another host`)] : []),
      ],
    };
    const shares = disks.map(({ share }) => share);
    const placed = await placeInstance(tx, cloud.placement, id, { ...claim, request }, shares);
    if ('hostId' in placed) return { ...candidate, hostId: placed.hostId };
    refusals.add(placed.refusal);
  }
  return { refusal: [...refusals].join(' ') };
}
