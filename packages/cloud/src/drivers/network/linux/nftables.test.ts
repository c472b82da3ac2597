import { describe, expect, it } from 'vitest';
import { diffTable, type NftTable, nftRule } from './nftables.js';
import { renderRange } from './security.js';

function table(rules: readonly string[], elements: readonly string[] = []): NftTable {
  return {
    family: 'ip',
    name: 't',
    chains: new Map([['c', { rules: rules.map(nftRule) }]]),
    sets: new Map([
      ['s', { type: 'ipv4_addr', interval: false, elements: new Map(elements.map((key) => [key, {}])) }],
    ]),
  };
}

/** The commands without the digests of the rules. */
function diff(current: NftTable | undefined, wanted: NftTable): string[] {
  return diffTable(current, wanted).map((command) => command.replace(/ comment "[0-9a-f]{8}"$/, ''));
}

describe('the difference between two tables', () => {
  it('is everything when there was none', () => {
    expect(diff(undefined, table(['accept'], ['10.0.0.1']))).toEqual([
      'add table ip t',
      'add set ip t s { type ipv4_addr; }',
      'add chain ip t c',
      'add element ip t s { 10.0.0.1 }',
      'add rule ip t c accept',
    ]);
  });

  it('is nothing between equal ones', () => {
    expect(diff(table(['accept'], ['10.0.0.1']), table(['accept'], ['10.0.0.1']))).toEqual([]);
  });

  it('appends to a chain that grew at its end, and writes any other anew', () => {
    expect(diff(table(['one']), table(['one', 'two']))).toEqual(['add rule ip t c two']);
    expect(diff(table(['one', 'two']), table(['two']))).toEqual([
      'flush chain ip t c',
      'add rule ip t c two',
    ]);
    expect(diff(table(['one']), table([]))).toEqual(['flush chain ip t c']);
  });

  it('moves elements alone', () => {
    expect(diff(table([], ['10.0.0.1', '10.0.0.2']), table([], ['10.0.0.2', '10.0.0.3']))).toEqual([
      'delete element ip t s { 10.0.0.1 }',
      'add element ip t s { 10.0.0.3 }',
    ]);
  });
});

describe('a range', () => {
  it.each([
    [{ first: 10, last: 10 }, '0.0.0.10'],
    [{ first: 8, last: 11 }, '0.0.0.8/30'],
    [{ first: 9, last: 12 }, '0.0.0.9-0.0.0.12'],
    [{ first: 0, last: 2 ** 32 - 1 }, '0.0.0.0/0'],
  ])('%j is spelled as nft lists it', (range, text) => {
    expect(renderRange(range)).toBe(text);
  });
});
