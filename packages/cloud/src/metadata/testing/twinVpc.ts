import { createId, type SecurityGroupId, type VSwitchId, type ZoneId } from '../../domain/ids.js';
import type { Cloud } from '../../server.js';
import { ensureDefaultNetwork } from '../../store/accounts.js';
import { toSecondsTime } from '../../store/times.js';
import { createVpc, createVSwitch } from '../../store/vpcs.js';

/** A VPC with the same ranges as the default one, so that instances of both can have the same address. */
export async function createTwinVpc(
  { parts, credentials }: Pick<Cloud, 'parts' | 'credentials'>,
  zone: string,
): Promise<{ defaultVSwitchId: VSwitchId; vSwitchId: VSwitchId; securityGroupId: SecurityGroupId }> {
  const { accountId } = credentials;
  const [region] = parts.config.regions;
  if (!region) throw new Error('the cloud has no region');
  return parts.store.transaction({ name: 'test' }, async (tx) => {
    const defaultVpcId = await ensureDefaultNetwork(tx, accountId, region, parts.config);
    const original = await tx.db
      .selectFrom('vSwitches as vSwitch')
      .innerJoin('vpcs as vpc', 'vpc.id', 'vSwitch.vpcId')
      .select(['vSwitch.id', 'vSwitch.cidrBlock', 'vpc.cidrBlock as vpcCidr', 'vpc.regionId'])
      .where('vpc.id', '=', defaultVpcId)
      .where('vSwitch.zoneId', '=', zone as ZoneId)
      .executeTakeFirstOrThrow();
    const { regionId } = original;
    const vpc = await createVpc(tx, region.code, { accountId, regionId, cidrBlock: original.vpcCidr });
    const vSwitchId = await createVSwitch(tx, region.code, vpc, {
      zoneId: zone as ZoneId,
      cidrBlock: original.cidrBlock,
    });
    const securityGroupId = createId('securityGroup', region.code);
    await tx.db
      .insertInto('securityGroups')
      .values({
        id: securityGroupId,
        accountId,
        regionId,
        vpcId: vpc.id,
        type: 'normal',
        innerAccessPolicy: 'Accept',
        creationTime: toSecondsTime(tx.now),
      })
      .execute();
    tx.wake({ kind: 'vpc', id: vpc.id });
    return { defaultVSwitchId: original.id, vSwitchId, securityGroupId };
  });
}
