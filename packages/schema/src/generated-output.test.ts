import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { actionTablesOf, products } from '../scripts/action-tables.mjs';
import { tablesPath, typesPath } from '../scripts/paths.mjs';
import { renderTables, renderTypes } from '../scripts/render.mjs';

describe('the generated files', () => {
  it.each(products.map((product) => product.name))('of %s are what the generator makes now', (name) => {
    const product = products.find((candidate) => candidate.name === name);
    const tables = actionTablesOf(product);
    // Plain comparison: a diff of these files would take minutes to print.
    expect(renderTables(tables) === readFileSync(tablesPath(name), 'utf8'), 'run: npm run generate').toBe(
      true,
    );
    expect(renderTypes(name, tables) === readFileSync(typesPath(name), 'utf8'), 'run: npm run generate').toBe(
      true,
    );
  });
});
