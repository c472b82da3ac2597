import * as Ecs from '@alicloud/ecs20140526';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { HostId, InstanceId } from '../../../domain/ids.js';
import { listAllocations } from '../../../store/hosts.js';
import { fakeCards } from '../../../testing/gpuCards.js';
import { startTestCloud, type TestCloud } from '../../../testing/testCloud.js';

const imageId = 'debian_12_x64_egs';
const oneT4 = 'ecs.gn6i-c4g1.xlarge';
const twoT4 = 'ecs.gn6i-c24g1.12xlarge';
const halfT4 = 'ecs.vgn6i-m8.2xlarge';
const quarterT4 = 'ecs.vgn6i-m4.xlarge';
const wholeHost = 'ecs.ebmgn6i.24xlarge';

let cloud: TestCloud;

async function start(): Promise<void> {
  cloud = await startTestCloud({
    gpus: {
      'fake-a': {
        cards: [...fakeCards('t4', 'Tesla T4', 15, 2), ...fakeCards('a100', 'NVIDIA A100-SXM4-80GB', 80, 1)],
        links: [],
      },
      'fake-b': { cards: fakeCards('t4', 'NVIDIA T4', 16, 4), links: [] },
    },
  });
}

async function run(instanceType: string, request: Partial<Ecs.RunInstancesRequest> = {}): Promise<string[]> {
  const { body } = await cloud.ecs.runInstances(
    new Ecs.RunInstancesRequest({ regionId: cloud.regionId, imageId, instanceType, ...request }),
  );
  await cloud.cloud.reconciler.idle();
  return body?.instanceIdSets?.instanceIdSet ?? [];
}

async function runOne(instanceType: string, zoneId = 'cn-hangzhou-a'): Promise<string> {
  return (await run(instanceType, { zoneId }))[0] ?? expect.fail('no instance');
}

async function stop(instanceId: string, stoppedMode = 'KeepCharging'): Promise<void> {
  await cloud.ecs.stopInstance(new Ecs.StopInstanceRequest({ instanceId, stoppedMode }));
  await cloud.cloud.reconciler.idle();
}

async function remove(instanceId: string): Promise<void> {
  await cloud.ecs.deleteInstance(new Ecs.DeleteInstanceRequest({ instanceId, force: true }));
  await cloud.cloud.reconciler.idle();
}

const startInstance = (instanceId: string) =>
  cloud.ecs.startInstance(new Ecs.StartInstanceRequest({ instanceId }));

const changeType = (instanceId: string, instanceType: string) =>
  cloud.ecs.modifyInstanceSpec(new Ecs.ModifyInstanceSpecRequest({ instanceId, instanceType }));

function held(instanceId: string) {
  return cloud.cloud.parts.placement.findAllocation(instanceId)?.cards ?? [];
}

async function stockOf(instanceType: string, zoneId: string): Promise<string | undefined> {
  const { body } = await cloud.ecs.describeAvailableResource(
    new Ecs.DescribeAvailableResourceRequest({
      regionId: cloud.regionId,
      destinationResource: 'InstanceType',
      instanceType,
      zoneId,
    }),
  );
  return body?.availableZones?.availableZone?.[0]?.status;
}

