import { createPublicKey } from 'node:crypto';
import * as ecs from '@alicloud/ecs20140526';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestCloud, type TestCloud } from '../../testing/testCloud.js';

let cloud: TestCloud;
beforeAll(async () => {
  cloud = await startTestCloud({
    config: { hosts: [{ id: 'fake-1', engine: { driver: 'fake' } }], quotas: { keyPairs: 6 } },
  });
});
afterAll(() => cloud.stop());

const regionId = 'cn-hangzhou';
const publicKeyBody =
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDEy me@home';

const importPair = (keyPairName: string, more: Partial<ecs.ImportKeyPairRequest> = {}) =>
  cloud.ecs.importKeyPair(new ecs.ImportKeyPairRequest({ regionId, keyPairName, publicKeyBody, ...more }));
const describePairs = async (filter: Partial<ecs.DescribeKeyPairsRequest> = {}) => {
  const { body } = await cloud.ecs.describeKeyPairs(new ecs.DescribeKeyPairsRequest({ regionId, ...filter }));
  return { ...body, pairs: body?.keyPairs?.keyPair ?? [] };
};
const names = async (filter: Partial<ecs.DescribeKeyPairsRequest>) =>
  (await describePairs(filter)).pairs.map((pair) => pair.keyPairName);
const deletePairs = (keyPairNames: string[]) =>
  cloud.ecs.deleteKeyPairs(
    new ecs.DeleteKeyPairsRequest({ regionId, keyPairNames: JSON.stringify(keyPairNames) }),
  );

describe('CreateKeyPair', () => {
  it('gives the private key once and keeps the public one that belongs to it', async () => {
    const { body } = await cloud.ecs.createKeyPair(
      new ecs.CreateKeyPairRequest({ regionId, keyPairName: 'created' }),
    );
    expect(body).toMatchObject({ keyPairName: 'created', keyPairId: expect.stringMatching(/^ssh-bp1/) });
    const derived = createPublicKey(body?.privateKeyBody ?? '').export({ format: 'jwk' });
    const { pairs } = await describePairs({ keyPairName: 'created', includePublicKey: true });
    expect(pairs[0]?.keyPairFingerPrint).toBe(body?.keyPairFingerPrint);
    const stored = Buffer.from(pairs[0]?.publicKey?.split(' ')[1] ?? '', 'base64');
    expect(stored.includes(Buffer.from(derived.n ?? '-', 'base64url'))).toBe(true);
    await deletePairs(['created']);
  });

  it('does not keep the private key for a client token, which the action does not have', async () => {
    const request = { RegionId: regionId, KeyPairName: 'token', ClientToken: 'once' };
    await cloud.rpc().request('CreateKeyPair', request);
    await expect(cloud.rpc().request('CreateKeyPair', request)).rejects.toMatchObject({
      code: 'KeyPair.AlreadyExist',
    });
    await deletePairs(['token']);
  });

  it.each(['x', '1st', '-dash', 'http://name', 'with space', 'a'.repeat(129)])(
    'refuses the name "%s"',
    async (keyPairName) => {
      await expect(
        cloud.ecs.createKeyPair(new ecs.CreateKeyPairRequest({ regionId, keyPairName })),
      ).rejects.toMatchObject({ code: 'InvalidKeyPairName.Malformed', statusCode: 400 });
    },
  );
});

describe('ImportKeyPair', () => {
  it('takes a public key and tells its fingerprint', async () => {
    const { body } = await importPair('imported');
    expect(body).toMatchObject({
      keyPairName: 'imported',
      keyPairFingerPrint: expect.stringMatching(/^([0-9a-f]{2}:){15}[0-9a-f]{2}$/),
    });
    await deletePairs(['imported']);
  });

  it('refuses what is not a public key', async () => {
    await expect(importPair('bad', { publicKeyBody: 'ABC1234567' })).rejects.toMatchObject({
      code: 'InvalidPublicKeyBody.Malformed',
      statusCode: 400,
    });
  });

  it('refuses a name that is taken, in this region and account', async () => {
    await importPair('taken');
    await expect(importPair('taken')).rejects.toMatchObject({ code: 'KeyPair.AlreadyExist' });
    await deletePairs(['taken']);
  });

  it('refuses more than the quota', async () => {
    const wished = Array.from({ length: 6 }, (_, index) => `quota-${index}`);
    for (const name of wished) await importPair(name);
    await expect(importPair('quota-6')).rejects.toMatchObject({
      code: 'QuotaExceed.KeyPair',
      statusCode: 403,
    });
    await deletePairs(wished);
  });
});

describe('DescribeKeyPairs', () => {
  const tag = (key?: string, value?: string) =>
    new ecs.DescribeKeyPairsRequestTag({ ...(key ? { key } : {}), ...(value ? { value } : {}) });
  beforeAll(async () => {
    await importPair('SshKey', { tag: [tag('team', 'a'), tag('env', 'test')] });
    await importPair('mySshKey', { tag: [tag('team', 'b')], resourceGroupId: 'rg-1' });
    await importPair('SshKey2');
    await importPair('other_SshKey_');
  });
  afterAll(() => deletePairs(['SshKey', 'mySshKey', 'SshKey2', 'other_SshKey_']));

  it.each([
    ['SshKey', ['SshKey']],
    ['*SshKey', ['SshKey', 'mySshKey']],
    ['SshKey*', ['SshKey', 'SshKey2']],
    ['*SshKey*', ['SshKey', 'mySshKey', 'SshKey2', 'other_SshKey_']],
    ['sshkey', []],
    ['SshKey?', []],
    ['[S]shKey', []],
  ])('finds by the name "%s"', async (keyPairName, expected) => {
    expect(await names({ keyPairName })).toEqual(expected);
  });

  it('finds by tags, all of which must fit', async () => {
    expect(await names({ tag: [tag('team')] })).toEqual(['SshKey', 'mySshKey']);
    expect(await names({ tag: [tag('team', 'a'), tag('env', 'test')] })).toEqual(['SshKey']);
    expect(await names({ tag: [tag('team', 'b'), tag('env', 'test')] })).toEqual([]);
    await expect(names({ tag: [tag(undefined, 'a')] })).rejects.toMatchObject({ code: 'MissingParameter' });
  });

  it('finds by fingerprint and resource group', async () => {
    const { pairs } = await describePairs({ resourceGroupId: 'rg-1' });
    expect(pairs.map((pair) => pair.keyPairName)).toEqual(['mySshKey']);
    expect(await names({ keyPairFingerPrint: pairs[0]?.keyPairFingerPrint ?? '' })).toHaveLength(4);
    expect(await names({ keyPairFingerPrint: 'none' })).toEqual([]);
  });

  it('answers in pages, without public keys unless asked', async () => {
    const page = await describePairs({ pageNumber: 2, pageSize: 3 });
    expect(page).toMatchObject({ pageNumber: 2, pageSize: 3, totalCount: 4 });
    expect(page.pairs).toHaveLength(1);
    expect(page.pairs[0]?.publicKey).toBeUndefined();
    expect((await describePairs({ includePublicKey: true })).pairs[0]?.publicKey).toBe(publicKeyBody);
    await expect(describePairs({ pageSize: 51 })).rejects.toMatchObject({ code: 'InvalidParameter' });
  });
});

describe('DeleteKeyPairs', () => {
  it('passes over names that do not exist, and wants at least one', async () => {
    await deletePairs(['never-was']);
    await expect(deletePairs([])).rejects.toMatchObject({ code: 'InvalidKeyPairNames.ValueNotSupported' });
  });
});
