import { vpc } from '@openegs/schema';
import { ApiError, type ErrorCode, type Fail } from '../../domain/errors.js';
import { createId, type InstanceId, type NatGatewayId, type NetworkInterfaceId } from '../../domain/ids.js';
import { cidrContains, cidrsOverlap } from '../../domain/network/cidr.js';
import { findCidrMistake, serviceCidr } from '../../domain/network/vpcCidr.js';
import { getPrimaryInterface } from '../../store/eips.js';
import { findRouteTable } from '../../store/routes.js';
import type { Reader, Transaction } from '../../store/store.js';
import type { RouteEntry, RouteTable } from '../../store/tables.js';
import { toSecondsTime } from '../../store/times.js';
import { listVSwitches } from '../../store/vpcs.js';
import { type ChangeContext, defineAction } from '../action.js';
import { isVpcDescription, isVpcName } from './text.js';

/** Where an entry leads. */
type NextHop = Pick<RouteEntry, 'nextHopType' | 'nextHopId' | 'networkInterfaceId'>;

const nextHopErrors = ['InvalidNextHopType', 'InvalidNextHopId.NotFound'] as const satisfies ErrorCode[];

/** The next hop by its type and id; it must be in the VPC of the table. */
async function readNextHop(
  db: Reader,
  table: RouteTable,
  type: string,
  id: string,
  fail: Fail<(typeof nextHopErrors)[number]>,
): Promise<NextHop> {
  const missing = (): never => fail('InvalidNextHopId.NotFound', { type, id });
  switch (type) {
    case 'Instance': {
      const instance = await db
        .selectFrom('instances')
        .select('id')
        .where('id', '=', id as InstanceId)
        .where('vpcId', '=', table.vpcId)
        .where('accountId', '=', table.accountId)
        .where('status', '<>', 'Deleted')
        .executeTakeFirst();
      if (!instance) return missing();
      const primary = await getPrimaryInterface(db, instance.id);
      return { nextHopType: type, nextHopId: id, networkInterfaceId: primary.id };
    }
    case 'NetworkInterface': {
      const nic = await db
        .selectFrom('networkInterfaces')
        .select('id')
        .where('id', '=', id as NetworkInterfaceId)
        .where('vpcId', '=', table.vpcId)
        .where('accountId', '=', table.accountId)
        .executeTakeFirst();
      if (!nic) return missing();
      return { nextHopType: type, nextHopId: id, networkInterfaceId: nic.id };
    }
    case 'NatGateway': {
      const gateway = await db
        .selectFrom('natGateways')
        .select('id')
        .where('id', '=', id as NatGatewayId)
        .where('vpcId', '=', table.vpcId)
        .where('accountId', '=', table.accountId)
        .executeTakeFirst();
      if (!gateway) return missing();
      return { nextHopType: type, nextHopId: id, networkInterfaceId: null };
    }
    default:
      return fail('InvalidNextHopType', { type });
  }
}

const entryErrors = [
  ...nextHopErrors,
  'InvalidCIDRBlock.Duplicate',
  'InvalidCidrBlock',
  'InvalidDescription.Malformed',
  'InvalidRouteEntryName.Malformed',
  'OperationUnsupported.DestinationCidrBlockOverlapWithVSwitch',
  'QuotaExceeded',
] as const satisfies readonly ErrorCode[];

interface EntryInput {
  readonly destinationCidr: string;
  readonly nextHopType: string;
  readonly nextHopId: string;
  readonly name?: string | undefined;
  readonly description?: string | undefined;
}

/** Checks an entry and writes it down. */
async function addEntry(
  table: RouteTable,
  input: EntryInput,
  context: ChangeContext<(typeof entryErrors)[number]>,
): Promise<RouteEntry['id']> {
  const { tx, regionId, cloud, fail } = context;
  const cidr = input.destinationCidr;
  if (!isVpcName(input.name)) fail('InvalidRouteEntryName.Malformed');
  if (!isVpcDescription(input.description)) fail('InvalidDescription.Malformed');
  const mistake = findCidrMistake(cidr);
  if (mistake !== undefined) fail('InvalidCidrBlock', { cidr, reason: mistake });
  if (cidr !== '0.0.0.0/0' && cidrsOverlap(serviceCidr, cidr)) {
    fail('InvalidCidrBlock', { cidr, reason: `it overlaps ${serviceCidr}, where the cloud's services are.` });
  }
  for (const vSwitch of await listVSwitches(tx.db, table.vpcId)) {
    // Within a subnet guests reach each other directly; a route inside of it would never be asked.
    if (cidrContains(vSwitch.cidrBlock, cidr)) {
      fail('OperationUnsupported.DestinationCidrBlockOverlapWithVSwitch', { cidr, id: vSwitch.id });
    }
  }
  const inTable = await tx.db
    .selectFrom('routeEntries')
    .select(['id', 'destinationCidr'])
    .where('routeTableId', '=', table.id)
    .execute();
  const same = inTable.find((entry) => entry.destinationCidr === cidr);
  if (same) fail('InvalidCIDRBlock.Duplicate', { cidr, id: same.id });
  const quota = cloud.config.quotas.routeEntriesPerTable;
  if (inTable.length >= quota) fail('QuotaExceeded', { quota });
  const nextHop = await readNextHop(tx.db, table, input.nextHopType, input.nextHopId, fail);
  const id = createId('routeEntry', cloud.catalog.getRegion(regionId).code);
  await tx.db
    .insertInto('routeEntries')
    .values({
      ...nextHop,
      id,
      routeTableId: table.id,
      destinationCidr: cidr,
      name: input.name ?? '',
      description: input.description ?? '',
      creationTime: toSecondsTime(tx.now),
    })
    .execute();
  await tx.record({
    resourceType: 'routeEntry',
    resourceId: id,
    action: 'CreateRouteEntry',
    after: { routeTableId: table.id, destinationCidr: cidr, nextHopId: nextHop.nextHopId },
  });
  tx.wake({ kind: 'vpc', id: table.vpcId });
  return id;
}

