import { describe, expect, it } from 'vitest';
import { Throttle } from './throttle.js';

describe('throttling', () => {
  it('refuses what goes over the limit until the next minute, for this action, account and region alone', () => {
    let now = 0;
    const throttle = new Throttle({ perAction: 2, actions: { RunInstances: 1 } }, () => now);
    const isPassed = (account: string, region: string, action: string): boolean => {
      try {
        throttle.check(account, region, action);
        return true;
      } catch (error) {
        expect(error).toMatchObject({ code: 'Throttling.User', status: 400 });
        return false;
      }
    };
    expect([1, 2, 3].map(() => isPassed('a', 'r', 'DescribeZones'))).toEqual([true, true, false]);
    expect(isPassed('b', 'r', 'DescribeZones')).toBe(true);
    expect(isPassed('a', 's', 'DescribeZones')).toBe(true);
    expect(isPassed('a', 'r', 'DescribeRegions')).toBe(true);
    expect([1, 2].map(() => isPassed('a', 'r', 'RunInstances'))).toEqual([true, false]);
    now = 59_999;
    expect(isPassed('a', 'r', 'DescribeZones')).toBe(false);
    now = 60_000;
    expect(isPassed('a', 'r', 'DescribeZones')).toBe(true);
  });

  it('is off without limits', () => {
    const throttle = new Throttle({}, () => 0);
    for (let call = 0; call < 10_000; call += 1) throttle.check('a', 'r', 'DescribeZones');
  });
});
