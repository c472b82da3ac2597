import type { ErrorCode, Fail } from '../errors.js';
import { findIpv4Range, normalizeCidr } from './cidr.js';

/** A rule of a security group as a request gives it, with the far and the near end already told apart. */
export interface RuleInput {
  readonly ipProtocol?: string | undefined;
  readonly portRange?: string | undefined;
  readonly sourcePortRange?: string | undefined;
  readonly policy?: string | undefined;
  readonly priority?: string | undefined;
  readonly description?: string | undefined;
  readonly peerCidr?: string | undefined;
  readonly peerIpv6Cidr?: string | undefined;
  readonly peerGroupId?: string | undefined;
  readonly peerGroupOwner?: string | undefined;
  readonly peerPrefixListId?: string | undefined;
  readonly localCidr?: string | undefined;
}

/** A rule in the spelling in which it is kept, compared and shown. */
export interface RuleText {
  readonly protocol: 'TCP' | 'UDP' | 'ICMP' | 'ICMPv6' | 'GRE' | 'ALL';
  readonly portRange: string;
  readonly sourcePortRange: string | null;
  readonly policy: 'Accept' | 'Drop';
  readonly priority: number;
  readonly peerCidr: string | null;
  readonly peerGroupId: string | null;
  readonly peerPrefixListId: string | null;
  readonly localCidr: string | null;
}

export const ruleErrors = [
  'InvalidDestCidrIp.Malformed',
  'InvalidIpProtocol.ValueNotSupported',
  'InvalidPolicy.Malformed',
  'InvalidPortRange.Malformed',
  'InvalidPriority.Malformed',
  'InvalidPriority.ValueNotSupported',
  'InvalidSourceCidrIp.Malformed',
  'InvalidSourcePortRange.Malformed',
  'InvalidSecurityGroupDiscription.Malformed',
] as const satisfies readonly ErrorCode[];

export type RuleFail = Fail<(typeof ruleErrors)[number] | 'MissingParameter' | 'InvalidParameter.Conflict'>;

type Protocol = RuleText['protocol'];

const protocols: readonly Protocol[] = ['TCP', 'UDP', 'ICMP', 'ICMPv6', 'GRE', 'ALL'];

/** Every port: what protocols without ports have, and TCP and UDP may have. */
const allPorts = '-1/-1';

export function readProtocol(text: string | undefined, fail: RuleFail): Protocol {
  const word = (text ?? fail('MissingParameter', { parameter: 'IpProtocol' })).toLowerCase();
  return (
    protocols.find((protocol) => protocol.toLowerCase() === word) ??
    fail('InvalidIpProtocol.ValueNotSupported', { protocol: word })
  );
}

function findRangeMistake(protocol: Protocol, range: string): string | undefined {
  if (range === allPorts) return undefined;
  if (protocol !== 'TCP' && protocol !== 'UDP') return `it is ${allPorts} for this protocol.`;
  const match = /^(\d{1,5})\/(\d{1,5})$/.exec(range);
  if (!match) return 'its form is first/last, such as 22/22.';
  const [first, last] = [Number(match[1]), Number(match[2])];
  if (first < 1 || last > 65_535) return 'ports are between 1 and 65535.';
  return first > last ? 'the first port is above the last.' : undefined;
}

export function readPortRange(protocol: Protocol, text: string | undefined, fail: RuleFail): string {
  const range = text ?? fail('MissingParameter', { parameter: 'PortRange' });
  const reason = findRangeMistake(protocol, range);
  return reason === undefined ? range : fail('InvalidPortRange.Malformed', { range, reason });
}

export function readSourcePortRange(
  protocol: Protocol,
  range: string | undefined,
  fail: RuleFail,
): string | null {
  if (range === undefined || range === allPorts) return null;
  const reason = findRangeMistake(protocol, range);
  return reason === undefined ? range : fail('InvalidSourcePortRange.Malformed', { range, reason });
}

export function readPolicy(text: string | undefined, fail: RuleFail): 'Accept' | 'Drop' {
  switch (text?.toLowerCase()) {
    case undefined:
    case 'accept':
      return 'Accept';
    case 'drop':
      return 'Drop';
    default:
      return fail('InvalidPolicy.Malformed', { words: 'accept or drop' });
  }
}

export function readPriority(text: string | undefined, fail: RuleFail): number {
  if (text === undefined) return 1;
  if (!/^-?\d+$/.test(text)) fail('InvalidPriority.Malformed');
  const priority = Number(text);
  if (priority < 1 || priority > 100) fail('InvalidPriority.ValueNotSupported');
  return priority;
}

/** The shortest usual spelling of a CIDR; a single address stands for itself. */
export function readCidr(
  cidr: string | undefined,
  code: 'InvalidSourceCidrIp.Malformed' | 'InvalidDestCidrIp.Malformed',
  fail: RuleFail,
): string | null {
  if (cidr === undefined) return null;
  try {
    if (findIpv4Range(cidr) === undefined) return cidr.toLowerCase();
    return cidr.includes('/') ? normalizeCidr(cidr) : cidr;
  } catch {
    return fail(code, { cidr });
  }
}

/** The far end of a rule; exactly one form of it may be given. `undefined`: none is. */
export function readPeer(
  input: RuleInput,
  direction: 'ingress' | 'egress',
  fail: RuleFail,
): Pick<RuleText, 'peerCidr' | 'peerGroupId' | 'peerPrefixListId'> | undefined {
  const code = direction === 'ingress' ? 'InvalidSourceCidrIp.Malformed' : 'InvalidDestCidrIp.Malformed';
  const given = [input.peerCidr, input.peerIpv6Cidr, input.peerGroupId, input.peerPrefixListId].filter(
    (value) => value !== undefined,
  );
  if (given.length === 0) return undefined;
  if (given.length > 1) {
    const side = direction === 'ingress' ? 'Source' : 'Dest';
    fail('InvalidParameter.Conflict', {
      parameters: `${side}CidrIp, Ipv6${side}CidrIp, ${side}GroupId and ${side}PrefixListId`,
    });
  }
  return {
    peerCidr: readCidr(input.peerCidr ?? input.peerIpv6Cidr, code, fail),
    peerGroupId: input.peerGroupId ?? null,
    peerPrefixListId: input.peerPrefixListId ?? null,
  };
}

export function readLocalCidr(
  input: RuleInput,
  direction: 'ingress' | 'egress',
  fail: RuleFail,
): string | null {
  const code = direction === 'ingress' ? 'InvalidDestCidrIp.Malformed' : 'InvalidSourceCidrIp.Malformed';
  return readCidr(input.localCidr, code, fail);
}

export function checkRuleDescription(description: string | undefined, fail: RuleFail): void {
  if (description !== undefined && (description.length > 512 || /^https?:\/\//i.test(description))) {
    fail('InvalidSecurityGroupDiscription.Malformed');
  }
}
