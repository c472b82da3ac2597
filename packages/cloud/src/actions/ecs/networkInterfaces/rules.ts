import { isIPv4 } from 'node:net';
import type { InstanceType } from '../../../catalog/instanceTypes.js';
import type { ErrorCode, Fail } from '../../../domain/errors.js';
import type { SecurityGroupId, VpcId } from '../../../domain/ids.js';
import { isWellFormedName } from '../../../domain/instance.js';
import { isUsableAddress } from '../../../domain/network/addresses.js';
import { takePrivateAddress } from '../../../store/addresses.js';
import { findInstance } from '../../../store/instances.js';
import { findSecurityGroup } from '../../../store/securityGroups.js';
import type { Instance, NetworkInterface, VSwitch } from '../../../store/tables.js';
import type { Scope } from '../../../store/vpcs.js';
import type { ChangeContext } from '../../action.js';
import { maxGroupsPerInterface } from '../securityGroups/members.js';

/** Most secondary addresses of an interface that is attached to nothing (CreateNetworkInterface). */
export const maxFreeSecondaryAddresses = 49;

/** Whose resources a request means. */
export function scopeOf({ caller, regionId }: Pick<ChangeContext, 'caller' | 'regionId'>): Scope {
  return { accountId: caller.accountId, regionId };
}

/** Ends the request unless the texts may be the name and the description of a network interface. */
export function checkTexts(
  input: { readonly networkInterfaceName?: string | undefined; readonly description?: string | undefined },
  fail: Fail<'InvalidParams.NetworkInterfaceName' | 'InvalidParameter'>,
): void {
  const { networkInterfaceName: name, description } = input;
  if (name !== undefined && !isWellFormedName(name)) fail('InvalidParams.NetworkInterfaceName');
  if (description !== undefined && !isWellFormedName(description, 2, 256)) {
    fail('InvalidParameter', {
      parameter: 'Description',
      reason: 'it has 2 to 256 characters and does not start with http:// or https://.',
    });
  }
}

/** Packets with foreign sources are always dropped, so the check cannot be switched off. */
export function requireSourceCheck(wished: boolean | undefined, fail: Fail<'InvalidParameter'>): void {
  if (wished === false) {
    fail('InvalidParameter', {
      parameter: 'SourceDestCheck',
      reason: 'this cloud always checks the sources of packets.',
    });
  }
}

/** Why security groups cannot be those of an interface in a VPC. Actions have different codes for each. */
export type GroupProblem =
  | { readonly kind: 'missing' | 'repeated' | 'otherVpc'; readonly id: string }
  | { readonly kind: 'mixedTypes' }
  | { readonly kind: 'tooMany'; readonly limit: number };

/** The groups with these ids, as far as they may be those of one interface in the VPC. */
export async function readInterfaceGroups(
  ids: readonly string[],
  vpcId: VpcId,
  context: Pick<ChangeContext, 'tx' | 'caller' | 'regionId'>,
  refuse: (problem: GroupProblem) => never,
): Promise<SecurityGroupId[]> {
  const { accountId, regionId } = scopeOf(context);
  if (ids.length > maxGroupsPerInterface) refuse({ kind: 'tooMany', limit: maxGroupsPerInterface });
  const repeated = ids.find((id, index) => ids.indexOf(id) !== index);
  if (repeated !== undefined) refuse({ kind: 'repeated', id: repeated });
  const groups = [];
  for (const id of ids) {
    const group =
      (await findSecurityGroup(context.tx.db, accountId, regionId, id)) ?? refuse({ kind: 'missing', id });
    if (group.vpcId !== vpcId) refuse({ kind: 'otherVpc', id });
    groups.push(group);
  }
  if (new Set(groups.map((group) => group.type)).size > 1) refuse({ kind: 'mixedTypes' });
  return groups.map((group) => group.id);
}

/** The instance that an interface is attached to or shall be; it must be Running or Stopped. */
export async function getPluggableInstance(
  id: string,
  {
    tx,
    caller,
    regionId,
    fail,
  }: ChangeContext<'InvalidEcsId.NotFound' | 'InvalidOperation.InvalidEcsState', unknown>,
): Promise<Instance> {
  const instance = await findInstance(tx.db, caller.accountId, id);
  if (instance?.regionId !== regionId) return fail('InvalidEcsId.NotFound', { id });
  if (instance.status !== 'Running' && instance.status !== 'Stopped') {
    fail('InvalidOperation.InvalidEcsState', { id, status: instance.status, needed: 'Running or Stopped' });
  }
  return instance;
}

