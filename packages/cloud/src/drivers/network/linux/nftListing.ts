import { type NetworkNamespace, runInNamespace } from './commands.js';
import type { NftChain, NftElement, NftHook, NftRule, NftSet, NftTable } from './nftables.js';

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** Reads a table from the kernel; `undefined` when there is none. */
export async function readTable(
  namespace: NetworkNamespace,
  family: NftTable['family'],
  name: string,
): Promise<NftTable | undefined> {
  const tables = await runInNamespace(namespace, 'nft', ['-j', 'list', 'tables', family]);
  const exists = entries(tables).some((entry) => asText(get(entry, 'table', 'name')) === name);
  if (!exists) return undefined;
  return parseTable(
    await runInNamespace(namespace, 'nft', ['-j', 'list', 'table', family, name]),
    family,
    name,
  );
}

/** The value of `nft -j list table`. */
export function parseTable(listing: string, family: NftTable['family'], name: string): NftTable {
  const chains = new Map<string, { hook?: NftHook; rules: NftRule[] }>();
  const sets = new Map<string, NftSet>();
  const chainOf = (chain: string): { hook?: NftHook; rules: NftRule[] } => {
    const known = chains.get(chain) ?? { rules: [] };
    chains.set(chain, known);
    return known;
  };
  for (const entry of entries(listing)) {
    const chain = get(entry, 'chain');
    const rule = get(entry, 'rule');
    const set = get(entry, 'set') ?? get(entry, 'map');
    if (chain !== undefined) {
      const hook = parseHook(chain);
      if (hook !== undefined) chainOf(asText(get(chain, 'name'))).hook = hook;
      else chainOf(asText(get(chain, 'name')));
    } else if (rule !== undefined) {
      chainOf(asText(get(rule, 'chain'))).rules.push({ text: '', digest: asText(get(rule, 'comment')) });
    } else if (set !== undefined) {
      sets.set(asText(get(set, 'name')), parseSet(set));
    }
  }
  return { family, name, chains: chains as ReadonlyMap<string, NftChain>, sets };
}

function parseHook(chain: Json): NftHook | undefined {
  const hook = get(chain, 'hook');
  if (hook === undefined) return undefined;
  // Words that this program never writes come back as they are and so differ from what is wanted.
  return {
    type: asText(get(chain, 'type')) as NftHook['type'],
    hook: asText(hook) as NftHook['hook'],
    priority: Number(get(chain, 'prio')),
    policy: asText(get(chain, 'policy')) as NftHook['policy'],
  };
}

function parseSet(set: Json): NftSet {
  const valueType = get(set, 'map');
  const elements = new Map<string, NftElement>();
  for (const item of asList(get(set, 'elem'))) {
    const [rawKey, rawValue] = valueType === undefined ? [item, undefined] : asList(item);
    const commented = rawKey === undefined ? undefined : get(rawKey, 'elem');
    const owner = commented === undefined ? undefined : get(commented, 'comment');
    const key = commented === undefined ? rawKey : get(commented, 'val');
    elements.set(renderValue(key), {
      ...(rawValue !== undefined && { value: renderValue(rawValue) }),
      ...(owner !== undefined && { owner: asText(owner) }),
    });
  }
  return {
    type: renderType(get(set, 'type')),
    ...(valueType !== undefined && { valueType: renderType(valueType) }),
    interval: asList(get(set, 'flags')).includes('interval'),
    elements,
  };
}

function renderType(type: Json | undefined): string {
  return Array.isArray(type) ? type.map(String).join(' . ') : asText(type);
}

/** The spelling of a value in nft's own language. */
function renderValue(value: Json | undefined): string {
  if (value === undefined || value === null || typeof value !== 'object') return String(value);
  const prefix = get(value, 'prefix');
  if (prefix !== undefined) return `${asText(get(prefix, 'addr'))}/${Number(get(prefix, 'len'))}`;
  const range = get(value, 'range');
  if (range !== undefined) return asList(range).map(renderValue).join('-');
  const concat = get(value, 'concat');
  if (concat !== undefined) return asList(concat).map(renderValue).join(' . ');
  for (const verdict of ['goto', 'jump']) {
    const target = get(value, verdict, 'target');
    if (target !== undefined) return `${verdict} ${asText(target)}`;
  }
  return Object.keys(value).join();
}

function entries(listing: string): readonly Json[] {
  return asList(get(JSON.parse(listing) as Json, 'nftables'));
}

function get(value: Json, ...path: readonly string[]): Json | undefined {
  let at: Json | undefined = value;
  for (const key of path) {
    if (at === undefined || at === null || typeof at !== 'object' || Array.isArray(at)) return undefined;
    at = (at as { readonly [key: string]: Json })[key];
  }
  return at;
}

function asText(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}

function asList(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? (value as readonly Json[]) : [];
}
