/** Writes the tables and types of every product: `npm run generate -w packages/schema`. */
import { writeFileSync } from 'node:fs';
import { actionTablesOf, products } from './action-tables.mjs';
import { tablesPath, typesPath } from './paths.mjs';
import { renderTables, renderTypes } from './render.mjs';

for (const product of products) {
  const tables = actionTablesOf(product);
  writeFileSync(tablesPath(product.name), renderTables(tables));
  writeFileSync(typesPath(product.name), renderTypes(product.name, tables));
}
