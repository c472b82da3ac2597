import { existsSync } from 'node:fs';
import { access, readFile, statfs } from 'node:fs/promises';
import { release, totalmem } from 'node:os';
import { dirname } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { findCgroupVersion } from './cgroups.js';
import { findRunningEngine } from './engine/daemon.js';
import { engineFlavors, findDaemon } from './engine/flavor.js';
import { isLxcfsServing } from './lxcfs.js';
import { networkPackages } from './machine.js';
import { isPackageAvailable, listMissingPackages } from './packages.js';
import { run } from './run.js';
import { hasSystemd } from './systemd.js';

/** One thing that a cloud needs of the machine, or could use. */
export interface Diagnosis {
  readonly name: string;
  /** `warn`: works, but not all of it, or `egs up` will mend it. `fail`: real instances are not possible. */
  readonly status: 'ok' | 'warn' | 'fail';
  readonly detail: string;
  /** A command line that mends it, when there is one. */
  readonly mend?: string;
}

const gib = 1024 ** 3;

/** Looks at the machine and changes nothing. `directory`: where the cloud keeps or will keep its data. */
export async function diagnose(directory: string): Promise<Diagnosis[]> {
  const checks = [
    checkRoot,
    checkEngine,
    checkPackages,
    checkUserNamespaces,
    checkSubordinateIds,
    checkControlGroups,
    checkGuestView,
    checkPacketFilter,
    checkBridgeFilter,
    checkTrafficPolicing,
    checkVirtualMachines,
    () => checkDisk(directory),
    checkMemory,
  ];
  return Promise.all(checks.map((check) => check()));
}

function checkRoot(): Diagnosis {
  const name = 'Administrator';
  if (process.getuid?.() === 0) return { name, status: 'ok', detail: 'runs as root' };
  const detail = 'not root: only the fake engine, which starts nothing real';
  return { name, status: 'fail', detail, mend: 'sudo ./egs up' };
}

async function checkEngine(): Promise<Diagnosis> {
  const name = 'Engine';
  const running = await findRunningEngine();
  if (running !== undefined) {
    return { name, status: 'ok', detail: `${running.flavor.name} runs at ${running.socketPath}` };
  }
  const installable: string[] = [];
  for (const flavor of Object.values(engineFlavors)) {
    const daemon = await findDaemon(flavor);
    if (daemon !== undefined)
      return { name, status: 'ok', detail: `${flavor.name} is installed (${daemon})` };
    if (await isPackageAvailable(flavor.package)) installable.push(flavor.package);
  }
  const [first] = installable;
  if (first === undefined) {
    const mend = 'snap install lxd';
    return { name, status: 'fail', detail: 'neither Incus nor LXD in the package sources', mend };
  }
  const detail = `not installed; egs up installs ${first}`;
  return { name, status: 'warn', detail, mend: `apt-get install --no-install-recommends ${first}` };
}

async function checkPackages(): Promise<Diagnosis> {
  const name = 'Programs';
  const wanted = [
    ...networkPackages,
    'btrfs-progs',
    'lxcfs',
    'uidmap',
    'rsync',
    'squashfs-tools',
    'mmdebstrap',
  ];
  const missing = await listMissingPackages(wanted).catch(() => undefined);
  if (missing === undefined) return { name, status: 'fail', detail: 'not a Debian or Ubuntu machine' };
  if (missing.length === 0) return { name, status: 'ok', detail: 'all packages are installed' };
  const list = missing.join(' ');
  const mend = `apt-get install --no-install-recommends ${list}`;
  return { name, status: 'warn', detail: `missing, egs up installs them: ${list}`, mend };
}

async function checkUserNamespaces(): Promise<Diagnosis> {
  const name = 'User namespaces';
  const limit = Number(await readFile('/proc/sys/user/max_user_namespaces', 'utf8').catch(() => '0'));
  if (limit > 0) return { name, status: 'ok', detail: 'the kernel has them: instances are unprivileged' };
  const mend = 'sysctl -w user.max_user_namespaces=15000';
  return { name, status: 'fail', detail: 'switched off or not in this kernel', mend };
}

async function checkSubordinateIds(): Promise<Diagnosis> {
  const name = 'Subordinate ids';
  const text = await readFile('/etc/subuid', 'utf8').catch(() => '');
  const count = Number(/^(?:root|0):\d+:(\d+)$/m.exec(text)?.[1] ?? 0);
  if (count === 0) return { name, status: 'warn', detail: 'none for root yet; egs up adds them' };
  // 65,536 for each instance.
  const instances = Math.floor(count / 65_536);
  const detail = `room for ${instances} instances with ids of their own`;
  return { name, status: instances < 100 ? 'warn' : 'ok', detail };
}

async function checkControlGroups(): Promise<Diagnosis> {
  const name = 'Control groups';
  const version = await findCgroupVersion();
  if (version === undefined) return { name, status: 'warn', detail: 'not mounted; egs up mounts them' };
  return { name, status: 'ok', detail: `version ${version}` };
}

