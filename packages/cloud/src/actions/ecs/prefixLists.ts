import { ecs } from '@openegs/schema';
import ipaddr from 'ipaddr.js';
import type { ErrorCode, Fail } from '../../domain/errors.js';
import { createId, type PrefixListId } from '../../domain/ids.js';
import { isWellFormedName } from '../../domain/instance.js';
import { isIpv4Cidr, normalizeCidr } from '../../domain/network/cidr.js';
import { checkTags, readTagFilters } from '../../domain/tags.js';
import { countRows } from '../../store/countRows.js';
import { matchesPattern } from '../../store/patterns.js';
import type { Reader, Transaction } from '../../store/store.js';
import type { PrefixList } from '../../store/tables.js';
import { deleteTags, putTags, queryTagged, readTags } from '../../store/tags.js';
import { toSecondsTime } from '../../store/times.js';
import { onPage, pageAnswer, readTokenPage, sliceOnPage } from '../../wire/paging.js';
import { type ChangeContext, defineAction } from '../action.js';

/** Most entries that a prefix list can be made for. */
const maxEntriesLimit = 200;

const entryErrors = [
  'InvalidDescription.Malformed',
  'InvalidParameter.CidrDuplicated',
  'InvalidParameter.CidrMalformed',
  'LimitExceed.MaxEntries',
] as const satisfies readonly ErrorCode[];

interface Entry {
  readonly cidr: string;
  readonly description: string | undefined;
}

/** Letters, digits and `:_.-`, not in the name of the provider (CreatePrefixList, parameter PrefixListName). */
function checkTexts(
  input: { readonly prefixListName?: string | undefined; readonly description?: string | undefined },
  fail: Fail<'InvalidParameter.PrefixListName' | 'InvalidDescription.Malformed'>,
): void {
  const { prefixListName: name, description } = input;
  if (
    name !== undefined &&
    (!/^\p{L}[\p{L}\p{N}:_.-]{1,127}$/u.test(name) || /^com\.(aliyun|alibabacloud)/i.test(name))
  ) {
    fail('InvalidParameter.PrefixListName');
  }
  if (description !== undefined && !isWellFormedName(description, 2, 256)) {
    fail('InvalidDescription.Malformed');
  }
}

/** The range in its one spelling, in which 10.0.0.1 and 10.0.0.1/32 are the same. */
function readCidr(
  text: string,
  family: PrefixList['addressFamily'],
  fail: Fail<'InvalidParameter.CidrMalformed'>,
): string {
  if (family === 'IPv4' && isIpv4Cidr(text)) {
    const cidr = normalizeCidr(text);
    if (cidr === text || cidr === `${text}/32`) return cidr;
  }
  if (family === 'IPv6') {
    const cidr = text.includes('/') ? text : `${text}/128`;
    if (ipaddr.IPv6.isValidCIDR(cidr)) {
      const [address, bits] = ipaddr.IPv6.parseCIDR(cidr);
      const network = ipaddr.IPv6.networkAddressFromCIDR(cidr);
      if (network.toString() === address.toString()) return `${network.toString()}/${bits}`;
    }
  }
  return fail('InvalidParameter.CidrMalformed', { cidr: text });
}

function readEntries(
  entries: readonly { readonly cidr: string; readonly description?: string | undefined }[] | undefined,
  family: PrefixList['addressFamily'],
  fail: Fail<(typeof entryErrors)[number]>,
): Entry[] {
  const read = (entries ?? []).map(({ cidr, description }) => {
    if (description !== undefined && !isWellFormedName(description, 2, 32)) {
      fail('InvalidDescription.Malformed');
    }
    return { cidr: readCidr(cidr, family, fail), description };
  });
  checkUnique(
    read.map((entry) => entry.cidr),
    fail,
  );
  return read;
}

function checkUnique(cidrs: readonly string[], fail: Fail<'InvalidParameter.CidrDuplicated'>): void {
  const twice = cidrs.find((cidr, index) => cidrs.indexOf(cidr) !== index);
  if (twice !== undefined) fail('InvalidParameter.CidrDuplicated', { cidr: twice });
}

