import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';
import { products } from '../scripts/action-tables.mjs';
import {
  type Field,
  type FieldShape,
  findAction,
  listActions,
  type ProductName,
  productVersions,
} from './index.js';

type SdkType = string | ModelClass | { readonly type: 'array' | 'map'; readonly itemType?: SdkType };
interface ModelClass {
  new (map: Record<string, unknown>): object;
  names(): Record<string, string>;
  types(): Record<string, SdkType>;
}
interface SentRequest {
  readonly query?: Record<string, unknown>;
  readonly body?: Record<string, unknown>;
}
type Send = (request: object | undefined, runtime: object) => Promise<unknown>;

/** A request with every field of the SDK's model set; lists have one item. */
function filledModel(model: ModelClass, fields: readonly Field[]): object {
  const map: Record<string, unknown> = {};
  const types = model.types();
  for (const field of fields) map[field.key] = filledValue(types[field.key] ?? 'missing', field);
  return new model(map);
}

function filledValue(type: SdkType, shape: FieldShape): unknown {
  if (type === 'boolean') return true;
  if (type === 'number') return 7;
  if (type === 'string') return shape.type === 'array' && shape.style === 'json' ? '["text"]' : 'text';
  if (typeof type === 'function' && shape.type === 'object') return filledModel(type, shape.fields);
  if (typeof type === 'object' && type.type === 'map' && shape.type === 'any') return { name: 'text' };
  if (typeof type === 'object' && type.itemType && shape.type === 'array') {
    return [filledValue(type.itemType, shape.item)];
  }
  throw new Error(`the SDK has ${JSON.stringify(type)} where the table has ${shape.type}`);
}

/** Names under which the table expects these fields on the wire. */
function wireNames(fields: readonly Field[], prefix = ''): string[] {
  return fields.flatMap((field) => wireNamesOf(field, `${prefix}${field.wire}`));
}

function wireNamesOf(shape: FieldShape, name: string): string[] {
  if (shape.type === 'array' && shape.style === 'repeat') return wireNamesOf(shape.item, `${name}.1`);
  if (shape.type === 'object' && shape.style !== 'json') return wireNames(shape.fields, `${name}.`);
  return [name];
}

const require = createRequire(import.meta.url);

function isProductName(name: string): name is ProductName {
  return name in productVersions;
}

const productsWithSdk = products.flatMap(({ name, sdk }) =>
  sdk === undefined || !isProductName(name) ? [] : [{ name, sdk }],
);

describe.each(productsWithSdk)('the tables of $name', ({ name: product, sdk }) => {
  const models = require(sdk);

  /** What the SDK's client hands to its transport for this action. */
  async function sentBySdk(action: string, request: object | undefined): Promise<SentRequest> {
    let sent: SentRequest = {};
    const client = Object.create(models.default.prototype);
    client.callApi = (_: unknown, request: SentRequest) => {
      sent = request;
      return Promise.resolve({});
    };
    // Anonymous actions of STS bypass callApi; the request is the argument before the last.
    client.doRPCRequest = (...call: unknown[]) => client.callApi(undefined, call.at(-2));
    const method: Send = client[`${action.charAt(0).toLowerCase()}${action.slice(1)}WithOptions`];
    await (request === undefined ? method.call(client, {}, {}) : method.call(client, request, {}));
    return sent;
  }

  it('expect exactly the parameter names that the SDK sends, for every action', async () => {
    for (const action of listActions(product)) {
      const fields = findAction(product, action)?.table().request ?? [];
      const model = models[`${action}Request`];
      const sent = await sentBySdk(action, model === undefined ? undefined : filledModel(model, fields));
      const names = Object.keys({ ...sent.query, ...sent.body });
      expect(names.sort(), action).toEqual(wireNames(fields).sort());
    }
  });

  it('have every response field of the SDK, under its key', () => {
    const keys = (fields: readonly Field[]) => fields.map((field) => [field.key, field.wire]);
    for (const action of listActions(product)) {
      const body: ModelClass = models[`${action}ResponseBody`];
      const expected = Object.entries(body.names()).filter(([key]) => key !== 'requestId');
      expect(keys(findAction(product, action)?.table().response ?? []), action).toEqual(expected);
    }
  });
});
