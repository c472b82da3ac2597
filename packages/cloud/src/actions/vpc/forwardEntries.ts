import { vpc } from '@openegs/schema';
import type { ErrorCode } from '../../domain/errors.js';
import { createId, type ForwardEntryId } from '../../domain/ids.js';
import { isIpv4Cidr, parseIpv4, parseIpv4Cidr, rangeContains } from '../../domain/network/cidr.js';
import { countRows } from '../../store/countRows.js';
import { findEipUse, findNatGateway } from '../../store/natGateways.js';
import type { ForwardEntry, NatGateway } from '../../store/tables.js';
import { vpcCidrs } from '../../store/vpcs.js';
import { onPage, pageAnswer, readNumberedPage } from '../../wire/paging.js';
import { type ChangeContext, defineAction } from '../action.js';
import { isEntryName } from './snatEntries.js';

const ruleErrors = [
  'AnyPort.PortMustBeZero',
  'Forbidden.DestnationIpOutOfVpcCIDR',
  'Forbidden.ExternalIp.UsedInSnatTable',
  'ForwardEntry.Duplicated',
  'InvalidExternalIp.Malformed',
  'InvalidExternalPort.Malformed',
  'InvalidInternalIp.Malformed',
  'InvalidInternalPort.Malformed',
  'InvalidIp.NotInNatgw',
  'InvalidProtocal.ValueNotSupported',
] as const satisfies readonly ErrorCode[];

type RuleContext = ChangeContext<(typeof ruleErrors)[number]>;

/** What an entry forwards. */
type Rule = Pick<ForwardEntry, 'protocol' | 'externalIp' | 'externalPort' | 'internalIp' | 'internalPort'>;

interface Ports {
  readonly first: number;
  readonly last: number;
}

/** `80`, or `80/90`. `undefined` for anything else. */
function parsePorts(text: string): Ports | undefined {
  const match = /^(\d{1,5})(?:\/(\d{1,5}))?$/.exec(text);
  if (!match) return undefined;
  const first = Number(match[1]);
  const last = Number(match[2] ?? first);
  return first >= 1 && last >= first && last <= 65_535 ? { first, last } : undefined;
}

function isAddress(text: string): boolean {
  return !text.includes('/') && !text.includes(':') && isIpv4Cidr(text);
}

async function readRule(
  gateway: NatGateway,
  input: {
    readonly ipProtocol: string;
    readonly externalIp: string;
    readonly externalPort: string;
    readonly internalIp: string;
    readonly internalPort: string;
  },
  own: ForwardEntry['id'] | undefined,
  context: RuleContext,
): Promise<Rule> {
  const { tx, fail } = context;
  const { externalIp, internalIp } = input;
  const protocol = (['tcp', 'udp', 'any'] as const).find((known) => known === input.ipProtocol.toLowerCase());
  if (!protocol) return fail('InvalidProtocal.ValueNotSupported');
  if (!isAddress(externalIp)) fail('InvalidExternalIp.Malformed', { address: externalIp });
  if (!isAddress(internalIp)) fail('InvalidInternalIp.Malformed', { address: internalIp });
  const ports = readPorts(protocol, input.externalPort, input.internalPort, context);
  const eip = await tx.db
    .selectFrom('eips')
    .select('id')
    .where('address', '=', externalIp)
    .where('instanceId', '=', gateway.id)
    .where('status', '<>', 'Unassociating')
    .executeTakeFirst();
  if (!eip) fail('InvalidIp.NotInNatgw', { address: externalIp });
  const parent = await tx.db
    .selectFrom('vpcs')
    .selectAll()
    .where('id', '=', gateway.vpcId)
    .executeTakeFirstOrThrow();
  if (!vpcCidrs(parent).some((cidr) => rangeContains(parseIpv4Cidr(cidr), parseIpv4(internalIp)))) {
    fail('Forbidden.DestnationIpOutOfVpcCIDR', { address: internalIp });
  }
  const rule = { protocol, externalIp, internalIp, ...ports };
  await checkOthers(rule, own, context);
  return rule;
}