export const createPrefixList = defineAction(ecs.CreatePrefixList, {
  errors: [
    ...entryErrors,
    'Duplicate.TagKey',
    'InvalidParameter.AddressFamily',
    'InvalidParameter.PrefixListName',
    'InvalidTagKey.Malformed',
    'InvalidTagValue.Malformed',
    'LimitExceed.PrefixListPerRegion',
    'QuotaExceed.Tags',
  ],
  async change(input, { tx, caller, regionId, cloud, fail }) {
    const { addressFamily: family } = input;
    if (family !== 'IPv4' && family !== 'IPv6') return fail('InvalidParameter.AddressFamily');
    checkTexts(input, fail);
    if (input.maxEntries < 1 || input.maxEntries > maxEntriesLimit) {
      fail('LimitExceed.MaxEntries', { limit: maxEntriesLimit });
    }
    const entries = readEntries(input.entry, family, fail);
    if (entries.length > input.maxEntries) fail('LimitExceed.MaxEntries', { limit: input.maxEntries });
    const tags = checkTags(input.tag, fail);
    const scope = { accountId: caller.accountId, regionId };
    const total = await countRows(
      tx.db
        .selectFrom('prefixLists')
        .where('accountId', '=', caller.accountId)
        .where('regionId', '=', regionId),
    );
    const quota = cloud.config.quotas.prefixLists;
    if (total >= quota) fail('LimitExceed.PrefixListPerRegion', { quota });
    const id = createId('prefixList', cloud.catalog.getRegion(regionId).code);
    await tx.db
      .insertInto('prefixLists')
      .values({
        ...scope,
        id,
        name: input.prefixListName,
        description: input.description ?? '',
        addressFamily: family,
        maxEntries: input.maxEntries,
        creationTime: toSecondsTime(tx.now),
        resourceGroupId: input.resourceGroupId ?? '',
      })
      .execute();
    for (const entry of entries) await putEntry(tx, id, entry);
    await putTags(tx, { ...scope, resourceType: 'prefixlist', resourceId: id }, tags, fail);
    await tx.record({ resourceType: 'prefixList', resourceId: id, action: 'CreatePrefixList' });
    return { prefixListId: id };
  },
});

/** An entry that is there keeps its place, and its description where the request gives none. */
async function putEntry(
  { db }: Transaction,
  prefixListId: PrefixListId,
  { cidr, description }: Entry,
): Promise<void> {
  await db
    .insertInto('prefixListEntries')
    .values({ prefixListId, cidr, description: description ?? '' })
    .onConflict((conflict) => {
      const columns = conflict.columns(['prefixListId', 'cidr']);
      return description === undefined ? columns.doNothing() : columns.doUpdateSet({ description });
    })
    .execute();
}

async function getPrefixList(
  id: string,
  { tx, caller, regionId, fail }: ChangeContext<'InvalidPrefixListId.NotFound'>,
): Promise<PrefixList> {
  const list = await tx.db
    .selectFrom('prefixLists')
    .selectAll()
    .where('id', '=', id as PrefixListId)
    .where('accountId', '=', caller.accountId)
    .where('regionId', '=', regionId)
    .executeTakeFirst();
  return list ?? fail('InvalidPrefixListId.NotFound', { id });
}

export const modifyPrefixList = defineAction(ecs.ModifyPrefixList, {
  errors: [...entryErrors, 'InvalidParameter.PrefixListName', 'InvalidPrefixListId.NotFound'],
  async change(input, context) {
    const { tx, fail } = context;
    const list = await getPrefixList(input.prefixListId, context);
    checkTexts(input, fail);
    const added = readEntries(input.addEntry, list.addressFamily, fail);
    const removed = readEntries(input.removeEntry, list.addressFamily, fail).map((entry) => entry.cidr);
    checkUnique([...added.map((entry) => entry.cidr), ...removed], fail);
    await tx.db
      .updateTable('prefixLists')
      .set({
        name: input.prefixListName ?? list.name,
        description: input.description ?? list.description,
      })
      .where('id', '=', list.id)
      .execute();
    await tx.db
      .deleteFrom('prefixListEntries')
      .where('prefixListId', '=', list.id)
      .where('cidr', 'in', removed)
      .execute();
    for (const entry of added) await putEntry(tx, list.id, entry);
    const total = await countRows(tx.db.selectFrom('prefixListEntries').where('prefixListId', '=', list.id));
    if (total > list.maxEntries) fail('LimitExceed.MaxEntries', { limit: list.maxEntries });
    await tx.record({
      resourceType: 'prefixList',
      resourceId: list.id,
      action: 'ModifyPrefixList',
      after: { added: added.map((entry) => entry.cidr), removed },
    });
    for (const { vpcId } of await listUsers(tx.db, list.id)) tx.wake({ kind: 'vpc', id: vpcId });
    return {};
  },
});

export const deletePrefixList = defineAction(ecs.DeletePrefixList, {
  errors: ['InvalidPrefixListId.NotFound', 'NotAllowed.AssociationExist'],
  async change({ prefixListId }, context) {
    const { tx, fail } = context;
    const list = await getPrefixList(prefixListId, context);
    const [user] = await listUsers(tx.db, list.id);
    if (user) fail('NotAllowed.AssociationExist', { id: user.id });
    await tx.db.deleteFrom('prefixLists').where('id', '=', list.id).execute();
    await deleteTags(tx, 'prefixlist', [list.id]);
    await tx.record({ resourceType: 'prefixList', resourceId: list.id, action: 'DeletePrefixList' });
    return {};
  },
});

