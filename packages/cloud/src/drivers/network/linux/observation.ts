import { runInNamespace, runIproute } from './commands.js';
import {
  addressFact,
  type Fact,
  linkKey,
  linkValue,
  type ObservedFact,
  qdiscFact,
  routeFact,
  routingRuleFact,
  routingRulePriorities,
  sysctlFact,
  type ToolLine,
  trafficClassFact,
} from './facts.js';
import { uplinkInside, type VpcPlan } from './plan.js';

interface IpDevice {
  readonly ifname: string;
  readonly flags: readonly string[];
  readonly ifalias?: string;
  readonly master?: string;
  readonly address?: string;
  readonly addr_info?: readonly {
    readonly family: string;
    readonly local: string;
    readonly prefixlen: number;
  }[];
}

interface IpRoute {
  readonly type?: string;
  readonly dst: string;
  readonly gateway?: string;
  readonly dev?: string;
  readonly table?: string;
  readonly metric?: number;
  readonly protocol?: string;
}

interface IpRule {
  readonly priority: number;
  readonly src: string;
  readonly iif?: string;
  readonly table: string;
  readonly suppress_prefixlen?: number;
}

interface TcQdisc {
  readonly kind: string;
  readonly handle: string;
  readonly dev: string;
  readonly root?: boolean;
}

async function readJson<Row>(
  tool: 'ip' | 'tc',
  namespace: string | undefined,
  args: readonly string[],
): Promise<readonly Row[]> {
  const text = await runIproute(tool, namespace, args);
  return text.trim() === '' ? [] : (JSON.parse(text) as readonly Row[]);
}

/** A device of this cloud in the host's namespace. */
export interface HostDevice {
  readonly name: string;
  /** The VPC that it is marked with. */
  readonly owner?: string;
}

/** The devices in the host's namespace whose names begin with the prefix. */
export async function readHostDevices(prefix: string): Promise<readonly HostDevice[]> {
  const devices = await readJson<IpDevice>('ip', undefined, ['-d', '-j', 'address', 'show']);
  return devices
    .filter(({ ifname }) => ifname.startsWith(prefix))
    .map(({ ifname, ifalias }) => ({ name: ifname, ...(ifalias !== undefined && { owner: ifalias }) }));
}

interface BridgePort {
  readonly ifname: string;
  readonly isolated?: boolean;
}

/** Those of the bridge ports that are there and not isolated: frames could pass between them unseen. */
export async function readOpenPorts(hostDevices: ReadonlySet<string>): Promise<readonly string[]> {
  const text = await runIproute('bridge', undefined, ['-d', '-j', 'link', 'show']);
  const ports = text.trim() === '' ? [] : (JSON.parse(text) as readonly BridgePort[]);
  return ports
    .filter(({ ifname, isolated }) => hostDevices.has(ifname) && isolated !== true)
    .map(({ ifname }) => ifname);
}

/**
 * What of a VPC is really set in the kernel, as facts in the same words as the wanted ones. `wanted` tells
 * which switches to read, and which devices are the VPC's although they are not marked yet.
 */
export async function readFacts(
  plan: VpcPlan,
  wanted: ReadonlyMap<string, Fact>,
): Promise<Map<string, ObservedFact>> {
  const { namespace, uplink, network } = plan;
  const [hostDevices, vpcDevices, hostRoutes, vpcRoutes, rules, hostQdiscs, vpcQdiscs, switches] =
    await Promise.all([
      readJson<IpDevice>('ip', undefined, ['-d', '-j', 'address', 'show']),
      readJson<IpDevice>('ip', namespace, ['-d', '-j', 'address', 'show']),
      readJson<IpRoute>('ip', undefined, ['-4', '-j', 'route', 'show', 'table', 'main']),
      readJson<IpRoute>('ip', namespace, ['-4', '-j', 'route', 'show', 'table', 'all']),
      readJson<IpRule>('ip', namespace, ['-4', '-j', 'rule', 'show']),
      readJson<TcQdisc>('tc', undefined, ['-j', 'qdisc', 'show']),
      readJson<TcQdisc>('tc', namespace, ['-j', 'qdisc', 'show']),
      readSwitches(namespace, wanted),
    ]);
  const ownDevices = hostDevices.filter(
    ({ ifname, ifalias }) => ifalias === network.id || wanted.has(linkKey('host', ifname)),
  );
  const ownNames = new Set(ownDevices.map(({ ifname }) => ifname));
  const facts: (readonly [string, ObservedFact])[] = [
    ...switches,
    ...ownDevices.flatMap((device) => readLink('host', device)),
    ...vpcDevices.flatMap((device) => readLink('vpc', device)),
    ...readRoutes('vpc', vpcRoutes),
    ...readRules(rules),
    ...readRoutes(
      'host',
      hostRoutes.filter(({ dev }) => dev === uplink),
    ),
    ...(await readLimits(
      'host',
      undefined,
      hostQdiscs.filter(({ dev }) => ownNames.has(dev)),
    )),
    ...(await readLimits('vpc', namespace, vpcQdiscs)),
  ];
  return new Map(facts);
}

