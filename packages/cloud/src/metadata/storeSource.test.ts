import * as ecs from '@alicloud/ecs20140526';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createId, type InstanceId } from '../domain/ids.js';
import { fabricAddress } from '../domain/network/addresses.js';
import { startTestCloud, type TestCloud } from '../testing/testCloud.js';
import { StoreMetadataSource } from './storeSource.js';
import { createTwinVpc } from './testing/twinVpc.js';

let cloud: TestCloud;
let source: StoreMetadataSource;
beforeAll(async () => {
  cloud = await startTestCloud();
  source = new StoreMetadataSource(cloud.cloud.parts);
});
afterAll(() => cloud?.stop());

const regionId = 'cn-hangzhou';
const publicKeyBody =
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDEy me@home';

async function run(more: Partial<ecs.RunInstancesRequest>): Promise<InstanceId> {
  const { body } = await cloud.ecs.runInstances(
    new ecs.RunInstancesRequest({
      regionId,
      imageId: 'debian_12_x64_egs',
      instanceType: 'ecs.c6.large',
      ...more,
    }),
  );
  return body?.instanceIdSets?.instanceIdSet?.[0] as InstanceId;
}

/** The address from which the network lets an instance call. */
async function callerOf(id: InstanceId): Promise<string> {
  const { store, config } = cloud.cloud.parts;
  const { fabricIndex } = await store.reader
    .selectFrom('networkInterfaces')
    .select('fabricIndex')
    .where('instanceId', '=', id)
    .executeTakeFirstOrThrow();
  return fabricAddress(config.network.fabricCidr, fabricIndex);
}

describe('what the store tells instances', () => {
  it('is what they were made with', async () => {
    await cloud.ecs.importKeyPair(
      new ecs.ImportKeyPairRequest({ regionId, keyPairName: 'laptop', publicKeyBody }),
    );
    const id = await run({
      zoneId: 'cn-hangzhou-a',
      hostName: 'web',
      instanceName: 'web-1',
      keyPairName: 'laptop',
      userData: Buffer.from('#!/bin/sh\n').toString('base64'),
      httpTokens: 'required',
      httpPutResponseHopLimit: 2,
      systemDisk: new ecs.RunInstancesRequestSystemDisk({ diskName: 'root' }),
      tag: [new ecs.RunInstancesRequestTag({ key: 'env', value: 'prod' })],
    });
    const instance = await source.findCaller(await callerOf(id));
    expect(instance).toMatchObject({
      id,
      accountId: cloud.cloud.credentials.accountId,
      regionId,
      zoneId: 'cn-hangzhou-a',
      name: 'web-1',
      hostName: 'web',
      instanceType: 'ecs.c6.large',
      imageId: 'debian_12_x64_egs',
      serialNumber: expect.stringMatching(/^[0-9a-f-]{36}$/),
      options: { endpoint: 'enabled', tokens: 'required', putResponseHopLimit: 2 },
      keyPairName: 'laptop',
      bandwidthKbits: expect.any(Number),
    });
    expect(instance?.userData?.toString()).toBe('#!/bin/sh\n');
    expect(await instance?.publicKey()).toContain(publicKeyBody.split(' ')[1]);
    expect(await instance?.tags()).toMatchObject([{ key: 'env', value: 'prod' }]);
    expect(await instance?.disks()).toEqual([{ id: expect.stringMatching(/^d-/), name: 'root' }]);
    expect(await instance?.interfaces()).toEqual([
      {
        id: expect.stringMatching(/^eni-/),
        macAddress: expect.stringMatching(/^00:16:3e:/),
        primaryAddress: expect.stringMatching(/^172\.16\./),
        addresses: [expect.stringMatching(/^172\.16\./)],
        vpcId: expect.stringMatching(/^vpc-/),
        vpcCidr: '172.16.0.0/12',
        vSwitchId: expect.stringMatching(/^vsw-/),
        vSwitchCidr: '172.16.0.0/20',
      },
    ]);
  });

  it('follows a change of the options at once', async () => {
    const id = await run({});
    const caller = await callerOf(id);
    expect((await source.findCaller(caller))?.options).toMatchObject({ tokens: 'optional' });
    await cloud.ecs.modifyInstanceMetadataOptions(
      new ecs.ModifyInstanceMetadataOptionsRequest({ regionId, instanceId: id, httpEndpoint: 'disabled' }),
    );
    expect((await source.findCaller(caller))?.options).toMatchObject({ endpoint: 'disabled' });
  });

  it('has the public address of the primary network interface', async () => {
    const id = await run({});
    const caller = await callerOf(id);
    expect(await source.findCaller(caller)).not.toHaveProperty('publicAddress');
    const { accountId } = cloud.cloud.credentials;
    await cloud.cloud.parts.store.transaction({ name: 'test' }, async ({ db, now }) => {
      const nic = await db
        .selectFrom('networkInterfaces')
        .select(['id', 'regionId', 'vpcId'])
        .where('instanceId', '=', id)
        .executeTakeFirstOrThrow();
      await db
        .insertInto('eips')
        .values({
          id: createId('eip', 'bp1'),
          accountId,
          regionId: nic.regionId,
          owner: 'account',
          address: '203.0.113.77',
          bandwidthMbits: 5,
          status: 'InUse',
          instanceType: 'EcsInstance',
          instanceId: id,
          vpcId: nic.vpcId,
          networkInterfaceId: nic.id,
          creationTime: now.toISOString(),
        })
        .execute();
    });
    expect((await source.findCaller(caller))?.publicAddress).toBe('203.0.113.77');
  });

  it('tells equal private addresses of two VPCs apart', async () => {
    const twin = await createTwinVpc(cloud.cloud, 'cn-hangzhou-a');
    const privateIpAddress = '172.16.0.200';
    const one = await run({ vSwitchId: twin.defaultVSwitchId, privateIpAddress });
    const { vSwitchId, securityGroupId } = twin;
    const other = await run({ vSwitchId, securityGroupId, privateIpAddress });
    for (const id of [one, other]) {
      const instance = await source.findCaller(await callerOf(id));
      expect(instance?.id).toBe(id);
      expect((await instance?.interfaces())?.[0]?.primaryAddress).toBe(privateIpAddress);
    }
  });

  it('is nothing for the released, and for addresses that are nobody’s', async () => {
    const id = await run({});
    const caller = await callerOf(id);
    await cloud.cloud.reconciler.idle();
    await cloud.ecs.deleteInstance(new ecs.DeleteInstanceRequest({ instanceId: id, force: true }));
    for (const address of [caller, '100.96.0.1', '100.127.255.255', '127.0.0.1', '203.0.113.9']) {
      expect(await source.findCaller(address), address).toBeUndefined();
    }
  });
});
