/** Slices of one size and how often they are asked. */
export interface SliceDemand {
  /** Of the card, 1 to 100. */
  readonly percent: number;
  readonly weight: number;
}

/** Slices are measured in percent of a card. */
const cardPercent = 100;
const epsilon = 1e-9;

/**
 * What the free part of a card is worth, for 0 to 100 percent free, in cards: the share of a card
 * that the slices which will fill it would need elsewhere.
 *
 * The values are the shadow prices of the cutting-stock problem "serve this mix of slices with the
 * fewest cards" (Gilmore and Gomory 1961), solved by column generation. With many requests of 81 %
 * and few of 19 % or less, for example, a hole of 19 % is worth nothing and an 81 % request costs a
 * whole card; a hole of 53 % is worth half a card where 47 % is common, so that a 32 % request
 * should rather open another card than take it.
 */
export function cardValues(demand: readonly SliceDemand[]): Float64Array {
  const sizes = [...mergeSizes(demand)].sort((a, b) => b.percent - a.percent);
  const count = sizes.length;
  // The first basis: for every size, cards cut into as many of it as go.
  const inverse = sizes.map((size, row) => {
    const line = new Float64Array(count);
    line[row] = 1 / Math.floor(cardPercent / size.percent);
    return line;
  });
  const level = Float64Array.from(sizes, (size) => size.weight / Math.floor(cardPercent / size.percent));
  const percents = sizes.map((size) => size.percent);
  let best = knapsack(percents, columnSums(inverse));
  // Each round brings in a pattern that saves cards; the cap only guards against endless ties.
  for (let round = 0; round < 50 * count; round++) {
    if ((best.values[cardPercent] ?? 0) <= 1 + epsilon) break;
    if (!pivot(inverse, level, best.pattern)) break;
    best = knapsack(percents, columnSums(inverse));
  }
  // An empty card is worth one, also where no slices are asked; the last digits may differ.
  const values = best.values.map((value) => Math.min(1, value));
  values[cardPercent] = 1;
  return values;
}

function mergeSizes(demand: readonly SliceDemand[]): Iterable<SliceDemand> {
  const bySize = new Map<number, number>();
  for (const { percent, weight } of demand) {
    if (percent < 1 || percent > cardPercent || weight <= 0) continue;
    bySize.set(percent, (bySize.get(percent) ?? 0) + weight);
  }
  return [...bySize].map(([percent, weight]) => ({ percent, weight }));
}

/** The prices of the sizes under the present patterns, each of which costs one card. */
function columnSums(inverse: readonly Float64Array[]): Float64Array {
  const sums = new Float64Array(inverse.length);
  for (const line of inverse) for (let i = 0; i < sums.length; i++) sums[i] = at(sums, i) + at(line, i);
  return sums;
}

/** The best value of slices that go into 0 to 100 percent, and the slices (count by size) for 100. */
function knapsack(
  percents: readonly number[],
  prices: ArrayLike<number>,
): { values: Float64Array; pattern: Float64Array } {
  const values = new Float64Array(cardPercent + 1);
  const chosen = new Int32Array(cardPercent + 1).fill(-1);
  for (let room = 1; room <= cardPercent; room++) {
    values[room] = at(values, room - 1);
    for (let i = 0; i < percents.length; i++) {
      const rest = room - (percents[i] ?? 0);
      if (rest < 0) continue;
      const value = at(values, rest) + at(prices, i);
      if (value > at(values, room) + epsilon) {
        values[room] = value;
        chosen[room] = i;
      }
    }
  }
  const pattern = new Float64Array(percents.length);
  for (let room = cardPercent; room > 0; ) {
    const i = at(chosen, room);
    if (i < 0) room--;
    else {
      pattern[i] = at(pattern, i) + 1;
      room -= percents[i] ?? room;
    }
  }
  return { values, pattern };
}

/** One step of the revised simplex method: `pattern` enters the basis. False when it cannot. */
function pivot(inverse: readonly Float64Array[], level: Float64Array, pattern: Float64Array): boolean {
  const direction = inverse.map((line) => line.reduce((sum, value, i) => sum + value * at(pattern, i), 0));
  let leaving = -1;
  let ratio = Number.POSITIVE_INFINITY;
  for (let i = 0; i < direction.length; i++) {
    const step = direction[i] ?? 0;
    if (step > epsilon && at(level, i) / step < ratio - epsilon) {
      ratio = at(level, i) / step;
      leaving = i;
    }
  }
  const pivotLine = inverse[leaving];
  if (pivotLine === undefined) return false;
  const pivotValue = direction[leaving] ?? 1;
  for (let i = 0; i < pivotLine.length; i++) pivotLine[i] = at(pivotLine, i) / pivotValue;
  for (let row = 0; row < inverse.length; row++) {
    const line = inverse[row];
    const factor = direction[row] ?? 0;
    if (row === leaving || line === undefined || factor === 0) continue;
    for (let i = 0; i < line.length; i++) line[i] = at(line, i) - factor * at(pivotLine, i);
    level[row] = Math.max(0, at(level, row) - factor * ratio);
  }
  level[leaving] = ratio;
  return true;
}

/** A typed array read within its bounds. */
function at(array: ArrayLike<number>, index: number): number {
  return array[index] ?? 0;
}
