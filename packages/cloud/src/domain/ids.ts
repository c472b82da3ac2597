import { randomText } from './random.js';

declare const brand: unique symbol;
/** A string that only `parse` and `create` functions of its kind can make. */
export type Branded<Name extends string> = string & { readonly [brand]: Name };

export type AccountId = Branded<'AccountId'>;
export type RegionId = Branded<'RegionId'>;
export type ZoneId = Branded<'ZoneId'>;
export type HostId = Branded<'HostId'>;
export type RequestId = Branded<'RequestId'>;

/**
 * Prefix of every resource id that the cloud makes. The spellings are the API's own
 * (the examples of its published metadata).
 */
const prefixes = {
  instance: 'i-',
  disk: 'd-',
  snapshot: 's-',
  image: 'm-',
  keyPair: 'ssh-',
  vpc: 'vpc-',
  vSwitch: 'vsw-',
  securityGroup: 'sg-',
  securityGroupRule: 'sgr-',
  networkInterface: 'eni-',
  eip: 'eip-',
  vRouter: 'vrt-',
  routeTable: 'vtb-',
  routeEntry: 'rte-',
  natGateway: 'ngw-',
  snatTable: 'stb-',
  snatEntry: 'snat-',
  forwardTable: 'ftb-',
  forwardEntry: 'fwd-',
  prefixList: 'pl-',
  command: 'c-',
  invocation: 't-',
  fileInvocation: 'f-',
} as const;

export type ResourceKind = keyof typeof prefixes;

export type InstanceId = Branded<'InstanceId'>;
export type DiskId = Branded<'DiskId'>;
export type SnapshotId = Branded<'SnapshotId'>;
export type ImageId = Branded<'ImageId'>;
export type KeyPairId = Branded<'KeyPairId'>;
export type VpcId = Branded<'VpcId'>;
export type VSwitchId = Branded<'VSwitchId'>;
export type SecurityGroupId = Branded<'SecurityGroupId'>;
export type SecurityGroupRuleId = Branded<'SecurityGroupRuleId'>;
export type NetworkInterfaceId = Branded<'NetworkInterfaceId'>;
export type EipId = Branded<'EipId'>;
export type VRouterId = Branded<'VRouterId'>;
export type RouteTableId = Branded<'RouteTableId'>;
export type RouteEntryId = Branded<'RouteEntryId'>;
export type NatGatewayId = Branded<'NatGatewayId'>;
export type SnatTableId = Branded<'SnatTableId'>;
export type SnatEntryId = Branded<'SnatEntryId'>;
export type ForwardTableId = Branded<'ForwardTableId'>;
export type ForwardEntryId = Branded<'ForwardEntryId'>;
export type PrefixListId = Branded<'PrefixListId'>;
export type CommandId = Branded<'CommandId'>;
export type InvocationId = Branded<'InvocationId'>;

interface IdOf {
  instance: InstanceId;
  disk: DiskId;
  snapshot: SnapshotId;
  image: ImageId;
  keyPair: KeyPairId;
  vpc: VpcId;
  vSwitch: VSwitchId;
  securityGroup: SecurityGroupId;
  securityGroupRule: SecurityGroupRuleId;
  networkInterface: NetworkInterfaceId;
  eip: EipId;
  vRouter: VRouterId;
  routeTable: RouteTableId;
  routeEntry: RouteEntryId;
  natGateway: NatGatewayId;
  snatTable: SnatTableId;
  snatEntry: SnatEntryId;
  forwardTable: ForwardTableId;
  forwardEntry: ForwardEntryId;
  prefixList: PrefixListId;
  command: CommandId;
  invocation: InvocationId;
  fileInvocation: InvocationId;
}

const alphabet = '0123456789abcdefghijklmnopqrstuvwxyz';
const bodyLength = 20;

/** A fresh id: prefix and 20 lower-case alphanumerics, of which the first three tell the region. */
export function createId<Kind extends ResourceKind>(kind: Kind, regionCode: string): IdOf[Kind] {
  const body = regionCode + randomText(alphabet, bodyLength - regionCode.length);
  return `${prefixes[kind]}${body}` as IdOf[Kind];
}

/**
 * Takes a string from outside for an id. Length and alphabet are not checked: public image ids are
 * names, old ids are shorter, and an id that nothing has is answered by the look-up.
 */
export function parseId<Kind extends ResourceKind>(_kind: Kind, text: string): IdOf[Kind] {
  return text as IdOf[Kind];
}
