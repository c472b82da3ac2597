import { readFileSync } from 'node:fs';
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
 * @property {'json' | 'simple'} [style]
 *
 * @typedef {object} ActionFacts
 * @property {('GET' | 'POST')[]} methods
 * @property {Record<string, ParameterRule>} parameters
 * @property {Record<string, string[]>} errors Codes by HTTP status.
 * @property {Record<string, 'long' | 'float'>} [responseFormats]
 * @property {Field[]} [request] The whole shape, for products without SDK models.
 * @property {Field[]} [response]
 */

/** @returns {Record<string, ActionFacts>} */
export const readFacts = (product) => JSON.parse(readFileSync(factsPath(product), 'utf8'));

/** Facts of an action that the published description does not know, because the SDK is newer. */
export const noFacts = /** @type {ActionFacts} */ ({ methods: ['GET', 'POST'], parameters: {}, errors: {} });
