import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findFreeAddress, gatewayAddress, isUsableAddress, usableAddressCount } from './addresses.js';
import {
  cidrContains,
  cidrsOverlap,
  findIpv4Range,
  formatIpv4,
  parseIpv4,
  parseIpv4Cidr,
  rangeContains,
  subtractRanges,
} from './cidr.js';

const address = fc.integer({ min: 0, max: 2 ** 32 - 1 });

describe('IPv4 arithmetic', () => {
  it('reads back every address that it writes', () => {
    fc.assert(
      fc.property(address, (number) => {
        expect(parseIpv4(formatIpv4(number))).toBe(number);
      }),
    );
  });

  it.each(['', '1.2.3', '1.2.3.4.5', '256.1.1.1', '1.2.3.4/24', 'a.b.c.d', '1.2.3.-4', ' 1.2.3.4'])(
    'refuses %j as an address',
    (text) => {
      expect(() => parseIpv4(text)).toThrow('not an IPv4 address');
    },
  );

  it.each(['10.0.0.0/33', '10.0.0.0/', '10.0.0.0/8/8', '10.0.0.0/x', '/8'])(
    'refuses %j as a CIDR',
    (text) => {
      expect(() => parseIpv4Cidr(text)).toThrow();
    },
  );

  it('takes ranges away address by address', () => {
    const near = fc
      .tuple(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 0, max: 20 }))
      .map(([first, size]) => ({ first, last: first + size }));
    fc.assert(
      fc.property(fc.array(near), fc.array(near), (some, removed) => {
        const left = subtractRanges(some, removed);
        for (let number = 0; number <= 80; number += 1) {
          const isIn = (ranges: typeof some): boolean => ranges.some((each) => rangeContains(each, number));
          expect(isIn(left)).toBe(isIn(some) && !isIn(removed));
        }
      }),
    );
  });

  it('knows what overlaps and what is inside, whatever bits stand below the mask', () => {
    expect(cidrContains('10.0.0.0/8', '10.9.8.7/16')).toBe(true);
    expect(cidrContains('10.9.0.0/16', '10.0.0.0/8')).toBe(false);
    expect(cidrsOverlap('10.9.0.0/16', '10.0.0.0/8')).toBe(true);
    expect(cidrsOverlap('10.9.0.0/16', '10.10.0.0/16')).toBe(false);
    expect(findIpv4Range('2001:db8::/32')).toBeUndefined();
  });
});

describe('addresses of a vSwitch', () => {
  it('keeps the first and the last three', () => {
    expect(gatewayAddress('192.168.0.0/24')).toBe('192.168.0.253');
    expect(usableAddressCount('192.168.0.0/24')).toBe(252);
    expect(usableAddressCount('192.168.0.0/29')).toBe(4);
    expect(isUsableAddress('192.168.0.0/24', '192.168.0.252')).toBe(true);
    for (const reserved of [
      '192.168.0.0',
      '192.168.0.253',
      '192.168.0.254',
      '192.168.0.255',
      '192.168.1.1',
    ]) {
      expect(isUsableAddress('192.168.0.0/24', reserved)).toBe(false);
    }
  });

  it('gives out every usable address once, from wherever it starts, and then none', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 15 }), (start) => {
        const taken = new Set<string>();
        for (;;) {
          const free = findFreeAddress('10.0.0.0/28', taken, `10.0.0.${start}`);
          if (free === undefined) break;
          expect(isUsableAddress('10.0.0.0/28', free)).toBe(true);
          expect(taken.has(free)).toBe(false);
          taken.add(free);
        }
        expect(taken.size).toBe(usableAddressCount('10.0.0.0/28'));
      }),
    );
  });
});
