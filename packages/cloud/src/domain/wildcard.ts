/** Whether a text matches a pattern in which `*` stands for any text, also none; all else for itself. */
export function matchesWildcard(text: string, pattern: string): boolean {
  const parts = pattern.split('*').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`, 's').test(text);
}
