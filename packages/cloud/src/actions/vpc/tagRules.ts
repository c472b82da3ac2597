import type { ErrorCode, Fail } from '../../domain/errors.js';
import { checkTagKey, checkTags, type Tag, type TagInput, type TagResourceType } from '../../domain/tags.js';
import type { Transaction } from '../../store/store.js';
import { putTags } from '../../store/tags.js';
import type { Scope } from '../../store/vpcs.js';

/** Codes of the VPC product for what ECS calls otherwise. */
export const vpcTagErrors = [
  'Forbidden.TagKey.Duplicated',
  'InvalidTagKey',
  'InvalidTagValue',
  'QuotaExceeded.TagNum',
] as const satisfies readonly ErrorCode[];

type VpcTagFail = Fail<(typeof vpcTagErrors)[number]>;

type EcsTagCode =
  | 'InvalidTagKey.Malformed'
  | 'InvalidTagValue.Malformed'
  | 'Duplicate.TagKey'
  | 'QuotaExceed.Tags';

/** The rules of tags are one for all products; only the codes differ. */
function translate(fail: VpcTagFail): Fail<EcsTagCode> {
  const raise = (code: EcsTagCode): never => {
    if (code === 'InvalidTagKey.Malformed') return fail('InvalidTagKey');
    if (code === 'InvalidTagValue.Malformed') return fail('InvalidTagValue');
    if (code === 'Duplicate.TagKey') return fail('Forbidden.TagKey.Duplicated');
    return fail('QuotaExceeded.TagNum');
  };
  return (code, ..._values) => raise(code);
}

export function checkVpcTags(tags: readonly TagInput[] | undefined, fail: VpcTagFail): Tag[] {
  return checkTags(tags, translate(fail));
}

export function checkVpcTagKey(key: string, fail: VpcTagFail): string {
  return checkTagKey(key, translate(fail));
}

export async function putVpcTags(
  tx: Transaction,
  { accountId, regionId }: Scope,
  resource: { readonly resourceType: TagResourceType; readonly resourceId: string },
  tags: readonly Tag[],
  fail: VpcTagFail,
): Promise<void> {
  await putTags(tx, { ...resource, accountId, regionId }, tags, translate(fail));
}
