import { describe, expect, it } from 'vitest';
import { percentEncode, signV1, stringToSignV1 } from './signature.js';

describe('a V1 signature', () => {
  const parameters = new Map([
    ['Timestamp', '2016-02-23T12:46:24Z'],
    ['Format', 'XML'],
    ['AccessKeyId', 'testid'],
    ['Action', 'DescribeRegions'],
    ['SignatureMethod', 'HMAC-SHA1'],
    ['SignatureNonce', '3ee8c1b8-83d3-44af-a94f-4e0ad82fd6cf'],
    ['Version', '2014-05-26'],
    ['SignatureVersion', '1.0'],
  ]);

  it('is the one of the test vector', () => {
    expect(signV1('GET', parameters, 'testsecret')).toBe('OLeaidS1JvxuMvnyHOwuJ+uX5qY=');
  });

  it('does not cover itself', () => {
    const signed = new Map([...parameters, ['Signature', 'anything']]);
    expect(stringToSignV1('GET', signed)).toBe(stringToSignV1('GET', parameters));
  });

  it('encodes as RFC 3986 has it', () => {
    expect(percentEncode("Az09-_.~ *+/!'()中")).toBe('Az09-_.~%20%2A%2B%2F%21%27%28%29%E4%B8%AD');
  });
});