describe('instances of GPU types', () => {
  beforeEach(start);
  afterEach(() => cloud.stop());

  it('hold cards of their model, which the API shows', async () => {
    const id = await runOne(oneT4);
    expect(held(id)).toEqual([
      { cardId: expect.stringMatching(/^t4-/), memoryMiB: 16_384, computePercent: 100, exclusive: true },
    ]);
    const { body } = await cloud.ecs.describeInstances(
      new Ecs.DescribeInstancesRequest({ regionId: cloud.regionId, instanceIds: JSON.stringify([id]) }),
    );
    expect(body?.instances?.instance?.[0]).toMatchObject({ GPUAmount: 1, GPUSpec: 'NVIDIA T4' });
  });

  it('are told apart by the size of their cards', async () => {
    await expect(runOne('ecs.gn7-c12g1.3xlarge')).rejects.toMatchObject({ code: 'OperationDenied.NoStock' });
    expect(held(await runOne('ecs.gn7e-c16g1.4xlarge'))[0]?.cardId).toBe('a100-0');
  });

  it('share a card in as many slices as the type says, also where the driver keeps memory for itself', async () => {
    const ids = [
      await runOne(halfT4),
      await runOne(halfT4),
      ...(await run(quarterT4, { amount: 4, zoneId: 'cn-hangzhou-a' })),
    ];
    const cards = ids.map((id) => held(id)[0]);
    expect(new Set(cards.slice(0, 2).map((share) => share?.cardId)).size).toBe(1);
    expect(new Set(cards.slice(2).map((share) => share?.cardId)).size).toBe(1);
    expect(cards[2]).toMatchObject({ memoryMiB: 4096, computePercent: 25, exclusive: false });
    await expect(runOne(quarterT4)).rejects.toMatchObject({ code: 'OperationDenied.NoStock' });
  });

  it('are refused with what is missing, and stock says the same', async () => {
    expect(await stockOf(twoT4, 'cn-hangzhou-a')).toBe('Available');
    await runOne(oneT4);
    expect(await stockOf(twoT4, 'cn-hangzhou-a')).toBe('SoldOut');
    expect(await stockOf(twoT4, 'cn-hangzhou-b')).toBe('Available');
    await expect(runOne(twoT4)).rejects.toMatchObject({
      code: 'OperationDenied.NoStock',
      message: expect.stringContaining('2 fitting GPU(s) asked, at most 1 there'),
    });
  });

  it('give their cards back when they are deleted', async () => {
    const id = await runOne(twoT4);
    await remove(id);
    expect(held(await runOne(twoT4))).toHaveLength(2);
  });

  it('give their cards back when stopped without charge, and take cards again or are told that there is none', async () => {
    const first = await runOne(twoT4);
    await stop(first, 'StopCharging');
    expect(held(first)).toEqual([]);
    const second = await runOne(oneT4);
    await expect(startInstance(first)).rejects.toMatchObject({ code: 'OperationDenied.NoStock' });
    await remove(second);
    await startInstance(first);
    await cloud.cloud.reconciler.idle();
    expect(held(first)).toHaveLength(2);
  });

  it('keep their cards when they are only stopped', async () => {
    const id = await runOne(twoT4);
    await stop(id);
    await expect(runOne(oneT4)).rejects.toMatchObject({ code: 'OperationDenied.NoStock' });
    await startInstance(id);
    await cloud.cloud.reconciler.idle();
    expect(held(id)).toHaveLength(2);
  });

  it('change type within their family only, and only stopped', async () => {
    const id = await runOne(oneT4);
    await expect(changeType(id, twoT4)).rejects.toMatchObject({ code: 'InvalidInstanceStatus.NotStopped' });
    await stop(id);
    await changeType(id, twoT4);
    expect(held(id)).toHaveLength(2);
    for (const other of ['ecs.gn7e-c16g1.4xlarge', 'ecs.g7.large', halfT4]) {
      await expect(changeType(id, other)).rejects.toMatchObject({
        code: 'InvalidInstanceType.ValueNotSupported',
      });
    }
    const plain = await runOne('ecs.g7.large');
    await stop(plain);
    await expect(changeType(plain, oneT4)).rejects.toMatchObject({
      code: 'InvalidInstanceType.ValueNotSupported',
    });
  });

  it('get no card that is not well', async () => {
    const { placement } = cloud.cloud.parts;
    for (const { host } of [...placement.hosts()]) {
      placement.putHost({ ...host, cards: host.cards.map((card) => ({ ...card, healthy: false })) });
    }
    await expect(runOne(oneT4)).rejects.toMatchObject({ code: 'OperationDenied.NoStock' });
  });

  it('get the devices of the cards that they hold, and of others after they were stopped without charge', async () => {
    const { store } = cloud.cloud.parts;
    const cards = fakeCards('t4', 'Tesla T4', 15, 2).map((card, index) => ({
      ...card,
      kind: 'nvidia',
      pciAddress: `0000:0${index}:00.0`,
    }));
    await store.transaction({ name: 'test' }, (tx) =>
      tx.db
        .updateTable('hosts')
        .set({ gpus: JSON.stringify({ cards, links: [] }) })
        .where('id', '=', 'fake-a' as HostId)
        .execute(),
    );
    const deviceOf = (id: string) => cloud.compute.a.getSpec(id).gpus?.devices;
    const first = await runOne(oneT4);
    expect(deviceOf(first)).toEqual([
      { type: 'card', pciAddress: `0000:0${held(first)[0]?.cardId.slice(-1)}:00.0` },
    ]);
    const freed = deviceOf(first);
    await stop(first, 'StopCharging');
    const [second, third] = [await runOne(oneT4), await runOne(oneT4)];
    const [keeper, leaver] = held(second)[0]?.cardId === 't4-0' ? [second, third] : [third, second];
    expect([deviceOf(second), deviceOf(third)]).toContainEqual(freed);
    await remove(freed?.[0]?.pciAddress === '0000:00:00.0' ? leaver : keeper);
    await startInstance(first);
    await cloud.cloud.reconciler.idle();
    expect(deviceOf(first)).not.toEqual(freed);
  });

  it('of bare-metal types have a host for themselves', async () => {
    const metal = await runOne(wholeHost, 'cn-hangzhou-b');
    expect(held(metal)).toHaveLength(4);
    await expect(runOne('ecs.g7.large', 'cn-hangzhou-b')).rejects.toMatchObject({
      code: 'OperationDenied.NoStock',
    });
    await remove(metal);
    await runOne('ecs.g7.large', 'cn-hangzhou-b');
    await expect(runOne(wholeHost, 'cn-hangzhou-b')).rejects.toMatchObject({
      message: expect.stringContaining('other instances are on the host'),
    });
  });
});

