import type { VSwitchId } from '../../../domain/ids.js';
import { normalizeCidr } from '../../../domain/network/cidr.js';
import {
  type HostSettings,
  routerMacAddress,
  routingTableNumber,
  uplinkInside,
  type VpcPlan,
  withPrefixLength,
} from './plan.js';

/** One line for a tool, in the host's namespace or in the VPC's. */
export interface ToolLine {
  readonly tool: 'ip' | 'tc' | 'sysctl';
  readonly where: 'host' | 'vpc';
  readonly line: string;
}

/** One thing that is set in the kernel: a device, an address, a route, a limit, a switch. */
export interface Fact {
  readonly key: string;
  readonly value: string;
  /** What it vanishes with: the key of a device or of a queueing discipline. */
  readonly parent?: string;
  readonly add: readonly ToolLine[];
  /** When it is there with another value. Absent: remove, then add. */
  readonly change?: readonly ToolLine[];
  readonly remove: readonly ToolLine[];
}

/** A fact without the way to make it, as read from the kernel or left from the last time. */
export type ObservedFact = Pick<Fact, 'value' | 'parent' | 'remove'>;

/** The lines that turn one state into another, in the order in which they must run. */
export function diffFacts(
  current: ReadonlyMap<string, ObservedFact>,
  wanted: ReadonlyMap<string, Fact>,
): { readonly lines: readonly ToolLine[]; readonly changedKeys: readonly string[] } {
  if (current === wanted) return { lines: [], changedKeys: [] };
  const removals: ToolLine[] = [];
  const additions: ToolLine[] = [];
  const changedKeys: string[] = [];
  const gone = new Set<string>();
  const isGone = (parent: string | undefined): boolean => parent !== undefined && gone.has(parent);
  // A parent stands before its children in both lists.
  for (const [key, { value, parent, remove }] of current) {
    const next = wanted.get(key);
    if (next !== undefined && (next.value === value || next.change !== undefined) && !isGone(parent))
      continue;
    gone.add(key);
    if (next === undefined) changedKeys.push(key);
    if (!isGone(parent)) removals.unshift(...remove);
  }
  for (const [key, { value, add, change }] of wanted) {
    const old = current.get(key);
    if (old !== undefined && old.value === value && !gone.has(key)) continue;
    changedKeys.push(key);
    additions.push(...(old === undefined || gone.has(key) ? add : (change ?? add)));
  }
  return { lines: [...removals, ...additions], changedKeys };
}

export const linkKey = (where: ToolLine['where'], device: string): string => `${where} link ${device}`;
export const qdiscKey = (where: ToolLine['where'], device: string): string => `${where} qdisc ${device}`;

/** Value of the fact of a device. */
export function linkValue(
  where: ToolLine['where'],
  state: {
    readonly up: boolean;
    readonly alias?: string;
    readonly master?: string;
    readonly address?: string;
  },
): string {
  const parts = [state.up ? 'up' : 'down'];
  if (where === 'host') parts.push(`alias ${state.alias ?? ''}`, `master ${state.master ?? ''}`);
  else parts.push(`address ${state.address ?? ''}`);
  return parts.join(' ');
}

export function addressFact(where: ToolLine['where'], device: string, address: string): Fact {
  return {
    key: `${where} address ${device} ${address}`,
    value: '',
    parent: linkKey(where, device),
    add: [{ tool: 'ip', where, line: `address add ${address} dev ${device}` }],
    remove: [{ tool: 'ip', where, line: `address del ${address} dev ${device}` }],
  };
}

export interface Route {
  readonly table: string;
  readonly destination: string;
  readonly metric: number;
  /** Absent: unreachable. */
  readonly device?: string;
  readonly gateway?: string;
}

export function routeFact(where: ToolLine['where'], route: Route): Fact {
  const { table, destination, metric, device, gateway } = route;
  const place = `${destination} metric ${metric} table ${table}`;
  const way = [gateway && `via ${gateway}`, device && `dev ${device}`].filter(Boolean).join(' ');
  const words =
    device === undefined ? `unreachable ${place}` : `${destination} ${way} metric ${metric} table ${table}`;
  return {
    key: `${where} route ${place}`,
    value: way === '' ? 'unreachable' : way,
    ...(device !== undefined && { parent: linkKey(where, device) }),
    add: [{ tool: 'ip', where, line: `route add ${words}` }],
    change: [{ tool: 'ip', where, line: `route replace ${words}` }],
    remove: [{ tool: 'ip', where, line: `route del ${device === undefined ? 'unreachable ' : ''}${place}` }],
  };
}

