import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { HostId, ZoneId } from '../domain/ids.js';
import { capacityMisfit, hostFits } from './filter.js';
import { ClusterModel, type Host, type HostState, type PlacementRequest } from './index.js';
import { testCard, testHost } from './testHosts.js';

const models = ['T4', 'A10', 'G2'];
const zones = ['cn-hangzhou-a', 'cn-hangzhou-b'] as ZoneId[];

const hostOf = (id: string): fc.Arbitrary<Host> =>
  fc
    .record({
      cpuMilli: fc.constantFrom(8_000, 32_000, 96_000),
      memoryMiB: fc.constantFrom(16_384, 131_072),
      diskGiB: fc.constantFrom(100, 1000),
      zoneId: fc.constantFrom(...zones),
      cards: fc.array(
        fc.record({ model: fc.constantFrom(...models), memoryMiB: fc.constantFrom(16_000, 24_000) }),
        {
          maxLength: 4,
        },
      ),
    })
    .map(({ cards, ...rest }) =>
      testHost(id, {
        ...rest,
        cards: cards.map((card, index) => testCard(String(index), { ...card, maxSlices: 3 })),
      }),
    );
const hosts = fc
  .integer({ min: 1, max: 5 })
  .chain((count) => fc.tuple(...Array.from({ length: count }, (_, index) => hostOf(`host-${index}`))));

const gpu = fc.oneof(
  fc.record({ kind: fc.constant('whole' as const), count: fc.integer({ min: 1, max: 3 }) }),
  fc.record({
    kind: fc.constant('slice' as const),
    count: fc.integer({ min: 1, max: 2 }),
    memoryMiB: fc.constantFrom(2_000, 8_000, 15_000),
    computePercent: fc.constantFrom(10, 47, 81),
    models: fc.constantFrom(['T4'], ['T4', 'A10'], models),
  }),
);
const request: fc.Arbitrary<PlacementRequest> = fc
  .record({
    cpuMilli: fc.constantFrom(1_000, 4_000, 12_000),
    memoryMiB: fc.constantFrom(1_024, 8_192),
    diskGiB: fc.constantFrom(20, 200),
    zone: fc.option(fc.constantFrom(...zones), { nil: undefined }),
    strategy: fc.constantFrom('fragmentation' as const, 'spread' as const, 'binpack' as const),
    gpu: fc.option(gpu, { nil: undefined }),
  })
  .map(({ zone, gpu: cards, ...rest }) => ({
    ...rest,
    ...(zone === undefined ? {} : { zoneId: zone }),
    ...(cards === undefined ? {} : { gpu: cards }),
  }));

type Step =
  | { readonly kind: 'run'; readonly request: PlacementRequest }
  | { readonly kind: 'end'; readonly which: number }
  | { readonly kind: 'state'; readonly which: number; readonly state: HostState };
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: request.map((wanted) => ({ kind: 'run' as const, request: wanted })) },
  { weight: 3, arbitrary: fc.nat(50).map((which) => ({ kind: 'end' as const, which })) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('state' as const),
      which: fc.nat(4),
      state: fc.constantFrom('active' as const, 'draining' as const, 'lost' as const),
    }),
  },
);

/** What is free on every host, for comparison. */
function freeOf(model: ClusterModel): unknown {
  return [...model.hosts()]
    .sort((a, b) => (a.host.id < b.host.id ? -1 : 1))
    .map(({ host, free, owners, cards }) => ({ host, free, owners, cards }));
}

