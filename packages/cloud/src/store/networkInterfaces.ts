import type { Insertable } from 'kysely';
import type { Fail } from '../domain/errors.js';
import { createId, type InstanceId, type NetworkInterfaceId, type SecurityGroupId } from '../domain/ids.js';
import { createMacAddress, takeFabricIndex, takePrivateAddress } from './addresses.js';
import { unassociateEips } from './eips.js';
import type { Reader, Transaction } from './store.js';
import type { NetworkInterface, NetworkInterfaceTable, VSwitch } from './tables.js';
import { deleteTags } from './tags.js';
import { toSecondsTime } from './times.js';
import type { Scope } from './vpcs.js';

/** The account's network interface with this id. */
export async function findNetworkInterface(
  db: Reader,
  { accountId, regionId }: Scope,
  id: string,
): Promise<NetworkInterface | undefined> {
  return db
    .selectFrom('networkInterfaces')
    .selectAll()
    .where('id', '=', id as NetworkInterfaceId)
    .where('accountId', '=', accountId)
    .where('regionId', '=', regionId)
    .executeTakeFirst();
}

/** As `findNetworkInterface`, but ends the request when there is none. */
export async function getNetworkInterface(
  db: Reader,
  scope: Scope,
  id: string,
  fail: Fail<'InvalidEniId.NotFound'>,
): Promise<NetworkInterface> {
  return (await findNetworkInterface(db, scope, id)) ?? fail('InvalidEniId.NotFound', { id });
}

/** The network interfaces of an instance, eth0 first. */
export async function listInterfacesOf(db: Reader, instanceId: InstanceId): Promise<NetworkInterface[]> {
  return db
    .selectFrom('networkInterfaces')
    .selectAll()
    .where('instanceId', '=', instanceId)
    .orderBy('deviceIndex')
    .execute();
}

/** The first free place for one more: 1 is eth1. */
export function nextDeviceIndex(interfaces: readonly Pick<NetworkInterface, 'deviceIndex'>[]): number {
  const taken = new Set(interfaces.map((nic) => nic.deviceIndex));
  let index = 1;
  while (taken.has(index)) index += 1;
  return index;
}

type NewNetworkInterface = Pick<
  Insertable<NetworkInterfaceTable>,
  'instanceId' | 'type' | 'deviceIndex' | 'status'
> &
  Partial<
    Pick<Insertable<NetworkInterfaceTable>, 'name' | 'description' | 'deleteOnRelease' | 'resourceGroupId'>
  >;

/**
 * Makes a network interface in a vSwitch, with its primary address. `undefined`: the wished address is in
 * use or not usable, or none is free; the transaction must be given up then.
 */
