/**
 * Takes from the provider's published API description the facts that the SDK models do not carry, and writes
 * them to `facts/`: methods, required flags, limits, value lists, number formats, list styles, error codes
 * with their HTTP status. Sentences of the description stay out.
 *
 *     node packages/schema/scripts/extract-facts.mjs <directory with ecs.json, vpc.json, ...>
 *
 * ESS has no SDK models on npm, so for it the whole shape of requests and responses is kept.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeFacts } from './facts.mjs';
import { keyOf } from './keys.mjs';

/** @typedef {import('./facts.mjs').ActionFacts} ActionFacts */

/**
 * RAM and STS state only in `docRequired` what is required. They do so for `UpdateUser`'s new name too, but
 * clients change a comment without renaming.
 */
const products = [
  { name: 'ecs', requiredBy: ['required'] },
  { name: 'vpc', requiredBy: ['required'] },
  { name: 'ram', requiredBy: ['required', 'docRequired'], notRequired: ['NewUserName'] },
  { name: 'sts', requiredBy: ['required', 'docRequired'] },
  { name: 'ess', requiredBy: ['required'], withShapes: true },
];

/** `Filter.1.Key` and `DataDisk` with items `Size` both become paths like `Filter[].Key`. */
const normalisePath = (name) => name.replace(/\.\d+(?=\.|$)/g, '[]');

const numberFormats = { int64: 'long', float: 'float', double: 'float' };

function* walk(path, schema) {
  yield { path, schema };
  if (schema.items) yield* walk(`${path}[]`, schema.items);
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    yield* walk(path === '' ? name : `${path}.${name}`, property);
  }
}

function ruleOf(schema, isRequired) {
  const rule = {};
  if (isRequired) rule.required = true;
  if (schema.minimum !== undefined) rule.minimum = Number(schema.minimum);
  if (schema.maximum !== undefined) rule.maximum = Number(schema.maximum);
  if (schema.type === 'array' && schema.maxItems !== undefined) rule.maxItems = schema.maxItems;
  if (schema.type === 'string' && schema.enum?.length > 0) rule.enum = schema.enum;
  const format = numberFormats[schema.format];
  if (format !== undefined) rule.format = format;
  if (holdsJsonList(schema)) rule.style = 'json';
  return rule;
}

/** Old actions declare a string whose example shows that it is a JSON text of strings. */
function holdsJsonList(schema) {
  return schema.type === 'string' && /^\[\s*["“]/.test(String(schema.example ?? '').trim());
}

function rulesOf(description, product) {
  const rules = {};
  for (const parameter of description.parameters) {
    for (const { path, schema } of walk(parameter.name, parameter.schema)) {
      // An item of a list of strings may carry the example of the whole list.
      if (path.endsWith('[]') && schema.type === 'string') continue;
      const isRequired =
        product.requiredBy.some((flag) => schema[flag] === true) && !product.notRequired?.includes(path);
      const rule = ruleOf(schema, isRequired);
      if (Object.keys(rule).length > 0)
        rules[normalisePath(path)] = { ...rules[normalisePath(path)], ...rule };
    }
    if (rules[parameter.name]?.required) requireStructsOf(parameter.name, rules);
  }
  return rules;
}

/** A required `PrivatePoolOptions.Id` makes its struct required too. */
function requireStructsOf(name, rules) {
  for (let dot = name.indexOf('.'); dot >= 0; dot = name.indexOf('.', dot + 1)) {
    const struct = name.slice(0, dot);
    rules[struct] = { ...rules[struct], required: true };
  }
}

function responseSchemaOf(description) {
  return description.responses?.['200']?.schema ?? { type: 'object', properties: {} };
}

function responseFormatsOf(description) {
  const formats = {};
  for (const { path, schema } of walk('', responseSchemaOf(description))) {
    const format = numberFormats[schema.format];
    if (format !== undefined) formats[path] = format;
  }
  return formats;
}

/** Status to codes. Codes with spaces or placeholders in them are slips of the description. */
function errorsOf(description) {
  const errors = {};
  for (const [status, entries] of Object.entries(description.errorCodes ?? {})) {
    if (!/^[45]\d\d$/.test(status)) continue;
    const codes = entries.map((entry) => entry.errorCode.trim()).filter((code) => /^[\w.-]+$/.test(code));
    if (codes.length > 0) errors[status] = [...new Set(codes)].sort();
  }
  return errors;
}

function shapeOf(schema, style) {
  switch (schema.type) {
    case 'array':
      return { type: 'array', item: shapeOf(schema.items ?? { type: 'string' }, 'repeat'), style };
    case 'object':
      if (!schema.properties) return { type: 'any', ...(style === 'json' ? { style } : {}) };
      return {
        type: 'object',
        fields: Object.entries(schema.properties).map(([wire, property]) =>
          fieldOf(wire, property, 'repeat'),
        ),
        ...(style === 'json' ? { style } : {}),
      };
    case 'integer':
      return { type: schema.format === 'int64' ? 'long' : 'integer' };
    case 'number':
      return { type: 'float' };
    case 'boolean':
      return { type: 'boolean' };
    default:
      return { type: 'string' };
  }
}

const fieldOf = (wire, schema, style) => ({ key: keyOf(wire), wire, ...shapeOf(schema, style) });

/** Parameters named `LaunchTemplate.Id` are fields of one struct: gathers them into a tree first. */
function requestShapeOf(description) {
  const root = { type: 'object', properties: {} };
  const styles = {};
  for (const parameter of description.parameters) {
    const names = normalisePath(parameter.name).split('.');
    let parent = root;
    for (const name of names.slice(0, -1)) {
      parent.properties[name] ??= { type: 'object', properties: {} };
      parent = parent.properties[name];
      parent.properties ??= {};
    }
    const last = names[names.length - 1];
    const known = parent.properties[last];
    parent.properties[last] =
      known === undefined
        ? parameter.schema
        : { ...parameter.schema, properties: { ...known.properties, ...parameter.schema.properties } };
    if (holdsJsonList(parameter.schema)) {
      parent.properties[last] = { type: 'array', items: { type: 'string' } };
      styles[last] = 'json';
    }
    if (parameter.style === 'json') styles[last] = 'json';
  }
  return Object.entries(root.properties).map(([wire, schema]) =>
    fieldOf(wire, schema, styles[wire] ?? 'repeat'),
  );
}

/** @returns {ActionFacts} */
function factsOf(description, product) {
  const methods = description.methods.map((method) => method.toUpperCase()).sort();
  /** @type {ActionFacts} */
  const facts = { methods, parameters: rulesOf(description, product), errors: errorsOf(description) };
  if (product.withShapes) {
    facts.request = requestShapeOf(description);
    facts.response = shapeOf(responseSchemaOf(description)).fields.filter(
      (field) => field.wire !== 'RequestId',
    );
  } else {
    facts.responseFormats = responseFormatsOf(description);
  }
  return facts;
}

const [directory] = process.argv.slice(2);
if (directory === undefined) {
  process.stderr.write('usage: extract-facts.mjs <directory with ecs.json, vpc.json, ...>\n');
  process.exit(2);
}
for (const product of products) {
  const published = JSON.parse(readFileSync(join(directory, `${product.name}.json`), 'utf8'));
  const actions = Object.keys(published.apis).sort();
  const facts = new Map(actions.map((action) => [action, factsOf(published.apis[action], product)]));
  writeFacts(product.name, facts);
}
