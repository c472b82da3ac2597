import { ecs } from '@openegs/schema';
import type { Catalog } from '../../../catalog/catalog.js';
import { groupBy } from '../../../domain/collections.js';
import type { InstanceId } from '../../../domain/ids.js';
import type { Tag } from '../../../domain/tags.js';
import { countRows } from '../../../store/countRows.js';
import { readBaseImages } from '../../../store/images.js';
import { getInstance } from '../../../store/instances.js';
import type { Reader } from '../../../store/store.js';
import type { Eip, Instance } from '../../../store/tables.js';
import { readTags } from '../../../store/tags.js';
import { onPage, pageAnswer, readNumberedPage, readPage } from '../../../wire/paging.js';
import { defineAction } from '../../action.js';
import { expiredTime, findInstances, instanceFilterErrors } from './filters.js';

export const describeInstances = defineAction(ecs.DescribeInstances, {
  errors: instanceFilterErrors,
  async read(input, context) {
    const page = readPage(input, { maxPageSize: 100, minResults: 10 });
    const { instances, totalCount } = await findInstances(input, page, context);
    const relations = await readRelations(context.db, context.cloud.catalog, instances);
    return {
      ...pageAnswer(page, instances, totalCount),
      instances: {
        instance: instances.map((instance) => describe(instance, relations, context.cloud.catalog)),
      },
    };
  },
});

export const describeInstanceStatus = defineAction(ecs.DescribeInstanceStatus, {
  errors: ['InvalidZoneId.NotFound', 'InvalidParameter.TooManyInstanceIds'],
  async read(input, { db, caller, regionId, cloud, fail }) {
    const page = readNumberedPage(input, { maxPageSize: 50 });
    if (input.zoneId !== undefined && !cloud.catalog.hasZone(regionId, input.zoneId)) {
      fail('InvalidZoneId.NotFound', { id: input.zoneId });
    }
    const ids = input.instanceId;
    if (ids !== undefined && ids.length > 100) fail('InvalidParameter.TooManyInstanceIds', { limit: 100 });
    const matching = db
      .selectFrom('instances')
      .where('accountId', '=', caller.accountId)
      .where('regionId', '=', regionId)
      .where('status', '<>', 'Deleted')
      .$if(input.zoneId !== undefined, (query) =>
        query.where('zoneId', '=', input.zoneId as Instance['zoneId']),
      )
      .$if(ids !== undefined, (query) => query.where('id', 'in', (ids ?? []) as InstanceId[]));
    const total = await countRows(matching);
    const rows = await matching
      .select(['sequence', 'id', 'status'])
      .$call(onPage(page, 'newest first'))
      .execute();
    return {
      ...pageAnswer(page, rows, total),
      instanceStatuses: {
        instanceStatus: rows.map((row) => ({ instanceId: row.id, status: row.status })),
      },
    };
  },
});

export const describeInstanceAttribute = defineAction(ecs.DescribeInstanceAttribute, {
  errors: ['InvalidInstanceId.NotFound'],
  async read(input, { db, caller, fail, cloud }) {
    const instance = await getInstance(db, caller.accountId, input.instanceId, fail);
    const described = describe(instance, await readRelations(db, cloud.catalog, [instance]), cloud.catalog);
    return {
      ...described,
      // Plain here, in structures of their own on DescribeInstances.
      operationLocks: { lockReason: [] },
      vlanId: '',
      clusterId: '',
      ioOptimized: 'optimized',
      enableJumboFrame: false,
      networkOptions: {},
      dedicatedHostAttribute: {},
      securityOptions: {},
    };
  },
});

export const describeUserData = defineAction(ecs.DescribeUserData, {
  errors: ['InvalidInstanceId.NotFound'],
  async read(input, { db, caller, regionId, fail }) {
    const instance = await getInstance(db, caller.accountId, input.instanceId, fail);
    return { instanceId: instance.id, regionId, userData: instance.userData ?? '' };
  },
});

