import { createHash } from 'node:crypto';
import { fail } from '../domain/errors.js';
import type { AccountId, RegionId } from '../domain/ids.js';
import type { Transaction } from '../store/store.js';
import type { RpcRequest } from './request.js';

/** How long an answer is kept for its token; the original states no figure. */
const keptForMs = 24 * 60 * 60 * 1000;

/** Parameters that differ between two tries of one request. */
const signatureParameters = new Set([
  'AccessKeyId',
  'Action',
  'ClientToken',
  'Format',
  'SecurityToken',
  'Signature',
  'SignatureMethod',
  'SignatureNonce',
  'SignatureType',
  'SignatureVersion',
  'Timestamp',
  'Version',
]);

function hashParameters(parameters: ReadonlyMap<string, string>): string {
  const business = [...parameters].filter(([name]) => !signatureParameters.has(name)).sort();
  return createHash('sha256').update(JSON.stringify(business)).digest('hex');
}

/**
 * Answers a request that carries a client token: with the first answer if the token is known, else with
 * what `work` gives, which is kept in the same transaction as the work's effects. Since transactions run
 * one after the other, a second try never meets a first that is still running.
 */
export async function onceForToken<Result extends object>(
  tx: Transaction,
  request: RpcRequest,
  token: string,
  accountId: AccountId,
  regionId: RegionId,
  work: () => Promise<Result>,
): Promise<object> {
  if (!/^[\x20-\x7e]{1,64}$/.test(token)) fail('InvalidClientToken.ValueNotSupported');

  await tx.db
    .deleteFrom('clientTokens')
    .where('createdAt', '<', new Date(tx.now.getTime() - keptForMs).toISOString())
    .execute();
  const parametersHash = hashParameters(request.parameters);
  const key = { accountId, regionId, action: request.action, token };
  const known = await tx.db
    .selectFrom('clientTokens')
    .select(['parametersHash', 'response'])
    .where((eb) => eb.and(key))
    .executeTakeFirst();
  if (known) {
    if (known.parametersHash !== parametersHash) fail('IdempotentParameterMismatch');
    return JSON.parse(known.response);
  }
  const result = await work();
  await tx.db
    .insertInto('clientTokens')
    .values({ ...key, parametersHash, response: JSON.stringify(result), createdAt: tx.now.toISOString() })
    .execute();
  return result;
}
