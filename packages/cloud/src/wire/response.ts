import type { ActionTable, Field, FieldShape } from '@openegs/schema';
import Builder from 'fast-xml-builder';
import type { ApiError } from '../domain/errors.js';
import type { RequestId } from '../domain/ids.js';
import type { WireFormat } from './request.js';

export interface WireAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

type WireObject = Record<string, unknown>;

function encodeShape(shape: FieldShape, value: unknown): unknown {
  if (shape.type === 'object' && isObject(value)) return encodeFields(shape.fields, value);
  if (shape.type === 'array' && Array.isArray(value))
    return value.map((item) => encodeShape(shape.item, item));
  return value;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/** Gives an answer's fields their wire names, in the order of the table. */
export function encodeFields(fields: readonly Field[], value: Readonly<Record<string, unknown>>): WireObject {
  const encoded: WireObject = {};
  for (const field of fields) {
    const member = value[field.key];
    if (member !== undefined) encoded[field.wire] = encodeShape(field, member);
  }
  return encoded;
}

const xml = new Builder({});
// Characters that XML 1.0 cannot carry at all, not even escaped.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const notXml = /[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g;

function format(status: number, root: string, value: WireObject, wireFormat: WireFormat): WireAnswer {
  return wireFormat === 'JSON'
    ? { status, contentType: 'application/json;charset=utf-8', body: JSON.stringify(value) }
    : {
        status,
        contentType: 'text/xml;charset=utf-8',
        body: `<?xml version='1.0' encoding='UTF-8'?>${xml.build({ [root]: value }).replace(notXml, '�')}`,
      };
}

/** The answer of an action that went well. `result` has wire names already. */
export function successAnswer(
  action: string,
  requestId: RequestId,
  result: WireObject,
  wireFormat: WireFormat,
): WireAnswer {
  return format(200, `${action}Response`, { RequestId: requestId, ...result }, wireFormat);
}

/** The error body that every client knows; libcloud and Packer print HostId and Recommend. */
export function errorAnswer(
  error: ApiError,
  status: number,
  requestId: RequestId,
  hostName: string,
  wireFormat: WireFormat,
): WireAnswer {
  return format(
    status,
    'Error',
    {
      RequestId: requestId,
      HostId: hostName,
      Code: error.code,
      Message: error.message,
      Recommend: 'See docs/errors.md of OpenEGS.',
    },
    wireFormat,
  );
}

/**
 * The status documented for the action wins over the usual one of the code; but a mistake of the client
 * is never a 5xx, though the documentation of DeleteInstances says so: clients would try it again.
 */
export function statusOf(error: ApiError, table: ActionTable | undefined): number {
  const documented = table?.errors[error.code];
  return documented === undefined || (documented >= 500 && error.status < 500) ? error.status : documented;
}
