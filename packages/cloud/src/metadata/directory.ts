/**
 * A file of the metadata tree; its content is sent as it is. One that is listed is there: cloud-init reads
 * the whole tree and gives all of it up at the first name that leads nowhere.
 */
export interface Leaf {
  readonly read: () => Content | Promise<Content>;
}

/** A directory of the metadata tree. */
export interface Directory {
  readonly list: () => Entries | Promise<Entries>;
  /** Names that lead somewhere but are not listed. */
  readonly unlisted?: () => Entries | Promise<Entries>;
}

export type Content = string | Buffer;
export type Entry = Leaf | Directory;
export type Entries = ReadonlyMap<string, Entry>;

export function leaf(read: Leaf['read'] | Content): Leaf {
  return { read: typeof read === 'function' ? read : () => read };
}

/** A directory of fixed names; those that are `undefined` are not there. */
export function directory(entries: Readonly<Record<string, Entry | undefined>>): Directory {
  const present = Object.entries(entries).filter((entry): entry is [string, Entry] => entry[1] !== undefined);
  return { list: () => new Map(present) };
}

/**
 * What is found at a path: the content of a leaf, or the listing of a directory, one name a line and the
 * names of directories with a slash behind, but for those in the root, as cloud-init's manual shows it.
 */
export async function readPath(root: Directory, path: readonly string[]): Promise<Content | undefined> {
  let entry: Entry = root;
  for (const [index, name] of path.entries()) {
    if (!('list' in entry)) return undefined;
    const entries = await entry.list();
    const next: Entry | undefined = entries.get(name) ?? (await entry.unlisted?.())?.get(name);
    if (next) {
      entry = next;
      continue;
    }
    // Keys of tags may have slashes, which not every client escapes.
    const rest = entries.get(path.slice(index).join('/'));
    return rest && 'read' in rest ? rest.read() : undefined;
  }
  if ('read' in entry) return entry.read();
  const mark = path.length === 0 ? '' : '/';
  return [...(await entry.list())].map(([name, each]) => ('list' in each ? name + mark : name)).join('\n');
}
