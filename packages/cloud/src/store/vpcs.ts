import type { Insertable } from 'kysely';
import type { AccountId, RegionId, VpcId, VSwitchId } from '../domain/ids.js';
import { createId } from '../domain/ids.js';
import { usableAddressCount } from '../domain/network/addresses.js';
import { takeNetworkIndex } from './addresses.js';
import type { Reader, Transaction } from './store.js';
import type { Vpc, VpcTable, VSwitch, VSwitchTable } from './tables.js';
import { toSecondsTime } from './times.js';

/** Whose resources are meant, and where. */
export interface Scope {
  readonly accountId: AccountId;
  readonly regionId: RegionId;
}

type NewVpc = Pick<Insertable<VpcTable>, 'accountId' | 'regionId' | 'cidrBlock'> &
  Partial<Pick<Insertable<VpcTable>, 'name' | 'description' | 'isDefault' | 'userCidrs' | 'resourceGroupId'>>;

/** Makes a VPC with its router and the system route table. `regionCode` leads the ids. */
export async function createVpc(tx: Transaction, regionCode: string, values: NewVpc): Promise<Vpc> {
  const creationTime = toSecondsTime(tx.now);
  const vpc = await tx.db
    .insertInto('vpcs')
    .values({
      ...values,
      id: createId('vpc', regionCode),
      vRouterId: createId('vRouter', regionCode),
      networkIndex: await takeNetworkIndex(tx),
      status: 'Available',
      creationTime,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  await tx.db
    .insertInto('routeTables')
    .values({
      id: createId('routeTable', regionCode),
      accountId: values.accountId,
      regionId: values.regionId,
      vpcId: vpc.id,
      type: 'System',
      creationTime,
    })
    .execute();
  return vpc;
}

type NewVSwitch = Pick<Insertable<VSwitchTable>, 'zoneId' | 'cidrBlock'> &
  Partial<Pick<Insertable<VSwitchTable>, 'name' | 'description' | 'isDefault'>>;

/** Makes a vSwitch, which uses the system route table. Its range is free, as the caller has checked. */
export async function createVSwitch(
  tx: Transaction,
  regionCode: string,
  vpc: Pick<Vpc, 'id' | 'accountId' | 'regionId'>,
  values: NewVSwitch,
): Promise<VSwitchId> {
  const { id: routeTableId } = await tx.db
    .selectFrom('routeTables')
    .select('id')
    .where('vpcId', '=', vpc.id)
    .where('type', '=', 'System')
    .executeTakeFirstOrThrow();
  const id = createId('vSwitch', regionCode);
  await tx.db
    .insertInto('vSwitches')
    .values({
      ...values,
      id,
      accountId: vpc.accountId,
      regionId: vpc.regionId,
      vpcId: vpc.id,
      routeTableId,
      status: 'Available',
      creationTime: toSecondsTime(tx.now),
    })
    .execute();
  return id;
}

/** The account's VPC with this id; one that is being removed does not exist any more. */
export async function findVpc(
  db: Reader,
  { accountId, regionId }: Scope,
  id: string,
): Promise<Vpc | undefined> {
  return db
    .selectFrom('vpcs')
    .selectAll()
    .where('id', '=', id as VpcId)
    .where('accountId', '=', accountId)
    .where('regionId', '=', regionId)
    .where('status', '<>', 'Deleted')
    .executeTakeFirst();
}

/** The account's vSwitch with this id. */
export async function findVSwitch(
  db: Reader,
  { accountId, regionId }: Scope,
  id: string,
): Promise<VSwitch | undefined> {
  return db
    .selectFrom('vSwitches')
    .selectAll()
    .where('id', '=', id as VSwitchId)
    .where('accountId', '=', accountId)
    .where('regionId', '=', regionId)
    .executeTakeFirst();
}

/** The vSwitches of a VPC, oldest first. */
export async function listVSwitches(db: Reader, vpcId: VpcId): Promise<VSwitch[]> {
  return db.selectFrom('vSwitches').selectAll().where('vpcId', '=', vpcId).orderBy('sequence').execute();
}

/** All IPv4 ranges of a VPC, the primary one first. */
export function vpcCidrs(vpc: Pick<Vpc, 'cidrBlock' | 'secondaryCidrBlocks'>): string[] {
  return [vpc.cidrBlock, ...(JSON.parse(vpc.secondaryCidrBlocks) as string[])];
}

/** How many addresses of each vSwitch can still be given out. */
export async function countFreeAddresses(
  db: Reader,
  vSwitches: readonly Pick<VSwitch, 'id' | 'cidrBlock'>[],
): Promise<Map<VSwitchId, number>> {
  const used = await db
    .selectFrom('privateAddresses')
    .select((eb) => ['vSwitchId', eb.fn.countAll<number>().as('total')])
    .where(
      'vSwitchId',
      'in',
      vSwitches.map((vSwitch) => vSwitch.id),
    )
    .groupBy('vSwitchId')
    .execute();
  const usedIn = new Map(used.map((row) => [row.vSwitchId, row.total]));
  return new Map(
    vSwitches.map(({ id, cidrBlock }) => [id, usableAddressCount(cidrBlock) - (usedIn.get(id) ?? 0)]),
  );
}
