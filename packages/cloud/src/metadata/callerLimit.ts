/** Requests that one instance may send within a second. A boot sends fewer than a hundred. */
const maxCostPerSecond = 200;

/**
 * Keeps one instance from making the service busy for all, since it runs in the process of the API.
 * Counts by whole seconds, so that forgetting is cheap.
 */
export class CallerLimit {
  private second = 0;
  private costs = new Map<string, number>();

  constructor(private readonly now: () => number = Date.now) {}

  /** Whether the caller may have something of this cost (1: a plain request) now. */
  admit(caller: string, cost: number): boolean {
    const second = Math.floor(this.now() / 1000);
    if (second !== this.second) {
      this.second = second;
      this.costs = new Map();
    }
    const total = (this.costs.get(caller) ?? 0) + cost;
    this.costs.set(caller, total);
    return total <= maxCostPerSecond;
  }
}
