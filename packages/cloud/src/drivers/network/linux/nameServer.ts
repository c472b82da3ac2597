import { mkdir, readdir, readFile, rm, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { formatIpv4, parseIpv4Cidr } from '../../../domain/network/cidr.js';
import { NetworkError } from '../driver.js';
import { runInNamespace } from './commands.js';
import type { HostSettings, VpcPlan } from './plan.js';

/** What the DHCP and DNS server of a VPC shall read: files by their path under its directory. */
export interface NameServerFiles {
  /** Read at the start only: another content needs a restart. */
  readonly configuration: string;
  /** What is added to them is read at once (inotify). What is taken away counts after a restart. */
  readonly hosts: ReadonlyMap<string, string>;
}

const leaseTime = '1h';
const stopTimeoutMs = 3000;
const filesAtOnce = 64;

/** Directories, below that of the VPC, that dnsmasq watches. */
const watchedDirectories = ['dhcp', 'names'] as const;

export function renderNameServerFiles(
  plan: VpcPlan,
  settings: HostSettings,
  directory: string,
): NameServerFiles {
  const { network } = plan;
  const ranges = network.vSwitches.map(({ cidr }) => {
    const { first, last } = parseIpv4Cidr(cidr);
    return `dhcp-range=${formatIpv4(first)},static,${formatIpv4((first ^ last ^ 0xffffffff) >>> 0)},${leaseTime}`;
  });
  const configuration = [
    // The name is from the host's own passwd; the programme has bound its ports and opened its leases before.
    'user=nobody',
    'bind-dynamic',
    'except-interface=lo',
    'interface=s*',
    'dhcp-authoritative',
    'dhcp-lease-max=65536',
    'quiet-dhcp',
    ...ranges.sort(),
    `dhcp-hostsdir=${join(directory, 'dhcp')}`,
    `hostsdir=${join(directory, 'names')}`,
    `dhcp-leasefile=${join(directory, 'leases')}`,
    `pid-file=${join(directory, 'pid')}`,
    'no-hosts',
    'no-resolv',
    'bogus-priv',
    ...settings.dnsServers.map((server) => `server=${server}`),
    '',
  ].join('\n');

  const hosts = new Map<string, string>();
  for (const port of network.ports) {
    const { networkInterfaceId, macAddress, primaryAddress, hostName } = port;
    const fields = [macAddress, primaryAddress, ...(hostName === undefined ? [] : [hostName])];
    hosts.set(`dhcp/${networkInterfaceId}`, `${fields.join(',')}\n`);
    if (hostName !== undefined) hosts.set(`names/${networkInterfaceId}`, `${primaryAddress} ${hostName}\n`);
  }
  const names = network.dnsNames.map(({ name, address }) => `${address} ${name}\n`).sort();
  if (names.length > 0) hosts.set('names/other', names.join(''));
  return { configuration, hosts };
}

/**
 * The dnsmasq of one VPC. It runs on its own, in the VPC's namespace, and lives on when this process ends.
 */
export class NameServer {
  private readonly configurationPath: string;

  constructor(
    private readonly namespace: string,
    readonly directory: string,
  ) {
    this.configurationPath = join(directory, 'dnsmasq.conf');
  }

  /**
   * Makes files and process so, given what was there before: `current` from the last call or from `read`.
   * Answers with what was changed.
   */
  async apply(current: NameServerFiles | undefined, wanted: NameServerFiles): Promise<readonly string[]> {
    if (current === undefined) {
      for (const name of watchedDirectories) await mkdir(join(this.directory, name), { recursive: true });
    }
    const before = current?.hosts ?? new Map<string, string>();
    const changed = [...wanted.hosts.keys()].filter((name) => before.get(name) !== wanted.hosts.get(name));
    const removed = [...before.keys()].filter((name) => !wanted.hosts.has(name));
    const pid = await this.findProcess();
    const restarts =
      pid === undefined ||
      current?.configuration !== wanted.configuration ||
      losesLines(before, wanted.hosts);

    if (restarts && pid !== undefined) await stopProcess(pid);
    for (let first = 0; first < changed.length; first += filesAtOnce) {
      await Promise.all(
        changed
          .slice(first, first + filesAtOnce)
          .map((name) =>
            writeFile(join(this.directory, name), wanted.hosts.get(name) ?? '', { mode: 0o644 }),
          ),
      );
    }
    for (const name of removed) await rm(join(this.directory, name), { force: true });
    if (restarts) {
      await this.dropStaleLeases(wanted.hosts);
      await writeFile(this.configurationPath, wanted.configuration, { mode: 0o644 });
      await this.start();
    }
    return [...changed, ...removed, ...(restarts ? ['dnsmasq'] : [])];
  }

  /** The files that are there; `undefined` when there is no complete set of them. */
  async read(): Promise<NameServerFiles | undefined> {
    try {
      const hosts = new Map<string, string>();
      for (const directory of watchedDirectories) {
        for (const name of await readdir(join(this.directory, directory))) {
          hosts.set(`${directory}/${name}`, await readFile(join(this.directory, directory, name), 'utf8'));
        }
      }
      return { configuration: await readFile(this.configurationPath, 'utf8'), hosts };
    } catch {
      return undefined;
    }
  }

  /** Ends the process and removes the files. */
  async remove(): Promise<void> {
    const pid = await this.findProcess();
    if (pid !== undefined) await stopProcess(pid);
    await rm(this.directory, { recursive: true, force: true });
  }

  /**
   * Leases of interfaces that are gone would keep their addresses from being given to others, and their
   * names in the DNS, until they end.
   */
  private async dropStaleLeases(hosts: ReadonlyMap<string, string>): Promise<void> {
    const path = join(this.directory, 'leases');
    const leases = await readFile(path, 'utf8').catch(() => '');
    const known = new Set([...hosts.values()].map((content) => content.trim().split(',').slice(0, 2).join()));
    // A line: end, hardware address, IP address, name, client.
    const kept = leases.split('\n').filter((line) => known.has(line.split(' ').slice(1, 3).join()));
    await writeFile(path, kept.map((line) => `${line}\n`).join(''), { mode: 0o644 });
  }

  private async start(): Promise<void> {
    await unlink(join(this.directory, 'pid')).catch(() => {});
    // Returns when it has gone into the background, and that it does when it is ready.
    await runInNamespace(this.namespace, 'dnsmasq', [`--conf-file=${this.configurationPath}`]);
  }

  /** The running dnsmasq of this VPC. A number in the file alone proves nothing: another may have it now. */
  private async findProcess(): Promise<number | undefined> {
    try {
      const pid = Number(await readFile(join(this.directory, 'pid'), 'utf8'));
      if (!Number.isInteger(pid) || pid <= 1) return undefined;
      const commandLine = await readFile(`/proc/${pid}/cmdline`, 'utf8');
      return commandLine.includes(`--conf-file=${this.configurationPath}\0`) ? pid : undefined;
    } catch {
      return undefined;
    }
  }
}

function losesLines(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): boolean {
  return [...before].some(([name, content]) => {
    const next = after.get(name);
    if (next === content) return false;
    const lines = new Set(next?.split('\n'));
    return content.split('\n').some((line) => !lines.has(line));
  });
}

/** Returns when the process has let go of everything it had. */
async function stopProcess(pid: number): Promise<void> {
  const deadline = Date.now() + stopTimeoutMs;
  for (let signal: NodeJS.Signals = 'SIGTERM'; await isAlive(pid); await delay(2)) {
    if (Date.now() > deadline) throw new NetworkError('failed', `dnsmasq ${pid} does not end`);
    if (Date.now() > deadline - stopTimeoutMs / 2) signal = 'SIGKILL';
    try {
      process.kill(pid, signal);
    } catch {
      return;
    }
  }
}

/** A process that has ended and waits for its parent to notice (`Z`) has closed its sockets. */
async function isAlive(pid: number): Promise<boolean> {
  try {
    const status = await readFile(`/proc/${pid}/stat`, 'utf8');
    return !/^\d+ \(.*\) [ZX]/s.test(status);
  } catch {
    return false;
  }
}