function play(
  model: ClusterModel,
  described: readonly Host[],
  steps: readonly Step[],
  check: () => void,
): void {
  let owners = 0;
  for (const each of steps) {
    if (each.kind === 'run') {
      const wanted = each.request;
      const states = new Map([...model.hosts()].map((usage) => [usage.host.id, usage.host.state]));
      const fitting = [...model.hosts()].some((usage) => hostFits(usage, wanted));
      const result = model.place(wanted);
      expect(result.placed).toBe(fitting);
      if (!result.placed) continue;
      expect(states.get(result.hostId)).toBe('active');
      const { cpuMilli, memoryMiB, diskGiB } = wanted;
      const { hostId, cards } = result;
      model.take({ owner: `i-${owners++}`, hostId, cards, cpuMilli, memoryMiB, diskGiB });
    } else if (each.kind === 'end') {
      const held = [...model.allocations()];
      const ended = held[each.which % Math.max(1, held.length)];
      if (ended !== undefined) model.release(ended.owner);
    } else {
      const host = described[each.which % described.length];
      if (host !== undefined) model.setHostState(host.id, each.state);
    }
    check();
  }
}

describe('ClusterModel under random interleavings', () => {
  it('never gives away more than there is, and refuses only what fits nowhere', () => {
    fc.assert(
      fc.property(hosts, fc.array(step, { maxLength: 60 }), (described, steps) => {
        const model = ClusterModel.rebuild(described, []);
        play(model, described, steps, () => {
          for (const { free, cards } of model.hosts()) {
            expect(Math.min(free.cpuMilli, free.memoryMiB, free.diskGiB)).toBeGreaterThanOrEqual(0);
            for (const card of cards) {
              expect(Math.min(card.freeMemoryMiB, card.freeComputePercent)).toBeGreaterThanOrEqual(0);
              expect(card.slices).toBeLessThanOrEqual(card.card.maxSlices);
              if (card.exclusive) expect(card.slices).toBe(0);
            }
          }
        });
      }),
    );
  });

  it('equals the model rebuilt from its ledger', () => {
    fc.assert(
      fc.property(hosts, fc.array(step, { maxLength: 60 }), (described, steps) => {
        const model = ClusterModel.rebuild(described, []);
        play(model, described, steps, () => {});
        const present = [...model.hosts()].map((usage) => usage.host);
        const rebuilt = ClusterModel.rebuild(present, model.allocations());
        const plain = (one: ClusterModel): unknown => JSON.parse(JSON.stringify(freeOf(one)));
        expect(plain(rebuilt)).toEqual(plain(model));
      }),
    );
  });

  it('gives back everything when everything ends', () => {
    fc.assert(
      fc.property(hosts, fc.array(step, { maxLength: 60 }), (described, steps) => {
        const model = ClusterModel.rebuild(described, []);
        play(model, described, steps, () => {});
        for (const { owner } of [...model.allocations()]) model.release(owner);
        for (const usage of model.hosts()) {
          const { cpuMilli, memoryMiB, diskGiB } = usage.host;
          expect(usage.free).toEqual({ cpuMilli, memoryMiB, diskGiB });
          expect(usage.cards.every((card) => card.freePercent === 100)).toBe(true);
        }
      }),
    );
  });

  it('explains exactly the hosts that do not fit', () => {
    fc.assert(
      fc.property(hosts, fc.array(step, { maxLength: 40 }), request, (described, steps, wanted) => {
        const model = ClusterModel.rebuild(described, []);
        play(model, described, steps, () => {});
        for (const usage of model.hosts()) {
          expect(capacityMisfit(usage, wanted) === undefined).toBe(hostFits(usage, wanted));
        }
        for (const verdict of model.explain(wanted)) {
          expect(verdict.misfit === undefined).toBe(
            hostFits(model.getHost(verdict.hostId as HostId), wanted),
          );
        }
      }),
    );
  });

  it('chooses as a model that remembers nothing would', () => {
    fc.assert(
      fc.property(hosts, fc.array(step, { maxLength: 40 }), request, (described, steps, wanted) => {
        const model = ClusterModel.rebuild(described, []);
        play(model, described, steps, () => {});
        const present = [...model.hosts()].map((usage) => usage.host);
        const fresh = ClusterModel.rebuild(present, model.allocations());
        const choice = (one: ClusterModel): unknown => {
          const result = one.place(wanted);
          return result.placed ? result : result.summary;
        };
        expect(choice(model)).toEqual(choice(fresh));
      }),
    );
  });
});