/** Ends the request unless the interface is in one of the states. */
export function requireEniStatus(
  nic: Pick<NetworkInterface, 'id' | 'status'>,
  needed: readonly NetworkInterface['status'][],
  fail: Fail<'InvalidOperation.InvalidEniState'>,
): void {
  if (!needed.includes(nic.status)) {
    fail('InvalidOperation.InvalidEniState', {
      id: nic.id,
      status: nic.status,
      needed: needed.join(' or '),
    });
  }
}

/** The type of an instance; what was launched once stays in the catalogue. */
export function typeOf({ cloud }: Pick<ChangeContext, 'cloud'>, instance: Instance): InstanceType {
  const type = cloud.catalog.instanceTypes.get(instance.instanceType);
  if (!type) throw new Error(`instance ${instance.id} has the unknown type ${instance.instanceType}`);
  return type;
}

export const addressErrors = [
  'InvalidIp.IpRepeated',
  'InvalidPrivateIpAddress.Duplicated',
  'InvalidVSwitchId.IpInvalid',
  'InvalidVSwitchId.IpNotEnough',
] as const satisfies readonly ErrorCode[];

type AddressFail = Fail<(typeof addressErrors)[number]>;

/** Which secondary addresses a request wishes: these, or so many. */
export interface AddressWishes {
  readonly privateIpAddress?: readonly string[] | undefined;
  readonly secondaryPrivateIpAddressCount?: number | undefined;
}

/** The wished addresses, `undefined` for one that may be any. */
export function readAddressWishes(
  { privateIpAddress, secondaryPrivateIpAddressCount }: AddressWishes,
  fail: Fail<'InvalidParameter.Conflict'>,
): (string | undefined)[] {
  if (privateIpAddress !== undefined && secondaryPrivateIpAddressCount !== undefined) {
    fail('InvalidParameter.Conflict', { parameters: 'PrivateIpAddress and SecondaryPrivateIpAddressCount' });
  }
  return privateIpAddress
    ? [...privateIpAddress]
    : Array<undefined>(secondaryPrivateIpAddressCount ?? 0).fill(undefined);
}

/** Ends the request unless the vSwitch gives out each of the addresses, and each is named once. */
export function checkAddresses(
  vSwitch: Pick<VSwitch, 'id' | 'cidrBlock'>,
  addresses: readonly (string | undefined)[],
  fail: AddressFail,
): void {
  const named = addresses.filter((address) => address !== undefined);
  for (const [index, address] of named.entries()) {
    if (!isIPv4(address) || !isUsableAddress(vSwitch.cidrBlock, address)) {
      fail('InvalidVSwitchId.IpInvalid', { id: vSwitch.id, address });
    }
    if (named.indexOf(address) !== index) fail('InvalidIp.IpRepeated', { address });
  }
}

/** Takes secondary addresses for an interface, which have passed `checkAddresses`. */
export async function takeSecondaryAddresses(
  nic: Pick<NetworkInterface, 'id'>,
  vSwitch: Pick<VSwitch, 'id' | 'cidrBlock'>,
  wishes: readonly (string | undefined)[],
  { tx, fail }: Pick<ChangeContext, 'tx'> & { readonly fail: AddressFail },
): Promise<string[]> {
  const taken: string[] = [];
  for (const wished of wishes) {
    const address = await takePrivateAddress(tx, vSwitch, nic.id, { wished, isPrimary: false });
    taken.push(address ?? failNotTaken(vSwitch, wished, fail));
  }
  return taken;
}

/** The address that was wished is in use, or no address is free. */
export function failNotTaken(
  vSwitch: Pick<VSwitch, 'id'>,
  wished: string | undefined,
  fail: AddressFail,
): never {
  return wished === undefined
    ? fail('InvalidVSwitchId.IpNotEnough', { id: vSwitch.id })
    : fail('InvalidPrivateIpAddress.Duplicated', { address: wished });
}
