import { ecs } from '@openegs/schema';
import type { ErrorCode } from '../../../domain/errors.js';
import { countRows } from '../../../store/countRows.js';
import { unassociateEips } from '../../../store/eips.js';
import { getNetworkInterface, wakeNetworkInterface } from '../../../store/networkInterfaces.js';
import type { NetworkInterface } from '../../../store/tables.js';
import { type ChangeContext, defineAction } from '../../action.js';
import {
  addressErrors,
  checkAddresses,
  getPluggableInstance,
  maxFreeSecondaryAddresses,
  readAddressWishes,
  requireEniStatus,
  scopeOf,
  takeSecondaryAddresses,
  typeOf,
} from './rules.js';

const targetErrors = [
  'InvalidEcsId.NotFound',
  'InvalidEniId.NotFound',
  'InvalidOperation.InvalidEcsState',
  'InvalidOperation.InvalidEniState',
] as const satisfies readonly ErrorCode[];

/** The interface whose addresses change: free, or of an instance that is settled. */
async function getTarget(
  id: string,
  context: ChangeContext<(typeof targetErrors)[number]>,
): Promise<NetworkInterface> {
  const nic = await getNetworkInterface(context.tx.db, scopeOf(context), id, context.fail);
  requireEniStatus(nic, ['Available', 'InUse'], context.fail);
  if (nic.instanceId !== null) await getPluggableInstance(nic.instanceId, context);
  return nic;
}

export const assignPrivateIpAddresses = defineAction(ecs.AssignPrivateIpAddresses, {
  errors: [
    ...targetErrors,
    ...addressErrors,
    'InvalidOperation.Ipv4CountExceeded',
    'MaxEniPrivateIpsCountExceeded',
  ],
  async change(input, context) {
    const { tx, fail } = context;
    const nic = await getTarget(input.networkInterfaceId, context);
    if (input.ipv4Prefix !== undefined || input.ipv4PrefixCount !== undefined) {
      fail('InvalidParameter', { parameter: 'Ipv4Prefix', reason: 'address prefixes are not built yet.' });
    }
    const wishes = readAddressWishes(input, fail);
    if (wishes.length === 0) fail('MissingParameter', { parameter: 'SecondaryPrivateIpAddressCount' });
    await checkRoom(nic, wishes.length, context);
    const vSwitch = await tx.db
      .selectFrom('vSwitches')
      .select(['id', 'cidrBlock'])
      .where('id', '=', nic.vSwitchId)
      .executeTakeFirstOrThrow();
    checkAddresses(vSwitch, wishes, fail);
    const addresses = await takeSecondaryAddresses(nic, vSwitch, wishes, context);
    await recordAddresses(context, nic, 'AssignPrivateIpAddresses', addresses);
    return {
      assignedPrivateIpAddressesSet: {
        networkInterfaceId: nic.id,
        privateIpSet: { privateIpAddress: addresses },
        ipv4PrefixSet: { ipv4Prefixes: [] },
      },
    };
  },
});

async function checkRoom(
  nic: NetworkInterface,
  wished: number,
  context: ChangeContext<
    (typeof targetErrors)[number] | 'InvalidOperation.Ipv4CountExceeded' | 'MaxEniPrivateIpsCountExceeded'
  >,
): Promise<void> {
  const { tx, fail } = context;
  const total = await countRows(
    tx.db.selectFrom('privateAddresses').where('networkInterfaceId', '=', nic.id),
  );
  if (nic.instanceId === null) {
    if (total + wished > 1 + maxFreeSecondaryAddresses) {
      fail('MaxEniPrivateIpsCountExceeded', { limit: maxFreeSecondaryAddresses });
    }
    return;
  }
  const type = typeOf(context, await getPluggableInstance(nic.instanceId, context));
  const limit = type.privateAddressesPerInterface;
  if (total + wished > limit) fail('InvalidOperation.Ipv4CountExceeded', { type: type.id, limit });
}

export const unassignPrivateIpAddresses = defineAction(ecs.UnassignPrivateIpAddresses, {
  errors: [...targetErrors, 'InvalidIp.IpUnassigned'],
  async change(input, context) {
    const { tx, fail } = context;
    const nic = await getTarget(input.networkInterfaceId, context);
    if (input.ipv4Prefix !== undefined) {
      fail('InvalidParameter', { parameter: 'Ipv4Prefix', reason: 'address prefixes are not built yet.' });
    }
    const addresses = new Set(input.privateIpAddress);
    if (addresses.size === 0) fail('MissingParameter', { parameter: 'PrivateIpAddress' });
    for (const address of addresses) {
      const removed = await tx.db
        .deleteFrom('privateAddresses')
        .where('networkInterfaceId', '=', nic.id)
        .where('address', '=', address)
        .where('isPrimary', '=', 0)
        .executeTakeFirst();
      if (removed.numDeletedRows === 0n) fail('InvalidIp.IpUnassigned', { address });
      const eips = await tx.db
        .selectFrom('eips')
        .select('id')
        .where('networkInterfaceId', '=', nic.id)
        .where('privateAddress', '=', address)
        .execute();
      for (const { id } of eips) await unassociateEips(tx, { eipId: id });
    }
    await recordAddresses(context, nic, 'UnassignPrivateIpAddresses', [...addresses]);
    return {};
  },
});

async function recordAddresses(
  { tx }: ChangeContext,
  nic: NetworkInterface,
  action: string,
  addresses: readonly string[],
): Promise<void> {
  await tx.record({
    resourceType: 'networkInterface',
    resourceId: nic.id,
    action,
    after: { addresses },
  });
  wakeNetworkInterface(tx, nic);
}

export const assignIpv6Addresses = defineAction(ecs.AssignIpv6Addresses, {
  errors: ['InvalidEniId.NotFound', 'InvalidVSwitch.Ipv6NotTurnOn'],
  async change({ networkInterfaceId }, context) {
    await getNetworkInterface(context.tx.db, scopeOf(context), networkInterfaceId, context.fail);
    return context.fail('InvalidVSwitch.Ipv6NotTurnOn');
  },
});

export const unassignIpv6Addresses = defineAction(ecs.UnassignIpv6Addresses, {
  errors: ['InvalidEniId.NotFound', 'InvalidIp.IpUnassigned'],
  async change({ networkInterfaceId, ipv6Address, ipv6Prefix }, context) {
    const { tx, fail } = context;
    await getNetworkInterface(tx.db, scopeOf(context), networkInterfaceId, fail);
    const [address] = [...(ipv6Address ?? []), ...(ipv6Prefix ?? [])];
    // No interface has any.
    return fail('InvalidIp.IpUnassigned', {
      address: address ?? fail('MissingParameter', { parameter: 'Ipv6Address' }),
    });
  },
});
