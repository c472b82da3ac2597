import { X509Certificate } from 'node:crypto';
import { Agent as HttpsAgent } from 'node:https';
import { Readable } from 'node:stream';
import type { PeerCertificate } from 'node:tls';
import { Agent, type Dispatcher, request } from 'undici';
import WebSocket from 'ws';
import { ComputeError } from '../driver.js';
import { toComputeError, toUnavailable } from './engineErrors.js';

/** Where an engine listens. */
export type EngineEndpoint =
  | { readonly kind: 'unix'; readonly socketPath: string }
  | {
      readonly kind: 'https';
      /** `https://host:8443` */
      readonly url: string;
      /** PEM. The engine trusts this client certificate. */
      readonly clientCertificate: string;
      readonly clientKey: string;
      /** PEM. The only certificate that is accepted from the other side; it is self-signed as a rule. */
      readonly serverCertificate: string;
    };

export interface EngineRequest {
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Bytes and streams are sent as they are, everything else as JSON. */
  readonly body?: unknown;
}

/** A finished call: what it gave, and the version of it for a conditional change. */
export interface EngineReply<Metadata> {
  readonly metadata: Metadata;
  readonly etag: string | undefined;
}

interface Envelope {
  readonly type: 'sync' | 'async' | 'error';
  readonly error?: string;
  readonly error_code?: number;
  readonly metadata?: unknown;
}

/** An operation that the engine carries out in the background. */
export interface Operation {
  readonly id: string;
  readonly status_code: number;
  readonly err: string;
  readonly metadata: unknown;
}

/**
 * A thin client of the REST API that LXD and Incus share. It knows connections, answers, operations and
 * errors; what is called is the caller's matter. All its errors are `ComputeError`s.
 */
export class EngineClient {
  readonly #base: string;
  readonly #agent: Agent;
  readonly #endpoint: EngineEndpoint;
  /** For web sockets, whose library has other types for the same options. */
  readonly #httpsAgent: HttpsAgent | undefined;

