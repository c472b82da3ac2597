import { isDeepStrictEqual } from 'node:util';
import { groupBy } from '../domain/collections.js';
import { parseId, type VpcId } from '../domain/ids.js';
import { gatewayAddress } from '../domain/network/addresses.js';
import type {
  VpcDnatEntry,
  VpcEip,
  VpcNatGateway,
  VpcNetwork,
  VpcRouteEntry,
  VpcRouteTable,
} from '../drivers/network/driver.js';
import type { UnsettledEip } from '../store/eips.js';
import { readSecurityPolicy } from '../store/securityPolicy.js';
import type { Reader } from '../store/store.js';
import type { Eip, ForwardEntry, RouteEntry, VSwitch } from '../store/tables.js';
import { vpcCidrs } from '../store/vpcs.js';

/** A VPC without its network interfaces, as the store says it shall be. */
export interface VpcFrame {
  readonly network: Omit<VpcNetwork, 'ports'>;
  /** Public addresses whose state changes once the host is so. */
  readonly unsettledEips: readonly UnsettledEip[];
}

/** Reads the VPC, or `undefined` when it is to be removed. Parts that did not change stay the same objects. */
export async function readVpcFrame(
  db: Reader,
  id: VpcId,
  options: { readonly known: VpcFrame | undefined; readonly defaultOutbound: boolean },
): Promise<VpcFrame | undefined> {
  const vpc = await db
    .selectFrom('vpcs')
    .selectAll()
    .where('id', '=', id)
    .where('status', '<>', 'Deleted')
    .executeTakeFirst();
  if (!vpc) return undefined;
  const vSwitches = await db
    .selectFrom('vSwitches')
    .selectAll()
    .where('vpcId', '=', id)
    .orderBy('sequence')
    .execute();
  const eips = await db.selectFrom('eips').selectAll().where('vpcId', '=', id).orderBy('sequence').execute();
  const associated = eips.filter(isApplied);
  const known = options.known?.network;
  return {
    network: keepEqualParts(known, {
      id,
      index: vpc.networkIndex,
      cidrs: vpcCidrs(vpc),
      vSwitches: vSwitches.map((vSwitch) => ({
        id: vSwitch.id,
        cidr: vSwitch.cidrBlock,
        gateway: gatewayAddress(vSwitch.cidrBlock),
      })),
      security: keepEqualParts(known?.security, await readSecurityPolicy(db, id, known?.security)),
      routeTables: await readRouteTables(db, id, vSwitches),
      eips: associated.map(toVpcEip),
      natGateways: await readNatGateways(db, id, associated),
      outboundNat: vpc.isDefault === 1 && options.defaultOutbound,
      dnsNames: [],
    }),
    unsettledEips: eips
      .filter((eip) => eip.status === 'Associating' || eip.status === 'Unassociating')
      .map(({ id: eipId, status }) => ({ id: eipId, status })),
  };
}

function keepEqualParts<Whole extends object>(known: Whole | undefined, next: Whole): Whole {
  if (known === undefined) return next;
  const kept = { ...next };
  for (const part of Object.keys(next) as (keyof Whole)[]) {
    if (isDeepStrictEqual(known[part], next[part])) kept[part] = known[part];
  }
  return kept;
}

/** An instance's own address without bandwidth lets nothing through. */
function isApplied(eip: Eip): boolean {
  if (eip.status !== 'Associating' && eip.status !== 'InUse') return false;
  return eip.owner === 'account' || eip.bandwidthMbits > 0;
}

function toVpcEip(eip: Eip): VpcEip {
  return {
    id: eip.id,
    address: eip.address,
    bandwidthKbits: eip.bandwidthMbits * 1000,
    target:
      eip.networkInterfaceId !== null && eip.privateAddress !== null
        ? {
            kind: 'networkInterface',
            networkInterfaceId: eip.networkInterfaceId,
            privateAddress: eip.privateAddress,
          }
        : { kind: 'natGateway', natGatewayId: parseId('natGateway', eip.instanceId ?? '') },
  };
}

async function readRouteTables(
  db: Reader,
  vpcId: VpcId,
  vSwitches: readonly VSwitch[],
): Promise<VpcRouteTable[]> {
  const tables = await db
    .selectFrom('routeTables')
    .select('id')
    .where('vpcId', '=', vpcId)
    .orderBy('sequence')
    .execute();
  const entries = await db
    .selectFrom('routeEntries as entry')
    .innerJoin('routeTables as table', 'table.id', 'entry.routeTableId')
    .selectAll('entry')
    .where('table.vpcId', '=', vpcId)
    .orderBy('entry.sequence')
    .execute();
  const entriesOf = groupBy(entries, (entry) => entry.routeTableId);
  const vSwitchesOf = groupBy(vSwitches, (vSwitch) => vSwitch.routeTableId);
  return tables.map(({ id }) => ({
    id,
    vSwitchIds: (vSwitchesOf.get(id) ?? []).map((vSwitch) => vSwitch.id),
    entries: (entriesOf.get(id) ?? []).map(toVpcRouteEntry),
  }));
}

function toVpcRouteEntry(entry: RouteEntry): VpcRouteEntry {
  return {
    destinationCidr: entry.destinationCidr,
    nextHop:
      entry.networkInterfaceId === null
        ? { kind: 'natGateway', natGatewayId: parseId('natGateway', entry.nextHopId) }
        : { kind: 'networkInterface', networkInterfaceId: entry.networkInterfaceId },
  };
}

async function readNatGateways(db: Reader, vpcId: VpcId, eips: readonly Eip[]): Promise<VpcNatGateway[]> {
  const gateways = await db
    .selectFrom('natGateways')
    .select('id')
    .where('vpcId', '=', vpcId)
    .orderBy('sequence')
    .execute();
  if (gateways.length === 0) return [];
  const ids = gateways.map((gateway) => gateway.id);
  const snat = await db
    .selectFrom('snatEntries')
    .selectAll()
    .where('natGatewayId', 'in', ids)
    .orderBy('sequence')
    .execute();
  const dnat = await db
    .selectFrom('forwardEntries')
    .selectAll()
    .where('natGatewayId', 'in', ids)
    .orderBy('sequence')
    .execute();
  return gateways.map(({ id }) => {
    const own = new Set(eips.filter((eip) => eip.instanceId === id).map((eip) => eip.address));
    return {
      id,
      snatEntries: snat
        .filter((entry) => entry.natGatewayId === id)
        .map((entry) => ({
          sourceCidr: entry.sourceCidr,
          addresses: (JSON.parse(entry.snatIps) as string[]).filter((address) => own.has(address)),
        }))
        .filter((entry) => entry.addresses.length > 0),
      dnatEntries: dnat
        .filter((entry) => entry.natGatewayId === id && own.has(entry.externalIp))
        .map(toVpcDnatEntry),
    };
  });
}

function toVpcDnatEntry(entry: ForwardEntry): VpcDnatEntry {
  const [first = 0, last = first] = entry.externalPort.split('/').map(Number);
  const [internalPort = 0] = entry.internalPort.split('/').map(Number);
  const isAny = entry.protocol === 'any';
  return {
    protocol: entry.protocol === 'any' ? 'all' : entry.protocol,
    externalAddress: entry.externalIp,
    externalPorts: isAny ? { first: 0, last: 0 } : { first, last },
    internalAddress: entry.internalIp,
    internalPort: isAny ? 0 : internalPort,
  };
}
