import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cardValues, type SliceDemand } from './cardValue.js';

const rounded = (values: Float64Array, percent: number): number =>
  Math.round((values[percent] ?? 0) * 1000) / 1000;

describe('cardValues', () => {
  it('gives no worth to a hole that nothing fills and half a card to one that a usual half fills', () => {
    const values = cardValues([
      { percent: 81, weight: 1000 },
      { percent: 47, weight: 750 },
      { percent: 16, weight: 50 },
    ]);
    expect([19, 46, 53, 80, 81, 100].map((percent) => rounded(values, percent))).toEqual([
      0, 0, 0.5, 0.5, 1, 1,
    ]);
  });

  it('prices small slices when they are what is left after the large ones', () => {
    const values = cardValues([
      { percent: 65, weight: 100 },
      { percent: 32, weight: 1000 },
    ]);
    expect([32, 65, 97].map((percent) => rounded(values, percent))).toEqual([0.333, 0.667, 1]);
  });

  it('holds an empty card worth one where no slices are asked', () => {
    const values = cardValues([]);
    expect([rounded(values, 99), rounded(values, 100)]).toEqual([0, 1]);
  });

  it('never values a larger hole less, nor two holes together more than one of their size', () => {
    const demand = fc.array(
      fc.record({ percent: fc.integer({ min: 1, max: 100 }), weight: fc.integer({ min: 1, max: 1000 }) }),
      { maxLength: 30 },
    );
    fc.assert(
      fc.property(demand, (slices) => {
        const values = cardValues(slices);
        for (let percent = 1; percent <= 100; percent++) {
          expect(values[percent]).toBeGreaterThanOrEqual(values[percent - 1] ?? 0);
          const parts = (values[percent] ?? 0) + (values[100 - percent] ?? 0);
          expect(parts).toBeLessThanOrEqual(1 + 1e-6);
        }
      }),
    );
  });

  it('needs as many cards as the best of all cuttings for two sizes', () => {
    fc.assert(
      fc.property(fc.integer({ min: 34, max: 66 }), fc.integer({ min: 1, max: 33 }), (large, small) => {
        const demand: SliceDemand[] = [
          { percent: large, weight: 100 },
          { percent: small, weight: 1 },
        ];
        // With few small slices, cards are cut for the large ones, and the small fit beside them if they can.
        const perCard = Math.floor(100 / large);
        const beside = 100 - perCard * large >= small;
        const values = cardValues(demand);
        expect(values[large]).toBeCloseTo(1 / perCard, 6);
        if (beside) expect(values[small]).toBeCloseTo(0, 6);
      }),
    );
  });
});
