import { fail } from '../domain/errors.js';

/** Limits on what a client may send, checked before anything is computed from it. */
export interface RequestLimits {
  readonly maxBodyBytes: number;
  readonly maxParameters: number;
  readonly maxHeaderBytes: number;
}

export const defaultRequestLimits: RequestLimits = {
  // RunInstances with 32 KB of user data (44 KB in Base64, up to 130 KB percent-encoded) and tags fits.
  maxBodyBytes: 1024 * 1024,
  maxParameters: 3000,
  // The current SDKs put every parameter into the query, so the request line is as long as a body.
  maxHeaderBytes: 256 * 1024,
};

/** One HTTP request as it came in, before anything about it is believed. */
export interface HttpRequest {
  readonly method: string;
  /** Path and query, or an absolute URL when the client thinks that it talks to a proxy. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
  readonly sourceAddress: string;
}

export type WireFormat = 'JSON' | 'XML';

/** An RPC request: which action, with which parameters, in which dialect. */
export interface RpcRequest {
  readonly http: HttpRequest;
  readonly path: string;
  /** Query and form parameters together, as the V1 signature covers them. */
  readonly parameters: ReadonlyMap<string, string>;
  /** The query alone, as the V3 signature covers it. */
  readonly query: readonly (readonly [string, string])[];
  readonly action: string;
  readonly version: string;
  readonly format: WireFormat;
  readonly hostName: string;
}

export function header(request: HttpRequest, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value[0] : value;
}

/** Splits an absolute-form target, which clients behind HTTP_PROXY send (Packer 1.6 is used that way). */
export function splitTarget(target: string): { path: string; query: string } {
  const originForm = target.replace(/^https?:\/\/[^/?]*/i, '');
  const questionMark = originForm.indexOf('?');
  if (questionMark < 0) return { path: originForm || '/', query: '' };
  return { path: originForm.slice(0, questionMark) || '/', query: originForm.slice(questionMark + 1) };
}

/** The format in which an answer goes out, known even when the rest of the request is broken. */
export function answerFormat(http: HttpRequest): WireFormat {
  const { query } = splitTarget(http.target);
  const isForm = header(http, 'content-type')?.startsWith('application/x-www-form-urlencoded') ?? false;
  const asked =
    new URLSearchParams(query).get('Format') ??
    (isForm ? new URLSearchParams(http.body.toString('latin1')).get('Format') : undefined);
  // XML is the documented default of V1, JSON that of V3.
  const fallback = header(http, 'x-acs-action') === undefined ? 'XML' : 'JSON';
  return asked?.toUpperCase() === 'JSON' ? 'JSON' : asked?.toUpperCase() === 'XML' ? 'XML' : fallback;
}

/** Reads an RPC request in any of the forms that clients use. */
export function parseRequest(http: HttpRequest, limits: RequestLimits): RpcRequest {
  if (http.method !== 'GET' && http.method !== 'POST') {
    fail('InvalidProtocol.NotSupported', { reason: `The method ${http.method} is not GET or POST.` });
  }
  const { path, query: queryText } = splitTarget(http.target);
  if (path !== '/') fail('InvalidProtocol.NotSupported', { reason: 'The path of an API request is "/".' });

  const query = [...new URLSearchParams(queryText)];
  const contentType = header(http, 'content-type') ?? '';
  const form =
    http.method === 'POST' && contentType.startsWith('application/x-www-form-urlencoded')
      ? [...new URLSearchParams(http.body.toString('utf8'))]
      : [];
  if (query.length + form.length > limits.maxParameters) {
    fail('RequestTooLarge', { reason: `more than ${limits.maxParameters} parameters` });
  }
  const parameters = new Map<string, string>();
  for (const [name, value] of [...query, ...form]) {
    if (parameters.has(name)) fail('InvalidParameter', { parameter: name, reason: 'it is given twice.' });
    parameters.set(name, value);
  }

  // A V1 signature covers the parameters alone, so that headers say nothing beside it.
  const fromHeader = (name: string): string | undefined =>
    parameters.has('Signature') ? undefined : header(http, name);
  const action = fromHeader('x-acs-action') ?? parameters.get('Action');
  if (!action) return fail('MissingParameter', { parameter: 'Action' });
  const version = fromHeader('x-acs-version') ?? parameters.get('Version');
  if (!version) return fail('MissingParameter', { parameter: 'Version' });
  return {
    http,
    path,
    parameters,
    query,
    action,
    version,
    format: answerFormat(http),
    hostName: header(http, 'host') ?? '',
  };
}
