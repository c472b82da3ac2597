import { ecs } from '@openegs/schema';
import { groupBy } from '../../../domain/collections.js';
import type {
  InstanceId,
  NetworkInterfaceId,
  SecurityGroupId,
  VpcId,
  VSwitchId,
} from '../../../domain/ids.js';
import { readTagFilters } from '../../../domain/tags.js';
import { countRows } from '../../../store/countRows.js';
import { getNetworkInterface } from '../../../store/networkInterfaces.js';
import type { Reader } from '../../../store/store.js';
import type { Eip, NetworkInterface } from '../../../store/tables.js';
import { queryTagged, readTags } from '../../../store/tags.js';
import { onPage, pageAnswer, readPage } from '../../../wire/paging.js';
import { defineAction } from '../../action.js';

const types = ['Primary', 'Secondary'] as const;
const statuses = ['Available', 'Attaching', 'InUse', 'Detaching', 'Deleting'] as const;

export const describeNetworkInterfaces = defineAction(ecs.DescribeNetworkInterfaces, {
  errors: [],
  async read(input, { db, caller, regionId, fail }) {
    const isTokenStyle = input.maxResults !== undefined || input.nextToken !== undefined;
    const page = readPage(input, isTokenStyle ? { maxPageSize: 500, minResults: 10 } : { maxPageSize: 1000 });
    const scope = { accountId: caller.accountId, regionId, resourceType: 'eni' } as const;
    let query = db
      .selectFrom('networkInterfaces')
      .where('accountId', '=', caller.accountId)
      .where('regionId', '=', regionId);
    if (input.networkInterfaceId !== undefined) {
      query = query.where('id', 'in', input.networkInterfaceId as NetworkInterfaceId[]);
    }
    if (input.instanceId !== undefined) {
      query = query.where('instanceId', '=', input.instanceId as InstanceId);
    }
    if (input.vpcId !== undefined) query = query.where('vpcId', '=', input.vpcId as VpcId);
    if (input.vSwitchId !== undefined) query = query.where('vSwitchId', '=', input.vSwitchId as VSwitchId);
    if (input.networkInterfaceName !== undefined)
      query = query.where('name', '=', input.networkInterfaceName);
    if (input.type !== undefined) query = query.where('type', '=', readWord('Type', input.type, types));
    if (input.status !== undefined) {
      query = query.where('status', '=', readWord('Status', input.status, statuses));
    }
    if (input.securityGroupId !== undefined) {
      const groupId = input.securityGroupId as SecurityGroupId;
      query = query.where('id', 'in', (eb) =>
        eb
          .selectFrom('securityGroupMembers')
          .select('networkInterfaceId')
          .where('securityGroupId', '=', groupId),
      );
    }
    const { primaryIpAddress, privateIpAddress } = input;
    if (primaryIpAddress !== undefined) {
      query = query.where('id', 'in', (eb) =>
        eb
          .selectFrom('privateAddresses')
          .select('networkInterfaceId')
          .where('address', '=', primaryIpAddress)
          .where('isPrimary', '=', 1),
      );
    }
    if (privateIpAddress !== undefined) {
      query = query.where('id', 'in', (eb) =>
        eb
          .selectFrom('privateAddresses')
          .select('networkInterfaceId')
          .where('address', 'in', privateIpAddress),
      );
    }
    const filters = readTagFilters(input.tag, fail);
    if (filters.length > 0) {
      query = query.where('id', 'in', queryTagged<NetworkInterfaceId>(db, scope, filters));
    }
    if (input.resourceGroupId !== undefined) {
      query = query.where('resourceGroupId', '=', input.resourceGroupId);
    }
    // No interface of this cloud has them.
    if ((input.ipv6Address?.length ?? 0) > 0 || input.serviceManaged === true) {
      query = query.where('id', 'in', []);
    }

    const total = await countRows(query);
    const rows = await query.selectAll().$call(onPage(page)).execute();
    return {
      ...pageAnswer(page, rows, total),
      networkInterfaceSets: { networkInterfaceSet: await describeRows(db, rows) },
    };

    function readWord<Word extends string>(parameter: string, value: string, words: readonly Word[]): Word {
      const word = words.find((known) => known === value);
      return word ?? fail('InvalidParameter', { parameter, reason: `it is not one of ${words.join(', ')}.` });
    }
  },
});

