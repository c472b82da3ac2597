import { fail } from '../domain/errors.js';

/** How far the clock of a client may be off (help.aliyun.com document 48054). */
const freshnessMs = 15 * 60 * 1000;

const timestampForm = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

/**
 * Refuses requests that are too old to be believed, and those that were seen before. A nonce is
 * remembered, per access key, for as long as its time stamp is fresh; two generations of a set make
 * forgetting cheap.
 */
export class ReplayGuard {
  private current = new Set<string>();
  private previous = new Set<string>();
  private rotatedAt: number;

  constructor(private readonly now: () => number) {
    this.rotatedAt = now();
  }

  check(accessKeyId: string, nonce: string, timestamp: string): void {
    const now = this.now();
    const sentAt = timestampForm.test(timestamp) ? Date.parse(timestamp) : Number.NaN;
    if (Number.isNaN(sentAt)) fail('InvalidTimeStamp.Format', { timestamp });
    if (Math.abs(now - sentAt) > freshnessMs) {
      fail('InvalidTimeStamp.Expired', { timestamp, now: new Date(now).toISOString() });
    }
    // A time stamp from the future stays fresh for twice the limit.
    if (now - this.rotatedAt > 2 * freshnessMs) {
      this.previous = this.current;
      this.current = new Set();
      this.rotatedAt = now;
    }
    const key = `${accessKeyId} ${nonce}`;
    if (this.current.has(key) || this.previous.has(key)) fail('SignatureNonceUsed');
    this.current.add(key);
  }
}