/** As many internal ports as external ones; `any` for both, and only then, with the protocol `any`. */
function readPorts(
  protocol: Rule['protocol'],
  externalPort: string,
  internalPort: string,
  { fail }: RuleContext,
): Pick<Rule, 'externalPort' | 'internalPort'> {
  const isAny = [externalPort, internalPort].map((port) => port.toLowerCase() === 'any');
  if (protocol === 'any') {
    if (isAny.includes(false)) fail('AnyPort.PortMustBeZero');
    return { externalPort: 'any', internalPort: 'any' };
  }
  const external = parsePorts(externalPort) ?? fail('InvalidExternalPort.Malformed');
  const internal = parsePorts(internalPort) ?? fail('InvalidInternalPort.Malformed');
  if (external.last - external.first !== internal.last - internal.first) {
    fail('InvalidInternalPort.Malformed');
  }
  return { externalPort, internalPort };
}

/** No other entry takes the same ports; who takes the whole address shares it with none. */
async function checkOthers(
  rule: Rule,
  own: ForwardEntry['id'] | undefined,
  { tx, fail }: RuleContext,
): Promise<void> {
  const others = await tx.db
    .selectFrom('forwardEntries')
    .selectAll()
    .where('externalIp', '=', rule.externalIp)
    .execute();
  const ports = parsePorts(rule.externalPort);
  for (const other of others) {
    if (other.id === own) continue;
    const otherPorts = parsePorts(other.externalPort);
    const isShared =
      ports !== undefined &&
      otherPorts !== undefined &&
      (other.protocol !== rule.protocol || ports.last < otherPorts.first || ports.first > otherPorts.last);
    if (!isShared) fail('ForwardEntry.Duplicated', { id: other.id, address: rule.externalIp });
  }
  if (rule.protocol !== 'any') return;
  const use = await findEipUse(tx.db, rule.externalIp);
  if (use?.kind === 'snat') {
    fail('Forbidden.ExternalIp.UsedInSnatTable', { id: use.id, address: rule.externalIp });
  }
}

async function getGateway(
  id: string,
  { tx, caller, regionId, fail }: ChangeContext<'InvalidForwardTableId.NotFound'>,
): Promise<NatGateway> {
  const scope = { accountId: caller.accountId, regionId };
  const gateway = await findNatGateway(tx.db, scope, 'forwardTableId', id);
  return gateway ?? fail('InvalidForwardTableId.NotFound', { id });
}

async function getEntry(
  gateway: NatGateway,
  id: string,
  { tx, fail }: ChangeContext<'InvalidForwardEntryId.NotFound'>,
): Promise<ForwardEntry> {
  const entry = await tx.db
    .selectFrom('forwardEntries')
    .selectAll()
    .where('id', '=', id as ForwardEntryId)
    .where('natGatewayId', '=', gateway.id)
    .executeTakeFirst();
  return entry ?? fail('InvalidForwardEntryId.NotFound', { id });
}

export const createForwardEntry = defineAction(vpc.CreateForwardEntry, {
  errors: [
    ...ruleErrors,
    'InvalidForwardTableId.NotFound',
    'InvalidParameter.Name.Malformed',
    'QuotaExceeded.ForwardEntry',
  ],
  async change(input, context) {
    const { tx, regionId, cloud, fail } = context;
    const gateway = await getGateway(input.forwardTableId, context);
    if (!isEntryName(input.forwardEntryName)) fail('InvalidParameter.Name.Malformed');
    const rule = await readRule(gateway, input, undefined, context);
    const total = await countRows(tx.db.selectFrom('forwardEntries').where('natGatewayId', '=', gateway.id));
    const quota = cloud.config.quotas.forwardEntriesPerNatGateway;
    if (total >= quota) fail('QuotaExceeded.ForwardEntry', { quota });
    const id = createId('forwardEntry', cloud.catalog.getRegion(regionId).code);
    await tx.db
      .insertInto('forwardEntries')
      .values({ ...rule, id, natGatewayId: gateway.id, name: input.forwardEntryName ?? '' })
      .execute();
    await tx.record({
      resourceType: 'forwardEntry',
      resourceId: id,
      action: 'CreateForwardEntry',
      after: rule,
    });
    tx.wake({ kind: 'vpc', id: gateway.vpcId });
    return { forwardEntryId: id };
  },
});