type Step =
  | { readonly kind: 'run'; readonly type: string; readonly amount: number }
  | { readonly kind: 'stop' | 'start' | 'delete'; readonly which: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant('run' as const),
    type: fc.constantFrom(oneT4, twoT4, halfT4, quarterT4, wholeHost),
    amount: fc.integer({ min: 1, max: 3 }),
  }),
  fc.record({
    kind: fc.constantFrom('stop' as const, 'start' as const, 'delete' as const),
    which: fc.nat(20),
  }),
);

/** No card gives more than it has, and the ledger says the same as the model. */
async function check(): Promise<void> {
  const { placement, store } = cloud.cloud.parts;
  for (const { cards, free } of placement.hosts()) {
    expect(Math.min(free.cpuMilli, free.memoryMiB, free.diskGiB)).toBeGreaterThanOrEqual(0);
    for (const card of cards) {
      expect(Math.min(card.freeMemoryMiB, card.freeComputePercent)).toBeGreaterThanOrEqual(0);
      if (card.exclusive) expect(card.slices).toBe(0);
    }
  }
  const byOwner = (one: { owner: string }, other: { owner: string }): number =>
    one.owner < other.owner ? -1 : 1;
  expect((await listAllocations(store.reader)).sort(byOwner)).toEqual(
    [...placement.allocations()].sort(byOwner),
  );
  const shares = new Map<string, number>();
  for (const { hostId, cards } of placement.allocations()) {
    for (const { cardId, computePercent } of cards) {
      const key = `${hostId}/${cardId}`;
      shares.set(key, (shares.get(key) ?? 0) + computePercent);
    }
  }
  expect(Math.max(0, ...shares.values())).toBeLessThanOrEqual(100);
}

describe('cards under concurrent requests', () => {
  it('are never sold twice, in the ledger or in memory', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(step, { minLength: 1, maxLength: 6, size: 'max' }), { maxLength: 5, size: 'max' }),
        async (rounds) => {
          await start();
          try {
            const ids: InstanceId[] = [];
            const play = async (each: Step): Promise<void> => {
              if (each.kind === 'run') {
                ids.push(...((await run(each.type, { amount: each.amount })) as InstanceId[]));
                return;
              }
              const instanceId = ids[each.which % Math.max(1, ids.length)];
              if (instanceId === undefined) return;
              if (each.kind === 'stop') await stop(instanceId, 'StopCharging');
              else if (each.kind === 'start') await startInstance(instanceId);
              else await remove(instanceId);
            };
            for (const round of rounds) {
              // Refusals are what half of these get; a defect shows in `check`, or as an InternalError.
              const results = await Promise.allSettled(round.map(play));
              for (const result of results) {
                if (result.status === 'rejected')
                  expect(result.reason).not.toMatchObject({ code: 'InternalError' });
              }
              await cloud.cloud.reconciler.idle();
              await check();
            }
          } finally {
            await cloud.stop();
          }
        },
      ),
      { numRuns: 25 },
    );
  }, 120_000);
});
