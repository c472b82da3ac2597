import type { NetworkInterfaceId } from '../../../domain/ids.js';
import { type Packet, passes } from '../../../domain/network/evaluation.js';
import { runInNamespace } from './commands.js';
import { addressesOf, type VpcPlan } from './plan.js';

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
 * Cuts the established flows that would not be let in if they began now: rules, members, EIPs or NAT entries
 * have changed. Everything else flows on. Answers with the number of flows cut.
 */
export async function cutForbiddenFlows(plan: VpcPlan, metadataServiceHost: string): Promise<number> {
  const interfaceOf = new Map<string, NetworkInterfaceId>(
    plan.network.ports.flatMap((port) =>
      addressesOf(port).map((address) => [address, port.networkInterfaceId]),
    ),
  );
  const publicAddresses = new Set(plan.network.eips.map(({ address }) => address));
  const vpcAddresses = new Set(plan.network.vSwitches.map(({ gateway }) => gateway));
  const isAllowed = (flow: Flow): boolean => {
    // Flows of the router itself: DHCP, DNS.
    if (vpcAddresses.has(flow.destination) || vpcAddresses.has(flow.replySource)) return true;
    if (flow.source === plan.routerAddress || flow.replySource === metadataServiceHost) return true;
    const from = interfaceOf.get(flow.source);
    const to = interfaceOf.get(flow.replySource);
    // In by an address, or out under one, that is no longer here.
    const isTranslatedIn = flow.destination !== flow.replySource;
    if (isTranslatedIn && !publicAddresses.has(flow.destination)) return false;
    const isTranslatedOut = flow.source !== flow.replyDestination;
    if (isTranslatedOut && !isOwnAddress(flow.replyDestination)) return false;
    // Forwarded by an interface of the VPC between two others: decided by hardware addresses, not known here.
    if (from === undefined && to === undefined) return true;
    return passes(plan.compiled, packetOf(flow, from, to));
  };
  const isOwnAddress = (address: string): boolean =>
    publicAddresses.has(address) || (plan.network.outboundNat && address === plan.routerAddress);

  const listing = await runInNamespace(plan.namespace, 'conntrack', ['-L', '-f', 'ipv4']);
  const forbidden = parseFlows(listing).filter((flow) => !isAllowed(flow));
  for (const flow of forbidden) await cut(plan.namespace, flow);
  return forbidden.length;
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
