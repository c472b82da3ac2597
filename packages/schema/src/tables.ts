import { readFileSync } from 'node:fs';
import type { ActionSchema, ActionTable, ProductName } from './action.js';
import { productVersions } from './products.js';

/** Lines of a product's table file by action; constant data, read once per process on first use. */
const linesByProduct = new Map<ProductName, ReadonlyMap<string, string>>();

function linesOf(product: ProductName): ReadonlyMap<string, string> {
  let lines = linesByProduct.get(product);
  if (lines === undefined) {
    lines = readLines(product);
    linesByProduct.set(product, lines);
  }
  return lines;
}

/** One line an action: name, tab, table as JSON. */
function readLines(product: ProductName): ReadonlyMap<string, string> {
  const text = readFileSync(new URL(`../generated/${product}.tsv`, import.meta.url), 'utf8');
  const lines = new Map<string, string>();
  for (const line of text.split('\n')) {
    const tab = line.indexOf('\t');
    if (tab > 0) lines.set(line.slice(0, tab), line.slice(tab + 1));
  }
  return lines;
}

function readTable(product: ProductName, action: string): ActionTable {
  const line = linesOf(product).get(action);
  if (line === undefined) throw new Error(`no action ${action} in ${product}`);
  return JSON.parse(line);
}

/** Makes references to a product's actions; a table is parsed when it is first asked for. */
export function referencesOf(
  product: ProductName,
): <Request, Response>(action: string) => ActionSchema<Request, Response> {
  const version = productVersions[product];
  return (name) => {
    let table: ActionTable | undefined;
    return {
      product,
      version,
      name,
      table: () => {
        table ??= readTable(product, name);
        return table;
      },
    };
  };
}

/** Names of all actions of a product, sorted. */
export function listActions(product: ProductName): string[] {
  return [...linesOf(product).keys()];
}

/** The action by its exact, case-sensitive name. */
export function findAction(product: ProductName, name: string): ActionSchema<unknown, unknown> | undefined {
  return linesOf(product).has(name) ? referencesOf(product)(name) : undefined;
}
