import * as ecs from '@alicloud/ecs20140526';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startTestCloud, type TestCloud } from '../../testing/testCloud.js';

const regionId = 'cn-hangzhou';

let cloud: TestCloud;
let instanceIds: string[];
beforeAll(async () => {
  cloud = await startTestCloud();
  const { body } = await cloud.ecs.runInstances(
    new ecs.RunInstancesRequest({
      regionId,
      imageId: 'debian_12_x64_egs',
      instanceType: 'ecs.t6-c1m1.large',
      amount: 3,
    }),
  );
  instanceIds = body?.instanceIdSets?.instanceIdSet ?? [];
  await cloud.rpc().request('ImportKeyPair', {
    RegionId: regionId,
    KeyPairName: 'mine',
    PublicKeyBody: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDEy',
  });
});
afterAll(() => cloud.stop());

type Tags = Record<string, string>;
const call = (action: string, parameters: object): Promise<unknown> =>
  cloud
    .rpc()
    .request(action, { RegionId: regionId, ResourceType: 'instance', ...parameters }, { method: 'POST' });
const tagList = (tags: Tags) => Object.entries(tags).map(([Key, Value]) => ({ Key, Value }));
const tag = (resourceIds: string[], tags: Tags, more: object = {}) =>
  call('TagResources', { ResourceId: resourceIds, Tag: tagList(tags), ...more });
const untag = (resourceIds: string[], more: object) =>
  call('UntagResources', { ResourceId: resourceIds, ...more });

interface Listing {
  NextToken: string;
  TagResources: {
    TagResource: { ResourceId: string; ResourceType: string; TagKey: string; TagValue: string }[];
  };
}
const list = async (parameters: object) => (await call('ListTagResources', parameters)) as Listing;
const tagsOf = async (resourceId: string, more: object = {}): Promise<Tags> => {
  const { TagResources } = await list({ ResourceId: [resourceId], ...more });
  return Object.fromEntries(TagResources.TagResource.map(({ TagKey, TagValue }) => [TagKey, TagValue]));
};

let first: string;
let second: string;
beforeEach(async () => {
  [first = '', second = ''] = instanceIds;
  await untag(instanceIds, { All: true });
});

