import type { CloudConfig } from '../config.js';
import { createId, type InstanceId, type NetworkInterfaceId, type VpcId } from '../domain/ids.js';
import {
  formatIpv4,
  type Ipv4Range,
  parseIpv4,
  parseIpv4Cidr,
  prefixLength,
} from '../domain/network/cidr.js';
import type { Reader, Transaction } from './store.js';
import type { Eip, Instance } from './tables.js';
import { toSecondsTime } from './times.js';
import type { Scope } from './vpcs.js';

type Pools = CloudConfig['network']['eipPools'];

/** From a /30 on, the first and the last address of a pool are left out: many programs refuse them. */
function usableRange({ cidr }: Pools[number]): Ipv4Range {
  const { first, last } = parseIpv4Cidr(cidr);
  return prefixLength(cidr) > 30 ? { first, last } : { first: first + 1, last: last - 1 };
}

/** Whether an address may be given out as a public one. */
export function isPoolAddress(pools: Pools, address: string): boolean {
  const number = parseIpv4(address);
  return pools.map(usableRange).some(({ first, last }) => number >= first && number <= last);
}

const nextKey = 'next publicAddress';

/**
 * A public address that nobody holds: the next one behind the one given out last, around the pools, so
 * that addresses are not reused at once. `undefined`: all are in use. The row that holds it must be
 * written in the same transaction.
 */
export async function findPublicAddress(tx: Transaction, pools: Pools): Promise<string | undefined> {
  const ranges = pools.map(usableRange);
  const count = ranges.reduce((total, { first, last }) => total + last - first + 1, 0);
  const nth = (index: number): string => {
    let left = index;
    for (const { first, last } of ranges) {
      if (left <= last - first) return formatIpv4(first + left);
      left -= last - first + 1;
    }
    throw new Error(`the pools have no address number ${index}`);
  };
  let held: Set<string> | undefined;
  const isHeld = async (address: string): Promise<boolean> => {
    if (held) return held.has(address);
    // Nearly always free, since the search goes around all pools before it meets used ones.
    const row = await tx.db.selectFrom('eips').select('id').where('address', '=', address).executeTakeFirst();
    if (!row) return false;
    const all = await tx.db.selectFrom('eips').select('address').execute();
    held = new Set(all.map((each) => each.address));
    return true;
  };
  const last = await tx.db.selectFrom('meta').select('value').where('key', '=', nextKey).executeTakeFirst();
  for (let step = 0; step < count; step += 1) {
    const index = (Number(last?.value ?? 0) + step) % count;
    const address = nth(index);
    if (await isHeld(address)) continue;
    const value = String((index + 1) % count);
    await tx.db
      .insertInto('meta')
      .values({ key: nextKey, value })
      .onConflict((conflict) => conflict.column('key').doUpdateSet({ value }))
      .execute();
    return address;
  }
  return undefined;
}

/** The account's EIP with this id. */
export async function findEip(
  db: Reader,
  { accountId, regionId }: Scope,
  id: string,
): Promise<Eip | undefined> {
  return db
    .selectFrom('eips')
    .selectAll()
    .where('id', '=', id as Eip['id'])
    .where('owner', '=', 'account')
    .where('accountId', '=', accountId)
    .where('regionId', '=', regionId)
    .executeTakeFirst();
}

/** The primary network interface of an instance, with its primary address. */
export async function getPrimaryInterface(
  db: Reader,
  instanceId: InstanceId,
): Promise<{ readonly id: NetworkInterfaceId; readonly vpcId: VpcId; readonly address: string }> {
  return db
    .selectFrom('networkInterfaces as nic')
    .innerJoin('privateAddresses as address', 'address.networkInterfaceId', 'nic.id')
    .select(['nic.id', 'nic.vpcId', 'address.address'])
    .where('nic.instanceId', '=', instanceId)
    .where('nic.type', '=', 'Primary')
    .where('address.isPrimary', '=', 1)
    .executeTakeFirstOrThrow();
}

/**
 * Gives an instance a public address of its own, which goes with it. It works once the instance has a
 * bandwidth towards the internet. `undefined`: none is left.
 */
