import { existsSync } from 'node:fs';
import { readdir, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { parseId, type VpcId } from '../../../domain/ids.js';
import { SecurityCompiler } from '../../../domain/network/compiler.js';
import { NetworkNames } from '../../../domain/network/names.js';
import type { NetworkDriver, VpcNetwork } from '../driver.js';
import { checkVpcNetwork } from '../validation.js';
import { namespacePath, runBatch, runNft, runProgram } from './commands.js';
import { diffFacts, type Fact, type ObservedFact, renderFacts, type ToolLine } from './facts.js';
import { cutForbiddenFlows, mayForbidFlows } from './flows.js';
import { groupByOwner, type HostElements, renderHostElements, renderHostTables } from './hostTables.js';
import { NameServer, type NameServerFiles, renderNameServerFiles } from './nameServer.js';
import { diffElements, diffTable, type NftTable } from './nftables.js';
import { readTable } from './nftListing.js';
import { readFacts, readHostDevices, readOpenPorts } from './observation.js';
import { type HostSettings, metadataAddress, planVpc, type VpcPlan } from './plan.js';
import { SecurityRenderer } from './security.js';
import { renderRouterTable, vpcTable } from './vpcTable.js';

export interface LinuxNetworkOptions {
  /** Tells this cloud from others on the machine, see `cloudTag`. */
  readonly tag: string;
  /** Where DHCP and DNS servers have their files; should not outlive a reboot. Default: `/run/openegs/<tag>`. */
  readonly stateDirectory?: string;
  /**
   * Addresses of the links between the host and its VPCs, four for each. Default: 100.64.0.0/16. Two clouds
   * on one machine need different ones, as for `fabricCidr`.
   */
  readonly transitCidr?: string;
  /**
   * Where the fabric addresses of the network interfaces are from. The first four are the service's own.
   * Default: 100.65.0.0/16.
   */
  readonly fabricCidr?: string;
  /** Port of the metadata service on the host. Default: 8775. */
  readonly metadataPort?: number;
  /** Where the VPCs' DNS servers ask for what they do not know. Default: nowhere. */
  readonly dnsServers?: readonly string[];
  /**
   * EIP ranges that the world outside does not know: what leaves the machine from there goes under the
   * machine's own address. Default: none.
   */
  readonly masqueradeCidrs?: readonly string[];
  /** Destinations that instances never reach through the host (except EIPs). Default: all private ranges. */
  readonly blockedCidrs?: readonly string[];
}

const privateCidrs = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', '169.254.0.0/16'];

/** What `statfs` says about the file of a network namespace that is alive. */
const namespaceFileSystemMagic = 0x6e736673;

/** All that is set for a VPC, as it is or as it shall be. */
interface VpcState {
  readonly table: NftTable | undefined;
  readonly facts: ReadonlyMap<string, ObservedFact>;
  readonly elements: HostElements;
  readonly files: NameServerFiles | undefined;
}

interface WantedVpcState extends VpcState {
  readonly network: VpcNetwork;
  readonly table: NftTable;
  /** The table without what security groups add to it. */
  readonly routerTable: NftTable;
  readonly facts: ReadonlyMap<string, Fact>;
  readonly files: NameServerFiles;
}

const nothing: VpcState = { table: undefined, facts: new Map(), elements: new Map(), files: undefined };

/**
 * VPCs by what Linux has: a network namespace as router for each, a plain bridge for each vSwitch, nftables
 * for security groups, address translation and spoofing, HTB for limits, dnsmasq for addresses and names.
 * Needs root, nftables ≥ 1.0, iproute2, dnsmasq, conntrack and util-linux.
 */
export class LinuxNetworkDriver implements NetworkDriver {
  readonly names: NetworkNames;
  readonly metadataEndpoint: { readonly address: string; readonly port: number };
  private readonly applied = new Map<VpcId, WantedVpcState>();
  private readonly compilers = new Map<VpcId, SecurityCompiler>();
  private readonly security = new SecurityRenderer();
  private readonly queues = new Map<VpcId, Promise<unknown>>();

  private constructor(
    private readonly settings: HostSettings,
    private readonly stateDirectory: string,
  ) {
    this.names = settings.names;
    this.metadataEndpoint = { address: metadataAddress(settings), port: settings.metadataPort };
  }

  /** Sets up what all VPCs of the host share, or finds it as it is. */
  static async open(options: LinuxNetworkOptions): Promise<LinuxNetworkDriver> {
    const transitCidr = options.transitCidr ?? '100.64.0.0/16';
    const settings: HostSettings = {
      names: new NetworkNames(options.tag),
      transitCidr,
      fabricCidr: options.fabricCidr ?? '100.65.0.0/16',
      metadataPort: options.metadataPort ?? 8775,
      dnsServers: options.dnsServers ?? [],
      masqueradeCidrs: [transitCidr, ...(options.masqueradeCidrs ?? [])],
      blockedCidrs: options.blockedCidrs ?? privateCidrs,
      hasIpv6: existsSync('/proc/sys/net/ipv6'),
    };
    const driver = new LinuxNetworkDriver(settings, options.stateDirectory ?? `/run/openegs/${options.tag}`);
    await driver.prepareHost();
    return driver;
  }

  applyVpc(network: VpcNetwork): Promise<void> {
    return this.inTurn(network.id, async () => {
      await this.apply(network, this.applied.get(network.id));
    });
  }

  resyncVpc(network: VpcNetwork): Promise<readonly string[]> {
    return this.inTurn(network.id, async () => {
      const mended = [...(await this.prepareHost()), ...(await this.apply(network, undefined))];
      const ports = network.ports.map((port) => this.names.hostDevice(port.networkInterfaceId));
      for (const device of await readOpenPorts(new Set(ports))) {
        await runProgram('bridge', ['link', 'set', 'dev', device, 'isolated', 'on']);
        mended.push(`isolated ${device}`);
      }
      return mended;
    });
  }

  removeVpc(id: VpcId): Promise<void> {
    return this.inTurn(id, async () => {
      this.applied.delete(id);
      this.compilers.delete(id);
      await this.nameServer(id).remove();
      await runNft(
        undefined,
        this.diffHostElements((await this.readHostElements()).get(id) ?? new Map(), new Map()),
      );
      const devices = await readHostDevices(this.names.tag);
      const own = devices.filter(({ name, owner }) => owner === id || name === this.names.uplink(id));
      // One half of a pair takes the other with it; none is the other half of another one here.
      await runBatch(
        'ip',
        undefined,
        own.map(({ name }) => `link del ${name}`),
      );
      const namespace = this.names.namespace(id);
      if (existsSync(namespacePath(namespace))) await runProgram('ip', ['netns', 'del', namespace]);
    });
  }

  async listVpcs(): Promise<readonly VpcId[]> {
    const [namespaces, directories, devices, elements] = await Promise.all([
      readNames('/run/netns'),
      readNames(this.stateDirectory),
      readHostDevices(this.names.tag),
      this.readHostElements(),
    ]);
    const prefix = this.names.namespacePrefix;
    const ids = [
      ...namespaces.filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length)),
      ...directories,
      ...devices.flatMap(({ owner }) => owner ?? []),
      ...elements.keys(),
    ];
    return [...new Set(ids)].filter((id) => id !== '').map((id) => parseId('vpc', id));
  }

  async removeAll(): Promise<void> {
    for (const id of await this.listVpcs()) await this.removeVpc(id);
    // The kernel gives the host the interfaces of a container that was killed together with its engine.
    for (const { name } of await readHostDevices(this.names.tag)) {
      await runProgram('ip', ['link', 'del', name]).catch(() => {});
    }
    const { ports, guard } = renderHostTables(this.settings);
    for (const { family, name } of [ports, guard]) {
      // Added first, so that the removal succeeds in any case.
      await runNft(undefined, [`add table ${family} ${name}`, `delete table ${family} ${name}`]);
    }
    await runProgram('ip', ['address', 'del', `${this.metadataEndpoint.address}/32`, 'dev', 'lo']).catch(
      () => {},
    );
    await rm(this.stateDirectory, { recursive: true, force: true });
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.queues.values());
  }

  private async apply(network: VpcNetwork, known: WantedVpcState | undefined): Promise<readonly string[]> {
    checkVpcNetwork(network);
    const plan = planVpc(network, this.settings, this.compilerOf(network.id));
    const nameServer = this.nameServer(network.id);
    const wanted = this.render(plan, known);
    // Whatever fails half way is compared with the kernel the next time.
    this.applied.delete(network.id);
    const isNew = known === undefined && (await this.makeNamespace(plan.namespace));
    const current = known ?? (await this.observe(plan, wanted, isNew));

    const commands = diffTable(current.table, wanted.table);
    const hostCommands = this.diffHostElements(current.elements, wanted.elements);
    const { lines, changedKeys } = diffFacts(current.facts, wanted.facts);
    // The filter of a new router is there before the first device is.
    if (isNew) await runNft(plan.namespace, commands);
    const [files] = await Promise.all([
      nameServer.apply(current.files, wanted.files),
      isNew ? undefined : runNft(plan.namespace, commands),
      runNft(undefined, hostCommands),
      this.runLines(plan.namespace, lines),
    ]);
    if (!isNew && mayForbidFlows(commands, plan.compiled)) {
      await cutForbiddenFlows(plan, this.metadataEndpoint.address);
    }
    this.applied.set(network.id, wanted);
    return isNew ? [`made ${network.id}`] : [...commands, ...hostCommands, ...changedKeys, ...files];
  }

  /** While nothing but security groups changes, only what is theirs is rendered. */
  private render(plan: VpcPlan, known: WantedVpcState | undefined): WantedVpcState {
    const { network, compiled } = plan;
    const { settings, security } = this;
    const rest =
      known !== undefined && differsInSecurityOnly(known.network, network)
        ? known
        : {
            routerTable: renderRouterTable(plan, settings),
            facts: renderFacts(plan, settings),
            elements: renderHostElements(plan, settings),
            files: renderNameServerFiles(plan, settings, this.nameServer(network.id).directory),
          };
    const { routerTable } = rest;
    const table: NftTable = {
      ...routerTable,
      chains: new Map([...routerTable.chains, ...security.renderChains(compiled)]),
      sets: new Map([...routerTable.sets, ...security.renderSets(compiled)]),
    };
    return { ...rest, network, table };
  }

  private async observe(plan: VpcPlan, wanted: WantedVpcState, isNew: boolean): Promise<VpcState> {
    const [table, facts, elements, files] = await Promise.all([
      isNew ? undefined : readTable(plan.namespace, vpcTable.family, vpcTable.name),
      readFacts(plan, wanted.facts),
      this.readHostElements().then((owners) => owners.get(plan.network.id)),
      this.nameServer(plan.network.id).read(),
    ]);
    return { ...nothing, table, facts, files, ...(elements !== undefined && { elements }) };
  }

  /** Answers whether it had to make it. */
  private async makeNamespace(namespace: string): Promise<boolean> {
    const path = namespacePath(namespace);
    if (existsSync(path)) {
      if ((await statfs(path)).type === namespaceFileSystemMagic) return false;
      await rm(path);
    }
    await runProgram('ip', ['netns', 'add', namespace]);
    return true;
  }

  private async runLines(namespace: string, lines: readonly ToolLine[]): Promise<void> {
    let group: ToolLine[] = [];
    const flush = async (): Promise<void> => {
      const [first] = group;
      if (first === undefined) return;
      const target = first.where === 'vpc' ? namespace : undefined;
      await runBatch(
        first.tool,
        target,
        group.map(({ line }) => line),
      );
      group = [];
    };
    for (const line of lines) {
      if (group[0] !== undefined && (group[0].tool !== line.tool || group[0].where !== line.where))
        await flush();
      group.push(line);
    }
    await flush();
  }

  private diffHostElements(current: HostElements, wanted: HostElements): string[] {
    return Object.values(renderHostTables(this.settings)).flatMap((table: NftTable) =>
      [...table.sets].flatMap(([name, set]) =>
        diffElements(
          `${table.family} ${table.name}`,
          name,
          set,
          current.get(name) ?? new Map(),
          wanted.get(name) ?? new Map(),
        ),
      ),
    );
  }

  private async readHostElements(): Promise<Map<string, HostElements>> {
    const owners = new Map<string, HostElements>();
    for (const { family, name } of Object.values(renderHostTables(this.settings))) {
      for (const [owner, sets] of groupByOwner(await readTable(undefined, family, name))) {
        owners.set(owner, new Map([...(owners.get(owner) ?? []), ...sets]));
      }
    }
    return owners;
  }

  /** What all VPCs share. Keeps the elements that are in its sets. Answers with what it changed. */
  private async prepareHost(): Promise<readonly string[]> {
    const commands: string[] = [];
    for (const wanted of Object.values(renderHostTables(this.settings)) as NftTable[]) {
      const current = await readTable(undefined, wanted.family, wanted.name);
      const sets = new Map(
        [...wanted.sets].map(([name, set]) => [
          name,
          { ...set, elements: current?.sets.get(name)?.elements ?? new Map() },
        ]),
      );
      commands.push(...diffTable(current, { ...wanted, sets }));
    }
    await runNft(undefined, commands);
    // Elements may have gone with what was made anew: every VPC is compared the next time.
    if (commands.length > 0) this.applied.clear();
    const switches = ['net.ipv4.ip_forward=1'];
    // Else equal addresses of two VPCs would meet in the host's connection tracking.
    if (existsSync('/proc/sys/net/bridge')) switches.push('net.bridge.bridge-nf-call-iptables=0');
    await runBatch('sysctl', undefined, switches);
    await runProgram('ip', ['address', 'replace', `${this.metadataEndpoint.address}/32`, 'dev', 'lo']);
    return commands;
  }

  private compilerOf(id: VpcId): SecurityCompiler {
    const compiler = this.compilers.get(id) ?? new SecurityCompiler();
    this.compilers.set(id, compiler);
    return compiler;
  }

  private nameServer(id: VpcId): NameServer {
    return new NameServer(this.names.namespace(id), join(this.stateDirectory, id));
  }

  /** Calls for one VPC run one after the other, in the order in which they came. */
  private inTurn<Result>(id: VpcId, task: () => Promise<Result>): Promise<Result> {
    const previous = this.queues.get(id) ?? Promise.resolve();
    const result = previous.then(task, task);
    const settled = result
      .catch(() => {})
      .finally(() => {
        if (this.queues.get(id) === settled) this.queues.delete(id);
      });
    this.queues.set(id, settled);
    return result;
  }
}

function differsInSecurityOnly(one: VpcNetwork, other: VpcNetwork): boolean {
  return (Object.keys(one) as (keyof VpcNetwork)[]).every(
    (key) => key === 'security' || one[key] === other[key],
  );
}

async function readNames(directory: string): Promise<readonly string[]> {
  try {
    return await readdir(directory);
  } catch {
    return [];
  }
}