/** The security groups of which a rule names the list. */
async function listUsers(db: Reader, id: PrefixListId) {
  return db
    .selectFrom('securityGroups')
    .select(['id', 'vpcId', 'sequence'])
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('securityGroupRules as rule')
        .select('rule.securityGroupId')
        .where('rule.peerPrefixListId', '=', id),
    )
    .orderBy('sequence')
    .execute();
}

export const describePrefixLists = defineAction(ecs.DescribePrefixLists, {
  errors: ['LimitExceed.PrefixListId'],
  async read(input, { db, caller, regionId, fail }) {
    const page = readTokenPage(input, { maxPageSize: 100 });
    const scope = { accountId: caller.accountId, regionId, resourceType: 'prefixlist' } as const;
    let query = db
      .selectFrom('prefixLists')
      .where('accountId', '=', caller.accountId)
      .where('regionId', '=', regionId);
    const ids = input.prefixListId ?? [];
    if (ids.length > 100) fail('LimitExceed.PrefixListId', { limit: 100 });
    if (ids.length > 0) query = query.where('id', 'in', ids as PrefixListId[]);
    if (input.addressFamily !== undefined) {
      query = query.where('addressFamily', '=', input.addressFamily as PrefixList['addressFamily']);
    }
    if (input.prefixListName !== undefined) query = query.where(matchesPattern('name', input.prefixListName));
    if (input.resourceGroupId !== undefined) {
      query = query.where('resourceGroupId', '=', input.resourceGroupId);
    }
    const filters = readTagFilters(input.tag, fail);
    if (filters.length > 0) query = query.where('id', 'in', queryTagged<PrefixListId>(db, scope, filters));
    const rows = await query.selectAll().$call(onPage(page)).execute();
    const tags = await readTags(
      db,
      'prefixlist',
      rows.map((row) => row.id),
    );
    const prefixList = [];
    for (const row of rows) {
      prefixList.push({
        ...describe(row),
        resourceGroupId: row.resourceGroupId,
        associationCount: (await listUsers(db, row.id)).length,
        tags: {
          tag: (tags.get(row.id) ?? []).map(({ key, value }) => ({ tagKey: key, tagValue: value })),
        },
      });
    }
    return { nextToken: pageAnswer(page, rows, 0).nextToken, prefixLists: { prefixList } };
  },
});

function describe(list: PrefixList) {
  return {
    prefixListId: list.id,
    prefixListName: list.name,
    description: list.description,
    addressFamily: list.addressFamily,
    maxEntries: list.maxEntries,
    creationTime: list.creationTime,
  };
}

async function readPrefixList(
  id: string,
  { db, accountId }: { readonly db: Reader; readonly accountId: PrefixList['accountId'] },
): Promise<PrefixList | undefined> {
  return db
    .selectFrom('prefixLists')
    .selectAll()
    .where('id', '=', id as PrefixListId)
    .where('accountId', '=', accountId)
    .executeTakeFirst();
}

export const describePrefixListAttributes = defineAction(ecs.DescribePrefixListAttributes, {
  errors: ['InvalidPrefixListId.NotFound'],
  async read({ prefixListId: id }, { db, caller, fail }) {
    const list =
      (await readPrefixList(id, { db, accountId: caller.accountId })) ??
      fail('InvalidPrefixListId.NotFound', { id });
    const entries = await db
      .selectFrom('prefixListEntries')
      .select(['cidr', 'description'])
      .where('prefixListId', '=', list.id)
      .orderBy('sequence')
      .execute();
    return { ...describe(list), entries: { entry: entries } };
  },
});

export const describePrefixListAssociations = defineAction(ecs.DescribePrefixListAssociations, {
  errors: ['InvalidPrefixListId.NotFound'],
  async read(input, { db, caller, fail }) {
    const page = readTokenPage(input, { maxPageSize: 100 });
    const id = input.prefixListId;
    const list =
      (await readPrefixList(id, { db, accountId: caller.accountId })) ??
      fail('InvalidPrefixListId.NotFound', { id });
    const users = sliceOnPage(await listUsers(db, list.id), page);
    return {
      nextToken: pageAnswer(page, users, 0).nextToken,
      prefixListAssociations: {
        prefixListAssociation: users.map(({ item }) => ({
          resourceId: item.id,
          resourceType: 'securitygroup',
        })),
      },
    };
  },
});