  constructor(endpoint: EngineEndpoint) {
    this.#endpoint = endpoint;
    this.#base = endpoint.kind === 'unix' ? 'http://engine' : endpoint.url.replace(/\/$/, '');
    const tls = endpoint.kind === 'https' ? createTlsOptions(endpoint) : undefined;
    this.#httpsAgent = tls === undefined ? undefined : new HttpsAgent(tls);
    this.#agent = new Agent({
      connect: endpoint.kind === 'unix' ? { socketPath: endpoint.socketPath } : { ...tls, timeout: 10_000 },
      connections: 64,
      // Waiting for an operation takes as long as the operation.
      bodyTimeout: 0,
      headersTimeout: 0,
    });
  }

  /** A call that answers at once. */
  async call<Metadata>(
    method: Dispatcher.HttpMethod,
    path: string,
    options: EngineRequest = {},
  ): Promise<EngineReply<Metadata>> {
    const { envelope, etag } = await this.#send(method, path, options);
    // The engine's documented answer to this call; nothing but the caller knows which.
    return { metadata: envelope.metadata as Metadata, etag };
  }

  /**
   * A call that changes something; returns when it is done. Whether the engine does that at once or in an
   * operation depends on its version and on the call.
   */
  async run(method: Dispatcher.HttpMethod, path: string, options: EngineRequest = {}): Promise<void> {
    const { envelope } = await this.#send(method, path, options);
    if (envelope.type !== 'async') return;
    await this.wait(`${method} ${path}`, (envelope.metadata as Operation).id);
  }

  /** A call that starts an operation; returns while that goes on. */
  async begin(method: Dispatcher.HttpMethod, path: string, options: EngineRequest = {}): Promise<Operation> {
    return (await this.call<Operation>(method, path, options)).metadata;
  }

  /** Waits for the end of an operation. `what` is how an error tells what has failed. */
  async wait(what: string, operationId: string): Promise<Operation> {
    const path = `/1.0/operations/${operationId}/wait`;
    const options = { query: { timeout: '-1' } };
    const { envelope } = await this.#send('GET', path, options, what).catch((error: unknown) => {
      // An operation ends with the daemon that ran it: a new one does not know it.
      if (error instanceof ComputeError && error.reason === 'not-found' && /operation/i.test(error.message)) {
        throw new ComputeError('unavailable', `${what}: the engine was restarted meanwhile`, {
          cause: error,
        });
      }
      throw error;
    });
    const operation = envelope.metadata as Operation;
    // LXD answers with a failed operation; Incus makes an error of it, which has been thrown.
    if (operation.status_code >= 400) throw toComputeError(what, operation.err);
    return operation;
  }

  /** Content that is not JSON, such as a file; `undefined` when there is none. */
  async read(
    path: string,
    query: Readonly<Record<string, string>>,
  ): Promise<
    { readonly content: Uint8Array; readonly headers: Dispatcher.ResponseData['headers'] } | undefined
  > {
    const what = `GET ${path}`;
    try {
      const response = await request(this.#url(path, query), { dispatcher: this.#agent });
      if (response.statusCode === 200) {
        return { content: await response.body.bytes(), headers: response.headers };
      }
      const envelope = (await response.body.json()) as Envelope;
      if (response.statusCode === 404) return undefined;
      throw toComputeError(what, envelope.error ?? '', response.statusCode);
    } catch (error) {
      throw error instanceof ComputeError ? error : toUnavailable(what, error);
    }
  }

  /** Opens a web socket; it is connecting when this returns. */
  openWebSocket(path: string, query: Readonly<Record<string, string>>): WebSocket {
    const options = { perMessageDeflate: false, handshakeTimeout: 10_000 };
    const url = this.#url(path, query);
    if (this.#endpoint.kind === 'unix') {
      return new WebSocket(`ws+unix://${this.#endpoint.socketPath}:${url.pathname}${url.search}`, options);
    }
    url.protocol = 'wss:';
    return new WebSocket(url, { ...options, agent: this.#httpsAgent });
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  #url(path: string, query: Readonly<Record<string, string>>): URL {
    const url = new URL(this.#base + path);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    return url;
  }

  async #send(
    method: Dispatcher.HttpMethod,
    path: string,
    { query = {}, headers = {}, body }: EngineRequest,
    what = `${method} ${path}`,
  ): Promise<{ readonly envelope: Envelope; readonly etag: string | undefined }> {
    const content = encodeBody(body);
    let statusCode: number;
    let envelope: Envelope;
    let etag: string | string[] | undefined;
    try {
      const response = await request(this.#url(path, query), {
        dispatcher: this.#agent,
        method,
        headers: { ...content?.headers, ...headers },
        ...(content === undefined ? {} : { body: content.body }),
      });
      statusCode = response.statusCode;
      etag = response.headers['etag'];
      envelope = (await response.body.json()) as Envelope;
    } catch (error) {
      throw toUnavailable(what, error);
    }
    if (envelope.type === 'error') {
      throw toComputeError(what, envelope.error ?? '', envelope.error_code ?? statusCode);
    }
    return { envelope, etag: Array.isArray(etag) ? etag[0] : etag };
  }
}

function encodeBody(body: unknown) {
  if (body === undefined) return undefined;
  if (body instanceof Uint8Array || body instanceof Readable) {
    return { body, headers: { 'content-type': 'application/octet-stream' } };
  }
  return { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
}

function createTlsOptions(endpoint: Extract<EngineEndpoint, { kind: 'https' }>) {
  const pinned = new X509Certificate(endpoint.serverCertificate).fingerprint256;
  return {
    cert: endpoint.clientCertificate,
    key: endpoint.clientKey,
    ca: endpoint.serverCertificate,
    // The name in an engine's own certificate is the machine's, whatever address it is reached by.
    checkServerIdentity: (_host: string, certificate: PeerCertificate): Error | undefined =>
      certificate.fingerprint256 === pinned ? undefined : new Error('The engine shows another certificate'),
  };
}
