import { existsSync } from 'node:fs';
import { isPackageAvailable } from '../packages.js';
import { findProgram, SetupError } from '../run.js';

export type EngineName = 'lxd' | 'incus';

/** Where the two engines differ for a set-up. Their API is the same for all that we ask of it. */
export interface EngineFlavor {
  readonly name: EngineName;
  /** Names or full paths of the daemon. */
  readonly daemons: readonly string[];
  /** Environment variable that tells the daemon its directory. */
  readonly directoryVariable: string;
  /** Directories of a daemon that the distribution, snap or the owner has set up. */
  readonly usualDirectories: readonly string[];
  readonly unit: string;
  /** Debian package of the daemon, without what only virtual machines need. */
  readonly package: string;
}

/** What every engine needs beside itself for containers on a btrfs pool. */
const helperPackages = ['btrfs-progs', 'lxcfs', 'uidmap', 'squashfs-tools', 'rsync'];

export const engineFlavors: Readonly<Record<EngineName, EngineFlavor>> = {
  incus: {
    name: 'incus',
    daemons: ['incusd', '/usr/libexec/incus/incusd', '/usr/lib/incus/incusd', '/opt/incus/bin/incusd'],
    directoryVariable: 'INCUS_DIR',
    usualDirectories: ['/var/lib/incus'],
    unit: 'incus.service',
    package: 'incus-base',
  },
  lxd: {
    name: 'lxd',
    daemons: ['lxd'],
    directoryVariable: 'LXD_DIR',
    usualDirectories: ['/var/lib/lxd', '/var/snap/lxd/common/lxd'],
    unit: 'lxd.service',
    package: 'lxd',
  },
};

/** The daemon's path when the engine is installed. */
export async function findDaemon(flavor: EngineFlavor): Promise<string | undefined> {
  for (const daemon of flavor.daemons) {
    if (!daemon.startsWith('/')) {
      const path = await findProgram(daemon);
      if (path !== undefined) return path;
    } else if (existsSync(daemon)) return daemon;
  }
  return undefined;
}

/** Packages that the engine needs on this machine; its own only when it has not come in another way. */
export async function listEnginePackages(flavor: EngineFlavor): Promise<string[]> {
  return (await findDaemon(flavor)) === undefined ? [flavor.package, ...helperPackages] : helperPackages;
}

/** The engine to use on this machine: the one that is installed, else the one that apt can install. */
export async function chooseFlavor(): Promise<EngineFlavor> {
  const flavors = Object.values(engineFlavors);
  for (const flavor of flavors) if ((await findDaemon(flavor)) !== undefined) return flavor;
  for (const flavor of flavors) if (await isPackageAvailable(flavor.package)) return flavor;
  throw new SetupError('Neither Incus nor LXD is installed or in the package sources of this machine');
}
