import { describe, expect, it } from 'vitest';
import { parseListen } from './listenAddress.js';

describe('a listen address', () => {
  it.each([
    ['127.0.0.1:8585', '127.0.0.1', 8585],
    ['localhost:0', 'localhost', 0],
    ['0.0.0.0:80', '0.0.0.0', 80],
    ['[::1]:443', '::1', 443],
  ])('"%s" names host and port', (text, host, port) => {
    expect(parseListen(text)).toEqual({ host, port });
  });
  it('is on loopback when only a port is given', () => {
    expect(parseListen('8080')).toEqual({ host: '127.0.0.1', port: 8080 });
  });
  it.each(['', 'host', 'host:', '1.2.3.4:65536', '::1:80', '[nonsense]:80', 'a:b:1'])(
    '"%s" is refused',
    (text) => {
      expect(() => parseListen(text)).toThrow(/HOST:PORT/);
    },
  );
});