async function getTable(
  id: string,
  { tx, caller, regionId, fail }: ChangeContext<'InvalidRouteTableId.NotFound'>,
): Promise<RouteTable> {
  const table = await findRouteTable(tx.db, { accountId: caller.accountId, regionId }, id);
  return table ?? fail('InvalidRouteTableId.NotFound', { id });
}

export const createRouteEntry = defineAction(vpc.CreateRouteEntry, {
  errors: [
    ...entryErrors,
    'InvalidNexthopListSize',
    'InvalidNexthopTypeAndList.BothNotNull',
    'InvalidNexthopTypeAndList.BothNull',
    'InvalidRouteTableId.NotFound',
  ],
  async change(input, context) {
    const { fail } = context;
    const table = await getTable(input.routeTableId, context);
    const list = input.nextHopList ?? [];
    if (list.length > 0 && input.nextHopId !== undefined) fail('InvalidNexthopTypeAndList.BothNotNull');
    if (list.length > 1) fail('InvalidNexthopListSize');
    const { nextHopId, nextHopType } = list[0] ?? input;
    if (nextHopId === undefined) return fail('InvalidNexthopTypeAndList.BothNull');
    const routeEntryId = await addEntry(
      table,
      {
        destinationCidr: input.destinationCidrBlock,
        nextHopType: nextHopType ?? 'Instance',
        nextHopId,
        name: input.routeEntryName,
        description: input.description,
      },
      context,
    );
    return { routeEntryId };
  },
});

interface FailedEntry {
  readonly dstCidrBlock: string | undefined;
  readonly nextHop: string | undefined;
  readonly failedCode: string;
  readonly failedMessage: string;
}

/** Runs a step that may end in an error of the API, which counts for this member of the list only. */
async function attempt(
  named: Pick<FailedEntry, 'dstCidrBlock' | 'nextHop'>,
  step: () => Promise<unknown>,
): Promise<FailedEntry | undefined> {
  try {
    await step();
    return undefined;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { ...named, failedCode: error.code, failedMessage: error.message };
  }
}

export const createRouteEntries = defineAction(vpc.CreateRouteEntries, {
  errors: [...entryErrors, 'InvalidRouteTableId.NotFound'],
  async change({ routeEntries }, context) {
    const routeEntryIds: string[] = [];
    const failedRouteEntries: FailedEntry[] = [];
    for (const { dstCidrBlock, nextHop, ...entry } of routeEntries) {
      const failed = await attempt({ dstCidrBlock, nextHop }, async () => {
        const table = await getTable(entry.routeTableId, context);
        const id = await addEntry(
          table,
          { ...entry, destinationCidr: dstCidrBlock, nextHopId: nextHop },
          context,
        );
        routeEntryIds.push(id);
      });
      if (failed) failedRouteEntries.push(failed);
    }
    return {
      routeEntryIds,
      successCount: routeEntryIds.length,
      failedCount: failedRouteEntries.length,
      failedRouteEntries,
    };
  },
});

const removalErrors = [
  'InvalidNextHop',
  'InvalidRouteEntry.NotFound',
  'InvalidRouteTableId.NotFound',
] as const satisfies readonly ErrorCode[];

