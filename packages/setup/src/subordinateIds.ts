import { appendFile, readFile } from 'node:fs/promises';

/** Room for 15,000 instances with 65,536 ids of their own each. */
const firstId = 1_000_000;
const idCount = 1_000_000_000;

/**
 * Gives root a range of subordinate user and group ids, from which unprivileged containers take theirs
 * (subuid(5)). A range that is there is left as it is. True when it changed something; a daemon reads the
 * range at its start only.
 */
export async function ensureSubordinateIds(): Promise<boolean> {
  let changed = false;
  for (const path of ['/etc/subuid', '/etc/subgid']) {
    const text = await readFile(path, 'utf8').catch(() => '');
    if (/^(root|0):/m.test(text)) continue;
    const separator = text === '' || text.endsWith('\n') ? '' : '\n';
    await appendFile(path, `${separator}root:${firstId}:${idCount}\n`);
    changed = true;
  }
  return changed;
}