describe('TagResources', () => {
  it('puts tags on several resources and overwrites values', async () => {
    await tag([first, second], { env: 'test', team: 'a' });
    await tag([second], { env: 'live', empty: '' });
    expect(await tagsOf(first)).toEqual({ env: 'test', team: 'a' });
    expect(await tagsOf(second)).toEqual({ env: 'live', team: 'a', empty: '' });
  });

  it('speaks V3 as well, and DescribeInstances shows the tags and finds by them', async () => {
    await cloud.ecs.tagResources(
      new ecs.TagResourcesRequest({
        regionId,
        resourceType: 'instance',
        resourceId: [first],
        tag: [new ecs.TagResourcesRequestTag({ key: 'env', value: 'test' })],
      }),
    );
    const { body } = await cloud.ecs.describeInstances(
      new ecs.DescribeInstancesRequest({
        regionId,
        tag: [new ecs.DescribeInstancesRequestTag({ key: 'env', value: 'test' })],
      }),
    );
    expect(body?.instances?.instance).toMatchObject([
      { instanceId: first, tags: { tag: [{ tagKey: 'env', tagValue: 'test' }] } },
    ]);
  });

  it('knows key pairs by their names, and every kind that is in the store', async () => {
    await tag(['mine'], { use: 'ssh' }, { ResourceType: 'keypair' });
    expect(await tagsOf('mine', { ResourceType: 'keypair' })).toEqual({ use: 'ssh' });
    const { TagResources } = await list({ ResourceType: 'KEYPAIR', Tag: [{ Key: 'use' }] });
    expect(TagResources.TagResource).toMatchObject([{ ResourceId: 'mine', ResourceType: 'keypair' }]);
    const { reader } = cloud.cloud.parts.store;
    for (const [type, table] of [
      ['disk', 'disks'],
      ['securitygroup', 'securityGroups'],
      ['eni', 'networkInterfaces'],
    ] as const) {
      const { id } = await reader.selectFrom(table).select('id').executeTakeFirstOrThrow();
      await tag([id], { kind: type }, { ResourceType: type });
      expect(await tagsOf(id, { ResourceType: type })).toEqual({ kind: type });
    }
  });

  it('changes nothing when one of the resources does not exist', async () => {
    await expect(tag([first, 'i-unknown'], { env: 'test' })).rejects.toMatchObject({
      code: 'InvalidResourceId.NotFound',
    });
    expect(await tagsOf(first)).toEqual({});
  });

  it('lets a resource have 20 tags and no more', async () => {
    const numbered = (from: number, to: number) =>
      Object.fromEntries(Array.from({ length: to - from + 1 }, (_, index) => [`key${from + index}`, '']));
    await tag([first], numbered(1, 20));
    await tag([first], { key20: 'again' });
    await expect(tag([first], { key21: '' })).rejects.toMatchObject({ code: 'QuotaExceed.Tags' });
    expect(Object.keys(await tagsOf(first))).toHaveLength(20);
    await expect(tag([second], numbered(1, 21))).rejects.toMatchObject({ code: 'NumberExceed.Tags' });
  });

  it.each([
    ['a key that starts with aliyun', { Tag: [{ Key: 'aliyunKey', Value: '' }] }, 'InvalidTagKey.Malformed'],
    ['a key that starts with acs:', { Tag: [{ Key: 'acs:key', Value: '' }] }, 'InvalidTagKey.Malformed'],
    ['a key with a URL', { Tag: [{ Key: 'see http://a', Value: '' }] }, 'InvalidTagKey.Malformed'],
    ['a key of 129 characters', { Tag: [{ Key: 'k'.repeat(129), Value: '' }] }, 'InvalidTagKey.Malformed'],
    ['no key', { Tag: [{ Value: 'v' }] }, 'InvalidTagKey.Malformed'],
    ['a value with a URL', { Tag: [{ Key: 'k', Value: 'https://a' }] }, 'InvalidTagValue.Malformed'],
    [
      'a value of 129 characters',
      { Tag: [{ Key: 'k', Value: 'v'.repeat(129) }] },
      'InvalidTagValue.Malformed',
    ],
    ['a key twice', { Tag: [{ Key: 'k' }, { Key: 'k' }] }, 'Duplicate.TagKey'],
    ['an unknown type', { ResourceType: 'car', Tag: [{ Key: 'k' }] }, 'InvalidResourceType.NotFound'],
    ['no tag', {}, 'MissingParameter'],
    [
      'a snapshot, of which there are none',
      { ResourceType: 'snapshot', Tag: [{ Key: 'k' }] },
      'InvalidResourceId.NotFound',
    ],
    [
      '51 resources',
      { ResourceId: Array.from({ length: 51 }, (_, index) => `i-${index}`), Tag: [{ Key: 'k' }] },
      'NumberExceed.ResourceIds',
    ],
  ])('refuses %s', async (_what, parameters, code) => {
    await expect(call('TagResources', { ResourceId: [first], ...parameters })).rejects.toMatchObject({
      code,
    });
  });
});

describe('UntagResources', () => {
  beforeEach(() => tag([first], { a: '1', b: '2', c: '3' }));

  it('takes the named keys, and passes over those that are not there', async () => {
    await untag([first], { TagKey: ['a', 'unknown'] });
    expect(await tagsOf(first)).toEqual({ b: '2', c: '3' });
  });

  it('takes all', async () => {
    await untag([first], { All: true });
    expect(await tagsOf(first)).toEqual({});
  });

  it('refuses both at once, and neither', async () => {
    await expect(untag([first], { All: true, TagKey: ['a'] })).rejects.toMatchObject({
      code: 'Param.Conflict',
    });
    await expect(untag([first], {})).rejects.toMatchObject({ code: 'MissingParameter' });
    await expect(untag(['i-unknown'], { All: true })).rejects.toMatchObject({
      code: 'InvalidResourceId.NotFound',
    });
  });
});