export interface RoutingRule {
  readonly priority: number;
  readonly source?: string;
  readonly inputDevice?: string;
  readonly table: string;
  readonly suppressDefault: boolean;
}

/** Priorities of the rules that this driver makes; others in a VPC's namespace are the kernel's own. */
export const routingRulePriorities = { withEip: 50, withEipDefault: 51, custom: 100 } as const;

export function routingRuleFact(rule: RoutingRule): Fact {
  const selector = [
    `priority ${rule.priority}`,
    `from ${rule.source ?? 'all'}`,
    rule.inputDevice && `iif ${rule.inputDevice}`,
  ];
  const action = [`lookup ${rule.table}`, rule.suppressDefault && 'suppress_prefixlength 0'];
  const words = (parts: readonly (string | false | undefined)[]): string => parts.filter(Boolean).join(' ');
  return {
    key: `vpc rule ${words(selector)}`,
    value: words(action),
    add: [{ tool: 'ip', where: 'vpc', line: `rule add ${words([...selector, ...action])}` }],
    remove: [{ tool: 'ip', where: 'vpc', line: `rule del ${words(selector)}` }],
  };
}

export function sysctlFact(key: string, value: string): Fact {
  const line: ToolLine = { tool: 'sysctl', where: 'vpc', line: `${key}=${value}` };
  return { key: `vpc sysctl ${key}`, value, add: [line], change: [line], remove: [] };
}

export function qdiscFact(where: ToolLine['where'], device: string): Fact {
  return {
    key: qdiscKey(where, device),
    value: 'htb 1:',
    parent: linkKey(where, device),
    // Packets of no class pass unlimited.
    add: [{ tool: 'tc', where, line: `qdisc replace dev ${device} root handle 1: htb default 0` }],
    remove: [{ tool: 'tc', where, line: `qdisc del dev ${device} root` }],
  };
}

export function trafficClassFact(
  where: ToolLine['where'],
  device: string,
  classId: string,
  kbits: number,
): Fact {
  // Four milliseconds at full rate, and never less than a packet of the largest kind that is not merged.
  const burstBytes = Math.max(16_000, Math.ceil((kbits * 1000 * 0.004) / 8));
  const limits = `rate ${kbits}kbit ceil ${kbits}kbit burst ${burstBytes} cburst ${burstBytes} quantum 60000`;
  const line: ToolLine = {
    tool: 'tc',
    where,
    line: `class replace dev ${device} parent 1: classid ${classId} htb ${limits}`,
  };
  return {
    key: `${where} class ${device} ${classId}`,
    value: `${kbits}`,
    parent: qdiscKey(where, device),
    add: [line],
    change: [line],
    remove: [{ tool: 'tc', where, line: `class del dev ${device} classid ${classId}` }],
  };
}

/** Everything of a VPC that is set with `ip`, `tc` and `sysctl`, in the order in which it must be made. */
export function renderFacts(plan: VpcPlan, settings: HostSettings): Map<string, Fact> {
  const facts = [
    ...namespaceFacts(settings),
    ...hostLinkFacts(plan, settings),
    ...vpcLinkFacts(plan, settings),
    ...vpcRouteFacts(plan, settings),
    ...deviceSwitchFacts(plan, settings),
    ...hostRouteFacts(plan),
    ...limitFacts(plan, settings),
  ];
  return new Map(facts.map((fact) => [fact.key, fact]));
}

/** Switches for the whole namespace, set before any device is in it. */
function namespaceFacts({ hasIpv6 }: HostSettings): Fact[] {
  const switches: (readonly [key: string, value: string])[] = [
    ['net.ipv4.ip_forward', '1'],
    ['net.ipv4.conf.all.send_redirects', '0'],
    ['net.ipv4.conf.default.send_redirects', '0'],
    // The stricter of `all` and the device counts. Towards vSwitches the bridge has checked the source.
    ['net.ipv4.conf.all.rp_filter', '0'],
    ['net.ipv4.conf.default.rp_filter', '0'],
    // Else the middle of a flow that was cut would be taken for the start of a new one.
    ['net.netfilter.nf_conntrack_tcp_loose', '0'],
  ];
  if (hasIpv6) {
    switches.push(['net.ipv6.conf.all.disable_ipv6', '1'], ['net.ipv6.conf.default.disable_ipv6', '1']);
  }
  return switches.map(([key, value]) => sysctlFact(key, value));
}

