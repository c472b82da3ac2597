import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cidrContains, cidrsOverlap, formatIpv4, normalizeCidr } from './cidr.js';
import { findCidrMistake, findVpcCidrMistake } from './vpcCidr.js';

const anyCidr = fc
  .tuple(fc.nat(2 ** 32 - 1), fc.integer({ min: 0, max: 32 }))
  .map(([address, bits]) => `${formatIpv4(address)}/${bits}`);

describe('ranges of VPCs', () => {
  it('are all private ranges and their parts with masks of 8 to 28 bits', () => {
    const within = fc
      .tuple(anyCidr, fc.constantFrom('10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'))
      .map(([cidr, range]) => [normalizeCidr(cidr), range] as const)
      .filter(([cidr, range]) => cidrContains(range, cidr));
    fc.assert(
      fc.property(within, ([cidr]) => {
        const bits = Number(cidr.split('/')[1]);
        expect(findVpcCidrMistake(cidr) === undefined).toBe(bits >= 8 && bits <= 28);
      }),
    );
    expect(findVpcCidrMistake('172.16.0.0/12')).toBeUndefined();
    expect(findVpcCidrMistake('30.0.0.0/8')).toBeUndefined();
  });

  it('never reach into what is reserved', () => {
    fc.assert(
      fc.property(anyCidr.map(normalizeCidr), (cidr) => {
        if (findVpcCidrMistake(cidr) !== undefined) return;
        for (const range of ['100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '224.0.0.0/4', '0.0.0.0/8']) {
          expect(cidrsOverlap(range, cidr)).toBe(false);
        }
      }),
    );
  });

  it('have one spelling', () => {
    fc.assert(
      fc.property(anyCidr, (cidr) => {
        expect(findCidrMistake(cidr) === undefined).toBe(normalizeCidr(cidr) === cidr);
      }),
    );
    for (const text of ['', 'x', '10.0.0.0', '10.0.0.0/33', '10.0.0/8', 'fd00::/8', '10.0.0.0/8/8']) {
      expect(findCidrMistake(text)).toBeDefined();
    }
  });
});
