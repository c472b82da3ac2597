import { randomInt } from 'node:crypto';
import type { CloudConfig, RegionConfig } from '../config.js';
import {
  type AccountId,
  createId,
  type RegionId,
  type VpcId,
  type VSwitchId,
  type ZoneId,
} from '../domain/ids.js';
import { cidrsOverlap, formatIpv4, parseIpv4Cidr } from '../domain/network/cidr.js';
import { randomText } from '../domain/random.js';
import type { Store, Transaction } from './store.js';
import type { Vpc } from './tables.js';
import { createVpc, createVSwitch, listVSwitches } from './vpcs.js';

/** The key pair of the cloud's first account, as `credentials.json` holds it. */
export interface Credentials {
  readonly accountId: AccountId;
  readonly accessKeyId: string;
  readonly accessKeySecret: string;
}

/** The first account's key; made on the first start. */
export async function getOrCreateRootKey(store: Store): Promise<Credentials> {
  return store.transaction({ name: 'start' }, async (tx) => {
    const known = await tx.db.selectFrom('accessKeys').selectAll().orderBy('createdAt').executeTakeFirst();
    if (known) {
      return { accountId: known.accountId, accessKeyId: known.id, accessKeySecret: known.secret };
    }
    const accountId = `1${String(randomInt(10 ** 14)).padStart(14, '0')}0` as AccountId;
    // The forms of the original: clients and secret scanners know them.
    const accessKeyId = `LTAI5t${randomText(letters, 18)}`;
    const accessKeySecret = randomText(letters, 30);
    await tx.db
      .insertInto('accessKeys')
      .values({
        id: accessKeyId,
        secret: accessKeySecret,
        accountId,
        status: 'Active',
        createdAt: tx.now.toISOString(),
      })
      .execute();
    return { accountId, accessKeyId, accessKeySecret };
  });
}

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** Size of the default vSwitch of each zone, as on the original. */
const defaultVSwitchBits = 20;

/**
 * Gives an account its default VPC in a region, with one vSwitch a zone and a security group that lets
 * in SSH, RDP and ping, as on the original. Nothing happens when it has one.
 */
export async function ensureDefaultNetwork(
  tx: Transaction,
  accountId: AccountId,
  region: RegionConfig,
  config: CloudConfig,
): Promise<VpcId> {
  const regionId = region.id as RegionId;
  const known = await tx.db
    .selectFrom('vpcs')
    .select('id')
    .where('accountId', '=', accountId)
    .where('regionId', '=', regionId)
    .where('isDefault', '=', 1)
    .where('status', '<>', 'Deleted')
    .executeTakeFirst();
  if (known) return known.id;

  const scope = { accountId, regionId, isDefault: 1 } as const;
  const vpc = await createVpc(tx, region.code, { ...scope, cidrBlock: config.network.defaultVpcCidr });
  for (const zone of region.zones) await createDefaultVSwitch(tx, region.code, vpc, zone as ZoneId);
  const common = { ...scope, vpcId: vpc.id, creationTime: vpc.creationTime };
  const securityGroupId = createId('securityGroup', region.code);
  await tx.db
    .insertInto('securityGroups')
    .values({ ...common, id: securityGroupId, name: '', type: 'normal', innerAccessPolicy: 'Accept' })
    .execute();
  for (const [protocol, portRange] of [
    ['TCP', '22/22'],
    ['TCP', '3389/3389'],
    ['ICMP', '-1/-1'],
  ] as const) {
    await tx.db
      .insertInto('securityGroupRules')
      .values({
        id: createId('securityGroupRule', region.code),
        securityGroupId,
        direction: 'ingress',
        policy: 'Accept',
        priority: 100,
        protocol,
        portRange,
        peerCidr: '0.0.0.0/0',
        description: 'System created rule.',
        creationTime: common.creationTime,
      })
      .execute();
  }
  await tx.record({ resourceType: 'vpc', resourceId: vpc.id, action: 'CreateDefaultVpc' });
  return vpc.id;
}

/** As `ensureDefaultNetwork`, but once in an account's life: a user who deleted it does not get it back. */
export async function giveFirstNetwork(
  tx: Transaction,
  accountId: AccountId,
  region: RegionConfig,
  config: CloudConfig,
): Promise<void> {
  const key = `first network of ${accountId} in ${region.id}`;
  const given = await tx.db.selectFrom('meta').select('value').where('key', '=', key).executeTakeFirst();
  if (given) return;
  const value = await ensureDefaultNetwork(tx, accountId, region, config);
  await tx.db.insertInto('meta').values({ key, value }).execute();
}

/**
 * Gives a zone its vSwitch in the default VPC: the first range of the usual size that no other has.
 * `undefined` when the VPC is full.
 */
export async function createDefaultVSwitch(
  tx: Transaction,
  regionCode: string,
  vpc: Vpc,
  zoneId: ZoneId,
): Promise<VSwitchId | undefined> {
  const taken = (await listVSwitches(tx.db, vpc.id)).map((vSwitch) => vSwitch.cidrBlock);
  const { first, last } = parseIpv4Cidr(vpc.cidrBlock);
  for (let start = first; start < last; start += 2 ** (32 - defaultVSwitchBits)) {
    const cidrBlock = `${formatIpv4(start)}/${defaultVSwitchBits}`;
    if (taken.some((other) => cidrsOverlap(other, cidrBlock))) continue;
    return createVSwitch(tx, regionCode, vpc, { zoneId, cidrBlock, isDefault: 1 });
  }
  return undefined;
}
