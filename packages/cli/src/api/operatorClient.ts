import { request } from 'node:http';
import type { Duplex } from 'node:stream';
import {
  type CloudStatus,
  type GpuDescription,
  type HostDescription,
  operatorSocketPath,
  type PlacementExplanation,
} from '@openegs/cloud/operator';
import { commandName } from '../context.js';
import { CommandError } from '../errors.js';

/** Nobody listens on the operator's socket of the data directory. */
export class NotRunningError extends CommandError {
  constructor(dataDirectory: string) {
    super(`no cloud is running on ${dataDirectory}: start one with "${commandName()} up"`, {
      code: 'NotRunning',
    });
  }
}

/** Talks to a running cloud as its operator. */
export class OperatorClient {
  constructor(private readonly dataDirectory: string) {}

  /** What the running cloud says about itself; `undefined` when none is running. */
  async findStatus(): Promise<CloudStatus | undefined> {
    try {
      return await this.getStatus();
    } catch (error) {
      if (error instanceof NotRunningError) return undefined;
      throw error;
    }
  }

  getStatus(): Promise<CloudStatus> {
    return this.call('GET', '/status');
  }

  listHosts(): Promise<HostDescription[]> {
    return this.call('GET', '/hosts');
  }

  getHost(id: string): Promise<HostDescription> {
    return this.call('GET', `/hosts/${encodeURIComponent(id)}`);
  }

  addHost(host: Record<string, string | undefined>): Promise<HostDescription> {
    return this.call('POST', '/hosts', host);
  }

  drainHost(id: string): Promise<HostDescription> {
    return this.call('POST', `/hosts/${encodeURIComponent(id)}/drain`);
  }

  activateHost(id: string): Promise<HostDescription> {
    return this.call('POST', `/hosts/${encodeURIComponent(id)}/activate`);
  }

  async removeHost(id: string): Promise<void> {
    await this.call('DELETE', `/hosts/${encodeURIComponent(id)}`);
  }

  listGpus(): Promise<GpuDescription[]> {
    return this.call('GET', '/gpus');
  }

  /** Has the cards of all hosts read anew. */
  refreshGpus(): Promise<GpuDescription[]> {
    return this.call('POST', '/gpus/refresh');
  }

  explainPlacement(wish: {
    readonly instanceType: string;
    readonly zone: string | undefined;
    readonly diskGiB: number | undefined;
  }): Promise<PlacementExplanation> {
    return this.call('POST', '/placement/explain', wish);
  }

  /** A connection to a TCP port of an instance, made from inside its VPC. */
  connectInstance(instanceId: string, port: number): Promise<Duplex> {
    return new Promise((resolve, reject) => {
      const call = request({
        socketPath: operatorSocketPath(this.dataDirectory),
        path: `/instances/${encodeURIComponent(instanceId)}/ports/${port}`,
        headers: { connection: 'upgrade', upgrade: 'tcp' },
      });
      call.on('upgrade', (_response, socket, head) => {
        socket.unshift(head);
        resolve(socket);
      });
      call.on('response', (response) => {
        readBody(response).then((text) => reject(toCommandError(text)), reject);
      });
      call.on('error', (error) => reject(this.toError(error)));
      call.end();
    });
  }

  /** `Answer` is what the server's own types promise. */
  private call<Answer>(method: string, path: string, body?: unknown): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const text = body === undefined ? undefined : JSON.stringify(body);
      const call = request(
        {
          socketPath: operatorSocketPath(this.dataDirectory),
          method,
          path,
          headers: text === undefined ? {} : { 'content-type': 'application/json' },
        },
        (response) => {
          readBody(response).then((answer) => {
            if ((response.statusCode ?? 500) < 400) resolve(JSON.parse(answer) as Answer);
            else reject(toCommandError(answer));
          }, reject);
        },
      );
      call.on('error', (error) => reject(this.toError(error)));
      call.end(text);
    });
  }

  private toError(error: Error): Error {
    const code = 'code' in error ? error.code : undefined;
    if (code === 'EACCES') {
      return new CommandError(`${this.dataDirectory} belongs to another user: run this as that user`);
    }
    return code === 'ENOENT' || code === 'ECONNREFUSED' ? new NotRunningError(this.dataDirectory) : error;
  }
}

async function readBody(response: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

function toCommandError(text: string): CommandError {
  const { code, message } = JSON.parse(text) as { code: string; message: string };
  return new CommandError(message, { code });
}
