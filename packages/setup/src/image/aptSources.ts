import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from '../run.js';

interface AptSource {
  readonly uri: string;
  readonly suite: string;
  readonly components: string;
  readonly signedBy: string | undefined;
}

const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg';

/**
 * Lines for sources.list from which a Debian release can be installed: where this machine gets Debian
 * from. None when it is no Debian: mmdebstrap then takes what it knows as Debian's own servers.
 */
export async function listAptSources(release: string, directory = '/etc/apt'): Promise<string[]> {
  const own = await readHostSources(directory);
  // Another release of Debian is at the same place under another name.
  const hostRelease =
    /^VERSION_CODENAME=(\S+)$/m.exec(await readFile('/etc/os-release', 'utf8'))?.[1] ?? release;
  const lines = own
    .filter(({ suite }) => new RegExp(`^${hostRelease}(-updates|-security)?$`).test(suite))
    .filter(({ uri, components }) => /debian/.test(uri) && components.split(' ').includes('main'))
    .map(({ uri, suite, signedBy }) => {
      const path = signedBy?.startsWith('/') === true ? signedBy : keyring;
      return `deb [signed-by=${path}] ${uri} ${suite.replace(hostRelease, release)} main`;
    });
  return lines.some((line) => line.endsWith(` ${release} main`)) ? [...new Set(lines)] : [];
}

/** How this machine's apt reaches its sources: proxies and certificates, as options for another apt. */
export async function listAptOptions(): Promise<string[]> {
  const text = await run('apt-config', ['dump', 'Acquire']);
  return text.split('\n').filter((line) => /^Acquire::https?::(Proxy|CaInfo|Verify-)\S* ".+";$/.test(line));
}

async function readHostSources(directory: string): Promise<AptSource[]> {
  const parts = join(directory, 'sources.list.d');
  const names = await readdir(parts).catch(() => []);
  const files = [join(directory, 'sources.list'), ...names.sort().map((name) => join(parts, name))];
  const sources: AptSource[] = [];
  for (const file of files) {
    const text = await readFile(file, 'utf8').catch(() => '');
    if (file.endsWith('.sources')) sources.push(...parseDeb822(text));
    else if (file.endsWith('.list')) sources.push(...parseOneLine(text));
  }
  return sources;
}

/** The format of sources.list(5) with one line for each source. */
export function parseOneLine(text: string): AptSource[] {
  return [...text.matchAll(/^deb\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)\s+([^#\n]+)/gm)].map(
    ([, options = '', uri = '', suite = '', components = '']) => ({
      uri,
      suite,
      components: components.trim(),
      signedBy: /signed-by=(\S+)/.exec(options)?.[1],
    }),
  );
}

/** The format of sources.list(5) with a stanza of fields for several sources. */
export function parseDeb822(text: string): AptSource[] {
  return text.split(/\n\s*\n/).flatMap((stanza) => {
    const find = (field: string): string | undefined =>
      new RegExp(`^${field}:[ \\t]*(.*)$`, 'im').exec(stanza)?.[1]?.trim();
    if (find('Types')?.split(/\s+/).includes('deb') !== true || find('Enabled') === 'no') return [];
    const uris = find('URIs')?.split(/\s+/) ?? [];
    const suites = find('Suites')?.split(/\s+/) ?? [];
    return uris.flatMap((uri) =>
      suites.map((suite) => ({
        uri,
        suite,
        components: find('Components') ?? '',
        signedBy: find('Signed-By'),
      })),
    );
  });
}
