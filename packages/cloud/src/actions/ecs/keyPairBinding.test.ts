import * as ecs from '@alicloud/ecs20140526';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestCloud, type TestCloud } from '../../testing/testCloud.js';

const regionId = 'cn-hangzhou';
const publicKeyBody = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDEy';

let cloud: TestCloud;
let instanceIds: string[];
beforeAll(async () => {
  cloud = await startTestCloud();
  for (const keyPairName of ['first', 'second']) {
    await cloud.ecs.importKeyPair(new ecs.ImportKeyPairRequest({ regionId, keyPairName, publicKeyBody }));
  }
  const { body } = await cloud.ecs.runInstances(
    new ecs.RunInstancesRequest({
      regionId,
      imageId: 'debian_12_x64_egs',
      instanceType: 'ecs.t6-c1m1.large',
      zoneId: 'cn-hangzhou-a',
      amount: 2,
      password: 'Secret-123',
    }),
  );
  instanceIds = body?.instanceIdSets?.instanceIdSet ?? [];
  await cloud.cloud.reconciler.idle();
});
afterAll(() => cloud.stop());

const attach = async (keyPairName: string, ids: string[]) => {
  const { body } = await cloud.ecs.attachKeyPair(
    new ecs.AttachKeyPairRequest({ regionId, keyPairName, instanceIds: JSON.stringify(ids) }),
  );
  return body;
};
const detach = async (keyPairName: string, ids: string[]) => {
  const { body } = await cloud.ecs.detachKeyPair(
    new ecs.DetachKeyPairRequest({ regionId, keyPairName, instanceIds: JSON.stringify(ids) }),
  );
  return body;
};
const readInstance = (id: string) =>
  cloud.cloud.parts.store.reader
    .selectFrom('instances')
    .select(['keyPairName', 'passwordHash', 'generation', 'appliedGeneration'])
    .where('id', '=', id as never)
    .executeTakeFirstOrThrow();

describe('AttachKeyPair', () => {
  it('binds the pair, ends login by password, and has the loop bring it in', async () => {
    const [first = ''] = instanceIds;
    expect((await readInstance(first)).passwordHash).not.toBeNull();
    expect(await attach('first', instanceIds)).toMatchObject({
      keyPairName: 'first',
      totalCount: '2',
      failCount: '0',
      results: { result: instanceIds.map((instanceId) => ({ instanceId, success: 'true', code: '200' })) },
    });
    await cloud.cloud.reconciler.idle();
    const instance = await readInstance(first);
    expect(instance).toMatchObject({ keyPairName: 'first', passwordHash: null });
    expect(instance.appliedGeneration).toBe(instance.generation);
  });

  it('takes the place of the pair before, and says nothing new the second time', async () => {
    const [first = ''] = instanceIds;
    await attach('second', [first]);
    const { generation } = await readInstance(first);
    expect(await attach('second', [first])).toMatchObject({ failCount: '0' });
    expect(await readInstance(first)).toMatchObject({ keyPairName: 'second', generation });
    await attach('first', [first]);
  });

  it('reports the instances that it could not change, and changes the others', async () => {
    const [, second = ''] = instanceIds;
    expect(await attach('second', ['i-unknown', second])).toMatchObject({
      totalCount: '2',
      failCount: '1',
      results: {
        result: [
          { instanceId: 'i-unknown', success: 'false', code: 'InvalidInstanceId.NotFound' },
          { instanceId: second, success: 'true' },
        ],
      },
    });
    await attach('first', [second]);
  });

  it('refuses an unknown pair, no instance, and more than 50', async () => {
    await expect(attach('unknown', instanceIds)).rejects.toMatchObject({
      code: 'InvalidKeyPairName.NotFound',
      statusCode: 400,
    });
    const tooMany = Array.from({ length: 51 }, (_, index) => `i-${index}`);
    for (const ids of [[], tooMany]) {
      await expect(attach('first', ids)).rejects.toMatchObject({
        code: 'InvalidInstanceIds.ValueNotSupported',
      });
    }
  });
});

describe('DetachKeyPair', () => {
  it('keeps a pair from being deleted until it is bound nowhere', async () => {
    const deletePair = () =>
      cloud.ecs.deleteKeyPairs(new ecs.DeleteKeyPairsRequest({ regionId, keyPairNames: '["first"]' }));
    await expect(deletePair()).rejects.toMatchObject({
      code: 'InvalidParameter.KeypairAlreadyAttachedInstance',
      statusCode: 400,
    });
    expect(await detach('first', instanceIds)).toMatchObject({ failCount: '0' });
    expect(await detach('first', instanceIds)).toMatchObject({ failCount: '2' });
    expect(await readInstance(instanceIds[0] ?? '')).toMatchObject({ keyPairName: null });
    await deletePair();
  });
});
