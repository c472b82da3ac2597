import type { Field, FieldShape, ScalarType } from '@openegs/schema';
import { fail } from '../domain/errors.js';

/** Parameters as a tree over the dots of their names: `Tag.1.Key` is Tag → 1 → Key. */
interface Node {
  value?: string;
  children?: Map<string, Node>;
}

function toTree(parameters: ReadonlyMap<string, string>): Node {
  const root: Node = {};
  for (const [name, value] of parameters) {
    let node = root;
    for (const part of name.split('.')) {
      node.children ??= new Map();
      let child = node.children.get(part);
      if (!child) {
        child = {};
        node.children.set(part, child);
      }
      node = child;
    }
    node.value = value;
  }
  return root;
}

function decodeScalar(type: ScalarType, text: string, path: string): string | number | boolean {
  switch (type) {
    case 'string':
      return text;
    case 'boolean':
      if (/^true$/i.test(text)) return true;
      if (/^false$/i.test(text)) return false;
      return fail('InvalidParameter', { parameter: path, reason: 'it is not true or false.' });
    case 'integer':
    case 'long':
      if (/^[+-]?\d{1,19}$/.test(text)) return Number(text);
      return fail('InvalidParameter', { parameter: path, reason: 'it is not a whole number.' });
    case 'float': {
      const number = Number(text);
      if (text.trim() !== '' && Number.isFinite(number)) return number;
      return fail('InvalidParameter', { parameter: path, reason: 'it is not a number.' });
    }
  }
}

function parseJson(text: string, path: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return fail('InvalidParameter', { parameter: path, reason: 'it is not a JSON text.' });
  }
}

/** Takes a value out of a JSON text, where numbers and booleans may come as themselves. */
function decodeJson(shape: FieldShape, value: unknown, path: string): unknown {
  switch (shape.type) {
    case 'any':
      return value;
    case 'object': {
      if (typeof value !== 'object' || value === null || Array.isArray(value)) {
        return fail('InvalidParameter', { parameter: path, reason: 'it is not a JSON object.' });
      }
      const members = new Map(Object.entries(value));
      return decodeFields(shape.fields, path, (field) => {
        const member = members.get(field.wire);
        return member === undefined || member === null
          ? undefined
          : decodeJson(field, member, `${path}.${field.wire}`);
      });
    }
    case 'array':
      if (!Array.isArray(value)) {
        return fail('InvalidParameter', { parameter: path, reason: 'it is not a JSON list.' });
      }
      return value.map((item, index) => decodeJson(shape.item, item, `${path}.${index + 1}`));
    default:
      if (typeof value === 'object') {
        return fail('InvalidParameter', { parameter: path, reason: 'its members must be plain values.' });
      }
      return decodeScalar(shape.type, String(value), path);
  }
}

function decodeNode(shape: FieldShape, node: Node | undefined, path: string): unknown {
  if (!node) return undefined;
  // An empty value is as good as none: Packer and libcloud send the parameters that they know empty.
  const text = node.value === '' ? undefined : node.value;
  switch (shape.type) {
    case 'any':
      return text === undefined ? undefined : parseJson(text, path);
    case 'object':
      if (text !== undefined) return decodeJson(shape, parseJson(text, path), path);
      if (!node.children) return undefined;
      return decodeFields(shape.fields, path, (field) =>
        decodeNode(field, node.children?.get(field.wire), `${path}.${field.wire}`),
      );
    case 'array': {
      if (text !== undefined) {
        // Every list may come as a JSON text: older clients use that form for repeat lists as well.
        if (text.startsWith('[')) return decodeJson(shape, parseJson(text, path), path);
        const parts = shape.style === 'comma' ? text.split(',') : [text];
        if (shape.style === 'json') {
          return fail('InvalidParameter', {
            parameter: path,
            reason: 'it is not a JSON list such as ["a","b"].',
          });
        }
        return parts.map((part) => decodeNode(shape.item, { value: part.trim() }, path));
      }
      if (!node.children) return undefined;
      const items: unknown[] = [];
      const indexes = [...node.children.keys()].map((index) => {
        if (/^[1-9]\d{0,4}$/.test(index)) return Number(index);
        return fail('InvalidParameter', { parameter: `${path}.${index}`, reason: 'lists count from 1.' });
      });
      // Gaps are closed and order is kept: Packer leaves holes in its lists of data disks.
      for (const index of indexes.sort((left, right) => left - right)) {
        const item = decodeNode(shape.item, node.children.get(String(index)), `${path}.${index}`);
        if (item !== undefined) items.push(item);
      }
      return items;
    }
    default:
      return text === undefined ? undefined : decodeScalar(shape.type, text, path);
  }
}

/** Sizes of pages are cut to the limit instead of refused, as the new paging style has it. */
const cutInsteadOfRefused = 'MaxResults';

function checkRules(field: Field, value: unknown, path: string): void {
  if (field.wire === cutInsteadOfRefused) return;
  if (field.enum !== undefined && typeof value === 'string' && !field.enum.includes(value)) {
    fail('InvalidParameter', { parameter: path, reason: `it is not one of ${field.enum.join(', ')}.` });
  }
  if (typeof value === 'number') {
    if (field.minimum !== undefined && value < field.minimum) {
      fail('InvalidParameter', { parameter: path, reason: `it is less than ${field.minimum}.` });
    }
    if (field.maximum !== undefined && value > field.maximum) {
      fail('InvalidParameter', { parameter: path, reason: `it is more than ${field.maximum}.` });
    }
  }
  if (field.maxItems !== undefined && Array.isArray(value) && value.length > field.maxItems) {
    fail('InvalidParameter', { parameter: path, reason: `it has more than ${field.maxItems} members.` });
  }
}

function decodeFields(
  fields: readonly Field[],
  prefix: string,
  read: (field: Field) => unknown,
): Record<string, unknown> {
  const decoded: Record<string, unknown> = {};
  for (const field of fields) {
    const path = prefix === '' ? field.wire : `${prefix}.${field.wire}`;
    const value = read(field);
    if (value === undefined) {
      if (field.required) fail('MissingParameter', { parameter: path });
      continue;
    }
    checkRules(field, value, path);
    decoded[field.key] = value;
  }
  return decoded;
}

/**
 * Turns wire parameters into an action's input by its table: names into camelCase, texts into numbers,
 * booleans, lists and objects. Raises MissingParameter or InvalidParameter, naming the parameter.
 * Parameters that the table does not know are passed over, as on the original.
 */
export function decodeParameters(
  fields: readonly Field[],
  parameters: ReadonlyMap<string, string>,
): Record<string, unknown> {
  const root = toTree(parameters);
  return decodeFields(fields, '', (field) => {
    // The few wire names with a dot in them are fixed numbered parameters, not structures.
    const node = field.wire
      .split('.')
      .reduce<Node | undefined>((parent, part) => parent?.children?.get(part), root);
    return decodeNode(field, node, field.wire);
  });
}
