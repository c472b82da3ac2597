import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { GuestSeed } from '../driver.js';
import { formatGuestSeed } from './guestSeedText.js';

/** Reads the text as the guest's shell does: a name, a blank, and the rest of the line. */
function parse(text: string): Partial<GuestSeed> & { authorizedKeys: string[] } {
  const seed: Record<string, string> = {};
  const authorizedKeys: string[] = [];
  for (const line of text.trimEnd().split('\n')) {
    const [, name = '', value = ''] = /^(\S+) (.*)$/.exec(line) ?? [];
    if (name === 'authorized-key') authorizedKeys.push(value);
    else seed[name] = value;
  }
  return {
    instanceId: seed['instance-id'] ?? '',
    hostName: seed['host-name'] ?? '',
    authorizedKeys,
    ...(seed['password-hash'] === undefined ? {} : { passwordHash: seed['password-hash'] }),
    ...(seed['user-data'] === undefined ? {} : { userDataBase64: seed['user-data'] }),
  };
}

describe('the seed’s text', () => {
  it('gives every fact back', () => {
    const word = fc.stringMatching(/^[A-Za-z0-9+/=.$-]+$/);
    const seeds = fc.record(
      {
        instanceId: word,
        hostName: word,
        passwordHash: word,
        authorizedKeys: fc.array(fc.tuple(word, word, word).map((words) => words.join(' '))),
        userDataBase64: fc.base64String({ minLength: 4 }),
      },
      { requiredKeys: ['instanceId', 'hostName', 'authorizedKeys'] },
    );
    fc.assert(
      fc.property(seeds, (seed) => {
        expect(parse(formatGuestSeed(seed))).toEqual(seed);
      }),
    );
  });

  it.each<Partial<GuestSeed>>([
    { hostName: 'host\npassword-hash x' },
    { authorizedKeys: ['ssh-rsa AAAA\nauthorized-key ssh-rsa BBBB'] },
    { passwordHash: 'x\r' },
    { instanceId: 'i-\u0000' },
    { userDataBase64: 'AAAA\nBBBB' },
  ])('refuses a second line in %j', (change) => {
    const seed = { instanceId: 'i-1', hostName: 'host', authorizedKeys: [], ...change };
    expect(() => formatGuestSeed(seed)).toThrow(expect.objectContaining({ reason: 'refused' }));
  });
});
