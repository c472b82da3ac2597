import { createHash, createHmac, randomUUID } from 'node:crypto';
import { request } from 'node:http';
import { request as requestTls } from 'node:https';
import { CommandError } from '../errors.js';

/** A value of a parameter. Lists become `Name.1`, `Name.2`; objects in them `Name.1.Field`. */
export type ParameterValue =
  | string
  | number
  | boolean
  | undefined
  | readonly ParameterValue[]
  | { readonly [field: string]: ParameterValue };

export interface ApiAccess {
  /** `http://host:port` */
  readonly endpoint: string;
  readonly accessKeyId: string;
  readonly accessKeySecret: string;
  readonly regionId: string;
}

const ecsVersion = '2014-05-26';

/** How long an answer may take: requests only write down what is wanted. */
const timeoutMs = 30_000;

/** Calls the ECS API, signed by ACS3-HMAC-SHA256. */
export class ApiClient {
  constructor(readonly access: ApiAccess) {}

  /**
   * Calls an action. `Response` is what the caller relies on of the documented answer.
   * @throws CommandError with the API's code and request id
   */
  async call<Response>(action: string, parameters: Record<string, ParameterValue> = {}): Promise<Response> {
    const { endpoint, regionId } = this.access;
    const fields = new Map([['RegionId', regionId], ...flatten('', parameters)]);
    const body = [...fields].map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&');
    const url = new URL(endpoint);
    const headers = this.sign(url, action, body);
    const { status, text } = await send(url, headers, body).catch((error: unknown) => {
      const reason = error instanceof Error ? error.message : String(error);
      throw new CommandError(`${endpoint} does not answer: ${reason}`);
    });
    if (status < 400) return JSON.parse(text) as Response;
    throw toCommandError(text);
  }

  private sign(url: URL, action: string, body: string): Record<string, string> {
    const contentHash = createHash('sha256').update(body).digest('hex');
    const signed: Record<string, string> = {
      host: url.host,
      'x-acs-action': action,
      'x-acs-content-sha256': contentHash,
      'x-acs-date': new Date().toISOString().replace(/\.\d+Z$/, 'Z'),
      'x-acs-signature-nonce': randomUUID(),
      'x-acs-version': ecsVersion,
    };
    const names = Object.keys(signed).sort().join(';');
    const lines = Object.keys(signed)
      .sort()
      .map((name) => `${name}:${signed[name]}`);
    const canonical = ['POST', '/', '', ...lines, '', names, contentHash].join('\n');
    const hash = createHash('sha256').update(canonical).digest('hex');
    const signature = createHmac('sha256', this.access.accessKeySecret)
      .update(`ACS3-HMAC-SHA256\n${hash}`)
      .digest('hex');
    return {
      ...signed,
      authorization: `ACS3-HMAC-SHA256 Credential=${this.access.accessKeyId},SignedHeaders=${names},Signature=${signature}`,
      'content-type': 'application/x-www-form-urlencoded',
      'content-length': String(Buffer.byteLength(body)),
    };
  }
}

function encode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function* flatten(name: string, value: ParameterValue): Generator<[string, string]> {
  if (value === undefined) return;
  if (typeof value !== 'object') {
    yield [name, String(value)];
    return;
  }
  const entries = Array.isArray(value)
    ? value.map((item, index): [string, ParameterValue] => [String(index + 1), item])
    : Object.entries(value);
  for (const [key, item] of entries) yield* flatten(name === '' ? key : `${name}.${key}`, item);
}

function send(
  url: URL,
  headers: Record<string, string>,
  body: string,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const start = url.protocol === 'https:' ? requestTls : request;
    const call = start(url, { method: 'POST', headers, timeout: timeoutMs }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('error', reject);
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 500, text }));
    });
    call.on('timeout', () => call.destroy(new Error('no answer in time')));
    call.on('error', reject);
    call.end(body);
  });
}

function toCommandError(text: string): CommandError {
  try {
    const { Code, Message, RequestId } = JSON.parse(text) as {
      Code: string;
      Message: string;
      RequestId: string;
    };
    return new CommandError(Message, { code: Code, requestId: RequestId });
  } catch {
    return new CommandError(`not an answer of the API: ${text.slice(0, 200)}`);
  }
}
