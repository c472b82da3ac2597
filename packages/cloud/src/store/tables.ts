import type { Generated, Insertable, Selectable, Updateable } from 'kysely';
import type { DiskStatus, ImageStatus, SnapshotStatus } from '../domain/disk.js';
import type {
  AccountId,
  CommandId,
  DiskId,
  EipId,
  ForwardEntryId,
  ForwardTableId,
  HostId,
  ImageId,
  InstanceId,
  InvocationId,
  KeyPairId,
  NatGatewayId,
  NetworkInterfaceId,
  PrefixListId,
  RegionId,
  RouteEntryId,
  RouteTableId,
  SecurityGroupId,
  SecurityGroupRuleId,
  SnapshotId,
  SnatEntryId,
  SnatTableId,
  VpcId,
  VRouterId,
  VSwitchId,
  ZoneId,
} from '../domain/ids.js';
import type { InstanceStatus, StoppedMode } from '../domain/instance.js';
import type { InvocationKind, RunStatus } from '../domain/invocation.js';

/*
 * The tables as the code sees them. Times are ISO 8601 in UTC, booleans are 0 and 1, lists and objects
 * are JSON texts. `sequence` orders rows by creation and is the position of a page.
 */

type Flag = 0 | 1;

/** Values that belong to the cloud as a whole, such as its id. */
export interface MetaTable {
  key: string;
  value: string;
}

export interface AccessKeyTable {
  id: string;
  /** In clear: HMAC needs it. The database file is 0600. */
  secret: string;
  accountId: AccountId;
  status: 'Active' | 'Inactive';
  createdAt: string;
}

/** The capacity ledger, one side: what each host has, with over-commit multiplied in. */
export interface HostTable {
  id: HostId;
  regionId: RegionId;
  zoneId: ZoneId;
  state: 'active' | 'draining' | 'removed';
  cpuMilli: number;
  memoryMiB: number;
  diskGiB: number;
  /** How to reach it, see `HostEndpoint`. */
  endpoint: string;
  /** JSON of the `GpuInventory` as it was last read. */
  gpus: Generated<string>;
}

/** The other side of the ledger: what each instance and each data disk holds, on which host. */
export interface AllocationTable {
  owner: InstanceId | DiskId;
  hostId: HostId;
  cpuMilli: number;
  memoryMiB: number;
  diskGiB: number;
  /** JSON list of the shares of GPU cards. */
  cards: Generated<string>;
}

export interface InstanceTable {
  sequence: Generated<number>;
  id: InstanceId;
  accountId: AccountId;
  regionId: RegionId;
  zoneId: ZoneId;
  hostId: HostId;
  name: string;
  hostName: string;
  description: Generated<string>;
  instanceType: string;
  vcpus: number;
  memoryMiB: number;
  imageId: string;
  status: InstanceStatus;
  /** Where Pending and Starting lead: CreateInstance ends in Stopped, RunInstances in Running. */
  targetStatus: 'Running' | 'Stopped';
  /** Grows with every change that the host must learn of; equal to `appliedGeneration` when it has. */
  generation: Generated<number>;
  appliedGeneration: Generated<number>;
  /** Reboots asked for and carried out. */
  rebootsWanted: Generated<number>;
  rebootsDone: Generated<number>;
  /** 1 once the engine has it: from then on it is never made anew, since its data would be gone. */
  created: Generated<Flag>;
  /** 1: the next stop or reboot does not wait for the guest. */
  forceStop: Generated<Flag>;
  /** Why the last work on it failed; told by DescribeInstances' OperationLocks and by the log. */
  failure: string | null;
  creationTime: string;
  startTime: string | null;
  autoReleaseTime: string | null;
  stoppedMode: StoppedMode | null;
  deletionProtection: Generated<Flag>;
  recyclable: Generated<Flag>;
  keyPairName: string | null;
  /** crypt(3) hash; the password itself is never kept. */
  passwordHash: string | null;
  /** Base64, as sent. */
  userData: string | null;
  serialNumber: string;
  vpcId: VpcId;
  vSwitchId: VSwitchId;
  internetChargeType: Generated<string>;
  internetMaxBandwidthIn: Generated<number>;
  internetMaxBandwidthOut: Generated<number>;
  instanceChargeType: Generated<string>;
  spotStrategy: Generated<string>;
  creditSpecification: string | null;
  resourceGroupId: Generated<string>;
  httpEndpoint: Generated<string>;
  httpTokens: Generated<string>;
  httpPutResponseHopLimit: Generated<number>;
}

