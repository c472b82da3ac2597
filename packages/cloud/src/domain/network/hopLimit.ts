/*
 * How far the answer with a metadata token may travel (HttpPutResponseHopLimit) is a matter of the IP
 * header, which the service has no hand in: it writes the limit as the first header of the answer, and the
 * host's packet filter reads it there and sets the packet's time to live.
 */

/** Range of HttpPutResponseHopLimit (ModifyInstanceMetadataOptions). */
export const maxHopLimit = 64;

const name = 'X-Hop-Limit';

/** The header that says it. Must be the first one of the answer. */
export function hopLimitHeader(hopLimit: number): readonly [string, string] {
  return [name, String(hopLimit).padStart(2, '0')];
}

/** Behind the status line of HTTP. */
const offsetBits = 'HTTP/1.1 200 OK\r\n'.length * 8;

/** nftables expressions that are true for the packet with which an answer with this limit begins. */
export function matchHopLimit(hopLimit: number | undefined): string {
  const text = hopLimit === undefined ? `${name}: ` : `${hopLimitHeader(hopLimit).join(': ')}\r`;
  return `@ih,${offsetBits},${text.length * 8} 0x${Buffer.from(text).toString('hex')}`;
}