export async function createNetworkInterface(
  tx: Transaction,
  regionCode: string,
  vSwitch: VSwitch,
  values: NewNetworkInterface,
  wishes: {
    readonly securityGroupIds: readonly SecurityGroupId[];
    readonly primaryAddress: string | undefined;
  },
): Promise<NetworkInterface | undefined> {
  const nic = await tx.db
    .insertInto('networkInterfaces')
    .values({
      ...values,
      id: createId('networkInterface', regionCode),
      accountId: vSwitch.accountId,
      regionId: vSwitch.regionId,
      zoneId: vSwitch.zoneId,
      vpcId: vSwitch.vpcId,
      vSwitchId: vSwitch.id,
      macAddress: await createMacAddress(tx),
      fabricIndex: await takeFabricIndex(tx),
      creationTime: toSecondsTime(tx.now),
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  const address = await takePrivateAddress(tx, vSwitch, nic.id, {
    wished: wishes.primaryAddress,
    isPrimary: true,
  });
  if (address === undefined) return undefined;
  await putSecurityGroups(tx, nic.id, wishes.securityGroupIds);
  wakeNetworkInterface(tx, nic);
  return nic;
}

/** Has the interface be in these groups and in no others. */
export async function putSecurityGroups(
  tx: Transaction,
  networkInterfaceId: NetworkInterfaceId,
  securityGroupIds: readonly SecurityGroupId[],
): Promise<void> {
  await tx.db
    .deleteFrom('securityGroupMembers')
    .where('networkInterfaceId', '=', networkInterfaceId)
    .execute();
  await tx.db
    .insertInto('securityGroupMembers')
    .values(
      securityGroupIds.map((securityGroupId, position) => ({
        securityGroupId,
        networkInterfaceId,
        position,
      })),
    )
    .execute();
}

/** Has the VPC's loop look at the port of an interface. */
export function wakeNetworkInterface(
  tx: Transaction,
  { id, vpcId }: Pick<NetworkInterface, 'id' | 'vpcId'>,
): void {
  tx.wake({ kind: 'networkInterface', id, vpcId });
}

/** Has an instance's loop plug in and out what shall be otherwise than it is. */
export async function wakeForPlugging(tx: Transaction, instanceId: InstanceId): Promise<void> {
  await tx.db
    .updateTable('instances')
    .set((eb) => ({ generation: eb('generation', '+', 1) }))
    .where('id', '=', instanceId)
    .execute();
  tx.wake({ kind: 'instance', id: instanceId });
}

/** Removes an interface that is plugged into nothing, with its addresses, memberships and tags. */
export async function deleteNetworkInterface(
  tx: Transaction,
  nic: Pick<NetworkInterface, 'id' | 'vpcId'>,
): Promise<void> {
  await unassociateEips(tx, { networkInterfaceId: nic.id });
  await deleteTags(tx, 'eni', [nic.id]);
  await tx.db.deleteFrom('networkInterfaces').where('id', '=', nic.id).execute();
  wakeNetworkInterface(tx, nic);
}

/** The instance has gone from its host: its interfaces go too, or wait for another instance. */
export async function releaseNetworkInterfaces(tx: Transaction, instanceId: InstanceId): Promise<void> {
  for (const nic of await listInterfacesOf(tx.db, instanceId)) {
    if (nic.type === 'Primary' || nic.deleteOnRelease === 1) await deleteNetworkInterface(tx, nic);
    else await settle(tx, nic, 'Detached', free);
  }
}

/**
 * Ends Attaching and Detaching once the host is so. `isPlugged` says what the host was told: what a request
 * has changed since then is left alone.
 */
export async function settleNetworkInterfaces(
  tx: Transaction,
  instanceId: InstanceId,
  isPlugged: (id: NetworkInterfaceId) => boolean,
): Promise<void> {
  for (const nic of await listInterfacesOf(tx.db, instanceId)) {
    if (nic.status === 'Attaching' && isPlugged(nic.id)) await settle(tx, nic, 'Attached', inUse);
    if (nic.status === 'Detaching' && !isPlugged(nic.id)) await settle(tx, nic, 'Detached', free);
  }
}

/**
 * The host cannot plug in or out what was wished: it stays as it was before. What the engine has done in
 * part is put right by one more round.
 */
export async function giveUpPlugging(tx: Transaction, instanceId: InstanceId): Promise<void> {
  const unsettled = (await listInterfacesOf(tx.db, instanceId)).filter((nic) => nic.status !== 'InUse');
  for (const nic of unsettled) {
    if (nic.status === 'Attaching') await settle(tx, nic, 'AttachFailed', free);
    else await settle(tx, nic, 'DetachFailed', inUse);
  }
  if (unsettled.length > 0) await wakeForPlugging(tx, instanceId);
}

const inUse = { status: 'InUse' } as const;
const free = { status: 'Available', instanceId: null, deviceIndex: 0 } as const;

async function settle(
  tx: Transaction,
  nic: NetworkInterface,
  action: string,
  values: typeof inUse | typeof free,
): Promise<void> {
  await tx.db.updateTable('networkInterfaces').set(values).where('id', '=', nic.id).execute();
  await tx.record({
    resourceType: 'networkInterface',
    resourceId: nic.id,
    action,
    before: { status: nic.status, instanceId: nic.instanceId },
    after: values,
  });
  wakeNetworkInterface(tx, nic);
}
