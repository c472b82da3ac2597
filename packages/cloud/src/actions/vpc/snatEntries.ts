import { vpc } from '@openegs/schema';
import type { ErrorCode } from '../../domain/errors.js';
import { createId, type SnatEntryId, type VSwitchId } from '../../domain/ids.js';
import { findCidrMistake } from '../../domain/network/vpcCidr.js';
import { countRows } from '../../store/countRows.js';
import { findNatGateway } from '../../store/natGateways.js';
import type { NatGateway, SnatEntry } from '../../store/tables.js';
import { findVSwitch } from '../../store/vpcs.js';
import { onPage, pageAnswer, readNumberedPage } from '../../wire/paging.js';
import { type ChangeContext, defineAction } from '../action.js';
import { splitList } from './text.js';

const addressErrors = [
  'EIP_NOT_IN_GATEWAY',
  'Forbidden.IpUsedInForwardTable',
  'InvalidSnatIp.Malformed',
] as const satisfies readonly ErrorCode[];

/** The EIPs of an entry, as JSON; each is one of the gateway that no DNAT entry takes as a whole. */
async function readAddresses(
  gateway: NatGateway,
  text: string,
  { tx, fail }: ChangeContext<(typeof addressErrors)[number]>,
): Promise<string> {
  const addresses = [...new Set(splitList(text))];
  if (addresses.length === 0) fail('InvalidSnatIp.Malformed');
  const own = await tx.db
    .selectFrom('eips')
    .select('address')
    .where('instanceId', '=', gateway.id)
    .where('status', '<>', 'Unassociating')
    .execute();
  const foreign = addresses.find((address) => !own.some((eip) => eip.address === address));
  if (foreign !== undefined) fail('EIP_NOT_IN_GATEWAY', { address: foreign });
  const whole = await tx.db
    .selectFrom('forwardEntries')
    .select(['id', 'externalIp'])
    .where('protocol', '=', 'any')
    .where('externalIp', 'in', addresses)
    .executeTakeFirst();
  if (whole) fail('Forbidden.IpUsedInForwardTable', { id: whole.id, address: whole.externalIp });
  return JSON.stringify(addresses);
}

async function getGateway(
  snatTableId: string,
  { tx, caller, regionId, fail }: ChangeContext<'InvalidSnatTableId.NotFound'>,
): Promise<NatGateway> {
  const scope = { accountId: caller.accountId, regionId };
  const gateway = await findNatGateway(tx.db, scope, 'snatTableId', snatTableId);
  return gateway ?? fail('InvalidSnatTableId.NotFound', { id: snatTableId });
}

async function getEntry(
  gateway: NatGateway,
  id: string,
  { tx, fail }: ChangeContext<'InvalidSnatEntryId.NotFound'>,
): Promise<SnatEntry> {
  const entry = await tx.db
    .selectFrom('snatEntries')
    .selectAll()
    .where('id', '=', id as SnatEntryId)
    .where('natGatewayId', '=', gateway.id)
    .executeTakeFirst();
  return entry ?? fail('InvalidSnatEntryId.NotFound', { id });
}

/** 2 to 128 characters, the first a letter (CreateSnatEntry, parameter SnatEntryName). */
export function isEntryName(name: string | undefined): boolean {
  return !name || /^(?!https?:\/\/)\p{L}[\s\S]{1,127}$/u.test(name);
}

export const createSnatEntry = defineAction(vpc.CreateSnatEntry, {
  errors: [
    ...addressErrors,
    'CreateSnatEntry.ParamExclusive.sourceVSwitchIdAndsourceCIDR',
    'Forbidden.SourceVSwitchId.Duplicated',
    'InvalidParameter.Name.Malformed',
    'InvalidSnatTableId.NotFound',
    'InvalidSourceCIDR.Malformed',
    'InvalidVSwitchId.NotFound',
    'OperationFailed.VSwitchNotInVpc',
    'QuotaExceeded.SnatEntry',
  ],
  async change(input, context) {
    const { tx, caller, regionId, cloud, fail } = context;
    const gateway = await getGateway(input.snatTableId, context);
    if (!isEntryName(input.snatEntryName)) fail('InvalidParameter.Name.Malformed');
    if (input.networkInterfaceId !== undefined) {
      fail('InvalidParameter', {
        parameter: 'NetworkInterfaceId',
        reason: 'this cloud has not built it yet.',
      });
    }
    const { sourceVSwitchId } = input;
    if ((sourceVSwitchId === undefined) === (input.sourceCIDR === undefined)) {
      fail('CreateSnatEntry.ParamExclusive.sourceVSwitchIdAndsourceCIDR');
    }
    let sourceCidr = input.sourceCIDR ?? '';
    if (sourceVSwitchId !== undefined) {
      const vSwitch =
        (await findVSwitch(tx.db, { accountId: caller.accountId, regionId }, sourceVSwitchId)) ??
        fail('InvalidVSwitchId.NotFound', { id: sourceVSwitchId });
      if (vSwitch.vpcId !== gateway.vpcId) fail('OperationFailed.VSwitchNotInVpc', { id: vSwitch.id });
      sourceCidr = vSwitch.cidrBlock;
    }
    if (findCidrMistake(sourceCidr) !== undefined) fail('InvalidSourceCIDR.Malformed', { cidr: sourceCidr });
    const known = await tx.db
      .selectFrom('snatEntries')
      .select(['id', 'sourceCidr'])
      .where('natGatewayId', '=', gateway.id)
      .execute();
    const same = known.find((entry) => entry.sourceCidr === sourceCidr);
    if (same) fail('Forbidden.SourceVSwitchId.Duplicated', { id: same.id, cidr: sourceCidr });
    const quota = cloud.config.quotas.snatEntriesPerNatGateway;
    if (known.length >= quota) fail('QuotaExceeded.SnatEntry', { quota });
    const snatIps = await readAddresses(gateway, input.snatIp, context);
    const id = createId('snatEntry', cloud.catalog.getRegion(regionId).code);
    await tx.db
      .insertInto('snatEntries')
      .values({
        id,
        natGatewayId: gateway.id,
        name: input.snatEntryName ?? '',
        sourceVSwitchId: (sourceVSwitchId as VSwitchId | undefined) ?? null,
        sourceCidr,
        snatIps,
        eipAffinity: input.eipAffinity === 1 ? 1 : 0,
      })
      .execute();
    await tx.record({
      resourceType: 'snatEntry',
      resourceId: id,
      action: 'CreateSnatEntry',
      after: { natGatewayId: gateway.id, sourceCidr, snatIps },
    });
    tx.wake({ kind: 'vpc', id: gateway.vpcId });
    return { snatEntryId: id };
  },
});

