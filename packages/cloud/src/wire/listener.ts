import Fastify, { type FastifyInstance } from 'fastify';
import type { FrontDoor } from './frontDoor.js';
import type { WireMetrics } from './metrics.js';
import { defaultRequestLimits, type RequestLimits, splitTarget } from './request.js';

export interface ListenerOptions {
  readonly frontDoor: FrontDoor;
  readonly metrics: WireMetrics;
  readonly limits?: RequestLimits;
}

/** A client that takes longer than this for its headers or its whole request is cut off. */
const headersTimeoutMs = 10_000;
const requestTimeoutMs = 30_000;

/**
 * The HTTP server: the API at `/` in any method and form, and the operator's pages below `/metrics` and
 * `/healthz`. It gives the front door the bytes as they came, since signatures cover them.
 */
export function createListener(options: ListenerOptions): FastifyInstance {
  const limits = options.limits ?? defaultRequestLimits;
  const server = Fastify({
    logger: false,
    bodyLimit: limits.maxBodyBytes,
    requestTimeout: requestTimeoutMs,
    http: { maxHeaderSize: limits.maxHeaderBytes, headersTimeout: headersTimeoutMs },
    // Behind HTTP_PROXY clients send `GET http://ecs.example.com/?…`: the router sees its path only.
    rewriteUrl: (request) => splitTarget(request.url ?? '/').path,
    forceCloseConnections: true,
  });
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));

  server.get('/healthz', async () => ({ status: 'ok' }));
  server.get('/metrics', async (_request, reply) =>
    reply.type(options.metrics.registry.contentType).send(await options.metrics.registry.metrics()),
  );
  server.all('/', async (request, reply) => {
    const answer = await options.frontDoor.answer({
      method: request.method,
      target: request.originalUrl,
      headers: request.headers,
      body: Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0),
      sourceAddress: request.ip,
    });
    return reply.code(answer.status).type(answer.contentType).send(answer.body);
  });
  return server;
}
