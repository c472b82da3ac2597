/** Reads request and response shapes from the official SDK's model classes. */
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const require = createRequire(import.meta.url);

/**
 * @typedef {object} SdkNotes What the comments of the SDK's declarations tell of a request's fields, by path.
 * @property {Set<string>} required Stated without a condition.
 * @property {Set<string>} optional Documented, and nowhere called required.
 * @property {Set<string>} jsonLists Strings whose example is a JSON list.
 */

/** One SDK package: its model classes, the way its client sends them, and its declarations' comments. */
export class SdkModels {
  #models;
  #comments;
  #styles;
  #anonymousActions;

  constructor(packageName) {
    const entry = require.resolve(packageName);
    this.#models = require(packageName);
    this.#comments = readComments(join(dirname(entry), 'models'));
    const client = readFileSync(entry, 'utf8');
    this.#styles = readShrinkStyles(client);
    this.#anonymousActions = new Set([...client.matchAll(anonymousCall)].map(([, action]) => action));
  }

  /** @returns {string[]} */
  actions() {
    return Object.getOwnPropertyNames(this.#models.default.prototype)
      .filter((method) => method.endsWith('WithOptions'))
      .map((method) => method[0].toUpperCase() + method.slice(1, -'WithOptions'.length))
      .sort();
  }

  /** Fields of `<Action>Request`; an action without parameters has no such class. */
  request(action) {
    const model = this.#models[`${action}Request`];
    return model === undefined ? [] : fieldsOf(model, this.#styles.get(action));
  }

  /** True for an action that the client sends without a signature. */
  isAnonymous(action) {
    return this.#anonymousActions.has(action);
  }

  response(action) {
    return fieldsOf(this.#models[`${action}ResponseBody`]).filter((field) => field.wire !== 'RequestId');
  }

  /** @returns {SdkNotes} */
  notes(action) {
    const notes = { required: new Set(), optional: new Set(), jsonLists: new Set() };
    const model = this.#models[`${action}Request`];
    if (model === undefined) return notes;
    collectNotes(model, this.#comments, '', notes);
    return notes;
  }
}

const anonymousCall = /action: "(\w+)",(?:\s*\w+: "[^"]*",)*\s*authType: "Anonymous"/g;

/** Action to parameter to style (`json`, `simple`), from the client's own serialisation calls. */
function readShrinkStyles(clientSource) {
  const styles = new Map();
  let action;
  for (const line of clientSource.split('\n')) {
    const method = /^ {4}async (\w+)WithOptions\(/.exec(line);
    if (method) action = method[1][0].toUpperCase() + method[1].slice(1);
    const call = /arrayToStringWithSpecifiedStyle\(.*, "(\w+)", "(\w+)"\)/.exec(line);
    if (call === null) continue;
    if (!styles.has(action)) styles.set(action, {});
    styles.get(action)[call[1]] = call[2];
  }
  return styles;
}

function fieldsOf(model, styles = {}) {
  const types = model.types();
  return Object.entries(model.names()).map(([key, wire]) => ({
    key,
    wire,
    ...shapeOf(types[key], styles[wire]),
  }));
}

/** A type is a name (`number`), a model class, or `{ type: 'array' | 'map' }`. */
function shapeOf(type, style) {
  if (typeof type === 'function') {
    return { type: 'object', fields: fieldsOf(type), ...(style === 'json' ? { style } : {}) };
  }
  if (typeof type === 'string') {
    if (type === 'string' || type === 'boolean') return { type };
    return type === 'number' ? { type: 'integer' } : anyOf(style);
  }
  if (type.type === 'array') {
    const listStyle = { json: 'json', simple: 'comma' }[style] ?? 'repeat';
    return { type: 'array', item: shapeOf(type.itemType), style: listStyle };
  }
  return anyOf(style);
}

const anyOf = (style) => ({ type: 'any', ...(style === 'json' ? { style } : {}) });

/** Class to field to comment, for all request models of a package. */
function readComments(directory) {
  const comments = new Map();
  for (const file of readdirSync(directory).filter((name) => name.endsWith('Request.d.ts'))) {
    const declarations = readFileSync(join(directory, file), 'utf8');
    for (const part of declarations.split('export declare class ').slice(1)) {
      const fields = new Map();
      for (const [, comment, key] of part.matchAll(/\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*(\w+)\?: /g)) {
        fields.set(key, comment);
      }
      comments.set(/^\w+/.exec(part)[0], fields);
    }
  }
  return comments;
}

function collectNotes(model, comments, prefix, notes) {
  const types = model.types();
  for (const [key, wire] of Object.entries(model.names())) {
    const comment = comments.get(model.name)?.get(key) ?? '';
    const path = `${prefix}${wire}`;
    if (/^\s*\* This parameter is required\.$/m.test(comment)) notes.required.add(path);
    else if (comment.includes('@remarks') && !/is required/i.test(comment)) notes.optional.add(path);
    if (types[key] === 'string' && /@example\s+\*\s*\[\s*["“]/.test(comment)) notes.jsonLists.add(path);
    const isList = types[key].type === 'array';
    const inner = isList ? types[key].itemType : types[key];
    if (typeof inner === 'function') collectNotes(inner, comments, isList ? `${path}[].` : `${path}.`, notes);
  }
}