function observed(fact: Fact): readonly [string, ObservedFact] {
  return [fact.key, fact];
}

function readLink(where: ToolLine['where'], device: IpDevice): (readonly [string, ObservedFact])[] {
  const { ifname, flags, ifalias, master, address } = device;
  const state = {
    up: flags.includes('UP'),
    ...(ifalias !== undefined && { alias: ifalias }),
    ...(master !== undefined && { master }),
    // The hardware addresses of the loopback and the uplink are whatever they are.
    ...(address !== undefined && ifname !== 'lo' && ifname !== uplinkInside && { address }),
  };
  // The end of a pair in the VPC goes when the end on the host does.
  const remove: ToolLine[] = where === 'host' ? [{ tool: 'ip', where, line: `link del ${ifname}` }] : [];
  const addresses = ifname === 'lo' ? [] : (device.addr_info ?? []);
  return [
    [linkKey(where, ifname), { value: linkValue(where, state), remove }],
    ...addresses
      .filter(({ family }) => family === 'inet')
      .map(({ local, prefixlen }) => observed(addressFact(where, ifname, `${local}/${prefixlen}`))),
  ];
}

function readRoutes(
  where: ToolLine['where'],
  routes: readonly IpRoute[],
): (readonly [string, ObservedFact])[] {
  return routes
    .filter(({ protocol, table }) => protocol !== 'kernel' && table !== 'local')
    .map(({ type, dst, gateway, dev, table, metric }) =>
      observed(
        routeFact(where, {
          table: table ?? 'main',
          destination: dst === 'default' ? '0.0.0.0/0' : dst.includes('/') ? dst : `${dst}/32`,
          metric: metric ?? 0,
          ...(type !== 'unreachable' && dev !== undefined && { device: dev }),
          ...(type !== 'unreachable' && gateway !== undefined && { gateway }),
        }),
      ),
    );
}

function readRules(rules: readonly IpRule[]): (readonly [string, ObservedFact])[] {
  const own = new Set<number>(Object.values(routingRulePriorities));
  return rules
    .filter(({ priority }) => own.has(priority))
    .map(({ priority, src, iif, table, suppress_prefixlen }) =>
      observed(
        routingRuleFact({
          priority,
          ...(src !== 'all' && { source: src }),
          ...(iif !== undefined && { inputDevice: iif }),
          table,
          suppressDefault: suppress_prefixlen === 0,
        }),
      ),
    );
}

async function readLimits(
  where: ToolLine['where'],
  namespace: string | undefined,
  qdiscs: readonly TcQdisc[],
): Promise<(readonly [string, ObservedFact])[]> {
  const devices = qdiscs
    .filter(({ kind, handle, root }) => root === true && kind === 'htb' && handle === '1:')
    .map(({ dev }) => dev);
  const classes = await Promise.all(
    devices.map(async (device) => {
      // iproute2 6.1 answers plain text here, also with -j.
      const text = await runIproute('tc', namespace, ['class', 'show', 'dev', device]);
      return [...text.matchAll(/^class htb (1:[0-9a-f]+) .*?rate (\d+)([KMGT]?)bit/gm)].map(
        ([, classId = '', amount = '', unit = '']) =>
          observed(trafficClassFact(where, device, classId, toKbits(Number(amount), unit))),
      );
    }),
  );
  return [...devices.map((device) => observed(qdiscFact(where, device))), ...classes.flat()];
}

function toKbits(amount: number, unit: string): number {
  return amount * ({ K: 1, M: 1e3, G: 1e6, T: 1e9 }[unit] ?? 1e-3);
}

async function readSwitches(
  namespace: string,
  wanted: ReadonlyMap<string, Fact>,
): Promise<(readonly [string, ObservedFact])[]> {
  const prefix = 'vpc sysctl ';
  const keys = [...wanted.keys()]
    .filter((key) => key.startsWith(prefix))
    .map((key) => key.slice(prefix.length));
  // -e: devices that do not exist yet have no switches.
  const text = await runInNamespace(namespace, 'sysctl', ['-e', ...keys]);
  return [...text.matchAll(/^(\S+) = (.*)$/gm)].map(([, key = '', value = '']) =>
    observed(sysctlFact(key, value)),
  );
}
