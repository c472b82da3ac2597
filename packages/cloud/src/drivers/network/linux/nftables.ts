import { hash } from 'node:crypto';

/** A table as a value: what it shall be, or what the kernel says it is. */
export interface NftTable {
  readonly family: 'ip' | 'inet' | 'bridge';
  readonly name: string;
  readonly chains: ReadonlyMap<string, NftChain>;
  readonly sets: ReadonlyMap<string, NftSet>;
}

export interface NftChain {
  /** Absent: a chain that others jump to. */
  readonly hook?: NftHook;
  readonly rules: readonly NftRule[];
}

export interface NftHook {
  readonly type: 'filter' | 'nat';
  readonly hook: 'prerouting' | 'input' | 'forward' | 'output' | 'postrouting';
  readonly priority: number;
  readonly policy: 'accept' | 'drop';
}

/**
 * A rule carries a digest of its text as comment. The kernel gives rules back in another shape than they
 * were written in; by the digest a listing is compared with what was meant.
 */
export interface NftRule {
  readonly digest: string;
  /** Empty in what is read from the kernel. */
  readonly text: string;
}

export interface NftSet {
  /** Types of the key's parts, joined by ` . `. */
  readonly type: string;
  /** Type of a map's values. Absent: a set. */
  readonly valueType?: string;
  readonly interval: boolean;
  /** By key, in the spelling in which nft lists it, without quotes. */
  readonly elements: ReadonlyMap<string, NftElement>;
}

export interface NftElement {
  /** Of a map: in the spelling in which nft lists it. */
  readonly value?: string;
  /** Whose element it is, where several share a set. */
  readonly owner?: string;
}

export function nftRule(text: string): NftRule {
  return { text, digest: hash('sha1', text).slice(0, 8) };
}

/**
 * The commands that turn one state of a table into another, for one transaction. With `undefined` for
 * "there is none". Only the chains, sets and elements that differ are touched; hooks and types cannot be
 * changed in place, so another one there replaces the whole table.
 */
export function diffTable(current: NftTable | undefined, wanted: NftTable): string[] {
  const name = `${wanted.family} ${wanted.name}`;
  if (current !== undefined && !hasSameFrame(current, wanted)) {
    return [`delete table ${name}`, ...diffTable(undefined, wanted)];
  }
  const declare: string[] = current === undefined ? [`add table ${name}`] : [];
  const rewrite: string[] = [];
  const elements: string[] = [];
  const clean: string[] = [];

  for (const [setName, set] of wanted.sets) {
    const old = current?.sets.get(setName);
    if (old === set) continue;
    if (old === undefined) {
      const kind = set.valueType === undefined ? 'set' : 'map';
      const type = set.valueType === undefined ? set.type : `${set.type} : ${set.valueType}`;
      const flags = set.interval ? ' flags interval;' : '';
      declare.push(`add ${kind} ${name} ${setName} { type ${type};${flags} }`);
    }
    elements.push(...diffElements(name, setName, set, old?.elements ?? new Map(), set.elements));
  }
  for (const [chainName, chain] of wanted.chains) {
    const old = current?.chains.get(chainName);
    if (old === undefined) declare.push(`add chain ${name} ${chainName}${renderHook(chain.hook)}`);
    if (old === chain) continue;
    // What only grew at its end is not taken away first: nft waits until the kernel has freed what is gone.
    const isKept = old !== undefined && beginsWith(chain, old);
    if (old !== undefined && !isKept) rewrite.push(`flush chain ${name} ${chainName}`);
    const added = isKept ? chain.rules.slice(old.rules.length) : chain.rules;
    rewrite.push(
      ...added.map(({ text, digest }) => `add rule ${name} ${chainName} ${text} comment "${digest}"`),
    );
  }
  const goneChains = [...(current?.chains.keys() ?? [])].filter((chain) => !wanted.chains.has(chain));
  clean.push(...goneChains.map((chain) => `flush chain ${name} ${chain}`));
  clean.push(...goneChains.map((chain) => `delete chain ${name} ${chain}`));
  for (const [set, { valueType }] of current?.sets ?? []) {
    if (!wanted.sets.has(set)) clean.push(`delete ${valueType === undefined ? 'set' : 'map'} ${name} ${set}`);
  }
  return [...declare, ...elements, ...rewrite, ...clean];
}

/** The commands that turn the elements of a set that exists into others. */
export function diffElements(
  table: string,
  setName: string,
  set: Pick<NftSet, 'type'>,
  current: ReadonlyMap<string, NftElement>,
  wanted: ReadonlyMap<string, NftElement>,
): string[] {
  if (current === wanted) return [];
  const gone: string[] = [];
  const added: string[] = [];
  for (const [key, element] of current) {
    if (!isSameElement(element, wanted.get(key))) gone.push(quoteKey(set, key));
  }
  for (const [key, element] of wanted) {
    if (isSameElement(element, current.get(key))) continue;
    const { value, owner } = element;
    added.push(
      [quoteKey(set, key), owner && `comment "${owner}"`, value && `: ${value}`].filter(Boolean).join(' '),
    );
  }
  return [
    ...(gone.length > 0 ? [`delete element ${table} ${setName} { ${gone.join(', ')} }`] : []),
    ...(added.length > 0 ? [`add element ${table} ${setName} { ${added.join(', ')} }`] : []),
  ];
}

function isSameElement(one: NftElement, other: NftElement | undefined): boolean {
  return one === other || (other !== undefined && one.value === other.value && one.owner === other.owner);
}

/** Only names of interfaces need quotes; they come first. */
function quoteKey({ type }: Pick<NftSet, 'type'>, key: string): string {
  return type.startsWith('ifname') ? key.replace(/^\S+/, '"$&"') : key;
}

function beginsWith(chain: NftChain, beginning: NftChain): boolean {
  return beginning.rules.every(({ digest }, index) => digest === chain.rules[index]?.digest);
}

function hasSameFrame(current: NftTable, wanted: NftTable): boolean {
  for (const [name, set] of wanted.sets) {
    const old = current.sets.get(name);
    if (old === undefined || old === set) continue;
    if (old.type !== set.type || old.valueType !== set.valueType || old.interval !== set.interval)
      return false;
  }
  for (const [name, chain] of wanted.chains) {
    const old = current.chains.get(name);
    if (old === undefined || old === chain) continue;
    if (renderHook(old.hook) !== renderHook(chain.hook)) return false;
  }
  return true;
}

function renderHook(hook: NftHook | undefined): string {
  if (hook === undefined) return '';
  return ` { type ${hook.type} hook ${hook.hook} priority ${hook.priority}; policy ${hook.policy}; }`;
}