/** What an account has in a region, released instances left out; kept by triggers, so that counting is free. */
export interface InstanceTotalsTable {
  accountId: AccountId;
  regionId: RegionId;
  instances: number;
  vcpus: number;
}

/**
 * Disks. System disks are part of their instance at the engine; a data disk is a volume of its own. Each
 * time that its content is put back, a new volume takes the place of the old one: versions count them.
 */
export interface DiskTable {
  sequence: Generated<number>;
  id: DiskId;
  accountId: AccountId;
  regionId: RegionId;
  zoneId: ZoneId;
  /** Where its data is. A disk that has no volume yet only has its place there. */
  hostId: HostId;
  instanceId: InstanceId | null;
  status: DiskStatus;
  /** The version that shall be, and the snapshot that it begins with; null for an empty one. */
  contentVersion: Generated<number>;
  contentSource: SnapshotId | null;
  /** The version that is there; 0 before there is any. An empty disk gets its volume when it is first attached. */
  volumeVersion: Generated<number>;
  /** The lowest version of which the host may still have something. */
  oldestVersion: Generated<number>;
  /** The size that the volume has been given; `sizeGiB` is what it shall have. */
  appliedSizeGiB: number;
  type: 'system' | 'data';
  category: string;
  performanceLevel: string | null;
  sizeGiB: number;
  name: Generated<string>;
  description: Generated<string>;
  device: string | null;
  imageId: string | null;
  /** The snapshot that the disk was made from, and goes back to when it is initialized anew. */
  sourceSnapshotId: SnapshotId | null;
  deleteWithInstance: Generated<Flag>;
  deleteAutoSnapshot: Generated<Flag>;
  enableAutoSnapshot: Generated<Flag>;
  creationTime: string;
  attachedTime: string | null;
  detachedTime: string | null;
  resourceGroupId: Generated<string>;
}

/** Snapshots of data disks: volumes on the disk's host, which outlive the disk. */
export interface SnapshotTable {
  sequence: Generated<number>;
  id: SnapshotId;
  accountId: AccountId;
  regionId: RegionId;
  hostId: HostId;
  diskId: DiskId;
  diskSizeGiB: number;
  diskCategory: string;
  name: Generated<string>;
  description: Generated<string>;
  status: SnapshotStatus;
  retentionDays: number | null;
  /** When it is deleted by itself. */
  releaseTime: string | null;
  creationTime: string;
  lastModifiedTime: string;
  resourceGroupId: Generated<string>;
}

/** Custom images: root disks of instances, on the host where these were. Public ones are in the catalogue. */
export interface ImageTable {
  sequence: Generated<number>;
  id: ImageId;
  accountId: AccountId;
  regionId: RegionId;
  hostId: HostId;
  /** The instance that it was made of. */
  instanceId: InstanceId;
  /** The public image at the beginning of its descent, which tells the operating system. */
  baseImageId: string;
  name: string;
  description: Generated<string>;
  family: Generated<string>;
  version: Generated<string>;
  sizeGiB: number;
  status: ImageStatus;
  creationTime: string;
  resourceGroupId: Generated<string>;
}

export interface VpcTable {
  sequence: Generated<number>;
  id: VpcId;
  accountId: AccountId;
  regionId: RegionId;
  /** Small number, unique in the cloud, from which the host derives transit addresses. */
  networkIndex: number;
  name: Generated<string>;
  description: Generated<string>;
  cidrBlock: string;
  /** JSON list of further ranges, in the order in which they were added. */
  secondaryCidrBlocks: Generated<string>;
  /** JSON list of the ranges that the user calls private; kept for the answer only. */
  userCidrs: Generated<string>;
  isDefault: Generated<Flag>;
  /** Deleted: the host still has something of it. */
  status: 'Available' | 'Deleted';
  creationTime: string;
  resourceGroupId: Generated<string>;
  vRouterId: VRouterId;
  vRouterName: Generated<string>;
  vRouterDescription: Generated<string>;
}

