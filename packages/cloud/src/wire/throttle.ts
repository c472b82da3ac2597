import { fail } from '../domain/errors.js';

/** Calls a minute, for every action or for single ones. No entry: no limit. */
export interface ThrottleLimits {
  readonly perAction?: number | undefined;
  readonly actions?: Readonly<Record<string, number>> | undefined;
}

/**
 * Flow control per account, region and action. As on the original, an action that went over its limit
 * in one minute is refused until the next one starts; others are not touched.
 */
export class Throttle {
  private minute = 0;
  private calls = new Map<string, number>();

  constructor(
    private readonly limits: ThrottleLimits,
    private readonly now: () => number,
  ) {}

  check(accountId: string, regionId: string, action: string): void {
    const limit = this.limits.actions?.[action] ?? this.limits.perAction;
    if (limit === undefined) return;
    const minute = Math.floor(this.now() / 60_000);
    if (minute !== this.minute) {
      this.minute = minute;
      this.calls = new Map();
    }
    const key = `${accountId} ${regionId} ${action}`;
    const calls = (this.calls.get(key) ?? 0) + 1;
    this.calls.set(key, calls);
    if (calls > limit) fail('Throttling.User', { action, limit });
  }
}
