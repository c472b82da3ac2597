import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Name and alias of the base image. */
export const baseImageName = 'debian_12_x64_egs';

/** What a base image is made of. Any change of it makes a new image. */
export interface ImageRecipe {
  readonly suite: string;
  readonly packages: readonly string[];
  /** Paths that dpkg does not unpack. */
  readonly excludedPaths: readonly string[];
  readonly includedPaths: readonly string[];
  /** Enabled, and masked, systemd units. */
  readonly enabledUnits: Readonly<Record<string, string>>;
  readonly maskedUnits: readonly string[];
  /** Links that packages make and we take away: they would start something before SSH. */
  readonly removedPaths: readonly string[];
  /** Directories of files to lay over the root file system, and of the engine's templates. */
  readonly overlayDirectory: string;
  readonly templateDirectory: string;
}

/** The same two levels up from the source and from the compiled file. */
const imageDirectory = fileURLToPath(new URL('../../image/', import.meta.url));

export const baseImageRecipe: ImageRecipe = {
  suite: 'bookworm',
  packages: [
    // Else `usrmerge` comes in, and all of Perl with it.
    'usr-is-merged',
    'systemd-sysv',
    'dbus',
    'openssh-server',
    'iproute2',
    'iputils-ping',
    'udhcpc',
    'netbase',
    'ca-certificates',
    'curl',
    'sudo',
    'cloud-init',
  ],
  // The fewer files, the faster a first start where the engine gives every file to the guest's own users.
  excludedPaths: ['doc', 'man', 'info', 'locale', 'lintian', 'bug'].map((name) => `/usr/share/${name}/*`),
  includedPaths: ['/usr/share/doc/*/copyright'],
  enabledUnits: {
    'egs-guest.service': 'sysinit.target',
    'egs-network.service': 'multi-user.target',
    'egs-network-online.service': 'network-online.target',
  },
  maskedUnits: [
    // Many instances on one machine would all look for updates at once; `apt update` works as ever.
    'apt-daily.timer',
    'apt-daily-upgrade.timer',
    // Nothing to do in a container, where they only cost boot time.
    'systemd-udevd.service',
    'systemd-modules-load.service',
    'systemd-pstore.service',
    'systemd-binfmt.service',
    'proc-sys-fs-binfmt_misc.automount',
    'fstrim.timer',
    'sys-kernel-debug.mount',
    'sys-kernel-tracing.mount',
    'sys-kernel-config.mount',
    'dev-hugepages.mount',
  ],
  removedPaths: [
    'etc/systemd/system/cloud-init.target.wants/cloud-init-local.service',
    'etc/systemd/system/cloud-init.target.wants/cloud-init-hotplugd.socket',
  ],
  overlayDirectory: join(imageDirectory, 'overlay'),
  templateDirectory: join(imageDirectory, 'templates'),
};

/** A number that changes with the recipe, with any file of it, and with the code that builds it. */
export async function hashRecipe(recipe: ImageRecipe, buildVersion: number): Promise<string> {
  const { overlayDirectory, templateDirectory, ...values } = recipe;
  const hash = createHash('sha256').update(JSON.stringify([buildVersion, values]));
  for (const directory of [overlayDirectory, templateDirectory]) {
    for (const file of await listFiles(directory)) {
      hash.update(`\0${relative(directory, file)}\0`).update(await readFile(file));
    }
  }
  return hash.digest('hex').slice(0, 16);
}

async function listFiles(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && !entry.parentPath.includes('__pycache__'))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}
