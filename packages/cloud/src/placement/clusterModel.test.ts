import { describe, expect, it } from 'vitest';
import type { HostId, ZoneId } from '../domain/ids.js';
import {
  CapacityError,
  type Card,
  ClusterModel,
  type Host,
  onlyHosts,
  type PlacementRequest,
} from './index.js';

const zoneA = 'cn-hangzhou-a' as ZoneId;
const zoneB = 'cn-hangzhou-b' as ZoneId;

function card(id: string, model = 'T4', memoryMiB = 16000): Card {
  return { id, model, memoryMiB, computePercent: 100, maxSlices: 25, healthy: true };
}

function host(id: string, change: Partial<Host> = {}): Host {
  return {
    id: id as HostId,
    zoneId: zoneA,
    state: 'active',
    cpuMilli: 16_000,
    memoryMiB: 65_536,
    diskGiB: 500,
    cards: [],
    ...change,
  };
}

const small: PlacementRequest = { cpuMilli: 2000, memoryMiB: 4096, diskGiB: 40 };
const half: PlacementRequest = {
  ...small,
  gpu: { kind: 'slice', count: 1, memoryMiB: 8000, computePercent: 50 },
};
const whole: PlacementRequest = { ...small, gpu: { kind: 'whole', count: 1 } };

function run(model: ClusterModel, owner: string, request: PlacementRequest): string {
  const result = model.place(request);
  if (!result.placed) return result.summary;
  const { cpuMilli, memoryMiB, diskGiB } = request;
  model.take({ owner, hostId: result.hostId, cards: result.cards, cpuMilli, memoryMiB, diskGiB });
  return [result.hostId, ...result.cards.map((share) => share.cardId)].join(' ');
}

describe('ClusterModel', () => {
  it('spreads CPU-only requests and leaves hosts with cards for the last', () => {
    const model = ClusterModel.rebuild([host('gpu', { cards: [card('0')] }), host('a'), host('b')], []);
    expect([run(model, 'i1', small), run(model, 'i2', small), run(model, 'i3', small)]).toEqual([
      'a',
      'b',
      'a',
    ]);
  });

  it('fills a shared card before it opens an idle one', () => {
    const model = ClusterModel.rebuild([host('a', { cards: [card('0'), card('1')] })], []);
    expect(run(model, 'i1', half)).toBe('a 0');
    expect(run(model, 'i2', half)).toBe('a 0');
    expect(run(model, 'i3', whole)).toBe('a 1');
  });

  it('never gives a whole request a card with a slice on it, and says so', () => {
    const model = ClusterModel.rebuild([host('a', { cards: [card('0')] })], []);
    run(model, 'i1', half);
    expect(run(model, 'i2', whole)).toBe(
      'No host in the cloud has room for the request (1 of 1: 1 fitting GPU(s) asked, at most 0 there).',
    );
    expect(model.explain(whole)[0]?.cards).toEqual([
      { cardId: '0', misfit: { reason: 'shared', slices: 1 }, text: '1 slice(s) are on the card' },
    ]);
  });

  it('asks for cards of different hosts and models with each card keeping its own size', () => {
    const cards = [card('0', 'T4', 12_000), card('1', 'A10', 24_000)];
    const model = ClusterModel.rebuild([host('a', { cards })], []);
    const big: PlacementRequest = {
      ...small,
      gpu: { kind: 'slice', count: 1, memoryMiB: 13_000, computePercent: 10 },
    };
    expect(run(model, 'i1', big)).toBe('a 1');
  });

  it('gives the slices of one request to different cards', () => {
    const model = ClusterModel.rebuild([host('a', { cards: [card('0'), card('1')] })], []);
    const two: PlacementRequest = {
      ...small,
      gpu: { kind: 'slice', count: 2, memoryMiB: 4000, computePercent: 20 },
    };
    expect(run(model, 'i1', two)).toBe('a 0 1');
  });

  it('places in the asked zone, on allowed hosts, and never on a draining or lost one', () => {
    const model = ClusterModel.rebuild(
      [host('a'), host('b', { zoneId: zoneB }), host('c', { state: 'draining' })],
      [],
    );
    expect(run(model, 'i1', { ...small, zoneId: zoneB })).toBe('b');
    const onlyC = onlyHosts(['c' as HostId], 'not the dedicated host');
    expect(run(model, 'i2', { ...small, constraints: [onlyC] })).toContain('the host is draining');
    model.setHostState('a' as HostId, 'lost');
    expect(run(model, 'i3', { ...small, zoneId: zoneA })).toContain('the host is lost');
    const one = { owner: 'i4', hostId: 'a' as HostId, cards: [], cpuMilli: 1, memoryMiB: 1, diskGiB: 1 };
    expect(() => model.take(one)).toThrow(CapacityError);
  });

  it('refuses to take what is not free and leaves the model as it was', () => {
    const model = ClusterModel.rebuild([host('a', { cards: [card('0')] })], []);
    run(model, 'i1', whole);
    const line = model.findAllocation('i1');
    expect(line).toBeDefined();
    if (line === undefined) return;
    expect(() => model.take({ ...line, owner: 'i2' })).toThrow('card 0 is held whole');
    expect(() => model.take(line)).toThrow('i1 holds an allocation already');
    expect(model.release('i1')).toBe(true);
    expect(model.release('i1')).toBe(false);
    expect(run(model, 'i3', whole)).toBe('a 0');
  });
});
