import { describe, expect, it } from 'vitest';
import type { HostId } from '../domain/ids.js';
import { type Allocation, ClusterModel, type PlacementRequest, proposeMoves, proposeRoom } from './index.js';
import { testCards, testHost } from './testHosts.js';

const all = { movable: () => true, maxMoves: 5 };

function slice(owner: string, hostId: string, cardId: string, percent: number): Allocation {
  const share = { cardId, memoryMiB: 160 * percent, computePercent: percent, exclusive: false };
  return { owner, hostId: hostId as HostId, cpuMilli: 1000, memoryMiB: 1024, diskGiB: 20, cards: [share] };
}

const twoHosts = [testHost('a', { cards: testCards(2) }), testHost('b', { cards: testCards(2) })];
const pair: PlacementRequest = {
  cpuMilli: 2000,
  memoryMiB: 2048,
  diskGiB: 20,
  gpu: { kind: 'whole', count: 2 },
};

describe('defragmenter', () => {
  it('proposes the one move that makes room, says what it frees, and changes nothing', () => {
    const model = ClusterModel.rebuild(twoHosts, [slice('i-1', 'a', '0', 40), slice('i-2', 'b', '0', 50)]);
    const before = [...model.allocations()];
    const moves = proposeRoom(model, pair, all);
    expect(moves?.map(({ owner, from, to, idleCards }) => ({ owner, from, to, idleCards }))).toEqual([
      { owner: 'i-1', from: 'a', to: 'b', idleCards: ['0'] },
    ]);
    expect([...model.allocations()]).toEqual(before);
    expect(model.choose(pair).placed).toBe(false);
  });

  it('proposes nothing when the request fits, and says so when nothing may move', () => {
    const model = ClusterModel.rebuild(twoHosts, [slice('i-1', 'a', '0', 40)]);
    expect(proposeRoom(model, pair, all)).toEqual([]);
    const full = ClusterModel.rebuild(twoHosts, [slice('i-1', 'a', '0', 40), slice('i-2', 'b', '0', 50)]);
    expect(proposeRoom(full, pair, { ...all, movable: () => false })).toBeUndefined();
  });

  it('gathers scattered slices so that whole cards become free', () => {
    const model = ClusterModel.rebuild(
      [...twoHosts, testHost('c', { cards: testCards(2) })],
      [slice('i-1', 'a', '0', 30), slice('i-2', 'b', '0', 30), slice('i-3', 'c', '0', 30)],
    );
    const moves = proposeMoves(model, all);
    expect(moves.length).toBe(2);
    for (const { owner, to, cards } of moves) {
      const held = model.findAllocation(owner);
      if (held !== undefined) model.restore({ ...held, hostId: to, cards });
    }
    const used = [...model.hosts()].flatMap((usage) => usage.cards.filter((card) => card.slices > 0));
    expect(used.map((card) => card.slices)).toEqual([3]);
  });

  it('leaves alone what gains nothing', () => {
    const model = ClusterModel.rebuild(twoHosts, [slice('i-1', 'a', '0', 90)]);
    expect(proposeMoves(model, all)).toEqual([]);
  });
});
