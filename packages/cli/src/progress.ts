import { formatSeconds, type Output } from './output.js';

/** Work that takes longer than this is told about when it begins to look stuck, and how long it took. */
const slowMs = 1_000;

/** Tells of steps that take a while: nothing for quick ones, a line with the time for the others. */
export class Progress {
  private readonly startedAt = new Map<string, number>();
  private readonly timers = new Map<string, NodeJS.Timeout>();

  constructor(private readonly output: Output) {}

  started(name: string): void {
    this.startedAt.set(name, performance.now());
    this.timers.set(
      name,
      setTimeout(() => this.output.note(`${name} …`), slowMs),
    );
  }

  ended(name: string, failed = false): void {
    clearTimeout(this.timers.get(name));
    const durationMs = performance.now() - (this.startedAt.get(name) ?? performance.now());
    if (failed) this.output.note(`${name}: failed after ${formatSeconds(durationMs)}`);
    else if (durationMs > slowMs) this.output.note(`${name}: ${formatSeconds(durationMs)}`);
  }

  async run<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
    this.started(name);
    let failed = true;
    try {
      const result = await work();
      failed = false;
      return result;
    } finally {
      this.ended(name, failed);
    }
  }
}
