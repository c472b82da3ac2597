import * as Ecs from '@alicloud/ecs20140526';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { codeOf } from '../../testing/errorCode.js';
import { startTestCloud, type TestCloud } from '../../testing/testCloud.js';
import { VpcFixture } from '../../testing/vpcFixture.js';

const regionId = 'cn-hangzhou';
let cloud: TestCloud;
beforeAll(async () => {
  cloud = await startTestCloud({ config: { quotas: { prefixLists: 3 } } });
});
afterAll(() => cloud.stop());

const entry = (cidr: string, description?: string) =>
  new Ecs.CreatePrefixListRequestEntry({ cidr, ...(description === undefined ? {} : { description }) });

async function create(request: Partial<Ecs.CreatePrefixListRequest> = {}): Promise<string> {
  const { body } = await cloud.ecs.createPrefixList(
    new Ecs.CreatePrefixListRequest({
      regionId,
      prefixListName: 'offices',
      addressFamily: 'IPv4',
      maxEntries: 3,
      entry: [entry('192.168.0.0/24', 'main'), entry('192.168.1.1')],
      ...request,
    }),
  );
  return body?.prefixListId ?? '';
}

const modify = (prefixListId: string, request: Partial<Ecs.ModifyPrefixListRequest>) =>
  cloud.ecs.modifyPrefixList(new Ecs.ModifyPrefixListRequest({ regionId, prefixListId, ...request }));
const remove = (prefixListId: string) =>
  cloud.ecs.deletePrefixList(new Ecs.DeletePrefixListRequest({ regionId, prefixListId }));
const show = async (prefixListId: string) =>
  (
    await cloud.ecs.describePrefixListAttributes(
      new Ecs.DescribePrefixListAttributesRequest({ regionId, prefixListId }),
    )
  ).body;

