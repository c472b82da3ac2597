import type { Field, FieldShape } from '@openegs/schema';
import fc from 'fast-check';

/** Any input that an action's table allows, in the form in which the decoder gives it to the action. */
export function arbitraryInput(fields: readonly Field[]): fc.Arbitrary<Record<string, unknown>> {
  const required = fields.filter((field) => field.required).map((field) => field.key);
  return fc.record(Object.fromEntries(fields.map((field) => [field.key, arbitraryValue(field, field)])), {
    requiredKeys: required,
    noNullPrototype: true,
  });
}

type Rules = Pick<Field, 'minimum' | 'maximum' | 'maxItems' | 'enum'>;

/** An empty text counts as none, so there are none. */
const text = fc.string({ minLength: 1, maxLength: 12, unit: 'grapheme' });

function arbitraryValue(shape: FieldShape, rules: Rules = {}): fc.Arbitrary<unknown> {
  switch (shape.type) {
    case 'string':
      return rules.enum ? fc.constantFrom(...rules.enum) : text;
    case 'boolean':
      return fc.boolean();
    case 'integer':
    case 'long':
      return fc.integer({ min: rules.minimum ?? -1e9, max: rules.maximum ?? 1e9 });
    case 'float':
      return fc
        .double({ min: rules.minimum ?? -1e9, max: rules.maximum ?? 1e9, noNaN: true })
        .map(noMinusZero);
    case 'any':
      return fc.dictionary(text, text, { minKeys: 1, maxKeys: 2, noNullPrototype: true });
    case 'object':
      return arbitraryInput(shape.fields).filter((value) => Object.keys(value).length > 0);
    case 'array':
      return fc.array(arbitraryListItem(shape), {
        minLength: 1,
        maxLength: Math.min(rules.maxItems ?? 3, 3),
      });
  }
}

function arbitraryListItem(shape: FieldShape & { type: 'array' }): fc.Arbitrary<unknown> {
  // A comma would end the member, and white space around it is cut.
  if (shape.style === 'comma' && shape.item.type === 'string') return fc.stringMatching(/^[a-z0-9-]{1,8}$/);
  return arbitraryValue(shape.item);
}

const noMinusZero = (value: number): number => (value === 0 ? 0 : value);

/**
 * An input as the official SDK hands it to its flattening: wire names, and a JSON or comma text where the
 * table wants one.
 */
export function toSdkQuery(
  fields: readonly Field[],
  input: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  return Object.fromEntries(
    fields.flatMap((field) => {
      const value = input[field.key];
      return value === undefined ? [] : [[field.wire, toSdkValue(field, value)]];
    }),
  );
}

function toSdkValue(shape: FieldShape, value: unknown): unknown {
  switch (shape.type) {
    case 'any':
      return JSON.stringify(value);
    case 'object': {
      const members = toSdkQuery(shape.fields, Object.fromEntries(Object.entries(value ?? {})));
      return shape.style === 'json' ? JSON.stringify(members) : members;
    }
    case 'array': {
      const items = Array.isArray(value) ? value.map((item) => toSdkValue(shape.item, item)) : [];
      if (shape.style === 'json') return JSON.stringify(items);
      return shape.style === 'comma' ? items.join(',') : items;
    }
    default:
      return value;
  }
}