export interface VSwitchTable {
  sequence: Generated<number>;
  id: VSwitchId;
  accountId: AccountId;
  regionId: RegionId;
  zoneId: ZoneId;
  vpcId: VpcId;
  name: Generated<string>;
  description: Generated<string>;
  cidrBlock: string;
  isDefault: Generated<Flag>;
  status: 'Available' | 'Deleted';
  creationTime: string;
  /** The VPC's system table, unless another one was associated. */
  routeTableId: RouteTableId;
  /** Where the search for a free address goes on, so that addresses are not reused at once. */
  nextAddress: string | null;
}

export interface SecurityGroupTable {
  sequence: Generated<number>;
  id: SecurityGroupId;
  accountId: AccountId;
  regionId: RegionId;
  vpcId: VpcId;
  name: Generated<string>;
  description: Generated<string>;
  type: 'normal' | 'enterprise';
  innerAccessPolicy: 'Accept' | 'Drop';
  isDefault: Generated<Flag>;
  creationTime: string;
  resourceGroupId: Generated<string>;
}

export interface SecurityGroupRuleTable {
  sequence: Generated<number>;
  id: SecurityGroupRuleId;
  securityGroupId: SecurityGroupId;
  direction: 'ingress' | 'egress';
  policy: 'Accept' | 'Drop';
  priority: number;
  protocol: string;
  portRange: string;
  peerCidr: string | null;
  peerGroupId: SecurityGroupId | null;
  peerGroupOwner: AccountId | null;
  peerPrefixListId: string | null;
  sourcePortRange: string | null;
  /** The near end: DestCidrIp of an ingress rule, SourceCidrIp of an egress rule. */
  localCidr: string | null;
  description: Generated<string>;
  creationTime: string;
}

export interface NetworkInterfaceTable {
  sequence: Generated<number>;
  id: NetworkInterfaceId;
  accountId: AccountId;
  regionId: RegionId;
  zoneId: ZoneId;
  instanceId: InstanceId | null;
  type: 'Primary' | 'Secondary';
  /** 0 is eth0. Also 0 while it is attached to nothing. */
  deviceIndex: number;
  vpcId: VpcId;
  vSwitchId: VSwitchId;
  macAddress: string;
  /** Position of its fabric address, by which the metadata service knows the caller. */
  fabricIndex: number;
  name: Generated<string>;
  description: Generated<string>;
  /** Attaching and Detaching last until the instance's host is so. */
  status: 'Available' | 'Attaching' | 'InUse' | 'Detaching' | 'Deleting';
  /** Whether it goes with its instance. 1 for primary ones. */
  deleteOnRelease: Generated<Flag>;
  creationTime: string;
  resourceGroupId: Generated<string>;
}

/** Addresses in use, also the secondary ones. Unique per vSwitch: two requests cannot get the same one. */
export interface PrivateAddressTable {
  vSwitchId: VSwitchId;
  address: string;
  networkInterfaceId: NetworkInterfaceId;
  isPrimary: Flag;
}

export interface SecurityGroupMemberTable {
  securityGroupId: SecurityGroupId;
  networkInterfaceId: NetworkInterfaceId;
  /** Order in which the groups were named, as clients compare lists. */
  position: number;
}

/** Address ranges under one name, for the rules of security groups. */
export interface PrefixListTable {
  sequence: Generated<number>;
  id: PrefixListId;
  accountId: AccountId;
  regionId: RegionId;
  name: string;
  description: Generated<string>;
  addressFamily: 'IPv4' | 'IPv6';
  maxEntries: number;
  creationTime: string;
  resourceGroupId: Generated<string>;
}

export interface PrefixListEntryTable {
  sequence: Generated<number>;
  prefixListId: PrefixListId;
  cidr: string;
  description: Generated<string>;
}

export interface RouteTableTable {
  sequence: Generated<number>;
  id: RouteTableId;
  accountId: AccountId;
  regionId: RegionId;
  vpcId: VpcId;
  name: Generated<string>;
  description: Generated<string>;
  type: 'System' | 'Custom';
  creationTime: string;
}

