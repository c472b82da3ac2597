import { describe, expect, it } from 'vitest';
import type { AccountId, HostId } from '../domain/ids.js';
import {
  ClusterModel,
  type DeploymentSetMember,
  deploymentSetRules,
  type PlacementRequest,
} from './index.js';
import { testCards, testHost } from './testHosts.js';

const small: PlacementRequest = { cpuMilli: 1000, memoryMiB: 1024, diskGiB: 20 };

function run(model: ClusterModel, owner: string, request: PlacementRequest): string {
  const result = model.place(request);
  if (!result.placed) return result.summary;
  const { cpuMilli, memoryMiB, diskGiB } = request;
  model.take({ owner, hostId: result.hostId, cards: result.cards, cpuMilli, memoryMiB, diskGiB });
  return result.hostId;
}

describe('deployment sets', () => {
  const place = (
    model: ClusterModel,
    members: DeploymentSetMember[],
    strategy: Parameters<typeof deploymentSetRules>[0],
    groupNo?: number,
  ): string => {
    const where = run(model, `i-${members.length}`, {
      ...small,
      ...deploymentSetRules(strategy, members, groupNo),
    });
    if (model.findHost(where as HostId)) {
      members.push({ hostId: where as HostId, ...(groupNo === undefined ? {} : { groupNo }) });
    }
    return where;
  };

  it('Availability gives every instance its own host and refuses one more', () => {
    const model = ClusterModel.rebuild([testHost('a'), testHost('b')], []);
    const members: DeploymentSetMember[] = [];
    expect([place(model, members, 'Availability'), place(model, members, 'Availability')].sort()).toEqual([
      'a',
      'b',
    ]);
    expect(place(model, members, 'Availability')).toContain(
      '2 of 2: another instance of the deployment set is on the host',
    );
  });

  it('AvailabilityGroup keeps the groups apart and lets a group share hosts', () => {
    const model = ClusterModel.rebuild([testHost('a'), testHost('b')], []);
    const members: DeploymentSetMember[] = [];
    expect(place(model, members, 'AvailabilityGroup', 1)).toBe('a');
    expect(place(model, members, 'AvailabilityGroup', 2)).toBe('b');
    expect(place(model, members, 'AvailabilityGroup', 2)).toBe('b');
    expect(place(model, members, 'AvailabilityGroup', 1)).toBe('a');
    expect(place(model, members, 'AvailabilityGroup', 3)).toContain('another group of the deployment set');
  });

  it('LowLatency fills the hosts of its instances before others', () => {
    const model = ClusterModel.rebuild(
      [testHost('a', { cpuMilli: 3000 }), testHost('b', { cpuMilli: 64_000 })],
      [],
    );
    const members: DeploymentSetMember[] = [{ hostId: 'a' as HostId }];
    const where = Array.from({ length: 4 }, () => place(model, members, 'LowLatency'));
    expect(where).toEqual(['a', 'a', 'a', 'b']);
  });
});

describe('dedicated hosts', () => {
  const accountId = '1000000000000001' as AccountId;
  const dedicated = testHost('dedicated', {
    cpuMilli: 64_000,
    dedication: { dedicatedHostId: 'dh-1', accountId, autoPlacement: false },
  });

  it('take only requests that name them, of their own account', () => {
    const model = ClusterModel.rebuild([dedicated, testHost('shared')], []);
    expect(run(model, 'i-1', small)).toBe('shared');
    expect(run(model, 'i-2', { ...small, tenancy: { accountId, dedicatedHostId: 'dh-1' } })).toBe(
      'dedicated',
    );
    const stranger = '1000000000000002' as AccountId;
    expect(
      run(model, 'i-3', { ...small, tenancy: { accountId: stranger, dedicatedHostId: 'dh-1' } }),
    ).toContain('not the dedicated host asked for');
  });

  it('take requests that name none only when told to', () => {
    const model = ClusterModel.rebuild([dedicated], []);
    expect(run(model, 'i-1', { ...small, tenancy: { accountId } })).toContain(
      'not the dedicated host asked for',
    );
    model.putHost({ ...dedicated, dedication: { dedicatedHostId: 'dh-1', accountId, autoPlacement: true } });
    expect(run(model, 'i-2', { ...small, tenancy: { accountId } })).toBe('dedicated');
    expect(run(model, 'i-3', small)).toContain('the host is dedicated');
  });
});

describe('whole cards', () => {
  const pair = (cpuMilli = 16_000): PlacementRequest => ({
    ...small,
    cpuMilli,
    gpu: { kind: 'whole', count: 2 },
  });
  const cardsOf = (model: ClusterModel, request: PlacementRequest): string[] => {
    const result = model.place(request);
    return result.placed ? [result.hostId, ...result.cards.map((share) => share.cardId)] : [];
  };

  it('go in groups with the fastest links', () => {
    const links = [
      { between: ['0', '1'] as const, bandwidth: 25 },
      { between: ['0', '3'] as const, bandwidth: 50 },
      { between: ['1', '2'] as const, bandwidth: 50 },
    ];
    const model = ClusterModel.rebuild([testHost('a', { cards: testCards(4), links })], []);
    expect(cardsOf(model, pair())).toEqual(['a', '0', '3']);
  });

  it('stay within a NUMA node where no links are known', () => {
    const cards = testCards(4).map((card, index) => ({ ...card, numaNode: index % 2 }));
    const model = ClusterModel.rebuild([testHost('a', { cards })], []);
    expect(cardsOf(model, pair())).toEqual(['a', '0', '2']);
  });

  it('take the better linked of hosts that are alike', () => {
    const links = [{ between: ['0', '1'] as const, bandwidth: 300 }];
    const model = ClusterModel.rebuild(
      [testHost('a', { cards: testCards(2) }), testHost('b', { cards: testCards(2), links })],
      [],
    );
    expect(cardsOf(model, pair())).toEqual(['b', '0', '1']);
  });
});