export const modifySnatEntry = defineAction(vpc.ModifySnatEntry, {
  errors: [
    ...addressErrors,
    'InvalidParameter.Name.Malformed',
    'InvalidSnatEntryId.NotFound',
    'InvalidSnatTableId.NotFound',
  ],
  async change(input, context) {
    const { tx, fail } = context;
    const gateway = await getGateway(input.snatTableId, context);
    const entry = await getEntry(gateway, input.snatEntryId, context);
    if (!isEntryName(input.snatEntryName)) fail('InvalidParameter.Name.Malformed');
    const after = {
      ...(input.snatEntryName === undefined ? {} : { name: input.snatEntryName }),
      ...(input.snatIp === undefined ? {} : { snatIps: await readAddresses(gateway, input.snatIp, context) }),
      ...(input.eipAffinity === undefined
        ? {}
        : { eipAffinity: input.eipAffinity === 1 ? (1 as const) : (0 as const) }),
    };
    if (Object.keys(after).length === 0) return {};
    await tx.db.updateTable('snatEntries').set(after).where('id', '=', entry.id).execute();
    await tx.record({ resourceType: 'snatEntry', resourceId: entry.id, action: 'ModifySnatEntry', after });
    tx.wake({ kind: 'vpc', id: gateway.vpcId });
    return {};
  },
});

export const deleteSnatEntry = defineAction(vpc.DeleteSnatEntry, {
  errors: ['InvalidSnatEntryId.NotFound', 'InvalidSnatTableId.NotFound'],
  async change(input, context) {
    const { tx } = context;
    const gateway = await getGateway(input.snatTableId, context);
    const entry = await getEntry(gateway, input.snatEntryId, context);
    await tx.db.deleteFrom('snatEntries').where('id', '=', entry.id).execute();
    await tx.record({ resourceType: 'snatEntry', resourceId: entry.id, action: 'DeleteSnatEntry' });
    tx.wake({ kind: 'vpc', id: gateway.vpcId });
    return {};
  },
});

export const describeSnatTableEntries = defineAction(vpc.DescribeSnatTableEntries, {
  errors: ['InvalidSnatTableId.NotFound'],
  async read(input, { db, caller, regionId, fail }) {
    const page = readNumberedPage(input, { maxPageSize: 50 });
    if (input.snatTableId === undefined && input.natGatewayId === undefined) {
      fail('MissingParameter', { parameter: 'SnatTableId' });
    }
    const scope = { accountId: caller.accountId, regionId };
    const gateway =
      (input.snatTableId === undefined
        ? await findNatGateway(db, scope, 'id', input.natGatewayId ?? '')
        : await findNatGateway(db, scope, 'snatTableId', input.snatTableId)) ??
      fail('InvalidSnatTableId.NotFound', { id: input.snatTableId ?? input.natGatewayId ?? '' });
    let query = db.selectFrom('snatEntries').where('natGatewayId', '=', gateway.id);
    if (input.snatEntryId !== undefined) query = query.where('id', '=', input.snatEntryId as SnatEntryId);
    if (input.snatEntryName !== undefined) query = query.where('name', '=', input.snatEntryName);
    if (input.snatIp !== undefined) query = query.where('snatIps', 'like', `%"${input.snatIp}"%`);
    if (input.sourceCIDR !== undefined) query = query.where('sourceCidr', '=', input.sourceCIDR);
    if (input.sourceVSwitchId !== undefined) {
      query = query.where('sourceVSwitchId', '=', input.sourceVSwitchId as VSwitchId);
    }
    if ((input.networkInterfaceIds ?? []).length > 0) query = query.where('id', 'in', []);
    const total = await countRows(query);
    const rows = await query.selectAll().$call(onPage(page)).execute();
    return {
      ...pageAnswer(page, rows, total),
      snatTableEntries: {
        snatTableEntry: rows.map((row) => ({
          snatEntryId: row.id,
          snatEntryName: row.name,
          snatTableId: gateway.snatTableId,
          natGatewayId: gateway.id,
          snatIp: (JSON.parse(row.snatIps) as string[]).join(','),
          sourceCIDR: row.sourceCidr,
          sourceVSwitchId: row.sourceVSwitchId ?? '',
          networkInterfaceId: '',
          eipAffinity: String(row.eipAffinity),
          status: 'Available',
        })),
      },
    };
  },
});
