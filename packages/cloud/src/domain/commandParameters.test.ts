import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fillParameters, findOwnParameterNames, findParameterNames } from './commandParameters.js';

describe('parameters of commands', () => {
  it('are names in double braces, each once, whatever their capitals and white space', () => {
    const content = 'a {{x}} {{ X }} {{\ny\n}} {{ACS::RegionId}} {z} {{}}';
    expect(findParameterNames(content)).toEqual(['x', 'y', 'ACS::RegionId', '']);
    expect(findOwnParameterNames(content)).toEqual(['x', 'y', '']);
  });
  it('are filled in, and empty when not given', () => {
    const builtIn = { InstanceId: 'i-1' };
    expect(fillParameters('{{A}}-{{b}}-{{ acs :: InstanceId }}', { a: '$& {{b}}' }, builtIn)).toBe(
      '$& {{b}}--i-1',
    );
  });
  it('leave a text without double braces as it is', () => {
    const text = fc.string({ unit: 'grapheme' }).filter((candidate) => !candidate.includes('{{'));
    fc.assert(
      fc.property(text, (content) => {
        expect(fillParameters(content, {}, {})).toBe(content);
      }),
    );
  });
});