/** Entries that users made. Those of the system follow from the vSwitches. */
export interface RouteEntryTable {
  sequence: Generated<number>;
  id: RouteEntryId;
  routeTableId: RouteTableId;
  name: Generated<string>;
  description: Generated<string>;
  destinationCidr: string;
  nextHopType: 'Instance' | 'NetworkInterface' | 'NatGateway';
  nextHopId: string;
  /** For instances: their primary one at the time. Null for NAT gateways. */
  networkInterfaceId: NetworkInterfaceId | null;
  creationTime: string;
}

/** Public addresses: elastic IPs, and those that live and die with their instance. */
export interface EipTable {
  sequence: Generated<number>;
  id: EipId;
  accountId: AccountId;
  regionId: RegionId;
  /** `instance`: the instance's own public address, which the EIP actions do not show. */
  owner: 'account' | 'instance';
  address: string;
  name: Generated<string>;
  description: Generated<string>;
  bandwidthMbits: number;
  internetChargeType: Generated<string>;
  chargeType: Generated<string>;
  isp: Generated<string>;
  /** Associating and Unassociating last until the hosts are so. */
  status: 'Available' | 'Associating' | 'InUse' | 'Unassociating';
  instanceType: 'EcsInstance' | 'NetworkInterface' | 'Nat' | null;
  instanceId: string | null;
  vpcId: VpcId | null;
  /** Null for NAT gateways, as is the private address. */
  networkInterfaceId: NetworkInterfaceId | null;
  privateAddress: string | null;
  deletionProtection: Generated<Flag>;
  creationTime: string;
  resourceGroupId: Generated<string>;
}

export interface NatGatewayTable {
  sequence: Generated<number>;
  id: NatGatewayId;
  accountId: AccountId;
  regionId: RegionId;
  vpcId: VpcId;
  vSwitchId: VSwitchId;
  name: Generated<string>;
  description: Generated<string>;
  eipBindMode: Generated<string>;
  snatTableId: SnatTableId;
  forwardTableId: ForwardTableId;
  icmpReplyEnabled: Generated<Flag>;
  deletionProtection: Generated<Flag>;
  creationTime: string;
}

export interface SnatEntryTable {
  sequence: Generated<number>;
  id: SnatEntryId;
  natGatewayId: NatGatewayId;
  name: Generated<string>;
  /** Null when the entry names a range. */
  sourceVSwitchId: VSwitchId | null;
  sourceCidr: string;
  /** JSON list of EIPs of the gateway. */
  snatIps: string;
  eipAffinity: Generated<Flag>;
}

export interface ForwardEntryTable {
  sequence: Generated<number>;
  id: ForwardEntryId;
  natGatewayId: NatGatewayId;
  name: Generated<string>;
  protocol: 'tcp' | 'udp' | 'any';
  externalIp: string;
  /** `8080`, `8080/8090` or `any`. */
  externalPort: string;
  internalIp: string;
  internalPort: string;
}

export interface KeyPairTable {
  sequence: Generated<number>;
  id: KeyPairId;
  accountId: AccountId;
  regionId: RegionId;
  name: string;
  fingerprint: string;
  publicKey: string;
  creationTime: string;
  resourceGroupId: Generated<string>;
}

export interface TagTable {
  resourceType: string;
  resourceId: string;
  key: string;
  value: string;
  accountId: AccountId;
  regionId: RegionId;
}

/** A script kept under a name, to be run again and again. */
export interface CommandTable {
  sequence: Generated<number>;
  id: CommandId;
  accountId: AccountId;
  regionId: RegionId;
  name: string;
  description: Generated<string>;
  type: string;
  /** Base64 of the script. */
  content: string;
  workingDirectory: string | null;
  timeoutSeconds: number;
  hasParameters: Generated<Flag>;
  invokeTimes: Generated<number>;
  resourceGroupId: Generated<string>;
  creationTime: string;
}

/** A command or a file on its way into instances. */
export interface InvocationTable {
  sequence: Generated<number>;
  id: InvocationId;
  kind: InvocationKind;
  accountId: AccountId;
  regionId: RegionId;
  /** Empty for files. */
  commandId: string;
  /** Of the command, or of the file. */
  name: string;
  description: Generated<string>;
  type: string;
  /** Base64 of the script, before parameters are filled in, or of the file. */
  content: string;
  /** For files: where they are put. */
  workingDirectory: string | null;
  userName: string | null;
  timeoutSeconds: number;
  hasParameters: Generated<Flag>;
  /** JSON object. */
  parameters: Generated<string>;
  /** JSON of `FileDelivery`; null for commands. */
  file: string | null;
  resourceGroupId: Generated<string>;
  creationTime: string;
}

