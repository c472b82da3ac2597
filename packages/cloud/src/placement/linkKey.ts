/** Names the link of two cards of a host; equal for both directions. */
export function linkKey(one: string, other: string): string {
  return one < other ? `${one} ${other}` : `${other} ${one}`;
}