describe('ListTagResources', () => {
  beforeEach(async () => {
    await tag([first], { env: 'test', environment: 'alpha' });
    await tag([second], { env: 'live' });
  });
  const resourceIds = async (parameters: object) => [
    ...new Set((await list(parameters)).TagResources.TagResource.map((row) => row.ResourceId)),
  ];

  it('finds by tags and by wildcards', async () => {
    expect(await resourceIds({ Tag: [{ Key: 'env' }] })).toEqual([first, second].sort());
    expect(await resourceIds({ Tag: [{ Key: 'env', Value: 'live' }] })).toEqual([second]);
    expect(await resourceIds({ Tag: [{ Key: 'env' }], ResourceId: [first] })).toEqual([first]);
    expect(await resourceIds({ TagFilter: [{ TagKey: 'env*' }] })).toEqual([first, second].sort());
    expect(await resourceIds({ TagFilter: [{ TagKey: 'environ*' }] })).toEqual([first]);
    expect(await resourceIds({ TagFilter: [{ TagKey: 'env', TagValues: ['l*', 'x'] }] })).toEqual([second]);
    expect(await resourceIds({ ResourceId: ['i-unknown'] })).toEqual([]);
  });

  it('walks through pages of 50 without gap or overlap', async () => {
    const numbered = Object.fromEntries(Array.from({ length: 18 }, (_, index) => [`k${index}`, '']));
    await tag(instanceIds, numbered);
    const seen: string[] = [];
    let NextToken: string | undefined;
    do {
      const page = await list({ Tag: [{ Key: 'k0' }], ...(NextToken ? { NextToken } : {}) });
      seen.push(...page.TagResources.TagResource.map((row) => `${row.ResourceId} ${row.TagKey}`));
      ({ NextToken } = page);
    } while (NextToken);
    expect(seen).toHaveLength(3 * 18 + 3);
    expect(new Set(seen).size).toBe(seen.length);
  });

  it.each([
    [{}, 'BothEmpty.TagsAndResources'],
    [{ Tag: [{ Key: 'a' }], TagFilter: [{ TagKey: 'a' }] }, 'InvalidTags.MalFormed'],
    [{ TagFilter: [{ TagValues: ['a'] }] }, 'InvalidTagFilter.Malformed'],
    [{ Tag: [{ Key: 'a' }], NextToken: 'nonsense' }, 'Invalid.NextToken'],
    [{ Tag: [{ Value: 'a' }] }, 'MissingParameter'],
    [{ ResourceType: 'car', Tag: [{ Key: 'a' }] }, 'InvalidResourceType.NotFound'],
  ])('refuses %j', async (parameters, code) => {
    await expect(list(parameters)).rejects.toMatchObject({ code });
  });
});

describe('the older tag actions', () => {
  const describeTags = (parameters: object) =>
    cloud.rpc().request('DescribeTags', { RegionId: regionId, ...parameters });

  it('add and remove tags of one resource, by key or by key and value', async () => {
    await call('AddTags', { ResourceId: first, Tag: tagList({ a: '1', b: '2' }) });
    await call('RemoveTags', { ResourceId: first, Tag: tagList({ a: 'other' }) });
    expect(await tagsOf(first)).toEqual({ a: '1', b: '2' });
    await call('RemoveTags', { ResourceId: first, Tag: [{ Key: 'a' }, { Key: 'b', Value: '2' }] });
    expect(await tagsOf(first)).toEqual({});
    await expect(call('RemoveTags', { ResourceId: first })).rejects.toMatchObject({
      code: 'MissingParameter',
    });
    await expect(call('AddTags', { ResourceId: 'i-none', Tag: tagList({ a: '' }) })).rejects.toMatchObject({
      code: 'InvalidResourceId.NotFound',
    });
  });

  it('count by DescribeTags how many resources carry a tag', async () => {
    await tag([first, second], { shared: 'x' });
    await tag(['mine'], { shared: 'x' }, { ResourceType: 'keypair' });
    expect(await describeTags({ Tag: [{ Key: 'shared' }] })).toMatchObject({
      TotalCount: 1,
      PageSize: 50,
      Tags: {
        Tag: [{ TagKey: 'shared', TagValue: 'x', ResourceTypeCount: { Instance: 2, KeyPair: 1, Disk: 0 } }],
      },
    });
    expect(await describeTags({ ResourceType: 'instance', ResourceId: first })).toMatchObject({
      Tags: { Tag: [{ TagKey: 'shared' }] },
    });
    expect(await describeTags({ ResourceType: 'instance', ResourceId: 'i-none' })).toMatchObject({
      TotalCount: 0,
    });
    await expect(describeTags({ ResourceId: first })).rejects.toMatchObject({ code: 'MissingParameter' });
    await expect(describeTags({ Category: 'strange' })).rejects.toMatchObject({
      code: 'Invalid.TagCategory',
    });
  });
});
