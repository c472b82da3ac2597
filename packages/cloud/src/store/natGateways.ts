import type { NatGatewayId } from '../domain/ids.js';
import type { Reader, Transaction } from './store.js';
import type { NatGateway } from './tables.js';
import type { Scope } from './vpcs.js';

/** The account's NAT gateway that an id, or the id of one of its two tables, names. */
export async function findNatGateway(
  db: Reader,
  { accountId, regionId }: Scope,
  column: 'id' | 'snatTableId' | 'forwardTableId',
  id: string,
): Promise<NatGateway | undefined> {
  return db
    .selectFrom('natGateways')
    .selectAll()
    .where(column, '=', id as NatGatewayId)
    .where('accountId', '=', accountId)
    .where('regionId', '=', regionId)
    .executeTakeFirst();
}

/** An entry of a NAT gateway that needs the EIP. */
export async function findEipUse(
  db: Reader,
  address: string,
): Promise<{ readonly kind: 'snat' | 'dnat'; readonly id: string } | undefined> {
  const snat = (await listSnatEntriesWith(db, address))[0];
  if (snat) return { kind: 'snat', id: snat.id };
  const dnat = await db
    .selectFrom('forwardEntries')
    .select('id')
    .where('externalIp', '=', address)
    .executeTakeFirst();
  return dnat && { kind: 'dnat', id: dnat.id };
}

async function listSnatEntriesWith(db: Reader, address: string) {
  const rows = await db
    .selectFrom('snatEntries')
    .select(['id', 'snatIps'])
    .where('snatIps', 'like', `%"${address}"%`)
    .execute();
  return rows.map(({ id, snatIps }) => ({ id, addresses: JSON.parse(snatIps) as string[] }));
}

/** Takes an EIP out of the entries of NAT gateways; entries that had no other go. */
export async function removeEipFromEntries(tx: Transaction, address: string): Promise<void> {
  for (const { id, addresses } of await listSnatEntriesWith(tx.db, address)) {
    const left = addresses.filter((other) => other !== address);
    if (left.length === 0) {
      await tx.db.deleteFrom('snatEntries').where('id', '=', id).execute();
    } else {
      await tx.db
        .updateTable('snatEntries')
        .set({ snatIps: JSON.stringify(left) })
        .where('id', '=', id)
        .execute();
    }
  }
  await tx.db.deleteFrom('forwardEntries').where('externalIp', '=', address).execute();
}
