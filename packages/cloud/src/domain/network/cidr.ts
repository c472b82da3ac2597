import ipaddr from 'ipaddr.js';

/** An IPv4 range: first and last address as 32-bit numbers, both included. */
export interface Ipv4Range {
  readonly first: number;
  readonly last: number;
}

/** The number of an IPv4 address. Throws on anything but four decimal parts. */
export function parseIpv4(text: string): number {
  // By hand: thousands of addresses are read at every change of a large VPC.
  const match = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text);
  const [a, b, c, d] = [Number(match?.[1]), Number(match?.[2]), Number(match?.[3]), Number(match?.[4])];
  if (!(a <= 255 && b <= 255 && c <= 255 && d <= 255)) throw new Error(`not an IPv4 address: ${text}`);
  return ((a * 256 + b) * 256 + c) * 256 + d;
}

export function formatIpv4(number: number): string {
  return `${number >>> 24}.${(number >>> 16) & 255}.${(number >>> 8) & 255}.${number & 255}`;
}

/**
 * The addresses of an IPv4 CIDR (or of a single address). Bits below the mask are ignored. `undefined` for
 * IPv6. Throws on anything else.
 */
export function findIpv4Range(cidr: string): Ipv4Range | undefined {
  if (cidr.includes(':')) {
    if (cidr.includes('/')) ipaddr.IPv6.parseCIDR(cidr);
    else ipaddr.IPv6.parse(cidr);
    return undefined;
  }
  const slash = cidr.indexOf('/');
  const length = slash < 0 ? '32' : cidr.slice(slash + 1);
  const address = slash < 0 ? cidr : cidr.slice(0, slash);
  const bits = Number(length);
  if (!/^\d{1,2}$/.test(length) || bits > 32) throw new Error(`not a CIDR: ${cidr}`);
  const size = 2 ** (32 - bits);
  const first = Math.floor(parseIpv4(address) / size) * size;
  return { first, last: first + size - 1 };
}

/** The addresses of an IPv4 CIDR. Throws on anything else. */
export function parseIpv4Cidr(cidr: string): Ipv4Range {
  const range = findIpv4Range(cidr);
  if (range === undefined) throw new Error(`not an IPv4 CIDR: ${cidr}`);
  return range;
}

/** Whether a text is an IPv4 range or address. */
export function isIpv4Cidr(text: string): boolean {
  try {
    return findIpv4Range(text) !== undefined;
  } catch {
    return false;
  }
}

/** The length of the mask of a CIDR. */
export function prefixLength(cidr: string): number {
  const { first, last } = parseIpv4Cidr(cidr);
  return 32 - Math.log2(last - first + 1);
}

/** The same CIDR without bits below the mask, in its shortest usual spelling (always with the mask). */
export function normalizeCidr(cidr: string): string {
  return `${formatIpv4(parseIpv4Cidr(cidr).first)}/${prefixLength(cidr)}`;
}

export function rangeContains(range: Ipv4Range, address: number): boolean {
  return address >= range.first && address <= range.last;
}

/** Whether all of `inner` lies in `outer`. */
export function cidrContains(outer: string, inner: string): boolean {
  const outerRange = parseIpv4Cidr(outer);
  const innerRange = parseIpv4Cidr(inner);
  return innerRange.first >= outerRange.first && innerRange.last <= outerRange.last;
}

export function cidrsOverlap(one: string, other: string): boolean {
  return intersectCidrs(one, other) !== undefined;
}

/** What two CIDRs have in common: the narrower of them, or nothing. */
export function intersectCidrs(one: string, other: string): string | undefined {
  if (cidrContains(one, other)) return normalizeCidr(other);
  return cidrContains(other, one) ? normalizeCidr(one) : undefined;
}

/** The ranges in order, with overlapping and touching ones joined. */
export function mergeRanges(ranges: readonly Ipv4Range[]): Ipv4Range[] {
  const merged: Ipv4Range[] = [];
  for (const range of [...ranges].sort((a, b) => a.first - b.first)) {
    const previous = merged.at(-1);
    if (previous !== undefined && range.first <= previous.last + 1) {
      merged[merged.length - 1] = { first: previous.first, last: Math.max(previous.last, range.last) };
    } else {
      merged.push(range);
    }
  }
  return merged;
}

/** The ranges without the addresses of `removed`. */
export function subtractRanges(ranges: readonly Ipv4Range[], removed: readonly Ipv4Range[]): Ipv4Range[] {
  const holes = mergeRanges(removed);
  return mergeRanges(ranges).flatMap((range) => {
    const left: Ipv4Range[] = [];
    let first = range.first;
    for (const hole of holes) {
      if (hole.last < first || hole.first > range.last) continue;
      if (hole.first > first) left.push({ first, last: hole.first - 1 });
      first = hole.last + 1;
    }
    if (first <= range.last) left.push({ first, last: range.last });
    return left;
  });
}
