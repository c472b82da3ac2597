import { createHash, createHmac, randomUUID } from 'node:crypto';
import { request as httpRequest } from 'node:http';

/*
 * Requests made by hand, for what no official client would send. The signing here is a second writing of
 * the published algorithms, on purpose: it shares nothing with the one under test.
 */

export interface RawKey {
  readonly accessKeyId: string;
  readonly accessKeySecret: string;
}

export interface RawAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly text: string;
  /** The body as JSON, empty when it is not. */
  readonly json: Readonly<Record<string, unknown>>;
}

/** Sends bytes as they are: any method, target, headers and body. */
export function sendRaw(
  endpoint: string,
  options: {
    readonly method?: string;
    readonly target: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: string | Buffer;
  },
): Promise<RawAnswer> {
  const { hostname, port } = new URL(endpoint);
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      {
        hostname,
        port,
        method: options.method ?? 'GET',
        path: options.target,
        headers: { ...options.headers },
        agent: false,
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          resolve({
            status: response.statusCode ?? 0,
            contentType: response.headers['content-type'] ?? '',
            text,
            json: parseObject(text),
          });
        });
      },
    );
    request.on('error', reject);
    request.end(options.body);
  });
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

const encode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`);

const encodePairs = (pairs: readonly (readonly [string, string])[]): string =>
  pairs.map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&');

const secondsTime = (date: Date): string => `${date.toISOString().slice(0, 19)}Z`;

/** A query signed with V1; `parameters` may replace what is put in by itself. */
export function signV1Query(
  key: RawKey,
  parameters: Readonly<Record<string, string>>,
  method = 'GET',
): string {
  const all: Record<string, string> = {
    AccessKeyId: key.accessKeyId,
    Format: 'JSON',
    SignatureMethod: 'HMAC-SHA1',
    SignatureVersion: '1.0',
    SignatureNonce: randomUUID(),
    Timestamp: secondsTime(new Date()),
    Version: '2014-05-26',
    ...parameters,
  };
  const query = encodePairs(Object.entries(all).sort(([left], [right]) => (left < right ? -1 : 1)));
  const signature = createHmac('sha1', `${key.accessKeySecret}&`)
    .update(`${method}&%2F&${encode(query)}`)
    .digest('base64');
  return `${query}&Signature=${encode(signature)}`;
}

/** Headers that sign a request with V3; `headers` may replace what is put in by itself. */
export function signV3Headers(
  key: RawKey,
  request: {
    readonly host: string;
    readonly action: string;
    readonly version?: string;
    readonly parameters?: Readonly<Record<string, string>>;
    readonly body?: string;
    readonly method?: string;
    readonly headers?: Readonly<Record<string, string>>;
  },
): { readonly query: string; readonly headers: Record<string, string> } {
  const query = encodePairs(
    Object.entries(request.parameters ?? {}).sort(([left], [right]) => (left < right ? -1 : 1)),
  );
  const bodyHash = createHash('sha256')
    .update(request.body ?? '')
    .digest('hex');
  const headers: Record<string, string> = {
    host: request.host,
    'x-acs-action': request.action,
    'x-acs-content-sha256': bodyHash,
    'x-acs-date': secondsTime(new Date()),
    'x-acs-signature-nonce': randomUUID(),
    'x-acs-version': request.version ?? '2014-05-26',
    ...request.headers,
  };
  const names = Object.keys(headers).sort();
  const canonical = [
    request.method ?? 'POST',
    '/',
    query,
    ...names.map((name) => `${name}:${headers[name]}`),
    '',
    names.join(';'),
    headers['x-acs-content-sha256'],
  ].join('\n');
  const stringToSign = `ACS3-HMAC-SHA256\n${createHash('sha256').update(canonical).digest('hex')}`;
  const signature = createHmac('sha256', key.accessKeySecret).update(stringToSign).digest('hex');
  return {
    query,
    headers: {
      ...headers,
      authorization: `ACS3-HMAC-SHA256 Credential=${key.accessKeyId},SignedHeaders=${names.join(';')},Signature=${signature}`,
    },
  };
}