export const modifyForwardEntry = defineAction(vpc.ModifyForwardEntry, {
  errors: [
    ...ruleErrors,
    'InvalidForwardEntryId.NotFound',
    'InvalidForwardTableId.NotFound',
    'InvalidParameter.Name.Malformed',
  ],
  async change(input, context) {
    const { tx, fail } = context;
    const gateway = await getGateway(input.forwardTableId, context);
    const entry = await getEntry(gateway, input.forwardEntryId, context);
    if (!isEntryName(input.forwardEntryName)) fail('InvalidParameter.Name.Malformed');
    const rule = await readRule(
      gateway,
      {
        ipProtocol: input.ipProtocol ?? entry.protocol,
        externalIp: input.externalIp ?? entry.externalIp,
        externalPort: input.externalPort ?? entry.externalPort,
        internalIp: input.internalIp ?? entry.internalIp,
        internalPort: input.internalPort ?? entry.internalPort,
      },
      entry.id,
      context,
    );
    await tx.db
      .updateTable('forwardEntries')
      .set({ ...rule, name: input.forwardEntryName ?? entry.name })
      .where('id', '=', entry.id)
      .execute();
    await tx.record({
      resourceType: 'forwardEntry',
      resourceId: entry.id,
      action: 'ModifyForwardEntry',
      after: rule,
    });
    tx.wake({ kind: 'vpc', id: gateway.vpcId });
    return {};
  },
});

export const deleteForwardEntry = defineAction(vpc.DeleteForwardEntry, {
  errors: ['InvalidForwardEntryId.NotFound', 'InvalidForwardTableId.NotFound'],
  async change(input, context) {
    const { tx } = context;
    const gateway = await getGateway(input.forwardTableId, context);
    const entry = await getEntry(gateway, input.forwardEntryId, context);
    await tx.db.deleteFrom('forwardEntries').where('id', '=', entry.id).execute();
    await tx.record({ resourceType: 'forwardEntry', resourceId: entry.id, action: 'DeleteForwardEntry' });
    tx.wake({ kind: 'vpc', id: gateway.vpcId });
    return {};
  },
});

export const describeForwardTableEntries = defineAction(vpc.DescribeForwardTableEntries, {
  errors: ['InvalidForwardTableId.NotFound'],
  async read(input, { db, caller, regionId, fail }) {
    const page = readNumberedPage(input, { maxPageSize: 50 });
    if (input.forwardTableId === undefined && input.natGatewayId === undefined) {
      fail('MissingParameter', { parameter: 'ForwardTableId' });
    }
    const scope = { accountId: caller.accountId, regionId };
    const gateway =
      (input.forwardTableId === undefined
        ? await findNatGateway(db, scope, 'id', input.natGatewayId ?? '')
        : await findNatGateway(db, scope, 'forwardTableId', input.forwardTableId)) ??
      fail('InvalidForwardTableId.NotFound', { id: input.forwardTableId ?? input.natGatewayId ?? '' });
    let query = db.selectFrom('forwardEntries').where('natGatewayId', '=', gateway.id);
    const equal = (column: keyof ForwardEntry & string, value: string | undefined): void => {
      if (value !== undefined) query = query.where(column, '=', value as never);
    };
    equal('id', input.forwardEntryId);
    equal('name', input.forwardEntryName);
    equal('externalIp', input.externalIp);
    equal('externalPort', input.externalPort?.toLowerCase());
    equal('internalIp', input.internalIp);
    equal('internalPort', input.internalPort?.toLowerCase());
    equal('protocol', input.ipProtocol?.toLowerCase());
    const total = await countRows(query);
    const rows = await query.selectAll().$call(onPage(page)).execute();
    return {
      ...pageAnswer(page, rows, total),
      forwardTableEntries: {
        forwardTableEntry: rows.map((row) => ({
          forwardEntryId: row.id,
          forwardEntryName: row.name,
          forwardTableId: gateway.forwardTableId,
          natGatewayId: gateway.id,
          ipProtocol: row.protocol,
          externalIp: row.externalIp,
          externalPort: row.externalPort,
          internalIp: row.internalIp,
          internalPort: row.internalPort,
          status: 'Available',
        })),
      },
    };
  },
});
