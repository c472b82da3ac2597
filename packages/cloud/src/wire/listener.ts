import Fastify, {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify';
import { ApiError } from '../domain/errors.js';
import type { FrontDoor } from './frontDoor.js';
import type { WireMetrics } from './metrics.js';
import { defaultRequestLimits, type HttpRequest, type RequestLimits, splitTarget } from './request.js';
import type { WireAnswer } from './response.js';

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
  const answer = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> =>
    send(reply, await options.frontDoor.answer(toHttpRequest(request)));
  server.all('/', answer);
  // Other paths too are told in the form that clients of the API can read.
  server.setNotFoundHandler(answer);
  server.setErrorHandler<FastifyError>((error, request, reply) =>
    send(
      reply,
      options.frontDoor.refuse(
        toHttpRequest(request),
        error.statusCode === 413
          ? new ApiError('RequestTooLarge', `The body has more than ${limits.maxBodyBytes} bytes.`)
          : new ApiError('InvalidProtocol.NotSupported', `The request cannot be read: ${error.message}`),
      ),
    ),
  );
  return server;
}

function toHttpRequest(request: FastifyRequest): HttpRequest {
  return {
    method: request.method,
    target: request.originalUrl,
    headers: request.headers,
    body: Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0),
    sourceAddress: request.ip,
  };
}

function send(reply: FastifyReply, answer: WireAnswer): FastifyReply {
  return reply.code(answer.status).type(answer.contentType).send(answer.body);
}
