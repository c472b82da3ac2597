import type { PrefixListId, SecurityGroupId, SecurityGroupRuleId } from '../ids.js';

export type SecurityProtocol = 'tcp' | 'udp' | 'icmp' | 'gre' | 'all';

export type SecurityDirection = 'ingress' | 'egress';

/** First and last port, both included. */
export interface PortRange {
  readonly first: number;
  readonly last: number;
}

/** The other end of the traffic that a rule speaks of: the source of ingress, the destination of egress. */
export type SecurityPeer =
  | { readonly kind: 'cidr'; readonly cidr: string }
  | { readonly kind: 'group'; readonly securityGroupId: SecurityGroupId }
  | { readonly kind: 'prefixList'; readonly prefixListId: PrefixListId };

/**
 * One rule of a security group. IPv6 ranges may be stored in rules, but match nothing: instances have no
 * IPv6.
 */
export interface SecurityRule {
  readonly id: SecurityGroupRuleId;
  readonly direction: SecurityDirection;
  readonly policy: 'accept' | 'drop';
  /** 1 (looked at first) to 100. At equal priority `drop` wins. */
  readonly priority: number;
  readonly protocol: SecurityProtocol;
  /** Destination ports, for `tcp` and `udp`. Absent: all (-1/-1 on the wire). */
  readonly portRange?: PortRange;
  /** Source ports, for `tcp` and `udp`. Absent: all. */
  readonly sourcePortRange?: PortRange;
  readonly peer: SecurityPeer;
  /** The near end (`DestCidrIp` of ingress, `SourceCidrIp` of egress). Absent: every address of the member. */
  readonly localCidr?: string;
}

/**
 * `basic` groups let their members talk to each other (unless the inner access policy says `drop`), drop
 * other ingress and allow egress where no rule matches. `enterprise` groups drop both. From the API's
 * guide "Basic and enterprise security groups".
 */
export interface SecurityGroup {
  readonly id: SecurityGroupId;
  readonly type: 'basic' | 'enterprise';
  /**
   * `accept`: members reach each other whatever the rules say (ModifySecurityGroupPolicy). `drop`: only
   * where a rule allows it. Enterprise groups are always `drop`.
   */
  readonly innerAccessPolicy: 'accept' | 'drop';
  readonly rules: readonly SecurityRule[];
}

export interface PrefixList {
  readonly id: PrefixListId;
  readonly cidrs: readonly string[];
}

/** Everything that decides about packets in a VPC, besides who is a member of what. */
export interface SecurityPolicy {
  readonly groups: readonly SecurityGroup[];
  /** At least those that a rule of the groups names. */
  readonly prefixLists: readonly PrefixList[];
}
