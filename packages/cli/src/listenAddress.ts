import { isIP } from 'node:net';
import { UsageError } from './errors.js';

/** Loopback unless the operator asks for more. */
export const defaultListen = '127.0.0.1:8585';

/** Reads `HOST:PORT`, `[IPv6]:PORT` or `PORT`. Port 0 is any free one. */
export function parseListen(text: string): { readonly host: string; readonly port: number } {
  const match = /^(?:(?:\[([\da-fA-F:.]+)\]|([^:[\]]+)):)?(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  const host = match?.[1] ?? match?.[2] ?? '127.0.0.1';
  const isValid = match !== null && port <= 65_535 && (match[1] === undefined || isIP(match[1]) === 6);
  if (!isValid) throw new UsageError(`--listen: "${text}" is not HOST:PORT`);
  return { host, port };
}