/** One run of an invocation on one instance. */
export interface InvocationRunTable {
  sequence: Generated<number>;
  invocationId: InvocationId;
  instanceId: InstanceId;
  status: RunStatus;
  exitCode: number | null;
  /** Base64 of the kept end of stdout and stderr. */
  output: Generated<string>;
  /** Bytes of output beyond those kept. */
  droppedBytes: Generated<number>;
  errorCode: Generated<string>;
  errorInfo: Generated<string>;
  /** When the program was started. */
  startTime: string | null;
  /** When StopInvocation was called. */
  stopTime: string | null;
  finishTime: string | null;
  updateTime: string;
}

/** Answers already given under a client token. */
export interface ClientTokenTable {
  accountId: AccountId;
  regionId: RegionId;
  action: string;
  token: string;
  parametersHash: string;
  response: string;
  createdAt: string;
}

/** Every change: the audit trail, the activity list and the metering read it. */
export interface EventTable {
  sequence: Generated<number>;
  time: string;
  accountId: AccountId | null;
  /** Who: the access key of a request, or the loop that acted. */
  actor: string;
  requestId: string | null;
  resourceType: string;
  resourceId: string;
  action: string;
  before: string | null;
  after: string | null;
}

export interface Tables {
  meta: MetaTable;
  accessKeys: AccessKeyTable;
  hosts: HostTable;
  allocations: AllocationTable;
  instances: InstanceTable;
  instanceTotals: InstanceTotalsTable;
  disks: DiskTable;
  snapshots: SnapshotTable;
  images: ImageTable;
  vpcs: VpcTable;
  vSwitches: VSwitchTable;
  securityGroups: SecurityGroupTable;
  securityGroupRules: SecurityGroupRuleTable;
  networkInterfaces: NetworkInterfaceTable;
  privateAddresses: PrivateAddressTable;
  securityGroupMembers: SecurityGroupMemberTable;
  prefixLists: PrefixListTable;
  prefixListEntries: PrefixListEntryTable;
  routeTables: RouteTableTable;
  routeEntries: RouteEntryTable;
  eips: EipTable;
  natGateways: NatGatewayTable;
  snatEntries: SnatEntryTable;
  forwardEntries: ForwardEntryTable;
  keyPairs: KeyPairTable;
  tags: TagTable;
  commands: CommandTable;
  invocations: InvocationTable;
  invocationRuns: InvocationRunTable;
  clientTokens: ClientTokenTable;
  events: EventTable;
}

export type Instance = Selectable<InstanceTable>;
export type NewInstance = Insertable<InstanceTable>;
export type InstanceChange = Updateable<InstanceTable>;
export type Host = Selectable<HostTable>;
export type Vpc = Selectable<VpcTable>;
export type VSwitch = Selectable<VSwitchTable>;
export type SecurityGroup = Selectable<SecurityGroupTable>;
export type SecurityGroupRule = Selectable<SecurityGroupRuleTable>;
export type NetworkInterface = Selectable<NetworkInterfaceTable>;
export type PrefixList = Selectable<PrefixListTable>;
export type RouteTable = Selectable<RouteTableTable>;
export type RouteEntry = Selectable<RouteEntryTable>;
export type Eip = Selectable<EipTable>;
export type NatGateway = Selectable<NatGatewayTable>;
export type SnatEntry = Selectable<SnatEntryTable>;
export type ForwardEntry = Selectable<ForwardEntryTable>;
export type KeyPair = Selectable<KeyPairTable>;
export type Disk = Selectable<DiskTable>;
export type DiskChange = Updateable<DiskTable>;
export type Snapshot = Selectable<SnapshotTable>;
export type Image = Selectable<ImageTable>;
export type Command = Selectable<CommandTable>;
export type Invocation = Selectable<InvocationTable>;
export type InvocationRun = Selectable<InvocationRunTable>;
