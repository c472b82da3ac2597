import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toScript } from './runCommand.js';

describe('a command as a script', () => {
  it('is taken as it stands when it is one word', () => {
    expect(toScript(['echo $HOME; exit 3'])).toBe('echo $HOME; exit 3');
  });
  it('means exactly its words to a shell', () => {
    const word = fc.string({ maxLength: 12 }).filter((text) => !text.includes('\0'));
    fc.assert(
      fc.property(fc.array(word, { minLength: 1, maxLength: 4 }), (words) => {
        const script = toScript(['printf', '%s\\0', ...words]);
        const output = execFileSync('/bin/sh', ['-c', script], { encoding: 'utf8' });
        expect(output.split('\0').slice(0, -1)).toEqual(words);
      }),
      { numRuns: 50 },
    );
  });
});
