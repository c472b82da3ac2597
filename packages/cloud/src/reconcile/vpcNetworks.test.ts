import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { noFaults } from '../domain/faults.js';
import type { VpcId } from '../domain/ids.js';
import { FakeNetworkDriver } from '../drivers/network/fake/driver.js';
import { startTestCloud, type TestCloud } from '../testing/testCloud.js';
import { VpcFixture } from '../testing/vpcFixture.js';
import { VpcNetworks } from './vpcNetworks.js';

let cloud: TestCloud;
let home: VpcFixture;
let vpcId: VpcId;
beforeEach(async () => {
  cloud = await startTestCloud();
  home = await VpcFixture.create(cloud);
  vpcId = home.vpcId as VpcId;
});
afterEach(() => cloud.stop());

/** The state as a process leaves it that dies before its loops have done anything. */
async function inStore(change: Parameters<TestCloud['cloud']['parts']['store']['transaction']>[1]) {
  await cloud.cloud.parts.store.transaction({ name: 'test' }, change);
}

/** The loop of the next process, with a host on which nothing is. */
function restart() {
  const driver = new FakeNetworkDriver();
  return { driver, networks: new VpcNetworks(cloud.cloud.parts, driver, noFaults) };
}

describe('the networks of a cloud', () => {
  it('have nothing on the host before the first instance, and stay after the last', async () => {
    await cloud.cloud.reconciler.idle();
    expect(cloud.network.networks.has(vpcId)).toBe(false);
    const id = await home.runInstance();
    expect((await home.applied(cloud)).ports).toHaveLength(1);
    await cloud.rpc().request('DeleteInstance', { InstanceId: id, Force: true });
    expect((await home.applied(cloud)).ports).toEqual([]);
  });

  it('are made anew after a restart, with public addresses that were on their way', async () => {
    const id = await home.runInstance();
    await cloud.cloud.reconciler.idle();
    const { allocationId, eipAddress } = await home.allocateEip();
    await home.associateEip(allocationId, id);
    await cloud.cloud.reconciler.idle();
    await inStore(async ({ db }) => {
      await db.updateTable('eips').set({ status: 'Associating' }).execute();
    });
    const { driver, networks } = restart();
    const { mended, failed } = await networks.resync();
    expect(failed).toEqual([]);
    expect(mended).toContain(`made ${vpcId}`);
    expect(driver.networks.get(vpcId)?.eips.map(({ address }) => address)).toEqual([eipAddress]);
    expect((await home.describeEip(allocationId))?.status).toBe('InUse');
  });

  it('finish the removal that a process did not get to', async () => {
    await home.runInstance();
    const network = await home.applied(cloud);
    const { driver, networks } = restart();
    await driver.applyVpc(network);
    await inStore(async ({ db }) => {
      await db.updateTable('vpcs').set({ status: 'Deleted' }).where('id', '=', vpcId).execute();
    });
    await networks.resync();
    expect(driver.networks.has(vpcId)).toBe(false);
    const rows = await cloud.cloud.parts.store.reader.selectFrom('vpcs').select('id').execute();
    expect(rows.map(({ id }) => id)).not.toContain(vpcId);
  });

  it('take off the host what nobody owns', async () => {
    await home.runInstance();
    const network = await home.applied(cloud);
    const { driver, networks } = restart();
    await driver.applyVpc({ ...network, id: 'vpc-forgotten' as VpcId });
    await networks.resync();
    expect([...driver.networks.keys()]).not.toContain('vpc-forgotten');
  });

  it('tell which of them could not be compared, and compare them the next time', async () => {
    await home.runInstance();
    await cloud.cloud.reconciler.idle();
    const { driver, networks } = restart();
    driver.failNext();
    expect((await networks.resync()).failed).toEqual([vpcId]);
    await networks.apply(vpcId);
    expect(driver.networks.has(vpcId)).toBe(true);
  });

  it('leave an EIP on its way as long as the host refuses it', async () => {
    const id = await home.runInstance();
    await cloud.cloud.reconciler.idle();
    const { allocationId } = await home.allocateEip();
    await inStore(async ({ db }) => {
      const { networkInterfaceId, address } = await home.primaryOf(id);
      await db
        .updateTable('eips')
        .set({
          status: 'Associating',
          instanceType: 'EcsInstance',
          instanceId: id,
          vpcId,
          networkInterfaceId,
          privateAddress: address,
        })
        .execute();
    });
    const { driver, networks } = restart();
    driver.failNext();
    await expect(networks.apply(vpcId)).rejects.toThrow();
    expect((await home.describeEip(allocationId))?.status).toBe('Associating');
    await networks.apply(vpcId);
    expect((await home.describeEip(allocationId))?.status).toBe('InUse');
  });
});
