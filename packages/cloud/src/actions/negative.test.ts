import { type Field, type FieldShape, productVersions } from '@openegs/schema';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { arbitraryInput, toSdkQuery } from '../testing/arbitraryInput.js';
import { startTestCloud, type TestCloud } from '../testing/testCloud.js';
import type { Action } from './action.js';
import { actions } from './index.js';

/** Negative cases that are made from the tables, for every action that is mounted. */
let cloud: TestCloud;
beforeAll(async () => {
  cloud = await startTestCloud();
});
afterAll(() => cloud.stop());

type Query = Record<string, unknown>;

interface Refusal {
  readonly code: string;
  readonly message: string;
}

/** Sends the request, and gives the error that it is answered with. */
async function refusalOf(action: Action, query: Query): Promise<Refusal> {
  const client = cloud.rpc(productVersions[action.schema.product]);
  try {
    await client.request(action.schema.name, query, { method: 'POST', formatParams: false });
  } catch (error) {
    if (error instanceof Error && 'code' in error)
      return { code: String(error.code), message: error.message };
    throw error;
  }
  return { code: 'OK', message: '' };
}

/** A value that passes the rules of its field. */
function sample(shape: FieldShape, rules: Partial<Field> = {}): unknown {
  switch (shape.type) {
    case 'string':
      return rules.enum?.[0] ?? 'text';
    case 'boolean':
      return true;
    case 'integer':
    case 'long':
    case 'float':
      return rules.minimum ?? 1;
    case 'any':
      return { name: 'text' };
    case 'object':
      return requiredOf(shape.fields);
    case 'array':
      return [sample(shape.item)];
  }
}

/** The least that a request must have, by keys; structures have one more field, or they would be nothing. */
function requiredOf(fields: readonly Field[]): Record<string, unknown> {
  const needed = fields.filter((field) => field.required);
  return Object.fromEntries(
    (needed.length > 0 ? needed : fields.slice(0, 1)).map((field) => [field.key, sample(field, field)]),
  );
}

interface Case {
  readonly what: string;
  readonly query: Query;
  readonly code: 'MissingParameter' | 'InvalidParameter';
  /** The parameter that the message must name. */
  readonly parameter: string;
}

/** What is wrong with a value by the rules of its field. */
function violations(field: Field): { readonly what: string; readonly value: unknown }[] {
  // Page sizes of the newer style are cut down instead of refused.
  if (field.wire === 'MaxResults') return [];
  const isNumber = ['integer', 'long', 'float'].includes(field.type);
  return [
    ...(field.enum ? [{ what: 'a word that is not listed', value: 'no-such-word' }] : []),
    ...(isNumber ? [{ what: 'not a number', value: 'many' }] : []),
    ...(isNumber && field.minimum !== undefined ? [{ what: 'too small', value: field.minimum - 1 }] : []),
    ...(isNumber && field.maximum !== undefined ? [{ what: 'too large', value: field.maximum + 1 }] : []),
    ...(field.type === 'boolean' ? [{ what: 'neither true nor false', value: 'perhaps' }] : []),
    ...(field.type === 'array' && field.style === 'json' ? [{ what: 'not a JSON list', value: 'text' }] : []),
    ...(field.type === 'array' && field.maxItems !== undefined && field.maxItems <= 100
      ? [{ what: 'too many members', value: Array(field.maxItems + 1).fill(sample(field.item)) }]
      : []),
  ];
}

function casesOf(action: Action): Case[] {
  const { request } = action.schema.table();
  const whole = Object.fromEntries(
    request.filter((field) => field.required).map((field) => [field.key, sample(field, field)]),
  );
  const cases: Case[] = [];
  for (const field of request) {
    if (field.required) {
      const { [field.key]: _, ...rest } = whole;
      const query = toSdkQuery(request, rest);
      cases.push({ what: `${field.wire} missing`, query, code: 'MissingParameter', parameter: field.wire });
    }
    for (const { what, value } of violations(field)) {
      const query = { ...toSdkQuery(request, whole), [field.wire]: wireList(field, value) };
      cases.push({ what: `${field.wire} ${what}`, query, code: 'InvalidParameter', parameter: field.wire });
    }
    cases.push(...missingInside(request, whole, field));
  }
  return cases;
}

function wireList(field: Field, value: unknown): unknown {
  return Array.isArray(value) ? toSdkQuery([field], { [field.key]: value })[field.wire] : value;
}

/** One case for each parameter that a structure requires of its own. */
function missingInside(request: readonly Field[], whole: Record<string, unknown>, field: Field): Case[] {
  const inner = field.type === 'array' ? field.item : field;
  if (inner.type !== 'object') return [];
  const required = inner.fields.filter((each) => each.required);
  const others = inner.fields.filter((each) => !each.required && each.type === 'string' && !each.enum);
  return required.flatMap((missing) => {
    const rest = [...required, ...others.slice(0, 1)].filter((each) => each !== missing);
    if (rest.length === 0) return [];
    const structure = Object.fromEntries(rest.map((each) => [each.key, sample(each, each)]));
    const input = { ...whole, [field.key]: field.type === 'array' ? [structure] : structure };
    const parameter = `${field.wire}${field.type === 'array' ? '.1' : ''}.${missing.wire}`;
    return [
      {
        what: `${parameter} missing`,
        query: toSdkQuery(request, input),
        code: 'MissingParameter' as const,
        parameter,
      },
    ];
  });
}

describe.each(actions.map((action) => [`${action.schema.product} ${action.schema.name}`, action] as const))(
  '%s',
  (_name, action) => {
    it('names every parameter that is missing or against its rules', async () => {
      for (const { what, query, code, parameter } of casesOf(action)) {
        const refusal = await refusalOf(action, query);
        expect(refusal.code, what).toBe(code);
        expect(refusal.message, what).toContain(`"${parameter}"`);
      }
    });

    it('answers any well-formed request without an unknown error', async () => {
      const { request } = action.schema.table();
      for (const input of fc.sample(arbitraryInput(request), { numRuns: 8, seed: 20_14 })) {
        const known = request.some((field) => field.key === 'regionId') ? { regionId: 'cn-hangzhou' } : {};
        const refusal = await refusalOf(action, toSdkQuery(request, { ...input, ...known }));
        expect(refusal.code, JSON.stringify(input)).not.toBe('InternalError');
      }
    });
  },
);