export async function givePublicAddress(
  tx: Transaction,
  pools: Pools,
  regionCode: string,
  instance: Pick<
    Instance,
    'id' | 'accountId' | 'regionId' | 'internetMaxBandwidthOut' | 'internetChargeType'
  >,
  wished?: string,
): Promise<string | undefined> {
  const address = wished ?? (await findPublicAddress(tx, pools));
  if (address === undefined) return undefined;
  const primary = await getPrimaryInterface(tx.db, instance.id);
  await tx.db
    .insertInto('eips')
    .values({
      id: createId('eip', regionCode),
      accountId: instance.accountId,
      regionId: instance.regionId,
      owner: 'instance',
      address,
      bandwidthMbits: instance.internetMaxBandwidthOut,
      internetChargeType: instance.internetChargeType,
      status: 'Associating',
      instanceType: 'EcsInstance',
      instanceId: instance.id,
      vpcId: primary.vpcId,
      networkInterfaceId: primary.id,
      privateAddress: primary.address,
      creationTime: toSecondsTime(tx.now),
    })
    .execute();
  tx.wake({ kind: 'vpc', id: primary.vpcId });
  return address;
}

/** The bandwidth towards the internet of an instance changed: it is that of its own public address. */
export async function setPublicBandwidth(
  tx: Transaction,
  instanceId: InstanceId,
  bandwidthMbits: number,
): Promise<void> {
  const rows = await tx.db
    .updateTable('eips')
    .set({ bandwidthMbits })
    .where('instanceId', '=', instanceId)
    .where('owner', '=', 'instance')
    .returning('vpcId')
    .execute();
  for (const { vpcId } of rows) if (vpcId !== null) tx.wake({ kind: 'vpc', id: vpcId });
}

/** Which associations are meant: those with an instance, a NAT gateway, or a network interface. */
export type AssociationFilter =
  | { readonly instanceId: string }
  | { readonly networkInterfaceId: NetworkInterfaceId }
  | { readonly eipId: Eip['id'] };

/**
 * Takes public addresses off what they are associated with, because the user wants so or because it goes.
 * An EIP becomes Available, an instance's own address free, when the hosts no longer have it.
 */
export async function unassociateEips(tx: Transaction, filter: AssociationFilter): Promise<void> {
  const query = tx.db
    .updateTable('eips')
    .set({ status: 'Unassociating' })
    .where('status', 'in', ['Associating', 'InUse']);
  const narrowed =
    'eipId' in filter
      ? query.where('id', '=', filter.eipId)
      : 'instanceId' in filter
        ? query.where('instanceId', '=', filter.instanceId)
        : query.where('networkInterfaceId', '=', filter.networkInterfaceId);
  const rows = await narrowed.returning(['id', 'vpcId', 'instanceId', 'owner']).execute();
  for (const { id, vpcId, instanceId } of rows) {
    await tx.record({
      resourceType: 'eip',
      resourceId: id,
      action: 'UnassociateEipAddress',
      before: { instanceId },
    });
    if (vpcId !== null) tx.wake({ kind: 'vpc', id: vpcId });
  }
}

/** Association of an EIP that the hosts have carried out, or that none of them has any more. */
export interface UnsettledEip {
  readonly id: Eip['id'];
  readonly status: Eip['status'];
}

/** Ends the states that last until the hosts are so. What changed in the meantime is left alone. */
export async function settleEips(tx: Transaction, eips: readonly UnsettledEip[]): Promise<void> {
  for (const { id, status } of eips) {
    if (status === 'Associating') {
      await tx.db
        .updateTable('eips')
        .set({ status: 'InUse' })
        .where('id', '=', id)
        .where('status', '=', 'Associating')
        .execute();
    } else {
      await tx.db
        .deleteFrom('eips')
        .where('id', '=', id)
        .where('status', '=', 'Unassociating')
        .where('owner', '=', 'instance')
        .execute();
      await tx.db
        .updateTable('eips')
        .set({
          status: 'Available',
          instanceType: null,
          instanceId: null,
          vpcId: null,
          networkInterfaceId: null,
          privateAddress: null,
        })
        .where('id', '=', id)
        .where('status', '=', 'Unassociating')
        .execute();
    }
  }
}