export const describeNetworkInterfaceAttribute = defineAction(ecs.DescribeNetworkInterfaceAttribute, {
  errors: ['InvalidEniId.NotFound'],
  async read({ networkInterfaceId }, { db, caller, regionId, fail }) {
    const scope = { accountId: caller.accountId, regionId };
    const nic = await getNetworkInterface(db, scope, networkInterfaceId, fail);
    const [described] = await describeRows(db, [nic]);
    return { ...described };
  },
});

/** Network interfaces as the API shows them. */
export async function describeRows(db: Reader, rows: readonly NetworkInterface[]) {
  const relations = await readRelations(
    db,
    rows.map((row) => row.id),
  );
  return rows.map((row) => {
    const addresses = (relations.addresses.get(row.id) ?? []).map((each) => ({
      privateIpAddress: each.address,
      primary: each.isPrimary === 1,
      associatedPublicIp: toPublicIp(
        (relations.eips.get(row.id) ?? []).find((eip) => eip.privateAddress === each.address),
      ),
    }));
    const primary = addresses.find((each) => each.primary);
    return {
      networkInterfaceId: row.id,
      networkInterfaceName: row.name,
      description: row.description,
      type: row.type,
      status: row.status,
      creationTime: row.creationTime,
      zoneId: row.zoneId,
      vpcId: row.vpcId,
      vSwitchId: row.vSwitchId,
      macAddress: row.macAddress,
      instanceId: row.instanceId ?? '',
      attachment: { instanceId: row.instanceId ?? '', deviceIndex: row.deviceIndex },
      deleteOnRelease: row.deleteOnRelease === 1,
      ownerId: row.accountId,
      resourceGroupId: row.resourceGroupId,
      serviceManaged: false,
      sourceDestCheck: true,
      networkInterfaceTrafficMode: 'Standard',
      privateIpAddress: primary?.privateIpAddress ?? '',
      associatedPublicIp: primary?.associatedPublicIp ?? {},
      privateIpSets: { privateIpSet: addresses },
      ipv6Sets: { ipv6Set: [] },
      ipv4PrefixSets: { ipv4PrefixSet: [] },
      ipv6PrefixSets: { ipv6PrefixSet: [] },
      securityGroupIds: {
        securityGroupId: (relations.groups.get(row.id) ?? []).map((each) => each.securityGroupId),
      },
      tags: {
        tag: (relations.tags.get(row.id) ?? []).map(({ key, value }) => ({ tagKey: key, tagValue: value })),
      },
    };
  });
}

function toPublicIp(eip: Eip | undefined): { allocationId?: string; publicIpAddress?: string } {
  if (!eip) return {};
  // An instance's own public address has no allocation that clients could name.
  return {
    ...(eip.owner === 'account' ? { allocationId: eip.id } : {}),
    publicIpAddress: eip.address,
  };
}

/** What belongs to network interfaces and stands in other tables. */
async function readRelations(db: Reader, ids: readonly NetworkInterfaceId[]) {
  const addresses = await db
    .selectFrom('privateAddresses')
    .selectAll()
    .where('networkInterfaceId', 'in', ids)
    .orderBy('isPrimary', 'desc')
    .orderBy('address')
    .execute();
  const members = await db
    .selectFrom('securityGroupMembers')
    .selectAll()
    .where('networkInterfaceId', 'in', ids)
    .orderBy('position')
    .execute();
  const eips = await db
    .selectFrom('eips')
    .selectAll()
    .where('networkInterfaceId', 'in', ids)
    .where('status', '<>', 'Unassociating')
    .execute();
  return {
    addresses: groupBy(addresses, (row) => row.networkInterfaceId),
    groups: groupBy(members, (row) => row.networkInterfaceId),
    eips: groupBy(eips, (row) => row.networkInterfaceId),
    tags: await readTags(db, 'eni', ids),
  };
}
