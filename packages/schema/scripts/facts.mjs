import { readFileSync, writeFileSync } from 'node:fs';
import { factsPath } from './paths.mjs';

/**
 * @typedef {import('../src/action.js').Field} Field
 *
 * @typedef {object} ParameterRule What is known of one parameter, by its path (`DataDisk[].Size`).
 * @property {true} [required]
 * @property {number} [minimum]
 * @property {number} [maximum]
 * @property {number} [maxItems]
 * @property {string[]} [enum]
 * @property {'long' | 'float'} [format]
 * @property {'json' | 'comma'} [style] Of a list that is not a repeat list, even if the SDK says string.
 *
 * @typedef {object} ActionFacts
 * @property {('GET' | 'POST')[]} methods
 * @property {Record<string, ParameterRule>} parameters
 * @property {Record<string, string[]>} errors Codes by HTTP status.
 * @property {Record<string, 'long' | 'float'>} [responseFormats]
 * @property {Field[]} [request] The whole shape, for products without SDK models.
 * @property {Field[]} [response]
 */

/**
 * One line an action: name, tab, facts as JSON.
 *
 * @param {string} product
 * @returns {Map<string, ActionFacts>}
 */
export function readFacts(product) {
  const lines = readFileSync(factsPath(product), 'utf8').trimEnd().split('\n');
  return new Map(
    lines.map((line) => {
      const [action, facts] = line.split('\t');
      return [action, JSON.parse(facts)];
    }),
  );
}

/**
 * @param {string} product
 * @param {Map<string, ActionFacts>} facts
 */
export function writeFacts(product, facts) {
  const lines = [...facts].map(([action, own]) => `${action}\t${JSON.stringify(own)}\n`);
  writeFileSync(factsPath(product), lines.join(''));
}

/** Facts of an action that the published description does not know, because the SDK is newer. */
/** @type {ActionFacts} */
export const noFacts = { methods: ['GET', 'POST'], parameters: {}, errors: {} };
