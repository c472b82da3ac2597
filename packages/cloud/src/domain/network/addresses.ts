import { formatIpv4, parseIpv4, parseIpv4Cidr } from './cidr.js';

/**
 * Addresses at the end of a vSwitch that are not given out: the gateway (third last), one kept for the
 * system, and the broadcast address. The first address is the network's. From the API's guide on vSwitches.
 */
const reservedAtEnd = 3;

/** The router's address in a vSwitch: the third last, such as 192.168.0.253 in 192.168.0.0/24. */
export function gatewayAddress(vSwitchCidr: string): string {
  return formatIpv4(parseIpv4Cidr(vSwitchCidr).last - 2);
}

/** How many addresses of a vSwitch can be given to network interfaces. */
export function usableAddressCount(vSwitchCidr: string): number {
  const { first, last } = parseIpv4Cidr(vSwitchCidr);
  return Math.max(0, last - first - reservedAtEnd);
}

/** Whether an address may be given to a network interface of the vSwitch: inside, and not reserved. */
export function isUsableAddress(vSwitchCidr: string, address: string): boolean {
  const { first, last } = parseIpv4Cidr(vSwitchCidr);
  const number = parseIpv4(address);
  return number > first && number <= last - reservedAtEnd;
}

/**
 * A free address of the vSwitch, or `undefined` when all are taken. Searches upwards from `start` (an
 * address, such as one behind the last that was given out, so that addresses are not reused at once) and
 * around.
 */
export function findFreeAddress(
  vSwitchCidr: string,
  taken: ReadonlySet<string>,
  start?: string,
): string | undefined {
  const { first } = parseIpv4Cidr(vSwitchCidr);
  const count = usableAddressCount(vSwitchCidr);
  const offset = start === undefined ? 0 : parseIpv4(start) - first - 1;
  for (let step = 0; step < count; step += 1) {
    const address = formatIpv4(first + 1 + ((((offset + step) % count) + count) % count));
    if (!taken.has(address)) return address;
  }
  return undefined;
}

/** A unicast MAC address under the virtual machines' prefix 00:16:3e, as the API's instances have. */
export function macAddressFromBytes(bytes: Uint8Array): string {
  const tail = [...bytes.subarray(0, 3)].map((byte) => byte.toString(16).padStart(2, '0'));
  if (tail.length < 3) throw new Error('a MAC address needs three bytes');
  return ['00', '16', '3e', ...tail].join(':');
}

/** The nth address of a range that numbers things, such as fabric addresses or an EIP pool; from 0. */
export function nthAddress(cidr: string, index: number): string {
  const { first, last } = parseIpv4Cidr(cidr);
  if (index < 0 || first + index > last) throw new Error(`${cidr} has no address number ${index}`);
  return formatIpv4(first + index);
}

/** The first addresses of the fabric range are the host's own: the metadata service listens on one. */
const reservedFabricAddresses = 16;

/** The address by which the metadata service knows a network interface, from the interface's number. */
export function fabricAddress(fabricCidr: string, index: number): string {
  return nthAddress(fabricCidr, reservedFabricAddresses + index);
}

/** The other way round; `undefined` for an address that no network interface can have. */
export function findFabricIndex(fabricCidr: string, address: string): number | undefined {
  const { first, last } = parseIpv4Cidr(fabricCidr);
  const index = parseIpv4(address) - first - reservedFabricAddresses;
  return index >= 0 && first + reservedFabricAddresses + index <= last ? index : undefined;
}
