/** Numbers in [0, 1) that a seed determines (xorshift64*, so that every machine draws the same). */
export class SeededRandom {
  #state: bigint;

  constructor(seed: number) {
    this.#state = BigInt.asUintN(64, BigInt(seed) * 0x9e3779b97f4a7c15n + 0x2545f4914f6cdd1dn);
    for (let i = 0; i < 8; i++) this.next();
  }

  next(): number {
    let x = this.#state;
    x ^= x >> 12n;
    x = BigInt.asUintN(64, x ^ (x << 25n));
    x ^= x >> 27n;
    this.#state = x;
    return Number(BigInt.asUintN(64, x * 0x2545f4914f6cdd1dn) >> 11n) / 2 ** 53;
  }

  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  shuffled<T>(items: readonly T[]): T[] {
    const result = [...items];
    for (let i = result.length - 1; i > 0; i--) {
      const j = this.below(i + 1);
      const other = result[j] as T;
      result[j] = result[i] as T;
      result[i] = other;
    }
    return result;
  }
}
