import { cidrContains, parseIpv4, parseIpv4Cidr, rangeContains } from '../../domain/network/cidr.js';
import { NetworkError, type VpcNetwork } from './driver.js';

function fail(message: string): never {
  throw new NetworkError('invalid', message);
}

/**
 * Refuses a value that contradicts itself. The API's own checks come earlier and are finer; this guards
 * the host against a value that would let packets go where they must not.
 */
export function checkVpcNetwork(network: VpcNetwork): void {
  try {
    check(network);
  } catch (error) {
    if (error instanceof NetworkError) throw error;
    throw new NetworkError('invalid', error instanceof Error ? error.message : String(error), {
      cause: error,
    });
  }
}

function check(network: VpcNetwork): void {
  if (!Number.isInteger(network.index) || network.index < 0) fail(`${network.id}: index ${network.index}`);
  const vSwitches = new Map(network.vSwitches.map((vSwitch) => [vSwitch.id, vSwitch]));
  for (const { id, cidr, gateway } of network.vSwitches) {
    if (!network.cidrs.some((outer) => cidrContains(outer, cidr))) fail(`${id}: ${cidr} is not in the VPC`);
    if (!rangeContains(parseIpv4Cidr(cidr), parseIpv4(gateway))) fail(`${id}: gateway ${gateway} is outside`);
  }

  const taken = new Map<string, string>(network.vSwitches.map(({ id, gateway }) => [gateway, id]));
  const take = (what: string, owner: string): void => {
    const other = taken.get(what);
    if (other !== undefined) fail(`${owner}: ${what} is taken by ${other}`);
    taken.set(what, owner);
  };
  const groupIds = new Set(network.security.groups.map(({ id }) => id));
  const addressesByPort = new Map<string, readonly string[]>();
  for (const port of network.ports) {
    const vSwitch = vSwitches.get(port.vSwitchId);
    const owner = port.networkInterfaceId;
    if (vSwitch === undefined) fail(`${owner}: no vSwitch ${port.vSwitchId}`);
    if (!/^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/.test(port.macAddress)) fail(`${owner}: MAC ${port.macAddress}`);
    const addresses = [port.primaryAddress, ...port.secondaryAddresses];
    for (const address of addresses) {
      if (!rangeContains(parseIpv4Cidr(vSwitch.cidr), parseIpv4(address))) {
        fail(`${owner}: ${address} is not in ${vSwitch.id}`);
      }
    }
    for (const id of port.securityGroupIds) if (!groupIds.has(id)) fail(`${owner}: no security group ${id}`);
    for (const what of [...addresses, port.macAddress, port.fabricAddress, owner]) take(what, owner);
    if (
      port.hostName !== undefined &&
      !/^[A-Za-z0-9]([A-Za-z0-9.-]{0,126}[A-Za-z0-9])?$/.test(port.hostName)
    ) {
      fail(`${owner}: host name ${port.hostName}`);
    }
    addressesByPort.set(owner, addresses);
  }
  for (const { name, address } of network.dnsNames) {
    if (!/^[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?$/.test(name)) fail(`DNS name ${name}`);
    parseIpv4(address);
  }

  const natGatewayIds = new Set(network.natGateways.map(({ id }) => id));
  const inRouteTable = new Set<string>();
  for (const table of network.routeTables) {
    for (const id of table.vSwitchIds) {
      if (inRouteTable.has(id)) fail(`${id} is in two route tables`);
      inRouteTable.add(id);
    }
    for (const { destinationCidr, nextHop } of table.entries) {
      parseIpv4Cidr(destinationCidr);
      if (nextHop.kind === 'natGateway' && !natGatewayIds.has(nextHop.natGatewayId)) {
        fail(`${table.id}: no next hop for ${destinationCidr}`);
      }
    }
  }
  for (const { id, address, target } of network.eips) {
    parseIpv4(address);
    take(address, id);
    if (target.kind === 'natGateway') {
      if (!natGatewayIds.has(target.natGatewayId)) fail(`${id}: no NAT gateway ${target.natGatewayId}`);
    } else if (!addressesByPort.get(target.networkInterfaceId)?.includes(target.privateAddress)) {
      fail(`${id}: ${target.privateAddress} is not of ${target.networkInterfaceId}`);
    }
  }
  for (const gateway of network.natGateways) {
    const owned = new Set(
      network.eips
        .filter(({ target }) => target.kind === 'natGateway' && target.natGatewayId === gateway.id)
        .map(({ address }) => address),
    );
    const used = [
      ...gateway.snatEntries.flatMap(({ addresses }) => addresses),
      ...gateway.dnatEntries.map(({ externalAddress }) => externalAddress),
    ];
    for (const address of used) if (!owned.has(address)) fail(`${gateway.id}: ${address} is not its EIP`);
    for (const { sourceCidr, addresses } of gateway.snatEntries) {
      parseIpv4Cidr(sourceCidr);
      if (addresses.length === 0) fail(`${gateway.id}: SNAT of ${sourceCidr} has no address`);
    }
  }
}
