import type { NetworkInterfaceId } from '../../../domain/ids.js';
import { parseIpv4, parseIpv4Cidr, rangeContains } from '../../../domain/network/cidr.js';
import { addressesOf, type CompiledSecurity } from '../../../domain/network/compiler.js';
import { type Packet, passes } from '../../../domain/network/evaluation.js';
import type { VpcNetwork } from '../driver.js';
import { runInNamespace } from './commands.js';
import type { VpcPlan } from './plan.js';

/** A flow that the kernel remembers: its first packet, and what an answer looks like. */
interface Flow {
  readonly protocol: string;
  readonly source: string;
  readonly destination: string;
  readonly sourcePort?: number;
  readonly destinationPort?: number;
  readonly replySource: string;
  readonly replyDestination: string;
  readonly replySourcePort?: number;
}

/**
 * Whether the change of the VPC's table can take a right away from a flow. New elements only ever open
 * ways, except where a rule drops what is in a set.
 */
export function mayForbidFlows(commands: readonly string[], compiled: CompiledSecurity): boolean {
  const filled = new Set<string>();
  for (const command of commands) {
    const [verb, object, , , name = ''] = command.split(' ', 5);
    if (verb === 'delete' || verb === 'flush') return true;
    if (object === 'element') filled.add(name);
  }
  return [...compiled.chains.values()].some(({ matches }) =>
    matches.some(({ verdict, peer }) => verdict === 'drop' && peer && 'set' in peer && filled.has(peer.set)),
  );
}

/**
 * Cuts the established flows that would not be let in if they began now: rules, members, EIPs or NAT entries
 * have changed. Everything else flows on. Answers with the number of flows cut.
 */
export async function cutForbiddenFlows(plan: VpcPlan, metadataServiceAddress: string): Promise<number> {
  const { network } = plan;
  const interfaceOf = new Map<string, NetworkInterfaceId>(
    network.ports.flatMap((port) => addressesOf(port).map((address) => [address, port.networkInterfaceId])),
  );
  const routers = new Set([...network.vSwitches.map(({ gateway }) => gateway), plan.routerAddress]);
  const ranges = network.cidrs.map(parseIpv4Cidr);
  const isInside = (address: string): boolean =>
    ranges.some((range) => rangeContains(range, parseIpv4(address)));
  const isAllowed = (flow: Flow): boolean => {
    const { source, replySource } = flow;
    if (routers.has(source) || routers.has(replySource) || replySource === metadataServiceAddress)
      return true;
    const from = interfaceOf.get(source);
    const to = interfaceOf.get(replySource);
    if ((from === undefined && isInside(source)) || (to === undefined && isInside(replySource))) return false;
    if (flow.destination !== replySource && !isForwardedIn(network, flow)) return false;
    if (source !== flow.replyDestination && !isForwardedOut(plan, flow)) return false;
    return passes(plan.compiled, packetOf(flow, from, to));
  };
  const listing = await runInNamespace(plan.namespace, 'conntrack', ['-L', '-f', 'ipv4']);
  const forbidden = parseFlows(listing).filter((flow) => !isAllowed(flow));
  for (const flow of forbidden) await cut(plan.namespace, flow);
  return forbidden.length;
}

/** Whether what came in by a public address still belongs to the private one. */
function isForwardedIn(network: VpcNetwork, flow: Flow): boolean {
  const byEip = network.eips.some(
    ({ address, target }) =>
      address === flow.destination &&
      target.kind === 'networkInterface' &&
      target.privateAddress === flow.replySource,
  );
  return (
    byEip ||
    network.natGateways.some(({ dnatEntries }) =>
      dnatEntries.some((entry) => {
        if (entry.externalAddress !== flow.destination || entry.internalAddress !== flow.replySource)
          return false;
        if (entry.protocol === 'all') return true;
        const { first, last } = entry.externalPorts;
        const port = flow.destinationPort ?? -1;
        return entry.protocol === flow.protocol && port >= first && port <= last;
      }),
    )
  );
}

/** Whether what goes out under another address may still do so. */
function isForwardedOut({ network, routerAddress }: VpcPlan, flow: Flow): boolean {
  if (flow.replyDestination === routerAddress) return network.outboundNat;
  return network.eips.some(
    ({ address, target }) =>
      address === flow.replyDestination &&
      (target.kind === 'networkInterface'
        ? target.privateAddress === flow.source
        : network.natGateways.some(
            ({ id, snatEntries, dnatEntries }) =>
              id === target.natGatewayId &&
              (snatEntries.some((entry) => entry.addresses.includes(address)) ||
                dnatEntries.some((entry) => entry.internalAddress === flow.source)),
          )),
  );
}

function packetOf(flow: Flow, from?: NetworkInterfaceId, to?: NetworkInterfaceId): Packet {
  return {
    source: flow.source,
    destination: flow.replySource,
    protocol: flow.protocol,
    ...(flow.sourcePort !== undefined && { sourcePort: flow.sourcePort }),
    ...(flow.replySourcePort !== undefined && { destinationPort: flow.replySourcePort }),
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
  };
}

/** The lines of `conntrack -L`: each has the words of the first packet and then those of the answer. */
export function parseFlows(listing: string): Flow[] {
  return listing.split('\n').flatMap((line): Flow[] => {
    const protocol = line.split(/\s/, 1)[0];
    const words = [...line.matchAll(/\b(src|dst|sport|dport)=(\S+)/g)];
    const values = (name: string): string[] =>
      words.filter(([, word]) => word === name).map(([, , value = '']) => value);
    const [source, replySource] = values('src');
    const [destination, replyDestination] = values('dst');
    if (protocol === undefined || source === undefined || replySource === undefined) return [];
    if (destination === undefined || replyDestination === undefined) return [];
    const [sourcePort, replySourcePort] = values('sport').map(Number);
    const [destinationPort] = values('dport').map(Number);
    return [
      {
        protocol,
        source,
        destination,
        replySource,
        replyDestination,
        ...(sourcePort !== undefined && { sourcePort }),
        ...(destinationPort !== undefined && { destinationPort }),
        ...(replySourcePort !== undefined && { replySourcePort }),
      },
    ];
  });
}

async function cut(namespace: string, flow: Flow): Promise<void> {
  const ports =
    flow.sourcePort === undefined || flow.destinationPort === undefined
      ? []
      : ['--sport', `${flow.sourcePort}`, '--dport', `${flow.destinationPort}`];
  const args = ['-D', '-f', 'ipv4', '-p', flow.protocol, '-s', flow.source, '-d', flow.destination, ...ports];
  // It ends with 1 when the flow has ended by itself in the meantime.
  await runInNamespace(namespace, 'conntrack', args).catch(() => {});
}
