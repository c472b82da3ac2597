import { vpc } from '@openegs/schema';
import type { VpcId } from '../../domain/ids.js';
import { cidrContains, cidrsOverlap } from '../../domain/network/cidr.js';
import { findVpcCidrMistake } from '../../domain/network/vpcCidr.js';
import type { Transaction } from '../../store/store.js';
import { findVpc, listVSwitches, vpcCidrs } from '../../store/vpcs.js';
import { defineAction } from '../action.js';

export const associateVpcCidrBlock = defineAction(vpc.AssociateVpcCidrBlock, {
  errors: [
    'Duplicated.SecondaryCidrBlock',
    'IllegalParam.SecondaryCidrBlock',
    'InvalidVpc.NotFound',
    'OperationFailed.ConflictWithEntry',
    'OperationUnsupported.Ipv6Feature',
    'QuotaExceeded.VpcMultiCidr',
    'UnsupportedFeature.Ipam',
  ],
  async change(input, { tx, caller, regionId, cloud, fail }) {
    const found =
      (await findVpc(tx.db, { accountId: caller.accountId, regionId }, input.vpcId)) ??
      fail('InvalidVpc.NotFound', { id: input.vpcId });
    if (input.ipamPoolId !== undefined) fail('UnsupportedFeature.Ipam');
    if (input.IPv6CidrBlock !== undefined || /^ipv6$/i.test(input.ipVersion ?? '')) {
      fail('OperationUnsupported.Ipv6Feature');
    }
    const cidr = input.secondaryCidrBlock ?? fail('MissingParameter', { parameter: 'SecondaryCidrBlock' });
    const mistake = findVpcCidrMistake(cidr);
    if (mistake !== undefined) fail('IllegalParam.SecondaryCidrBlock', { cidr, reason: mistake });
    const [primary, ...secondary] = vpcCidrs(found);
    const other = [primary, ...secondary].find((known) => known !== undefined && cidrsOverlap(known, cidr));
    if (other !== undefined) fail('Duplicated.SecondaryCidrBlock', { cidr, other });
    const quota = cloud.config.quotas.secondaryCidrsPerVpc;
    if (secondary.length >= quota) fail('QuotaExceeded.VpcMultiCidr', { quota });
    const entry = await tx.db
      .selectFrom('routeEntries as entry')
      .innerJoin('routeTables as table', 'table.id', 'entry.routeTableId')
      .select('entry.id')
      .where('table.vpcId', '=', found.id)
      .where('entry.destinationCidr', '=', cidr)
      .executeTakeFirst();
    if (entry) fail('OperationFailed.ConflictWithEntry', { cidr, id: entry.id });
    await putSecondary(tx, found.id, [...secondary, cidr], 'AssociateVpcCidrBlock');
    return { cidrBlock: cidr, ipVersion: 'IPV4' };
  },
});

export const unassociateVpcCidrBlock = defineAction(vpc.UnassociateVpcCidrBlock, {
  errors: ['InvalidSecondaryCidrBlock.NotFound', 'InvalidVpc.NotFound', 'OperationFailed.CidrInUse'],
  async change(input, { tx, caller, regionId, fail }) {
    const found =
      (await findVpc(tx.db, { accountId: caller.accountId, regionId }, input.vpcId)) ??
      fail('InvalidVpc.NotFound', { id: input.vpcId });
    const cidr =
      input.secondaryCidrBlock ??
      fail('InvalidSecondaryCidrBlock.NotFound', { cidr: input.IPv6CidrBlock ?? '' });
    const secondary = vpcCidrs(found).slice(1);
    if (!secondary.includes(cidr)) fail('InvalidSecondaryCidrBlock.NotFound', { cidr });
    for (const vSwitch of await listVSwitches(tx.db, found.id)) {
      if (cidrContains(cidr, vSwitch.cidrBlock)) fail('OperationFailed.CidrInUse', { id: vSwitch.id, cidr });
    }
    const left = secondary.filter((known) => known !== cidr);
    await putSecondary(tx, found.id, left, 'UnassociateVpcCidrBlock');
    return {};
  },
});

async function putSecondary(
  tx: Transaction,
  id: VpcId,
  cidrs: readonly string[],
  action: string,
): Promise<void> {
  const secondaryCidrBlocks = JSON.stringify(cidrs);
  await tx.db.updateTable('vpcs').set({ secondaryCidrBlocks }).where('id', '=', id).execute();
  await tx.record({ resourceType: 'vpc', resourceId: id, action, after: { secondaryCidrBlocks: cidrs } });
  tx.wake({ kind: 'vpc', id });
}
