import { fileURLToPath } from 'node:url';

const inPackage = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));

/** Facts of a product: extracted from the published description, or written by hand. */
export const factsPath = (product) => inPackage(`facts/${product}.tsv`);

/** One line an action: name, tab, the action's table as JSON. Read at run time. */
export const tablesPath = (product) => inPackage(`generated/${product}.tsv`);

/** Types and references of a product's actions. */
export const typesPath = (product) => inPackage(`src/generated/${product}.ts`);
