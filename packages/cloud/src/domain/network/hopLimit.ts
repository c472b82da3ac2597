/*
 * How far the answer with a metadata token may travel (HttpPutResponseHopLimit) is a matter of the IP
 * header, which the service has no hand in: it writes the limit as the first header of the answer, and the
 * host's packet filter reads it there and sets the packet's time to live. Containers, proxies and tunnels
 * behind an instance are kept off by this; one that forges its side of TCP, so that the answer does not
 * begin a packet, is not.
 */

/** Range of HttpPutResponseHopLimit (ModifyInstanceMetadataOptions). */
export const maxHopLimit = 64;

/** Bytes of a TCP header as Linux sends it with data: without options, and with time stamps. */
export const tcpHeaderBytes = [20, 32];

const name = 'X-Hop-Limit';

/** The header that says it. Must be the first one of the answer. */
export function hopLimitHeader(hopLimit: number): readonly [string, string] {
  return [name, String(hopLimit).padStart(2, '0')];
}

/**
 * nftables expressions that are true for the packet with which an answer with this limit, or with any,
 * begins. By the place in the TCP header and not behind it, which kernels before 5.16 cannot find.
 */
export function matchHopLimit(headerBytes: number, hopLimit?: number): string {
  const text = hopLimit === undefined ? `${name}: ` : `${hopLimitHeader(hopLimit).join(': ')}\r`;
  const offsetBytes = headerBytes + 'HTTP/1.1 200 OK\r\n'.length;
  return `tcp doff ${headerBytes / 4} @th,${offsetBytes * 8},${text.length * 8} 0x${Buffer.from(text).toString('hex')}`;
}