describe('prefix lists', () => {
  it('hold ranges in one spelling, which can be changed', async () => {
    const id = await create({ description: 'our houses' });
    expect(await show(id)).toMatchObject({
      prefixListName: 'offices',
      description: 'our houses',
      addressFamily: 'IPv4',
      maxEntries: 3,
      entries: {
        entry: [
          { cidr: '192.168.0.0/24', description: 'main' },
          { cidr: '192.168.1.1/32', description: '' },
        ],
      },
    });
    await modify(id, {
      prefixListName: 'houses',
      addEntry: [
        new Ecs.ModifyPrefixListRequestAddEntry({ cidr: '192.168.0.0/24', description: 'first' }),
        new Ecs.ModifyPrefixListRequestAddEntry({ cidr: '10.0.0.0/8' }),
      ],
      removeEntry: [new Ecs.ModifyPrefixListRequestRemoveEntry({ cidr: '192.168.1.1/32' })],
    });
    expect((await show(id))?.entries?.entry).toEqual([
      { cidr: '192.168.0.0/24', description: 'first' },
      { cidr: '10.0.0.0/8', description: '' },
    ]);
    await remove(id);
    expect(await codeOf(show(id))).toBe('InvalidPrefixListId.NotFound');
    expect(await codeOf(remove(id))).toBe('InvalidPrefixListId.NotFound');
    expect(await codeOf(modify(id, {}))).toBe('InvalidPrefixListId.NotFound');
  });

  it('are of one family', async () => {
    const id = await create({ addressFamily: 'IPv6', entry: [entry('fd00::/64'), entry('fd01::1')] });
    expect((await show(id))?.entries?.entry?.map(({ cidr }) => cidr)).toEqual(['fd00::/64', 'fd01::1/128']);
    await remove(id);
    expect(await codeOf(create({ addressFamily: 'IPv6' }))).toBe('InvalidParameter.CidrMalformed');
  });

  it('are listed in pages and by their marks', async () => {
    const ids = [
      await create({
        prefixListName: 'east',
        tag: [new Ecs.CreatePrefixListRequestTag({ key: 'k', value: 'v' })],
      }),
      await create({ prefixListName: 'west' }),
    ];
    const list = async (request: Partial<Ecs.DescribePrefixListsRequest>) => {
      const { body } = await cloud.ecs.describePrefixLists(
        new Ecs.DescribePrefixListsRequest({ regionId, ...request }),
      );
      const names = (body?.prefixLists?.prefixList ?? []).map(({ prefixListName }) => prefixListName);
      return { names, next: body?.nextToken ?? '' };
    };
    const first = await list({ maxResults: 1 });
    expect([first.names, (await list({ maxResults: 1, nextToken: first.next })).names]).toEqual([
      ['east'],
      ['west'],
    ]);
    expect((await list({ prefixListName: 'w*' })).names).toEqual(['west']);
    expect((await list({ prefixListId: [ids[0] ?? ''] })).names).toEqual(['east']);
    expect((await list({ tag: [new Ecs.DescribePrefixListsRequestTag({ key: 'k' })] })).names).toEqual([
      'east',
    ]);
    expect((await list({ addressFamily: 'IPv6' })).names).toEqual([]);
    for (const id of ids) await remove(id);
  });

  it.each([
    [{ addressFamily: 'IPX' }, 'InvalidParameter.AddressFamily'],
    [{ prefixListName: '1' }, 'InvalidParameter.PrefixListName'],
    [{ prefixListName: 'com.aliyun.x' }, 'InvalidParameter.PrefixListName'],
    [{ description: 'http://x' }, 'InvalidDescription.Malformed'],
    [{ maxEntries: 1 }, 'LimitExceed.MaxEntries'],
    [{ entry: [entry('10.0.0.1/8')] }, 'InvalidParameter.CidrMalformed'],
    [{ entry: [entry('10.0.0.1'), entry('10.0.0.1/32')] }, 'InvalidParameter.CidrDuplicated'],
  ])('are refused with %o', async (request, code) => {
    expect(await codeOf(create(request))).toBe(code);
  });

  it('keep to their size and to the quota', async () => {
    const ids = [await create(), await create(), await create()];
    expect(await codeOf(create())).toBe('LimitExceed.PrefixListPerRegion');
    const addEntry = ['10.0.0.0/8', '11.0.0.0/8'].map(
      (cidr) => new Ecs.ModifyPrefixListRequestAddEntry({ cidr }),
    );
    expect(await codeOf(modify(ids[0] ?? '', { addEntry }))).toBe('LimitExceed.MaxEntries');
    const removeEntry = [new Ecs.ModifyPrefixListRequestRemoveEntry({ cidr: '10.0.0.0/8' })];
    expect(await codeOf(modify(ids[0] ?? '', { addEntry, removeEntry }))).toBe(
      'InvalidParameter.CidrDuplicated',
    );
    for (const id of ids) await remove(id);
  });

  it('reach the host with the rules that name them, and follow their changes', async () => {
    const home = await VpcFixture.create(cloud);
    await home.runInstance();
    const id = await create();
    await cloud.ecs.authorizeSecurityGroup(
      new Ecs.AuthorizeSecurityGroupRequest({
        regionId,
        securityGroupId: home.securityGroupId,
        permissions: [
          new Ecs.AuthorizeSecurityGroupRequestPermissions({
            ipProtocol: 'TCP',
            portRange: '80/80',
            sourcePrefixListId: id,
          }),
        ],
      }),
    );
    expect((await home.applied(cloud)).security.prefixLists).toEqual([
      { id, cidrs: ['192.168.0.0/24', '192.168.1.1/32'] },
    ]);
    await modify(id, { addEntry: [new Ecs.ModifyPrefixListRequestAddEntry({ cidr: '10.0.0.0/8' })] });
    expect((await home.applied(cloud)).security.prefixLists[0]?.cidrs).toContain('10.0.0.0/8');
    expect(await codeOf(remove(id))).toBe('NotAllowed.AssociationExist');
    const { body } = await cloud.ecs.describePrefixListAssociations(
      new Ecs.DescribePrefixListAssociationsRequest({ regionId, prefixListId: id }),
    );
    expect(body?.prefixListAssociations?.prefixListAssociation).toEqual([
      { resourceId: home.securityGroupId, resourceType: 'securitygroup' },
    ]);
  });
});
