import { randomBytes } from 'node:crypto';
import { isIPv4 } from 'node:net';
import type { NetworkInterfaceId, VSwitchId } from '../domain/ids.js';
import { findFreeAddress, isUsableAddress, macAddressFromBytes } from '../domain/network/addresses.js';
import { formatIpv4, parseIpv4 } from '../domain/network/cidr.js';
import type { Transaction } from './store.js';
import type { VSwitch } from './tables.js';

/**
 * Takes a private address of the vSwitch for a network interface: the wished one, or the next free one.
 * `undefined`: it is in use or not usable, or none is free.
 */
export async function takePrivateAddress(
  tx: Transaction,
  vSwitch: Pick<VSwitch, 'id' | 'cidrBlock'>,
  networkInterfaceId: NetworkInterfaceId,
  options: { readonly wished?: string | undefined; readonly isPrimary: boolean },
): Promise<string | undefined> {
  const address = options.wished ?? (await findNextAddress(tx, vSwitch));
  if (address === undefined || !isIPv4(address) || !isUsableAddress(vSwitch.cidrBlock, address)) {
    return undefined;
  }
  const taken = await tx.db
    .insertInto('privateAddresses')
    .values({ vSwitchId: vSwitch.id, address, networkInterfaceId, isPrimary: options.isPrimary ? 1 : 0 })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  if (taken.numInsertedOrUpdatedRows === 0n) return undefined;
  if (options.wished === undefined) {
    await tx.db
      .updateTable('vSwitches')
      .set({ nextAddress: formatIpv4(parseIpv4(address) + 1) })
      .where('id', '=', vSwitch.id)
      .execute();
  }
  return address;
}

async function findNextAddress(
  tx: Transaction,
  vSwitch: Pick<VSwitch, 'id' | 'cidrBlock'>,
): Promise<string | undefined> {
  const { nextAddress } = await tx.db
    .selectFrom('vSwitches')
    .select('nextAddress')
    .where('id', '=', vSwitch.id)
    .executeTakeFirstOrThrow();
  // Nearly always free, since the search goes around the whole range before it meets used ones.
  if (nextAddress !== null && isUsableAddress(vSwitch.cidrBlock, nextAddress)) {
    if (!(await isTaken(tx, vSwitch.id, nextAddress))) return nextAddress;
  }
  const rows = await tx.db
    .selectFrom('privateAddresses')
    .select('address')
    .where('vSwitchId', '=', vSwitch.id)
    .execute();
  return findFreeAddress(
    vSwitch.cidrBlock,
    new Set(rows.map((row) => row.address)),
    nextAddress ?? undefined,
  );
}

async function isTaken(tx: Transaction, vSwitchId: VSwitchId, address: string): Promise<boolean> {
  const row = await tx.db
    .selectFrom('privateAddresses')
    .select('address')
    .where('vSwitchId', '=', vSwitchId)
    .where('address', '=', address)
    .executeTakeFirst();
  return row !== undefined;
}

/** A MAC address that no network interface of the cloud has. */
export async function createMacAddress(tx: Transaction): Promise<string> {
  for (;;) {
    const macAddress = macAddressFromBytes(randomBytes(3));
    const used = await tx.db
      .selectFrom('networkInterfaces')
      .select('id')
      .where('macAddress', '=', macAddress)
      .executeTakeFirst();
    if (!used) return macAddress;
  }
}

/** A number that no network interface has, for its fabric address. */
export async function takeFabricIndex(tx: Transaction): Promise<number> {
  return takeNumber(tx, 'fabricIndex', fabricIndexes, async (number) =>
    tx.db.selectFrom('networkInterfaces').select('id').where('fabricIndex', '=', number).executeTakeFirst(),
  );
}

/** A number that no VPC has, for its link to the host. */
export async function takeNetworkIndex(tx: Transaction): Promise<number> {
  return takeNumber(tx, 'networkIndex', networkIndexes, async (number) =>
    tx.db.selectFrom('vpcs').select('id').where('networkIndex', '=', number).executeTakeFirst(),
  );
}

/** As many fabric addresses as the default /11 has, and as many links (a /30 each) as the default /12. */
const fabricIndexes = 2 ** 21;
const networkIndexes = 2 ** 18;

/**
 * The next free number behind the one taken last, around the range: found at once nearly always, and not
 * reused at once after its holder is gone.
 */
async function takeNumber(
  tx: Transaction,
  name: string,
  count: number,
  findHolder: (number: number) => Promise<object | undefined>,
): Promise<number> {
  const key = `next ${name}`;
  const last = await tx.db.selectFrom('meta').select('value').where('key', '=', key).executeTakeFirst();
  const start = Number(last?.value ?? 0);
  for (let step = 0; step < count; step += 1) {
    const number = (start + step) % count;
    if (await findHolder(number)) continue;
    await tx.db
      .insertInto('meta')
      .values({ key, value: String((number + 1) % count) })
      .onConflict((conflict) => conflict.column('key').doUpdateSet({ value: String((number + 1) % count) }))
      .execute();
    return number;
  }
  throw new Error(`all numbers of ${name} are in use`);
}
