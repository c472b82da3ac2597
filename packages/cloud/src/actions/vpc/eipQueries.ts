import { vpc } from '@openegs/schema';
import type { EipId } from '../../domain/ids.js';
import { readTagFilters } from '../../domain/tags.js';
import { countRows } from '../../store/countRows.js';
import type { Eip } from '../../store/tables.js';
import { queryTagged, readTags } from '../../store/tags.js';
import { onPage, pageAnswer, readNumberedPage } from '../../wire/paging.js';
import { defineAction } from '../action.js';
import { splitList } from './text.js';

/** Kinds of things that can have an EIP on the original; this cloud has three of them. */
const instanceTypes = ['EcsInstance', 'SlbInstance', 'Nat', 'HaVip', 'NetworkInterface', 'IpAddress'];

const maxListed = 50;

export const describeEipAddresses = defineAction(vpc.DescribeEipAddresses, {
  errors: [
    'InvalidChargeType.ValueNotSupported',
    'InvalidFilterKey.NotFound',
    'InvalidFilterValue',
    'InvalidIAssociatedInstanceType.ValueNotSupported',
    'InvalidLockReason.NotFound',
  ],
  async read(input, { db, caller, regionId, fail }) {
    const page = readNumberedPage(input, { maxPageSize: 100 });
    const scope = { accountId: caller.accountId, regionId, resourceType: 'eip' } as const;
    let query = db
      .selectFrom('eips')
      .where('accountId', '=', caller.accountId)
      .where('regionId', '=', regionId)
      .where('owner', '=', 'account');
    const equal = (column: keyof Eip & string, value: string | undefined): void => {
      if (value !== undefined) query = query.where(column, '=', value as never);
    };
    const listed = (parameter: string, text: string): string[] => {
      const members = splitList(text);
      if (members.length > maxListed) {
        fail('InvalidParameter', { parameter, reason: `it has more than ${maxListed} members.` });
      }
      return members;
    };
    if (input.allocationId !== undefined) {
      query = query.where('id', 'in', listed('AllocationId', input.allocationId) as EipId[]);
    }
    if (input.eipAddress !== undefined) {
      query = query.where('address', 'in', listed('EipAddress', input.eipAddress));
    }
    const instanceType = input.associatedInstanceType;
    if (instanceType !== undefined && !instanceTypes.includes(instanceType)) {
      fail('InvalidIAssociatedInstanceType.ValueNotSupported', { type: instanceType });
    }
    const { chargeType, lockReason } = input;
    if (chargeType !== undefined && !['PostPaid', 'PrePaid'].includes(chargeType)) {
      fail('InvalidChargeType.ValueNotSupported', { value: chargeType });
    }
    if (lockReason !== undefined && !['financial', 'security'].includes(lockReason)) {
      fail('InvalidLockReason.NotFound', { value: lockReason });
    }
    equal('instanceType', instanceType);
    equal('instanceId', input.associatedInstanceId);
    equal('status', input.status);
    equal('name', input.eipName);
    equal('isp', input.ISP);
    equal('chargeType', chargeType);
    equal('resourceGroupId', input.resourceGroupId);
    for (const { key, value } of input.filter ?? []) {
      if (key === undefined) continue;
      if (key !== 'CreationStartTime' && key !== 'CreationEndTime')
        fail('InvalidFilterKey.NotFound', { key });
      if (value === undefined || Number.isNaN(Date.parse(value))) {
        return fail('InvalidFilterValue', { value: value ?? '' });
      }
      query = query.where('creationTime', key === 'CreationStartTime' ? '>=' : '<=', value);
    }
    const filters = readTagFilters(input.tag, fail);
    if (filters.length > 0) query = query.where('id', 'in', queryTagged<EipId>(db, scope, filters));
    // No EIP of this cloud has them.
    if (
      lockReason !== undefined ||
      input.securityProtectionEnabled === true ||
      input.serviceManaged === true ||
      input.segmentInstanceId !== undefined ||
      input.publicIpAddressPoolId !== undefined
    ) {
      query = query.where('id', 'in', []);
    }

    const total = await countRows(query);
    const rows = await query.selectAll().$call(onPage(page, 'newest first')).execute();
    const tags = await readTags(
      db,
      'eip',
      rows.map((row) => row.id),
    );
    return {
      ...pageAnswer(page, rows, total),
      eipAddresses: {
        eipAddress: rows.map((row) => ({
          ...describe(row),
          tags: { tag: (tags.get(row.id) ?? []).map(({ key, value }) => ({ key, value })) },
        })),
      },
    };
  },
});

function describe(eip: Eip) {
  return {
    allocationId: eip.id,
    allocationTime: eip.creationTime,
    ipAddress: eip.address,
    name: eip.name,
    description: eip.description,
    status: eip.status,
    regionId: eip.regionId,
    bandwidth: String(eip.bandwidthMbits),
    eipBandwidth: String(eip.bandwidthMbits),
    bandwidthPackageBandwidth: '',
    bandwidthPackageId: '',
    bandwidthPackageType: '',
    bizType: '',
    businessStatus: 'Normal',
    chargeType: eip.chargeType,
    internetChargeType: eip.internetChargeType,
    deletionProtection: eip.deletionProtection === 1,
    expiredTime: '',
    HDMonitorStatus: 'OFF',
    hasReservationData: 'false',
    ISP: eip.isp,
    instanceId: eip.instanceId ?? '',
    instanceType: eip.instanceType ?? '',
    instanceRegionId: eip.instanceId === null ? '' : eip.regionId,
    mode: 'NAT',
    netmode: 'public',
    privateIpAddress: eip.privateAddress ?? '',
    publicIpAddressPoolId: '',
    resourceGroupId: eip.resourceGroupId,
    secondLimited: false,
    segmentInstanceId: '',
    serviceManaged: 0,
    vpcId: eip.vpcId ?? '',
    zone: '',
    operationLocks: { lockReason: [] },
    securityProtectionTypes: { securityProtectionType: [] },
  };
}
