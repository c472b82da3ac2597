import type { Fail } from './errors.js';

/** Kinds of resources that carry tags under ECS, spelt as its ResourceType. */
export const ecsTagResourceTypes = [
  'instance',
  'disk',
  'keypair',
  'securitygroup',
  'eni',
  'command',
  'invocation',
  'image',
  'snapshot',
  'volume',
  'ddh',
  'ddhcluster',
  'launchtemplate',
  'reservedinstance',
  'snapshotpolicy',
  'elasticityassurance',
  'capacityreservation',
  'activation',
  'managedinstance',
] as const;

/** Kinds of resources that carry tags under VPC; requests and answers spell them in capitals. */
export const vpcTagResourceTypes = ['vpc', 'vswitch', 'eip', 'routetable', 'natgateway'] as const;

export type TagResourceType =
  | (typeof ecsTagResourceTypes)[number]
  | (typeof vpcTagResourceTypes)[number]
  | 'prefixlist';

/** A label on a resource. The value may be empty. */
export interface Tag {
  readonly key: string;
  readonly value: string;
}

/** A tag as a request gives it. */
export interface TagInput {
  readonly key?: string | undefined;
  readonly value?: string | undefined;
}

/** The most tags that one resource has, and the most that one request names. */
export const maxTagsPerResource = 20;

const maxLength = 128;
const url = /https?:\/\//i;

/** Ends the request unless `key` may be the key of a tag (TagResources, parameter Tag.N.Key). */
export function checkTagKey(key: string | undefined, fail: Fail<'InvalidTagKey.Malformed'>): string {
  if (key === undefined || key.length > maxLength || /^(aliyun|acs:)/i.test(key) || url.test(key)) {
    return fail('InvalidTagKey.Malformed', { key: key ?? '' });
  }
  return key;
}

/**
 * The tags of a request, checked: keys of up to 128 characters that neither start with `aliyun` or `acs:`
 * nor hold a URL, values of up to 128 characters without URL, no key twice (TagResources, RunInstances).
 */
export function checkTags(
  tags: readonly TagInput[] | undefined,
  fail: Fail<'InvalidTagKey.Malformed' | 'InvalidTagValue.Malformed' | 'Duplicate.TagKey'>,
): Tag[] {
  const checked = new Map<string, Tag>();
  for (const tag of tags ?? []) {
    const key = checkTagKey(tag.key, fail);
    const value = tag.value ?? '';
    if (value.length > maxLength || /^acs:/i.test(value) || url.test(value)) {
      fail('InvalidTagValue.Malformed', { key });
    }
    if (checked.has(key)) fail('Duplicate.TagKey', { key });
    checked.set(key, { key, value });
  }
  return [...checked.values()];
}

/** A wish to find tagged resources: a key with this value, or with any. */
export interface TagFilter {
  readonly key: string;
  readonly value: string | undefined;
}

/** The tag filters of a Describe action. A value without its key says nothing and is refused. */
export function readTagFilters(
  tags: readonly TagInput[] | undefined,
  fail: Fail<'MissingParameter'>,
): TagFilter[] {
  return (tags ?? []).map(({ key, value }, index) => ({
    key: key ?? fail('MissingParameter', { parameter: `Tag.${index + 1}.Key` }),
    value,
  }));
}
