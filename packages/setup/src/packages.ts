import { ProgramError, run } from './run.js';

/** Which of these Debian packages are not installed. */
export async function listMissingPackages(names: readonly string[]): Promise<string[]> {
  if (names.length === 0) return [];
  // biome-ignore lint/suspicious/noTemplateCurlyInString: dpkg-query's own placeholders
  const format = '${Package} ${db:Status-Status}\\n';
  // dpkg-query answers 1 when it does not know one of them, and lists the others all the same.
  const text = await run('dpkg-query', ['-W', `-f=${format}`, ...names]).catch((error: unknown) => {
    if (error instanceof ProgramError) return error.stdout;
    throw error;
  });
  const installed = new Set(
    text
      .split('\n')
      .filter((line) => line.endsWith(' installed'))
      .map((line) => line.split(' ')[0]),
  );
  return names.filter((name) => !installed.has(name));
}

/** Whether apt can install the package on this machine. */
export async function isPackageAvailable(name: string): Promise<boolean> {
  const text = await run('apt-cache', ['policy', name]).catch(() => '');
  return /^ {2}Candidate: (?!\(none\))/m.test(text);
}

/** Installs what is missing, asking nothing. The list of packages is refreshed only when something is. */
export async function ensurePackages(names: readonly string[]): Promise<string[]> {
  const missing = await listMissingPackages(names);
  if (missing.length > 0) {
    const environment = { DEBIAN_FRONTEND: 'noninteractive' };
    await run('apt-get', ['update', '-qq'], { environment });
    await run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...missing], { environment });
  }
  return missing;
}
