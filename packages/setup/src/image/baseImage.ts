import { existsSync } from 'node:fs';
import {
  chmod,
  chown,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { ensurePackages } from '../packages.js';
import { run } from '../run.js';
import { type OnStep, step } from '../steps.js';
import { listAptOptions, listAptSources } from './aptSources.js';
import { withLock } from './lock.js';
import { baseImageName, baseImageRecipe, hashRecipe, type ImageRecipe } from './recipe.js';

/** Raise it when the code below makes another image of the same recipe. */
const buildVersion = 1;

/** A split image, ready to be imported into an engine. */
export interface BaseImage {
  readonly name: string;
  /** Tarball with `metadata.yaml` and the templates. */
  readonly metadata: string;
  /** Root file system, squashfs. */
  readonly rootfs: string;
}

export interface BaseImageOptions {
  /** Default: the environment's `EGS_IMAGE_CACHE`, else `/var/cache/openegs/images`. */
  readonly cacheDirectory?: string;
  readonly recipe?: ImageRecipe;
  readonly onStep?: OnStep;
}

/**
 * Gives the base image, and builds it when the cache does not hold the one of this recipe. Several
 * processes may ask at once: one builds, the others wait for it. A build that dies leaves nothing that
 * would be taken for an image.
 */
export async function ensureBaseImage(options: BaseImageOptions = {}): Promise<BaseImage> {
  const { EGS_IMAGE_CACHE = '/var/cache/openegs/images' } = process.env;
  const cacheDirectory = options.cacheDirectory ?? EGS_IMAGE_CACHE;
  const recipe = options.recipe ?? baseImageRecipe;
  const directory = join(cacheDirectory, `${baseImageName}-${await hashRecipe(recipe, buildVersion)}`);
  const image: BaseImage = {
    name: baseImageName,
    metadata: join(directory, 'metadata.tar.gz'),
    rootfs: join(directory, 'rootfs.squashfs'),
  };
  if (existsSync(directory)) return image;
  await mkdir(cacheDirectory, { recursive: true });
  await withLock(`${directory}.lock`, async () => {
    if (existsSync(directory)) return;
    const scratch = await mkdtemp(`${directory}.build-`);
    try {
      await buildImage(recipe, scratch, options.onStep);
      await rename(join(scratch, 'image'), directory).catch((error: unknown) => {
        // Somebody who broke our lock was faster; theirs is as good.
        if (!existsSync(directory)) throw error;
      });
    } finally {
      await rm(scratch, { recursive: true, force: true });
    }
  });
  return image;
}

async function buildImage(recipe: ImageRecipe, scratch: string, onStep?: OnStep): Promise<void> {
  const root = join(scratch, 'rootfs');
  const image = join(scratch, 'image');
  await mkdir(image);
  await step(onStep, 'Image: tools', () => ensurePackages(['mmdebstrap', 'squashfs-tools']));
  await step(onStep, 'Image: packages', () => installPackages(recipe, root));
  await step(onStep, 'Image: settings', () => applyRecipe(recipe, root));
  await step(onStep, 'Image: compression', async () => {
    const rootfs = join(image, 'rootfs.squashfs');
    const compression = ['-comp', 'zstd', '-Xcompression-level', '3', '-noappend', '-quiet', '-no-progress'];
    await run('mksquashfs', [root, rootfs, ...compression]);
    await writeMetadata(recipe, join(scratch, 'metadata'), join(image, 'metadata.tar.gz'));
  });
}

/** Makes /bin, /lib and /sbin links before anything is unpacked. */
const mergedUsrHook = '/usr/share/mmdebstrap/hooks/merged-usr';

async function installPackages(recipe: ImageRecipe, root: string): Promise<void> {
  const dpkgOptions = [
    ...recipe.excludedPaths.map((path) => `path-exclude=${path}`),
    ...recipe.includedPaths.map((path) => `path-include=${path}`),
  ];
  const aptOptions = ['Acquire::Languages "none";', ...(await listAptOptions())];
  await run('mmdebstrap', [
    '--mode=root',
    '--format=directory',
    '--variant=apt',
    ...(existsSync(mergedUsrHook) ? [`--hook-dir=${mergedUsrHook}`] : []),
    `--include=${recipe.packages.join(',')}`,
    ...dpkgOptions.map((option) => `--dpkgopt=${option}`),
    ...aptOptions.map((option) => `--aptopt=${option}`),
    recipe.suite,
    root,
    ...(await listAptSources(recipe.suite)),
  ]);
}

async function applyRecipe(recipe: ImageRecipe, root: string): Promise<void> {
  await cp(recipe.overlayDirectory, root, {
    recursive: true,
    filter: (path) => !path.includes('__pycache__'),
  });
  for (const entry of await readdir(recipe.overlayDirectory, { recursive: true, withFileTypes: true })) {
    const source = join(entry.parentPath, entry.name);
    const target = join(root, source.slice(recipe.overlayDirectory.length));
    if (!existsSync(target)) continue;
    // Whoever checked the sources out, and with whatever umask: in the guest they are root's.
    const executable = entry.isDirectory() || ((await stat(source)).mode & 0o100) !== 0;
    await chown(target, 0, 0);
    await chmod(target, executable ? 0o755 : 0o644);
  }
  const units = join(root, 'etc/systemd/system');
  for (const [unit, target] of Object.entries(recipe.enabledUnits)) {
    await mkdir(join(units, `${target}.wants`), { recursive: true });
    await symlink(`/usr/lib/systemd/system/${unit}`, join(units, `${target}.wants`, unit));
  }
  for (const unit of recipe.maskedUnits) await symlink('/dev/null', join(units, unit));
  for (const path of recipe.removedPaths) await rm(join(root, path));

  // The engine fills the seed and keeps its mode: it holds a password's hash.
  await mkdir(join(root, 'etc/egs'), { mode: 0o700 });
  await writeFile(join(root, 'etc/egs/seed'), '', { mode: 0o600 });
  await mkdir(join(root, 'var/lib/egs'), { mode: 0o700 });
  // Each instance has its own.
  for (const name of await readdir(join(root, 'etc/ssh'))) {
    if (name.startsWith('ssh_host_')) await rm(join(root, 'etc/ssh', name));
  }
  await rm(join(root, 'etc/hostname'), { force: true });
  await writeFile(join(root, 'etc/machine-id'), '');
  await writeFile(join(root, 'etc/resolv.conf'), '');
  await chmod(join(root, 'etc/resolv.conf'), 0o644);
  // The engine mounts its own.
  for (const name of await readdir(join(root, 'dev'))) await rm(join(root, 'dev', name), { recursive: true });
}

/** The engine's half of a split image; the templates are rendered into the guest before it boots. */
async function writeMetadata(recipe: ImageRecipe, directory: string, tarball: string): Promise<void> {
  await mkdir(directory);
  await cp(recipe.templateDirectory, join(directory, 'templates'), { recursive: true });
  const metadata = {
    architecture: 'x86_64',
    creation_date: Math.floor(Date.now() / 1000),
    properties: { os: 'debian', release: recipe.suite, description: 'Debian 12 for OpenEGS' },
    templates: {
      '/etc/egs/seed': { when: ['create', 'copy', 'start'], template: 'seed.tpl' },
      // A copy of an instance must not have its machine id.
      '/etc/machine-id': { when: ['create', 'copy'], template: 'empty.tpl' },
    },
  };
  // JSON is YAML.
  await writeFile(join(directory, 'metadata.yaml'), `${JSON.stringify(metadata, undefined, 2)}\n`);
  await run('tar', [
    '-C',
    directory,
    '--owner=0',
    '--group=0',
    '-czf',
    tarball,
    'metadata.yaml',
    'templates',
  ]);
}