async function checkGuestView(): Promise<Diagnosis> {
  const name = 'Guest view';
  if (await isLxcfsServing()) {
    return { name, status: 'ok', detail: 'guests see their own memory and processors (lxcfs)' };
  }
  if (existsSync('/var/snap/lxd/common/lxd'))
    return { name, status: 'ok', detail: 'LXD’s snap has its own lxcfs' };
  const mayLook = await access('/proc/1/ns/user').then(
    () => true,
    () => false,
  );
  const reason = mayLook ? 'lxcfs does not run' : 'lxcfs may not look at the first process';
  const detail = `${reason}: guests may see the host’s memory and processors`;
  const mend = hasSystemd() ? 'systemctl enable --now lxcfs' : 'sudo ./egs up';
  return { name, status: 'warn', detail, ...(mayLook ? { mend } : {}) };
}

async function checkPacketFilter(): Promise<Diagnosis> {
  const name = 'Packet filter';
  const rules =
    'table inet openegs_probe { chain c { type filter hook forward priority 0; ct state established accept; }; }';
  try {
    // Checked by the kernel and not applied.
    await run('nft', ['--check', rules]);
    return { name, status: 'ok', detail: 'nf_tables with connection tracking' };
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    return { name, status: 'fail', detail, mend: 'modprobe nf_tables && modprobe nf_conntrack' };
  }
}

async function checkBridgeFilter(): Promise<Diagnosis> {
  const name = 'Bridged frames';
  const value = await readFile('/proc/sys/net/bridge/bridge-nf-call-iptables', 'utf8').catch(() => '0');
  if (value.trim() === '0') return { name, status: 'ok', detail: 'pass beside the host’s own packet filter' };
  const detail =
    'pass the host’s own packet filter, where equal addresses of two VPCs meet; egs up changes that';
  return { name, status: 'warn', detail, mend: 'sysctl -w net.bridge.bridge-nf-call-iptables=0' };
}

async function checkTrafficPolicing(): Promise<Diagnosis> {
  const name = 'Outgoing bandwidth';
  switch (await findKernelFeature('CONFIG_NET_ACT_POLICE', 'act_police')) {
    case true:
      return { name, status: 'ok', detail: 'the kernel can police it (act_police)' };
    case false:
      return { name, status: 'ok', detail: 'no act_police in this kernel: limited by a queue (ifb) instead' };
    case undefined:
      return { name, status: 'warn', detail: 'cannot tell whether this kernel has act_police' };
  }
}

async function checkVirtualMachines(): Promise<Diagnosis> {
  const name = 'Virtual machines';
  const missing = ['/dev/kvm', '/dev/vhost-vsock'].filter((path) => !existsSync(path));
  if (missing.length === 0) return { name, status: 'ok', detail: 'KVM and vhost_vsock are there' };
  const detail = `no ${missing.join(' and no ')}: instances are system containers`;
  return { name, status: 'warn', detail, mend: 'modprobe kvm && modprobe vhost_vsock' };
}

async function checkDisk(directory: string): Promise<Diagnosis> {
  const name = 'Disk';
  let existing = directory;
  while (!existsSync(existing)) existing = dirname(existing);
  const { bavail, bsize } = await statfs(existing);
  const freeGiB = Math.floor((bavail * bsize) / gib);
  const detail = `${freeGiB} GiB free for ${directory}`;
  if (freeGiB < 3) return { name, status: 'fail', detail: `${detail}: an image and one instance take 3` };
  return { name, status: freeGiB < 20 ? 'warn' : 'ok', detail };
}

async function checkMemory(): Promise<Diagnosis> {
  const name = 'Memory';
  const memoryGiB = totalmem() / gib;
  const detail = `${memoryGiB.toFixed(1)} GiB`;
  return { name, status: memoryGiB < 1 ? 'fail' : memoryGiB < 4 ? 'warn' : 'ok', detail };
}

/** Built in or a module there to be loaded; `undefined` when the kernel says nothing of itself. */
async function findKernelFeature(option: string, module: string): Promise<boolean | undefined> {
  const config = await readFile('/proc/config.gz')
    .then((bytes) => gunzipSync(bytes).toString())
    .catch(() => readFile(`/boot/config-${release()}`, 'utf8'))
    .catch(() => undefined);
  if (config !== undefined) return new RegExp(`^${option}=[ym]$`, 'm').test(config);
  const modules = await Promise.all(
    ['modules.builtin', 'modules.dep'].map((file) =>
      readFile(`/lib/modules/${release()}/${file}`, 'utf8').catch(() => undefined),
    ),
  );
  const known = modules.filter((text) => text !== undefined);
  return known.length === 0 ? undefined : known.some((text) => text.includes(`/${module}.ko`));
}