function hostLinkFacts({ network, namespace, uplink }: VpcPlan, { names, hasIpv6 }: HostSettings): Fact[] {
  const link = (device: string, create: string, master?: string): Fact => {
    const set = ['alias', network.id, ...(master === undefined ? [] : ['master', master]), 'up'].join(' ');
    const noIpv6 = hasIpv6 ? [`link set ${device} addrgenmode none`] : [];
    const lines = (texts: readonly string[]): ToolLine[] =>
      texts.map((line) => ({ tool: 'ip', where: 'host', line }));
    return {
      key: linkKey('host', device),
      value: linkValue('host', { up: true, alias: network.id, ...(master !== undefined && { master }) }),
      add: lines([`link add ${device} ${create}`, ...noIpv6, `link set ${device} ${set}`]),
      change: lines([`link set ${device} ${set}`]),
      remove: lines([`link del ${device}`]),
    };
  };
  return [
    link(uplink, `type veth peer name ${uplinkInside} netns ${namespace}`),
    ...network.vSwitches.flatMap(({ id }) => [
      link(names.bridge(id), 'type bridge stp_state 0 forward_delay 0 mcast_snooping 0'),
      link(
        names.routerPort(id),
        `type veth peer name ${names.routerInterface(id)} netns ${namespace}`,
        names.bridge(id),
      ),
    ]),
  ];
}

function vpcLinkFacts({ network, routerAddress }: VpcPlan, { names }: HostSettings): Fact[] {
  // Devices come and go with their peers in the host's namespace; here they are only set up.
  const link = (device: string, address?: string): Fact => {
    const set = address === undefined ? 'up' : `address ${address} up`;
    const lines: ToolLine[] = [{ tool: 'ip', where: 'vpc', line: `link set ${device} ${set}` }];
    return {
      key: linkKey('vpc', device),
      value: linkValue('vpc', { up: true, ...(address !== undefined && { address }) }),
      add: lines,
      change: lines,
      remove: [],
    };
  };
  return [
    link('lo'),
    link(uplinkInside),
    addressFact('vpc', uplinkInside, `${routerAddress}/30`),
    ...network.vSwitches.flatMap(({ id, cidr, gateway }) => {
      const device = names.routerInterface(id);
      return [
        link(device, routerMacAddress(id)),
        addressFact('vpc', device, withPrefixLength(gateway, cidr)),
      ];
    }),
  ];
}

const defaultDestination = '0.0.0.0/0';
/** Behind the connected route of a vSwitch that is as large as the VPC. */
const unreachableMetric = 4096;

function vpcRouteFacts(plan: VpcPlan, settings: HostSettings): Fact[] {
  const { network, hostAddress } = plan;
  const { names } = settings;
  const outside = { device: uplinkInside, gateway: hostAddress, metric: 0 };
  const unreachable = (table: string): Route[] =>
    network.cidrs.map((cidr) => ({ table, destination: normalizeCidr(cidr), metric: unreachableMetric }));
  const facts: Fact[] = [
    routeFact('vpc', { ...outside, table: 'main', destination: defaultDestination }),
    ...unreachable('main').map((route) => routeFact('vpc', route)),
  ];

  for (const { id, vSwitchIds, entries } of network.routeTables) {
    const custom = entries.filter(({ nextHop }) => nextHop.kind === 'networkInterface');
    if (custom.length === 0) continue;
    const table = `${routingTableNumber(id)}`;
    const routes = new Map<string, Route>([
      [defaultDestination, { ...outside, table, destination: defaultDestination }],
      [settings.fabricCidr, { ...outside, table, destination: normalizeCidr(settings.fabricCidr) }],
    ]);
    for (const vSwitch of network.vSwitches) {
      const destination = normalizeCidr(vSwitch.cidr);
      routes.set(destination, { table, destination, metric: 0, device: names.routerInterface(vSwitch.id) });
    }
    for (const { destinationCidr, nextHop } of custom) {
      const destination = normalizeCidr(destinationCidr);
      const port = network.ports.find(
        ({ networkInterfaceId }) =>
          nextHop.kind === 'networkInterface' && nextHop.networkInterfaceId === networkInterfaceId,
      );
      routes.set(destination, {
        table,
        destination,
        metric: 0,
        ...(port !== undefined && {
          device: names.routerInterface(port.vSwitchId),
          gateway: port.primaryAddress,
        }),
      });
    }
    facts.push(...[...routes.values(), ...unreachable(table)].map((route) => routeFact('vpc', route)));
    facts.push(
      ...vSwitchIds.flatMap((vSwitchId) =>
        ruleFacts(plan, names.routerInterface(vSwitchId), vSwitchId, table),
      ),
    );
  }
  return facts;
}

