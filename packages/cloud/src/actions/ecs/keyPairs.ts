import { ecs } from '@openegs/schema';
import type { ErrorCode, Fail } from '../../domain/errors.js';
import { createId, type KeyPairId } from '../../domain/ids.js';
import { createRsaKey, parsePublicKey, type SshPublicKey } from '../../domain/sshKeys.js';
import { checkTags, readTagFilters, type TagInput } from '../../domain/tags.js';
import { countRows } from '../../store/countRows.js';
import { matchesPattern } from '../../store/patterns.js';
import { deleteTags, putTags, queryTagged, readTags } from '../../store/tags.js';
import { toSecondsTime } from '../../store/times.js';
import { onPage, pageAnswer, readNumberedPage } from '../../wire/paging.js';
import { type ChangeContext, defineAction } from '../action.js';

const newKeyPairErrors = [
  'Duplicate.TagKey',
  'InvalidKeyPairName.Malformed',
  'InvalidTagKey.Malformed',
  'InvalidTagValue.Malformed',
  'KeyPair.AlreadyExist',
  'QuotaExceed.KeyPair',
  'QuotaExceed.Tags',
] as const satisfies readonly ErrorCode[];

type NewKeyPairError = (typeof newKeyPairErrors)[number];

/**
 * 2 to 128 letters, digits and `:_.-`, the first a letter, as Unicode has them
 * (ImportKeyPair, parameter KeyPairName).
 */
function checkName(name: string, fail: Fail<'InvalidKeyPairName.Malformed'>): void {
  if (!/^\p{L}[\p{L}\p{N}:_.-]{1,127}$/u.test(name)) fail('InvalidKeyPairName.Malformed', { name });
}

/** Stores a public key under a name that the account does not use in the region. */
async function addKeyPair<Prepared>(
  input: { keyPairName: string; resourceGroupId?: string | undefined; tag?: TagInput[] | undefined },
  key: SshPublicKey,
  { tx, cloud, caller, regionId, fail }: ChangeContext<NewKeyPairError, Prepared>,
) {
  const name = input.keyPairName;
  const tags = checkTags(input.tag, fail);
  const mine = tx.db
    .selectFrom('keyPairs')
    .where('accountId', '=', caller.accountId)
    .where('regionId', '=', regionId);
  if (await mine.select('id').where('name', '=', name).executeTakeFirst()) {
    fail('KeyPair.AlreadyExist', { name });
  }
  const { used } = await mine.select((eb) => eb.fn.countAll<number>().as('used')).executeTakeFirstOrThrow();
  const quota = cloud.config.quotas.keyPairs;
  if (used >= quota) fail('QuotaExceed.KeyPair', { quota });

  const id = createId('keyPair', cloud.catalog.getRegion(regionId).code);
  const scope = { accountId: caller.accountId, regionId };
  await tx.db
    .insertInto('keyPairs')
    .values({
      ...scope,
      id,
      name,
      fingerprint: key.fingerprint,
      publicKey: key.line,
      creationTime: toSecondsTime(tx.now),
      resourceGroupId: input.resourceGroupId ?? '',
    })
    .execute();
  await putTags(tx, { ...scope, resourceType: 'keypair', resourceId: id }, tags, fail);
  return { keyPairId: id, keyPairName: name, keyPairFingerPrint: key.fingerprint };
}

export const createKeyPair = defineAction(ecs.CreateKeyPair, {
  errors: newKeyPairErrors,
  async prepare({ keyPairName }, { fail }) {
    checkName(keyPairName, fail);
    return createRsaKey();
  },
  async change(input, context) {
    const { privateKey, ...publicKey } = context.prepared;
    const keyPair = await addKeyPair(input, publicKey, context);
    await context.tx.record({
      resourceType: 'keyPair',
      resourceId: keyPair.keyPairId,
      action: 'CreateKeyPair',
    });
    return { ...keyPair, privateKeyBody: privateKey };
  },
});

