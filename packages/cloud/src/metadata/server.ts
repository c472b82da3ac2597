import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { hopLimitHeader } from '../domain/network/hopLimit.js';
import { CallerLimit } from './callerLimit.js';
import { type Content, readPath } from './directory.js';
import { IdentitySigner } from './identity.js';
import type { InstanceMetadata, MetadataSource } from './source.js';
import { MetadataTokens, maxTokenLifeSeconds } from './tokens.js';
import { renderTree } from './tree.js';

export interface MetadataServerOptions {
  readonly source: MetadataSource;
  /** Where the network brings what instances send to 100.100.100.200. */
  readonly endpoint: { readonly address: string; readonly port: number };
  /** For the keys of tokens and signatures; made when missing. */
  readonly directory: string;
  readonly log: Logger;
}

/** What goes back to the instance. */
interface Answer {
  readonly status: number;
  readonly body: Content;
  /** Sent before all other headers. */
  readonly headers?: readonly (readonly [string, string])[];
}

const tokenPath = 'latest/api/token';
const signaturePath = 'dynamic/instance-identity/pkcs7';
/** A signature costs a process on the host. */
const signatureCost = 20;
const maxAudienceLength = 1024;

const headTimeoutMs = 5_000;
const keepAliveMs = 5_000;
const maxHeaderBytes = 8 * 1024;
const maxConnectionsPerCaller = 64;

/**
 * The metadata service, 100.100.100.200 to instances. The network gives every network interface an address
 * of its own here, whatever its private address is; by that the caller is known.
 *
 * Answers, as the ECS guide "Instance metadata" has them: 403 where the endpoint is disabled or a token is
 * required and missing, 401 for a token that is not valid, 400 for a token's life outside 1 to 21600 s,
 * 403 for a token asked for through a proxy.
 */
export class MetadataServer {
  private readonly limit = new CallerLimit();
  private readonly connections = new Map<string, number>();

  private constructor(
    private readonly source: MetadataSource,
    private readonly tokens: MetadataTokens,
    private readonly signer: IdentitySigner,
    private readonly log: Logger,
    private readonly http: Server,
  ) {
    http.on('connection', (socket) => this.admit(socket));
    http.on('request', (request, response) => void this.handle(request, response));
  }

  static async start(options: MetadataServerOptions): Promise<MetadataServer> {
    const http = createServer({
      headersTimeout: headTimeoutMs,
      requestTimeout: headTimeoutMs,
      connectionsCheckingInterval: headTimeoutMs,
      keepAliveTimeout: keepAliveMs,
      maxHeaderSize: maxHeaderBytes,
    });
    const directory = join(options.directory, 'metadata');
    const server = new MetadataServer(
      options.source,
      MetadataTokens.open(directory),
      new IdentitySigner(directory),
      options.log,
      http,
    );
    await new Promise<void>((resolve, reject) => {
      http.once('error', reject);
      http.listen(options.endpoint.port, options.endpoint.address, () => {
        http.off('error', reject);
        resolve();
      });
    });
    return server;
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.http.close(resolve));
    this.http.closeAllConnections();
    await closed;
  }

  /** An instance that opens connections without end shall not use up those of the API. */
  private admit(socket: Socket): void {
    const caller = socket.remoteAddress ?? '';
    const open = this.connections.get(caller) ?? 0;
    if (open >= maxConnectionsPerCaller) {
      socket.destroy();
      return;
    }
    this.connections.set(caller, open + 1);
    socket.once('close', () => {
      const left = (this.connections.get(caller) ?? 1) - 1;
      if (left === 0) this.connections.delete(caller);
      else this.connections.set(caller, left);
    });
  }

  private async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    request.resume();
    let answer: Answer;
    try {
      answer = await this.answer(request);
    } catch (error) {
      this.log.error({ err: error, path: request.url }, 'metadata request failed');
      answer = refuse(500, 'Internal Server Error');
    }
    send(request, response, answer);
  }

  private async answer(request: IncomingMessage): Promise<Answer> {
    const caller = request.socket.remoteAddress ?? '';
    const [pathText = '', query = ''] = (request.url ?? '').split('?', 2);
    const path = parsePath(pathText);
    const cost = pathText.includes(signaturePath) ? signatureCost : 1;
    if (!this.limit.admit(caller, cost)) {
      return { ...refuse(429, 'Too Many Requests'), headers: [['Retry-After', '1']] };
    }
    const instance = await this.source.findCaller(caller);
    if (!instance || !path) return notFound;
    if (instance.options.endpoint === 'disabled') return forbidden;

    if (path.join('/') === tokenPath) return this.issueToken(request, instance);
    if (request.method !== 'GET' && request.method !== 'HEAD') return refuseMethod('GET, HEAD');
    const token = request.headers['x-aliyun-ecs-metadata-token'];
    if (token === undefined) {
      if (instance.options.tokens === 'required') return forbidden;
    } else if (!this.tokens.isValid(instance.id, String(token))) {
      return refuse(401, 'Unauthorized');
    }

    const audience = new URLSearchParams(query).get('audience') || undefined;
    if (audience !== undefined && audience.length > maxAudienceLength) return invalid;
    const tree = renderTree(instance, audience, (document) => this.signer.sign(document));
    const body = await readPath(tree, path);
    return body === undefined ? notFound : { status: 200, body };
  }

  private issueToken(request: IncomingMessage, instance: InstanceMetadata): Answer {
    if (request.method !== 'PUT') return refuseMethod('PUT');
    // A proxy that can be talked into a PUT adds this as a rule.
    if (request.headers['x-forwarded-for'] !== undefined) return forbidden;
    const life = String(request.headers['x-aliyun-ecs-metadata-token-ttl-seconds']);
    const lifeSeconds = /^\d{1,5}$/.test(life) ? Number(life) : 0;
    if (lifeSeconds < 1 || lifeSeconds > maxTokenLifeSeconds) return invalid;
    return {
      status: 200,
      body: this.tokens.issue(instance.id, lifeSeconds),
      headers: [
        hopLimitHeader(instance.options.putResponseHopLimit),
        ['X-aliyun-ecs-metadata-token-ttl-seconds', life],
      ],
    };
  }
}

/** The names of a path; `undefined` for one that nothing can have. */
function parsePath(text: string): string[] | undefined {
  if (!text.startsWith('/')) return undefined;
  try {
    return text
      .split('/')
      .filter((name) => name !== '')
      .map(decodeURIComponent);
  } catch {
    return undefined;
  }
}

function refuse(status: number, reason: string): Answer {
  return { status, body: `${status} - ${reason}\n` };
}

function refuseMethod(allowed: string): Answer {
  return { ...refuse(405, 'Method Not Allowed'), headers: [['Allow', allowed]] };
}

const notFound = refuse(404, 'Not Found');
const forbidden = refuse(403, 'Forbidden');
const invalid = refuse(400, 'Missing or Invalid Parameters');

function send(request: IncomingMessage, response: ServerResponse, answer: Answer): void {
  const body = Buffer.from(answer.body);
  // As a list, since only a list keeps its order: the network looks at the first header.
  response.writeHead(answer.status, [
    ...(answer.headers ?? []).flat(),
    ...['Content-Type', 'text/plain', 'Content-Length', String(body.length)],
  ]);
  response.end(request.method === 'HEAD' ? undefined : body);
}