function ruleFacts({ network }: VpcPlan, inputDevice: string, vSwitchId: VSwitchId, table: string): Fact[] {
  // An interface's own EIP goes before a default route to another interface: replies to what came in by the
  // EIP must leave by it.
  const withEip = network.eips.flatMap(({ target }) => {
    if (target.kind !== 'networkInterface') return [];
    const port = network.ports.find(
      ({ networkInterfaceId }) => networkInterfaceId === target.networkInterfaceId,
    );
    return port?.vSwitchId === vSwitchId ? [target.privateAddress] : [];
  });
  const { withEip: first, withEipDefault: second, custom } = routingRulePriorities;
  return [
    ...withEip.flatMap((source) => [
      routingRuleFact({ priority: first, source, inputDevice, table, suppressDefault: true }),
      routingRuleFact({ priority: second, source, inputDevice, table: 'main', suppressDefault: false }),
    ]),
    routingRuleFact({ priority: custom, inputDevice, table, suppressDefault: false }),
  ];
}

function deviceSwitchFacts({ network }: VpcPlan, { names }: HostSettings): Fact[] {
  return [
    // Sources inside the VPC do not come from outside.
    sysctlFact(`net.ipv4.conf.${uplinkInside}.rp_filter`, '1'),
    ...network.vSwitches.flatMap(({ id }) => {
      const device = names.routerInterface(id);
      return [
        // The router answers for the neighbours: ports are isolated, so every packet passes here.
        sysctlFact(`net.ipv4.conf.${device}.proxy_arp_pvlan`, '1'),
        sysctlFact(`net.ipv4.conf.${device}.send_redirects`, '0'),
        sysctlFact(`net.ipv4.conf.${device}.rp_filter`, '0'),
        // Else the first answer takes up to 0.8 s.
        sysctlFact(`net.ipv4.neigh.${device}.proxy_delay`, '0'),
      ];
    }),
  ];
}

function hostRouteFacts({ network, uplink, hostAddress, routerAddress }: VpcPlan): Fact[] {
  const addresses = [
    ...network.ports.map((port) => port.fabricAddress),
    ...network.eips.map((eip) => eip.address),
  ];
  return [
    addressFact('host', uplink, `${hostAddress}/30`),
    ...addresses.map((address) =>
      routeFact('host', {
        table: 'main',
        destination: `${address}/32`,
        metric: 0,
        device: uplink,
        gateway: routerAddress,
      }),
    ),
  ];
}

/**
 * Limits sit on the router's side of every way, which stays when an instance restarts: towards instances on
 * the router's interface, from instances on its port at the bridge, for EIPs at both ends of the uplink.
 */
function limitFacts({ network, uplink, portClasses, eipClasses }: VpcPlan, { names }: HostSettings): Fact[] {
  const qdiscs = new Map<string, Fact>();
  // One tool in one namespace after the other: fewer processes.
  const classes: Record<ToolLine['where'], Fact[]> = { host: [], vpc: [] };
  const limit = (where: ToolLine['where'], device: string, classId: string, kbits: number): void => {
    qdiscs.set(qdiscKey(where, device), qdiscFact(where, device));
    classes[where].push(trafficClassFact(where, device, classId, kbits));
  };
  for (const port of network.ports) {
    const classId = portClasses.get(port.networkInterfaceId);
    if (classId === undefined) continue;
    const { egressKbits, ingressKbits } = port;
    if (egressKbits !== undefined) limit('host', names.routerPort(port.vSwitchId), classId, egressKbits);
    if (ingressKbits !== undefined)
      limit('vpc', names.routerInterface(port.vSwitchId), classId, ingressKbits);
  }
  for (const { address, bandwidthKbits } of network.eips) {
    const classId = eipClasses.get(address);
    if (classId === undefined || bandwidthKbits === undefined) continue;
    limit('host', uplink, classId, bandwidthKbits);
    limit('vpc', uplinkInside, classId, bandwidthKbits);
  }
  const hostFirst = [...qdiscs.values()].sort((one, other) => (one.key < other.key ? -1 : 1));
  return [...hostFirst, ...classes.host, ...classes.vpc];
}
