import { cidrsOverlap, isIpv4Cidr, normalizeCidr, prefixLength } from './cidr.js';

/**
 * Ranges that no VPC has: those of the cloud's own services, multicast and above, loopback, link-local
 * (CreateVpc, parameter CidrBlock), and what begins with 0 (AssociateVpcCidrBlock).
 */
const reserved = ['100.64.0.0/10', '224.0.0.0/3', '127.0.0.0/8', '169.254.0.0/16', '0.0.0.0/8'];

/** The range of services that every VPC reaches; shown as a route of the system. */
export const serviceCidr = '100.64.0.0/10';

/** Masks of VPCs and of vSwitches, in bits. */
const vpcMask = { min: 8, max: 28 } as const;
export const vSwitchMask = { min: 16, max: 29 } as const;

/** Why a range cannot be one of a VPC, or `undefined` when it can. */
export function findVpcCidrMistake(cidr: string): string | undefined {
  const mistake = findCidrMistake(cidr);
  if (mistake !== undefined) return mistake;
  const mask = prefixLength(cidr);
  if (mask < vpcMask.min || mask > vpcMask.max) {
    return `its mask has not ${vpcMask.min} to ${vpcMask.max} bits.`;
  }
  const overlapped = reserved.find((range) => cidrsOverlap(range, cidr));
  return overlapped === undefined ? undefined : `it overlaps ${overlapped}, which is reserved.`;
}

/** Why a text is not an IPv4 range in its canonical spelling, or `undefined` when it is. */
export function findCidrMistake(cidr: string): string | undefined {
  if (!cidr.includes('/') || !isIpv4Cidr(cidr)) return 'it is not an IPv4 range.';
  if (normalizeCidr(cidr) !== cidr) return `it has bits below its mask; ${normalizeCidr(cidr)} has none.`;
  return undefined;
}
