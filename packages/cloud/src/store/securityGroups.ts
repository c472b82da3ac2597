import type { Fail } from '../domain/errors.js';
import type { AccountId, RegionId, SecurityGroupId } from '../domain/ids.js';
import type { Reader } from './store.js';
import type { SecurityGroup } from './tables.js';

/** The account's security group with this id. */
export async function findSecurityGroup(
  db: Reader,
  accountId: AccountId,
  regionId: RegionId,
  id: string,
): Promise<SecurityGroup | undefined> {
  return db
    .selectFrom('securityGroups')
    .selectAll()
    .where('id', '=', id as SecurityGroupId)
    .where('accountId', '=', accountId)
    .where('regionId', '=', regionId)
    .executeTakeFirst();
}

/** As `findSecurityGroup`, but ends the request when there is none. */
export async function getSecurityGroup(
  db: Reader,
  accountId: AccountId,
  regionId: RegionId,
  id: string,
  fail: Fail<'InvalidSecurityGroupId.NotFound'>,
): Promise<SecurityGroup> {
  return (
    (await findSecurityGroup(db, accountId, regionId, id)) ?? fail('InvalidSecurityGroupId.NotFound', { id })
  );
}
