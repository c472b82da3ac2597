/** How a queue works through its keys. */
export interface WorkQueueOptions {
  /** One idempotent attempt to bring the key's resource in line. Throwing means: try again later. */
  readonly work: (key: string) => Promise<void>;
  /** Keys of one group share its limit: all instances of a host, for one. */
  readonly groupOf?: (key: string) => string;
  readonly maxRunningPerGroup: number;
  /** Told of every failed attempt, counted from 1. */
  readonly onError: (key: string, error: unknown, attempt: number) => void;
}

const firstRetryMs = 100;
const longestRetryMs = 30_000;

/**
 * A queue of keys, not of events: a key waits at most once, runs at most once at a time, and runs again
 * when it was added while it ran. Failed keys come back with growing delays.
 */
export class WorkQueue {
  private readonly waiting = new Map<string, string[]>();
  private readonly queued = new Set<string>();
  private readonly running = new Set<string>();
  private readonly addedWhileRunning = new Set<string>();
  private readonly runningPerGroup = new Map<string, number>();
  private readonly failures = new Map<string, number>();
  private readonly timers = new Map<string, NodeJS.Timeout>();
  private idleWaiters: (() => void)[] = [];
  private stopped = false;

  constructor(private readonly options: WorkQueueOptions) {}

  /** Has the key worked on soon. */
  add(key: string): void {
    if (this.stopped || this.queued.has(key)) return;
    if (this.running.has(key)) {
      this.addedWhileRunning.add(key);
      return;
    }
    const timer = this.timers.get(key);
    if (timer) {
      clearTimeout(timer);
      this.timers.delete(key);
    }
    const group = this.groupOf(key);
    const keys = this.waiting.get(group);
    if (keys) keys.push(key);
    else this.waiting.set(group, [key]);
    this.queued.add(key);
    this.runNext(group);
  }

  /** Has the key worked on after a while, or sooner if it is added in between. */
  addLater(key: string, delayMs: number): void {
    if (this.stopped || this.queued.has(key) || this.timers.has(key)) return;
    const timer = setTimeout(() => {
      this.timers.delete(key);
      this.add(key);
    }, delayMs);
    timer.unref();
    this.timers.set(key, timer);
  }

  /** Resolves when nothing waits, runs or is to be retried. */
  async idle(): Promise<void> {
    if (this.isIdle()) return;
    await new Promise<void>((resolve) => this.idleWaiters.push(resolve));
  }

  /** Takes no more keys, and resolves when the attempts that run have ended. */
  async stop(): Promise<void> {
    this.stopped = true;
    for (const timer of this.timers.values()) clearTimeout(timer);
    this.timers.clear();
    this.waiting.clear();
    this.queued.clear();
    this.addedWhileRunning.clear();
    await this.idle();
  }

  private groupOf(key: string): string {
    return this.options.groupOf?.(key) ?? '';
  }

  private isIdle(): boolean {
    return this.queued.size === 0 && this.running.size === 0 && this.timers.size === 0;
  }

  private runNext(group: string): void {
    const keys = this.waiting.get(group);
    const runningHere = this.runningPerGroup.get(group) ?? 0;
    if (!keys || runningHere >= this.options.maxRunningPerGroup) return;
    const key = keys.shift();
    if (keys.length === 0) this.waiting.delete(group);
    if (key === undefined) return;
    this.queued.delete(key);
    this.running.add(key);
    this.runningPerGroup.set(group, runningHere + 1);
    void this.run(key, group);
  }

  private async run(key: string, group: string): Promise<void> {
    let delayMs: number | undefined;
    try {
      await this.options.work(key);
      this.failures.delete(key);
    } catch (error) {
      const attempt = (this.failures.get(key) ?? 0) + 1;
      this.failures.set(key, attempt);
      delayMs = Math.min(firstRetryMs * 2 ** (attempt - 1), longestRetryMs);
      this.options.onError(key, error, attempt);
    }
    this.running.delete(key);
    const left = (this.runningPerGroup.get(group) ?? 1) - 1;
    if (left === 0) this.runningPerGroup.delete(group);
    else this.runningPerGroup.set(group, left);

    if (this.addedWhileRunning.delete(key)) this.add(key);
    else if (delayMs !== undefined) this.addLater(key, delayMs);
    this.runNext(group);
    if (this.isIdle()) {
      for (const resolve of this.idleWaiters) resolve();
      this.idleWaiters = [];
    }
  }
}
