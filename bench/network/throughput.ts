import type { VpcNetwork, VpcPort } from '@openegs/cloud/drivers/network/driver';
import { runInNamespace } from '@openegs/cloud/drivers/network/linux/commands';
import { LinuxNetworkDriver } from '@openegs/cloud/drivers/network/linux/driver';
import { Guests } from './guests.js';
import { securityGroup, vpc } from './largeVpc.js';

export interface ThroughputSamples {
  readonly tcpGbits: number[];
  /** Packets of 64 bytes of payload that arrived, in thousands a second. */
  readonly udpKpps: number[];
}

export interface Throughput {
  /** Two namespaces on a bridge and nothing else. */
  readonly plain: ThroughputSamples;
  /** Two instances in one subnet, in groups with 20 rules. */
  readonly vpc: ThroughputSamples;
  /** The same with 1,000 interfaces in 50 groups beside them. */
  readonly vpcOf50Groups: ThroughputSamples;
  /** What an instance with a limit sends and receives, in Mbit/s, headers included. */
  readonly limitedSendMbits: number[];
  readonly limitedReceiveMbits: number[];
}

export const limitMbits = 200;
/** Limits count whole Ethernet frames, of which this share is what TCP carries. */
const payloadShare = 1448 / 1514;
const iperfPort = 5201;

/** What the two guests have: their namespaces, and where the second one listens. */
interface Pair {
  readonly client: string;
  readonly server: string;
  readonly serverAddress: string;
}

/** Packets between two guests, in a VPC and on a plain bridge by turns. */
export async function measureThroughput(options: {
  readonly tag: string;
  readonly rounds: number;
  readonly secondsPerRun: number;
}): Promise<Throughput> {
  const { tag, rounds, secondsPerRun } = options;
  const driver = await LinuxNetworkDriver.open({
    tag,
    transitCidr: '100.98.0.0/16',
    fabricCidr: '100.97.0.0/16',
    metadataPort: 18_776,
  });
  const result: Throughput = {
    plain: { tcpGbits: [], udpKpps: [] },
    vpc: { tcpGbits: [], udpKpps: [] },
    vpcOf50Groups: { tcpGbits: [], udpKpps: [] },
    limitedSendMbits: [],
    limitedReceiveMbits: [],
  };
  const guests = new Guests(driver.names);
  try {
    const add = (name: string): Promise<string> => guests.add(name);
    const plain: Pair = {
      client: await add('plain-a'),
      server: await add('plain-b'),
      serverAddress: '10.21.0.2',
    };
    await guests.joinPlainly([
      { namespace: plain.client, address: '10.21.0.1' },
      { namespace: plain.server, address: plain.serverAddress },
    ]);
    // Without limits: they belong to instance types, not to the network.
    const few = openVpc(1, 2);
    const many = openVpc(50, 1000);
    await driver.applyVpc(few);
    const [vSwitch] = few.vSwitches;
    const [first, second] = few.ports;
    if (vSwitch === undefined || first === undefined || second === undefined) throw new Error('no ports');
    const inVpc: Pair = {
      client: await add('vpc-a'),
      server: await add('vpc-b'),
      serverAddress: second.primaryAddress,
    };
    await guests.plug(inVpc.client, { ...first, address: first.primaryAddress, vSwitch });
    await guests.plug(inVpc.server, { ...second, address: second.primaryAddress, vSwitch });
    for (const { server } of [plain, inVpc]) {
      await guests.start(server, 'iperf3', ['-s', '--forceflush', '-p', `${iperfPort}`]);
    }
    for (let round = 0; round < rounds; round += 1) {
      await measure(plain, secondsPerRun, result.plain);
      await driver.applyVpc(few);
      await measure(inVpc, secondsPerRun, result.vpc);
      await driver.applyVpc(many);
      await measure(inVpc, secondsPerRun, result.vpcOf50Groups);
    }
    const limited = { ...few, ports: limitFirst(few.ports) };
    await driver.applyVpc(limited);
    for (let round = 0; round < rounds; round += 1) {
      result.limitedSendMbits.push(((await tcpGbits(inVpc, secondsPerRun)) * 1000) / payloadShare);
      result.limitedReceiveMbits.push(((await tcpGbits(inVpc, secondsPerRun, ['-R'])) * 1000) / payloadShare);
    }
  } finally {
    await guests.remove();
    await driver.removeAll();
  }
  return result;
}

/** A VPC whose first two ports reach each other by the last of their group's rules alone. */
function openVpc(groups: number, ports: number): VpcNetwork {
  const all = Array.from({ length: groups }, (_, number) => {
    const group = securityGroup(number, 18);
    const open = (protocol: 'tcp' | 'udp', index: number): (typeof group.rules)[number] => ({
      ...(group.rules[0] as (typeof group.rules)[number]),
      id: `${group.id}-${index}` as (typeof group.rules)[number]['id'],
      priority: 100,
      protocol,
      portRange: { first: iperfPort, last: iperfPort },
      peer: { kind: 'cidr', cidr: '10.20.0.0/16' },
    });
    return {
      ...group,
      innerAccessPolicy: 'drop' as const,
      rules: [...group.rules, open('tcp', 1), open('udp', 2)],
    };
  });
  return vpc(all, ports);
}

function limitFirst(ports: readonly VpcPort[]): VpcPort[] {
  const kbits = limitMbits * 1000;
  return ports.map((one, index) => (index === 0 ? { ...one, ingressKbits: kbits, egressKbits: kbits } : one));
}

async function measure(pair: Pair, seconds: number, samples: ThroughputSamples): Promise<void> {
  samples.tcpGbits.push(await tcpGbits(pair, seconds));
  samples.udpKpps.push(await udpKpps(pair, seconds));
}

async function iperf(pair: Pair, seconds: number, args: readonly string[]): Promise<IperfEnd> {
  const text = await runInNamespace(pair.client, 'iperf3', [
    ...['-c', pair.serverAddress, '-p', `${iperfPort}`, '-t', `${seconds}`, '-J', ...args],
  ]);
  const { end, error } = JSON.parse(text) as { readonly end: IperfEnd; readonly error?: string };
  if (error !== undefined) throw new Error(`iperf3: ${error}`);
  return end;
}

interface IperfEnd {
  readonly sum_received?: { readonly bits_per_second: number };
  readonly sum?: { readonly seconds: number; readonly packets: number; readonly lost_packets: number };
}

async function tcpGbits(pair: Pair, seconds: number, args: readonly string[] = []): Promise<number> {
  const { sum_received } = await iperf(pair, seconds, args);
  return (sum_received?.bits_per_second ?? 0) / 1e9;
}

async function udpKpps(pair: Pair, seconds: number): Promise<number> {
  const { sum } = await iperf(pair, seconds, ['-u', '-b', '0', '-l', '64']);
  return sum === undefined ? 0 : (sum.packets - sum.lost_packets) / sum.seconds / 1000;
}
