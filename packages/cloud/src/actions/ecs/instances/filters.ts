import type { ecs } from '@openegs/schema';
import { type SelectQueryBuilder, sql } from 'kysely';
import type { ErrorCode } from '../../../domain/errors.js';
import { type InstanceStatus, visibleInstanceStatuses } from '../../../domain/instance.js';
import { readTagFilters } from '../../../domain/tags.js';
import { countRows } from '../../../store/countRows.js';
import { totalInstances } from '../../../store/instances.js';
import { matchesPattern } from '../../../store/patterns.js';
import type { Eip, Instance, Tables } from '../../../store/tables.js';
import { queryTagged } from '../../../store/tags.js';
import { toMinuteTime } from '../../../store/times.js';
import { onPage, type Page } from '../../../wire/paging.js';
import type { ReadContext } from '../../action.js';

export const instanceFilterErrors = [
  'InvalidFilterKey.NotFound',
  'InvalidFilterValue',
  'InvalidInstanceChargeType.NotFound',
  'InvalidInternetChargeType.ValueNotSupported',
  'InvalidStatus.NotFound',
  'InvalidZoneId.NotFound',
] as const satisfies readonly ErrorCode[];

type FilterContext = ReadContext<(typeof instanceFilterErrors)[number]>;
type InstanceQuery = SelectQueryBuilder<Tables, 'instances', object>;

/** Times by which `Filter.N` selects: key, column, and which side of the given minute is meant. */
const timeFilters: Readonly<Record<string, readonly ['creationTime' | 'expiredTime', '>=' | '<=']>> = {
  CreationStartTime: ['creationTime', '>='],
  CreationEndTime: ['creationTime', '<='],
  ExpiredStartTime: ['expiredTime', '>='],
  ExpiredEndTime: ['expiredTime', '<='],
};

/** When pay-as-you-go instances are said to expire: with the century, as on the original. */
export const expiredTime = '2099-12-31T15:59Z';

/** The page of the account's instances that match all filters of DescribeInstances, newest first. */
export async function findInstances(
  input: ecs.DescribeInstancesRequest,
  page: Page,
  context: FilterContext,
): Promise<{ readonly instances: Instance[]; readonly totalCount: number }> {
  const { db, caller, regionId } = context;
  const own: InstanceQuery = db
    .selectFrom('instances')
    // With ids given, the plus keeps SQLite from walking through all instances of the account for them.
    .where(input.instanceIds === undefined ? 'accountId' : sql`+"accountId"`, '=', caller.accountId)
    .where('regionId', '=', regionId)
    .where('status', '<>', 'Deleted');
  const matching = applyFilters(own, input, context);
  const instances = await matching.selectAll().$call(onPage(page, 'newest first')).execute();
  // The common case, all instances or those of a list, needs no counting scan.
  const totalCount =
    matching === own
      ? (await totalInstances(db, caller.accountId, regionId)).instances
      : await countRows(matching);
  return { instances, totalCount };
}