/** What belongs to instances and stands in other tables. */
interface Relations {
  /** The public images that custom ones descend from. */
  readonly baseImages: ReadonlyMap<string, string>;
  readonly tags: ReadonlyMap<string, readonly Tag[]>;
  readonly interfaces: ReadonlyMap<string, readonly InterfaceRow[]>;
  readonly groups: ReadonlyMap<string, readonly { readonly securityGroupId: string }[]>;
  /** Its own public address, and its EIP. */
  readonly publicAddresses: ReadonlyMap<
    string,
    readonly Pick<Eip, 'id' | 'owner' | 'address' | 'bandwidthMbits' | 'internetChargeType'>[]
  >;
}

interface InterfaceRow {
  readonly instanceId: InstanceId | null;
  readonly id: string;
  readonly macAddress: string;
  readonly type: 'Primary' | 'Secondary';
  readonly address: string;
  readonly isPrimary: 0 | 1;
}

async function readRelations(
  db: Reader,
  catalog: Catalog,
  instances: readonly Instance[],
): Promise<Relations> {
  const imageIds = instances.map((instance) => instance.imageId);
  const ids = instances.map((instance) => instance.id);
  if (ids.length === 0) {
    return {
      tags: new Map(),
      interfaces: new Map(),
      groups: new Map(),
      publicAddresses: new Map(),
      baseImages: new Map(),
    };
  }
  const [tags, interfaces, groups, publicAddresses, baseImages] = await Promise.all([
    readTags(db, 'instance', ids),
    db
      .selectFrom('networkInterfaces as nic')
      .innerJoin('privateAddresses as address', 'address.networkInterfaceId', 'nic.id')
      .select([
        'nic.instanceId',
        'nic.id',
        'nic.macAddress',
        'nic.type',
        'address.address',
        'address.isPrimary',
      ])
      .where('nic.instanceId', 'in', ids)
      .orderBy('nic.deviceIndex')
      .orderBy('address.isPrimary', 'desc')
      .execute(),
    db
      .selectFrom('networkInterfaces as nic')
      .innerJoin('securityGroupMembers as member', 'member.networkInterfaceId', 'nic.id')
      .select(['nic.instanceId', 'member.securityGroupId'])
      .where('nic.instanceId', 'in', ids)
      .where('nic.type', '=', 'Primary')
      .orderBy('member.position')
      .execute(),
    db
      .selectFrom('eips')
      .select(['id', 'owner', 'address', 'bandwidthMbits', 'internetChargeType', 'instanceId'])
      .where('instanceId', 'in', ids)
      .where('status', '<>', 'Unassociating')
      .execute(),
    readBaseImages(db, catalog, imageIds),
  ]);
  return {
    tags,
    interfaces: groupBy(interfaces, (row) => row.instanceId ?? ''),
    groups: groupBy(groups, (row) => row.instanceId ?? ''),
    publicAddresses: groupBy(publicAddresses, (row) => row.instanceId ?? ''),
    baseImages,
  };
}

