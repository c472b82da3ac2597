import { randomInt } from 'node:crypto';
import type { CloudConfig, RegionConfig } from '../config.js';
import { type AccountId, createId, type RegionId, type VpcId, type ZoneId } from '../domain/ids.js';
import { formatIpv4, parseIpv4Cidr } from '../domain/network/cidr.js';
import { randomText } from '../domain/random.js';
import { takeNetworkIndex } from './addresses.js';
import type { Store, Transaction } from './store.js';
import { toSecondsTime } from './times.js';

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

  const vpcId = createId('vpc', region.code);
  const common = { accountId, regionId, vpcId, isDefault: 1, creationTime: toSecondsTime(tx.now) } as const;
  const { vpcId: _, ...vpc } = common;
  await tx.db
    .insertInto('vpcs')
    .values({
      ...vpc,
      id: vpcId,
      networkIndex: await takeNetworkIndex(tx),
      cidrBlock: config.network.defaultVpcCidr,
      status: 'Available',
    })
    .execute();
  const { first } = parseIpv4Cidr(config.network.defaultVpcCidr);
  for (const [index, zone] of region.zones.entries()) {
    const cidrBlock = `${formatIpv4(first + index * 2 ** (32 - defaultVSwitchBits))}/${defaultVSwitchBits}`;
    await tx.db
      .insertInto('vSwitches')
      .values({
        ...common,
        id: createId('vSwitch', region.code),
        zoneId: zone as ZoneId,
        cidrBlock,
        status: 'Available',
      })
      .execute();
  }
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
  await tx.record({ resourceType: 'vpc', resourceId: vpcId, action: 'CreateDefaultVpc' });
  tx.wake({ kind: 'vpc', id: vpcId });
  return vpcId;
}
