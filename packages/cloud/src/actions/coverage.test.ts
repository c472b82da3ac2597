import { readFileSync } from 'node:fs';
import { findAction, productVersions } from '@openegs/schema';
import { describe, expect, it } from 'vitest';
import { groupBy } from '../domain/collections.js';
import { ApiError } from '../domain/errors.js';
import { statusOf } from '../wire/response.js';
import { actions } from './index.js';

/** An action of the API with the clients that call it; `wave` says in which order they are built. */
interface ListedAction {
  readonly product: string;
  readonly version: string;
  readonly action: string;
  readonly wave: string;
  readonly clients: readonly string[];
}

function readList(): ListedAction[] {
  const text = readFileSync(new URL('../../data/api-actions.csv', import.meta.url), 'utf8');
  return text
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => {
      const [product = '', version = '', action = '', wave = '', clients = ''] = line.split(',');
      return { product, version, action, wave, clients: clients.split(' ').filter(Boolean) };
    });
}

/** Parameters that only the ECS form of an action has, and that nothing here depends on. */
const aliasOnly: Readonly<Record<string, readonly string[]>> = { ModifyVpcAttribute: ['UserCidr'] };

const listed = readList();
const nameOf = (product: string, action: string): string => `${product} ${action}`;
const mounted = new Set(actions.map(({ schema }) => nameOf(schema.product, schema.name)));

describe('the mounted actions', () => {
  it('are all on the list of actions, each once and under its version', () => {
    expect(mounted.size).toBe(actions.length);
    const known = new Map(listed.map((each) => [nameOf(each.product, each.action), each.version]));
    for (const { schema } of actions) {
      expect(known.get(nameOf(schema.product, schema.name)), schema.name).toBe(schema.version);
      expect(productVersions[schema.product]).toBe(schema.version);
      expect(findAction(schema.product, schema.name)).toBeDefined();
    }
  });

  it('cover of the first waves, by client, what is printed here', () => {
    const first = listed.filter((each) => each.wave === 'W0' || each.wave === 'W1');
    const isBuilt = (each: ListedAction): boolean => mounted.has(nameOf(each.product, each.action));
    const clients = [...new Set(first.flatMap((each) => each.clients))].sort();
    const lines = clients.map((client) => {
      const wanted = first.filter((each) => each.clients.includes(client));
      return `${client} ${wanted.filter(isBuilt).length}/${wanted.length}`;
    });
    const missing = first.filter((each) => !isBuilt(each)).map((each) => nameOf(each.product, each.action));
    console.info(
      `actions of waves W0 and W1 built: ${first.length - missing.length}/${first.length} (${lines.join(', ')})\n` +
        `not built yet: ${missing.join(', ')}`,
    );
    expect(first.length).toBeGreaterThan(0);
  });

  it('read under an alias nothing that the action itself does not know', () => {
    const byHandler = groupBy(actions, (action) => action.handle);
    for (const [original, ...aliases] of byHandler.values()) {
      const known = new Map(original?.schema.table().request.map((field) => [field.key, field.type]));
      for (const alias of aliases) {
        for (const field of alias.schema.table().request) {
          const extra = aliasOnly[alias.schema.name]?.includes(field.wire) ?? false;
          const expected = extra ? undefined : field.type;
          expect(known.get(field.key), `${alias.schema.name} ${field.wire}`).toBe(expected);
        }
      }
    }
  });
});

describe('the declared errors', () => {
  it('are answered with the status that is documented for the action, and never as a mistake of the server', () => {
    for (const { schema, errors } of actions) {
      const table = schema.table();
      for (const code of errors) {
        const status = statusOf(new ApiError(code, ''), table);
        const documented = table.errors[code];
        // The documentation of DeleteInstances has 500 for InvalidParameter, a misprint.
        if (documented !== undefined && documented < 500)
          expect(status, `${schema.name} ${code}`).toBe(documented);
        expect(status, `${schema.name} ${code}`).toBeLessThan(500);
      }
    }
  });
});