export const importKeyPair = defineAction(ecs.ImportKeyPair, {
  errors: [...newKeyPairErrors, 'InvalidPublicKeyBody.Malformed'],
  async change(input, context) {
    const { tx, fail } = context;
    checkName(input.keyPairName, fail);
    const key = parsePublicKey(input.publicKeyBody) ?? fail('InvalidPublicKeyBody.Malformed');
    const { keyPairId, ...keyPair } = await addKeyPair(input, key, context);
    await tx.record({ resourceType: 'keyPair', resourceId: keyPairId, action: 'ImportKeyPair' });
    return keyPair;
  },
});

export const describeKeyPairs = defineAction(ecs.DescribeKeyPairs, {
  errors: [],
  async read(input, { db, caller, regionId, fail }) {
    const page = readNumberedPage(input, { maxPageSize: 50 });
    const scope = { accountId: caller.accountId, regionId, resourceType: 'keypair' } as const;
    let query = db
      .selectFrom('keyPairs')
      .where('accountId', '=', scope.accountId)
      .where('regionId', '=', scope.regionId);
    if (input.keyPairName !== undefined) query = query.where(matchesPattern('name', input.keyPairName));
    if (input.keyPairFingerPrint !== undefined) {
      query = query.where('fingerprint', '=', input.keyPairFingerPrint);
    }
    if (input.resourceGroupId !== undefined) {
      query = query.where('resourceGroupId', '=', input.resourceGroupId);
    }
    const filters = readTagFilters(input.tag, fail);
    if (filters.length > 0) query = query.where('id', 'in', queryTagged<KeyPairId>(db, scope, filters));

    const total = await countRows(query);
    const rows = await query.selectAll().$call(onPage(page)).execute();
    const tags = await readTags(
      db,
      'keypair',
      rows.map((row) => row.id),
    );
    return {
      ...pageAnswer(page, rows, total),
      keyPairs: {
        keyPair: rows.map(
          (row): ecs.DescribeKeyPairsResponseKeyPairsKeyPair => ({
            keyPairName: row.name,
            keyPairFingerPrint: row.fingerprint,
            creationTime: row.creationTime,
            resourceGroupId: row.resourceGroupId,
            ...(input.includePublicKey === true ? { publicKey: row.publicKey } : {}),
            tags: {
              tag: (tags.get(row.id) ?? []).map(({ key, value }) => ({ tagKey: key, tagValue: value })),
            },
          }),
        ),
      },
    };
  },
});

export const deleteKeyPairs = defineAction(ecs.DeleteKeyPairs, {
  errors: ['InvalidKeyPairNames.ValueNotSupported', 'InvalidParameter.KeypairAlreadyAttachedInstance'],
  async change({ keyPairNames }, { tx, caller, regionId, fail }) {
    if (keyPairNames.length === 0) fail('InvalidKeyPairNames.ValueNotSupported');
    const bound = await tx.db
      .selectFrom('instances')
      .select(['id', 'keyPairName'])
      .where('accountId', '=', caller.accountId)
      .where('regionId', '=', regionId)
      .where('status', '<>', 'Deleted')
      .where('keyPairName', 'in', keyPairNames)
      .executeTakeFirst();
    if (bound) {
      fail('InvalidParameter.KeypairAlreadyAttachedInstance', {
        name: bound.keyPairName ?? '',
        instanceId: bound.id,
      });
    }
    const deleted = await tx.db
      .deleteFrom('keyPairs')
      .where('accountId', '=', caller.accountId)
      .where('regionId', '=', regionId)
      .where('name', 'in', keyPairNames)
      .returning('id')
      .execute();
    const ids = deleted.map((row) => row.id);
    await deleteTags(tx, 'keypair', ids);
    for (const id of ids)
      await tx.record({ resourceType: 'keyPair', resourceId: id, action: 'DeleteKeyPairs' });
    return {};
  },
});
