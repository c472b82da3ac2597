import { chmodSync, rmSync } from 'node:fs';
import Fastify, { type FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { CloudParts } from '../cloud.js';
import { ConfigError } from '../config.js';
import { describeGpus, explainPlacement } from './gpuReports.js';
import { HostError, type HostRegistry } from './hostRegistry.js';
import { type InstanceTunnels, TunnelError } from './instanceTunnels.js';
import type { HostJoiner } from './joinHost.js';
import { type CloudStatus, operatorSocketPath } from './operatorApi.js';

export interface OperatorServerOptions {
  readonly dataDirectory: string;
  readonly hosts: HostRegistry;
  readonly joiner: HostJoiner;
  readonly tunnels: InstanceTunnels;
  readonly cloud: CloudParts;
  readonly getStatus: () => Promise<CloudStatus>;
}

const joinRequest = z.strictObject({
  id: z.string().regex(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/, 'lower-case letters, digits and hyphens'),
  zone: z.string().optional(),
  url: z.string().optional(),
  token: z.string().optional(),
  socket: z.string().optional(),
  pool: z.string().optional(),
  project: z.string().optional(),
});

const explainRequest = z.strictObject({
  instanceType: z.string(),
  zone: z.string().optional(),
  diskGiB: z.int().positive().default(40),
});

export type JoinRequest = z.infer<typeof joinRequest>;

const statusOfHostError = {
  HostNotFound: 404,
  HostExists: 409,
  HostHasInstances: 409,
  HostUnreachable: 502,
  HostInvalid: 400,
} as const satisfies Record<HostError['code'], number>;

/**
 * The operator's API: HTTP with JSON on a unix socket in the data directory. Who can open the socket is
 * the operator; there are no keys. Ways into instances are given as upgraded connections.
 */
export async function startOperatorServer(options: OperatorServerOptions): Promise<FastifyInstance> {
  const { hosts } = options;
  const server = Fastify({ logger: false, forceCloseConnections: true });

  server.setErrorHandler((error, _request, reply) => {
    if (error instanceof HostError) {
      return reply.code(statusOfHostError[error.code]).send({ code: error.code, message: error.message });
    }
    if (error instanceof ConfigError) {
      return reply.code(400).send({ code: 'HostInvalid', message: error.message });
    }
    if (error instanceof z.ZodError) {
      return reply.code(400).send({ code: 'InvalidRequest', message: z.prettifyError(error) });
    }
    const message = error instanceof Error ? error.message : String(error);
    return reply.code(500).send({ code: 'InternalError', message });
  });
  server.get('/status', options.getStatus);
  server.get('/hosts', () => hosts.describe());
  server.post('/hosts', (request) => options.joiner.join(joinRequest.parse(request.body)));
  server.get<{ Params: { id: string } }>('/hosts/:id', ({ params }) => hosts.get(params.id));
  server.post<{ Params: { id: string } }>('/hosts/:id/drain', ({ params }) => hosts.drain(params.id));
  server.post<{ Params: { id: string } }>('/hosts/:id/activate', ({ params }) => hosts.activate(params.id));
  server.get('/gpus', () => describeGpus(options.cloud));
  server.post('/gpus/refresh', async () => {
    await hosts.refreshGpus();
    return describeGpus(options.cloud);
  });
  server.post('/placement/explain', async (request) =>
    explainPlacement(options.cloud, explainRequest.parse(request.body)),
  );
  server.delete<{ Params: { id: string } }>('/hosts/:id', async ({ params }) => {
    await hosts.remove(params.id);
    return {};
  });

  server.server.on('upgrade', (request, socket, head) => {
    const [, instanceId, port] = /^\/instances\/([\w-]+)\/ports\/(\d{1,5})$/.exec(request.url ?? '') ?? [];
    if (instanceId === undefined || port === undefined) {
      socket.end('HTTP/1.1 404 Not Found\r\nconnection: close\r\n\r\n');
      return;
    }
    options.tunnels.open(instanceId, Number(port)).then(
      (tunnel) => {
        socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: tcp\r\n\r\n');
        tunnel.write(head);
        tunnel.pipe(socket).pipe(tunnel);
        socket.on('error', () => tunnel.destroy());
        tunnel.on('error', () => socket.destroy());
        socket.on('close', () => tunnel.destroy());
      },
      (error: unknown) => {
        const isOurs = error instanceof TunnelError;
        const body = JSON.stringify({
          code: isOurs ? error.code : 'InternalError',
          message: error instanceof Error ? error.message : String(error),
        });
        socket.end(
          `HTTP/1.1 ${isOurs ? '409 Conflict' : '500 Internal Server Error'}\r\nconnection: close\r\n` +
            `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
        );
      },
    );
  });

  const path = operatorSocketPath(options.dataDirectory);
  // Left by a process that was killed; the lock on the directory says that nobody listens there.
  rmSync(path, { force: true });
  await server.listen({ path });
  chmodSync(path, 0o600);
  return server;
}