function applyFilters(
  own: InstanceQuery,
  input: ecs.DescribeInstancesRequest,
  context: FilterContext,
): InstanceQuery {
  const { fail, db, caller, regionId, cloud } = context;
  let query = own;
  const equal = <Column extends keyof Instance & string>(
    column: Column,
    value: Instance[Column] | undefined,
  ): void => {
    if (value !== undefined) query = query.where(column as 'id', '=', value as never);
  };
  if (input.instanceIds !== undefined) {
    if (input.instanceIds.length > 100) {
      fail('InvalidParameter', { parameter: 'InstanceIds', reason: 'it has more than 100 members.' });
    }
    query = query.where('id', 'in', input.instanceIds as Instance['id'][]);
  }
  if (input.zoneId !== undefined && !cloud.catalog.hasZone(regionId, input.zoneId)) {
    fail('InvalidZoneId.NotFound', { id: input.zoneId });
  }
  equal('zoneId', input.zoneId as Instance['zoneId'] | undefined);
  equal('vpcId', input.vpcId as Instance['vpcId'] | undefined);
  equal('vSwitchId', input.vSwitchId as Instance['vSwitchId'] | undefined);
  equal('imageId', input.imageId);
  equal('instanceType', input.instanceType);
  equal('keyPairName', input.keyPairName);
  equal('resourceGroupId', input.resourceGroupId);
  equal('httpEndpoint', input.httpEndpoint);
  equal('httpTokens', input.httpTokens);
  equal('httpPutResponseHopLimit', input.httpPutResponseHopLimit);
  equal('status', readStatus(input.status, fail));
  if (input.instanceChargeType !== undefined) {
    if (!['PrePaid', 'PostPaid'].includes(input.instanceChargeType)) {
      fail('InvalidInstanceChargeType.NotFound', { value: input.instanceChargeType });
    }
    equal('instanceChargeType', input.instanceChargeType);
  }
  if (input.internetChargeType !== undefined) {
    if (!['PayByTraffic', 'PayByBandwidth'].includes(input.internetChargeType)) {
      fail('InvalidInternetChargeType.ValueNotSupported', { value: input.internetChargeType });
    }
    equal('internetChargeType', input.internetChargeType);
  }
  if (input.instanceTypeFamily !== undefined) {
    query = query.where(matchesPattern('instanceType', `${input.instanceTypeFamily}.*`));
  }
  if (input.instanceName !== undefined) {
    query = query.where(matchesPattern('name', input.instanceName));
  }
  if (input.securityGroupId !== undefined) {
    query = query.where('id', 'in', (eb) =>
      eb
        .selectFrom('networkInterfaces as nic')
        .innerJoin('securityGroupMembers as member', 'member.networkInterfaceId', 'nic.id')
        .select('nic.instanceId')
        .$castTo<{ instanceId: Instance['id'] }>()
        .where('member.securityGroupId', '=', input.securityGroupId as never),
    );
  }
  if (input.privateIpAddresses !== undefined) {
    query = query.where('id', 'in', (eb) =>
      eb
        .selectFrom('networkInterfaces as nic')
        .innerJoin('privateAddresses as address', 'address.networkInterfaceId', 'nic.id')
        .select('nic.instanceId')
        .$castTo<{ instanceId: Instance['id'] }>()
        .where('address.address', 'in', input.privateIpAddresses ?? []),
    );
  }
  const withPublicAddress = (owner: Eip['owner'], addresses: readonly string[] | undefined): void => {
    if (addresses === undefined || addresses.length === 0) return;
    query = query.where('id', 'in', (eb) =>
      eb
        .selectFrom('eips')
        .select('eips.instanceId')
        .$castTo<{ instanceId: Instance['id'] }>()
        .where('eips.owner', '=', owner)
        .where('eips.address', 'in', [...addresses])
        .where('eips.status', '<>', 'Unassociating'),
    );
  };
  withPublicAddress('instance', input.publicIpAddresses);
  withPublicAddress('account', input.eipAddresses);
  const tags = readTagFilters(input.tag, fail);
  if (tags.length > 0) {
    const tagged = queryTagged<Instance['id']>(
      db,
      { resourceType: 'instance', accountId: caller.accountId, regionId },
      tags,
    );
    query = query.where('id', 'in', tagged);
  }
  // Things that no instance of this cloud has, or that all have.
  const hasNone =
    (input.innerIpAddresses?.length ?? 0) > 0 ||
    (input.ipv6Address?.length ?? 0) > 0 ||
    input.hpcClusterId !== undefined ||
    input.lockReason !== undefined ||
    input.ioOptimized === false ||
    input.deviceAvailable === false ||
    (input.instanceNetworkType !== undefined && input.instanceNetworkType !== 'vpc');
  if (hasNone) query = query.where('id', 'in', []);
  return applyTimeFilters(query, input, context);
}

function readStatus(status: string | undefined, fail: FilterContext['fail']): InstanceStatus | undefined {
  if (status === undefined) return undefined;
  return (
    visibleInstanceStatuses.find((known) => known === status) ?? fail('InvalidStatus.NotFound', { status })
  );
}

function applyTimeFilters(
  given: InstanceQuery,
  input: ecs.DescribeInstancesRequest,
  { fail }: FilterContext,
): InstanceQuery {
  let query = given;
  for (const { key, value } of input.filter ?? []) {
    if (key === undefined) continue;
    const [column, side] = timeFilters[key] ?? fail('InvalidFilterKey.NotFound', { key });
    if (value === undefined || !/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?Z$/.test(value)) {
      return fail('InvalidFilterValue', { value: value ?? '' });
    }
    const minute = toMinuteTime(value);
    if (column === 'creationTime') query = query.where('creationTime', side, minute);
    else if (side === '>=' ? expiredTime < minute : expiredTime > minute) query = query.where('id', 'in', []);
  }
  return query;
}