/** An instance as the API shows it. */
function describe(
  instance: Instance,
  relations: Relations,
  catalog: Catalog,
): Omit<ecs.DescribeInstancesResponseInstancesInstance, 'ioOptimized' | 'operationLocks'> & {
  ioOptimized: boolean;
  operationLocks: { lockReason: [] };
} {
  const type = catalog.instanceTypes.get(instance.instanceType);
  const image = catalog.images.get(relations.baseImages.get(instance.imageId) ?? instance.imageId);
  const interfaces = relations.interfaces.get(instance.id) ?? [];
  const primary = interfaces.filter((row) => row.type === 'Primary');
  const addresses = relations.publicAddresses.get(instance.id) ?? [];
  const eip = addresses.find((row) => row.owner === 'account');
  return {
    instanceId: instance.id,
    instanceName: instance.name,
    hostName: instance.hostName,
    description: instance.description,
    status: instance.status,
    regionId: instance.regionId,
    zoneId: instance.zoneId,
    clusterId: '',
    instanceType: instance.instanceType,
    instanceTypeFamily: type?.family ?? '',
    cpu: instance.vcpus,
    memory: instance.memoryMiB,
    cpuOptions: {
      coreCount: Math.ceil(instance.vcpus / 2),
      threadsPerCore: instance.vcpus === 1 ? 1 : 2,
      numa: '',
    },
    GPUAmount: Math.ceil(type?.gpu?.amount ?? 0),
    GPUSpec: type?.gpu?.model ?? '',
    localStorageAmount: type?.localStorageGiB === undefined ? 0 : 1,
    localStorageCapacity: type?.localStorageGiB ?? 0,
    imageId: instance.imageId,
    OSName: image?.osName ?? '',
    OSNameEn: image?.osNameEn ?? '',
    OSType: image?.osType ?? 'linux',
    creationTime: instance.creationTime,
    startTime: instance.startTime ?? '',
    expiredTime,
    autoReleaseTime: instance.autoReleaseTime ?? '',
    stoppedMode: instance.status === 'Stopped' ? (instance.stoppedMode ?? 'KeepCharging') : 'Not-applicable',
    deletionProtection: instance.deletionProtection === 1,
    recyclable: instance.recyclable === 1,
    deviceAvailable: true,
    ioOptimized: true,
    instanceChargeType: instance.instanceChargeType,
    saleCycle: '',
    spotStrategy: instance.spotStrategy,
    spotPriceLimit: 0,
    spotDuration: 0,
    creditSpecification: instance.creditSpecification ?? '',
    resourceGroupId: instance.resourceGroupId,
    keyPairName: instance.keyPairName ?? '',
    serialNumber: instance.serialNumber,
    vlanId: '',
    hpcClusterId: '',
    deploymentSetId: '',
    instanceNetworkType: 'vpc',
    internetChargeType: instance.internetChargeType,
    internetMaxBandwidthIn: instance.internetMaxBandwidthIn,
    internetMaxBandwidthOut: instance.internetMaxBandwidthOut,
    innerIpAddress: { ipAddress: [] },
    publicIpAddress: {
      ipAddress: addresses.filter((row) => row.owner === 'instance').map((row) => row.address),
    },
    rdmaIpAddress: { ipAddress: [] },
    eipAddress: {
      allocationId: eip?.id ?? '',
      ipAddress: eip?.address ?? '',
      internetChargeType: eip?.internetChargeType ?? '',
      ...(eip ? { bandwidth: eip.bandwidthMbits, isSupportUnassociate: true } : {}),
    },
    vpcAttributes: {
      vpcId: instance.vpcId,
      vSwitchId: instance.vSwitchId,
      natIpAddress: '',
      privateIpAddress: {
        ipAddress: primary.filter((row) => row.isPrimary === 1).map((row) => row.address),
      },
    },
    securityGroupIds: {
      securityGroupId: (relations.groups.get(instance.id) ?? []).map((row) => row.securityGroupId),
    },
    networkInterfaces: {
      networkInterface: [...groupBy(interfaces, (row) => row.id)].map(([id, rows]) => ({
        networkInterfaceId: id,
        macAddress: rows[0]?.macAddress ?? '',
        type: rows[0]?.type ?? 'Primary',
        primaryIpAddress: rows.find((row) => row.isPrimary === 1)?.address ?? '',
        privateIpSets: {
          privateIpSet: rows.map((row) => ({
            privateIpAddress: row.address,
            primary: row.isPrimary === 1,
          })),
        },
      })),
    },
    metadataOptions: {
      httpEndpoint: instance.httpEndpoint,
      httpTokens: instance.httpTokens,
      httpPutResponseHopLimit: instance.httpPutResponseHopLimit,
    },
    operationLocks: { lockReason: [] },
    dedicatedHostAttribute: { dedicatedHostId: '', dedicatedHostName: '', dedicatedHostClusterId: '' },
    dedicatedInstanceAttribute: { affinity: '', tenancy: '' },
    ecsCapacityReservationAttr: { capacityReservationId: '', capacityReservationPreference: '' },
    hibernationOptions: { configured: false },
    tags: {
      tag: (relations.tags.get(instance.id) ?? []).map(({ key, value }) => ({
        tagKey: key,
        tagValue: value,
      })),
    },
  };
}
