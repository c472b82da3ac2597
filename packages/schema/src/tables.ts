import { readFileSync } from 'node:fs';
import type { ActionSchema, ActionTable, ProductName } from './action.js';
import { productVersions } from './products.js';

/**
 * The generated tables of one product: a line per action with its name, a tab and its table as JSON. The file
 * is split into lines on first use, a line is parsed when its action is first asked for.
 */
class ProductTables {
  readonly #product: ProductName;
  readonly #lines: ReadonlyMap<string, string>;
  readonly #tables = new Map<string, ActionTable>();

  constructor(product: ProductName) {
    this.#product = product;
    const text = readFileSync(new URL(`../generated/${product}.tsv`, import.meta.url), 'utf8');
    const lines = new Map<string, string>();
    for (const line of text.split('\n')) {
      const tab = line.indexOf('\t');
      if (tab > 0) lines.set(line.slice(0, tab), line.slice(tab + 1));
    }
    this.#lines = lines;
  }

  get actions(): string[] {
    return [...this.#lines.keys()];
  }

  has(action: string): boolean {
    return this.#lines.has(action);
  }

  get(action: string): ActionTable {
    let table = this.#tables.get(action);
    if (table === undefined) {
      const line = this.#lines.get(action);
      if (line === undefined) throw new Error(`${this.#product} has no action ${action}`);
      const parsed: ActionTable = JSON.parse(line);
      table = parsed;
      this.#tables.set(action, table);
    }
    return table;
  }
}

/** Constants of the package, read from disk once per process; no state of a cloud. */
const tablesByProduct = new Map<ProductName, ProductTables>();

function tablesOf(product: ProductName): ProductTables {
  let tables = tablesByProduct.get(product);
  if (tables === undefined) {
    tables = new ProductTables(product);
    tablesByProduct.set(product, tables);
  }
  return tables;
}

/** Makes typed references to a product's actions, for the generated modules. */
export function referencesOf(
  product: ProductName,
): <Request, Response>(action: string) => ActionSchema<Request, Response> {
  const version = productVersions[product];
  return (name) => ({ product, version, name, table: () => tablesOf(product).get(name) });
}

/** Names of all actions of a product, sorted. */
export function listActions(product: ProductName): string[] {
  return tablesOf(product).actions;
}

/** The action by its exact, case-sensitive name; equal to, but not the same object as `ecs.RunInstances`. */
export function findAction(product: ProductName, name: string): ActionSchema<unknown, unknown> | undefined {
  return tablesOf(product).has(name) ? referencesOf(product)(name) : undefined;
}