/** Removes the entry that an id, or a table with a destination, names. */
async function removeEntry(
  input: {
    readonly routeEntryId?: string | undefined;
    readonly routeTableId?: string | undefined;
    readonly destinationCidr?: string | undefined;
    readonly nextHopId?: string | undefined;
  },
  context: ChangeContext<(typeof removalErrors)[number]>,
): Promise<void> {
  const { tx, caller, fail } = context;
  let query = tx.db
    .selectFrom('routeEntries as entry')
    .innerJoin('routeTables as table', 'table.id', 'entry.routeTableId')
    .select(['entry.id', 'entry.nextHopId', 'entry.destinationCidr', 'table.vpcId'])
    .where('table.accountId', '=', caller.accountId);
  if (input.routeTableId !== undefined) {
    const table = await getTable(input.routeTableId, context);
    query = query.where('entry.routeTableId', '=', table.id);
  }
  if (input.routeEntryId !== undefined) {
    query = query.where('entry.id', '=', input.routeEntryId as RouteEntry['id']);
  } else {
    if (input.routeTableId === undefined) fail('MissingParameter', { parameter: 'RouteTableId' });
    const cidr = input.destinationCidr ?? fail('MissingParameter', { parameter: 'DestinationCidrBlock' });
    query = query.where('entry.destinationCidr', '=', cidr);
  }
  const entry = (await query.executeTakeFirst()) ?? fail('InvalidRouteEntry.NotFound');
  if (input.nextHopId !== undefined && input.nextHopId !== entry.nextHopId) fail('InvalidNextHop');
  await deleteEntry(tx, entry);
}

async function deleteEntry(
  tx: Transaction,
  entry: Pick<RouteEntry, 'id' | 'destinationCidr'> & { readonly vpcId: RouteTable['vpcId'] },
): Promise<void> {
  await tx.db.deleteFrom('routeEntries').where('id', '=', entry.id).execute();
  await tx.record({
    resourceType: 'routeEntry',
    resourceId: entry.id,
    action: 'DeleteRouteEntry',
    before: { destinationCidr: entry.destinationCidr },
  });
  tx.wake({ kind: 'vpc', id: entry.vpcId });
}

export const deleteRouteEntry = defineAction(vpc.DeleteRouteEntry, {
  errors: removalErrors,
  async change(input, context) {
    await removeEntry(
      {
        ...input,
        destinationCidr: input.destinationCidrBlock,
        nextHopId: input.nextHopId ?? input.nextHopList?.[0]?.nextHopId,
      },
      context,
    );
    return {};
  },
});

export const deleteRouteEntries = defineAction(vpc.DeleteRouteEntries, {
  errors: removalErrors,
  async change({ routeEntries = [] }, context) {
    const failedRouteEntries: (FailedEntry & { readonly routeEntryId: string | undefined })[] = [];
    for (const { dstCidrBlock, nextHop, routeEntryId, routeTableId } of routeEntries) {
      const failed = await attempt({ dstCidrBlock, nextHop }, () =>
        removeEntry(
          { routeEntryId, routeTableId, destinationCidr: dstCidrBlock, nextHopId: nextHop },
          context,
        ),
      );
      if (failed) failedRouteEntries.push({ ...failed, routeEntryId });
    }
    return {
      successCount: routeEntries.length - failedRouteEntries.length,
      failedCount: failedRouteEntries.length,
      failedRouteEntries,
    };
  },
});

export const modifyRouteEntry = defineAction(vpc.ModifyRouteEntry, {
  errors: [
    ...nextHopErrors,
    'InvalidDescription.Malformed',
    'InvalidRouteEntryId.NotFound',
    'InvalidRouteEntryName.Malformed',
    'MissingParam.NewNextHopId',
    'MissingParam.NewNextHopType',
    'MissingParam.RouteEntryId',
  ],
  async change(input, { tx, caller, regionId, fail }) {
    const id = input.routeEntryId ?? fail('MissingParam.RouteEntryId');
    const entry =
      (await tx.db
        .selectFrom('routeEntries')
        .selectAll()
        .where('id', '=', id as RouteEntry['id'])
        .executeTakeFirst()) ?? fail('InvalidRouteEntryId.NotFound', { id });
    const table =
      (await findRouteTable(tx.db, { accountId: caller.accountId, regionId }, entry.routeTableId)) ??
      fail('InvalidRouteEntryId.NotFound', { id });
    if (!isVpcName(input.routeEntryName)) fail('InvalidRouteEntryName.Malformed');
    if (!isVpcDescription(input.description)) fail('InvalidDescription.Malformed');
    const { newNextHopId, newNextHopType } = input;
    if (newNextHopId === undefined && newNextHopType !== undefined) fail('MissingParam.NewNextHopId');
    if (newNextHopId !== undefined && newNextHopType === undefined) fail('MissingParam.NewNextHopType');
    const after = {
      ...(input.routeEntryName === undefined ? {} : { name: input.routeEntryName }),
      ...(input.description === undefined ? {} : { description: input.description }),
      ...(newNextHopId === undefined || newNextHopType === undefined
        ? {}
        : await readNextHop(tx.db, table, newNextHopType, newNextHopId, fail)),
    };
    if (Object.keys(after).length === 0) return {};
    await tx.db.updateTable('routeEntries').set(after).where('id', '=', entry.id).execute();
    await tx.record({ resourceType: 'routeEntry', resourceId: id, action: 'ModifyRouteEntry', after });
    tx.wake({ kind: 'vpc', id: table.vpcId });
    return {};
  },
});
