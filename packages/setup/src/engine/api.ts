import { request } from 'node:http';
import { SetupError } from '../run.js';

interface Reply {
  readonly type: 'sync' | 'async' | 'error';
  readonly error?: string;
  readonly error_code?: number;
  readonly metadata?: unknown;
}

/** The engine answered with an error. */
export class EngineApiError extends SetupError {
  constructor(
    message: string,
    readonly statusCode: number,
  ) {
    super(message);
  }
}

/**
 * One call of an engine's REST API over its socket. Waits for the end of the operation when the call
 * starts one. Gives the answer's `metadata`. This is all that a set-up needs; the cloud's driver has a
 * client of its own.
 */
export async function callEngine(
  socketPath: string,
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  path: string,
  body?: unknown,
): Promise<unknown> {
  const reply = await send(socketPath, method, path, body);
  if (reply.type !== 'async') return reply.metadata;
  const id = readString(reply.metadata, 'id');
  const operation = (await send(socketPath, 'GET', `/1.0/operations/${id}/wait`)).metadata;
  // LXD answers a failed operation as a success with the error inside, Incus as an error.
  const error = readString(operation, 'err');
  if (error !== '') throw new EngineApiError(`${method} ${path}: ${error}`, 500);
  return operation;
}

/** Whether something answers at the socket. */
export async function isEngineAlive(socketPath: string): Promise<boolean> {
  return send(socketPath, 'GET', '/1.0', undefined, 5_000).then(
    () => true,
    () => false,
  );
}

function send(
  socketPath: string,
  method: string,
  path: string,
  body?: unknown,
  timeoutMs = 120_000,
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const call = request(
      { socketPath, method, path, headers: { host: 'engine', 'content-type': 'application/json' } },
      (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('error', reject);
        response.on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('end', () => {
          const reply = JSON.parse(text) as Reply;
          if (reply.type !== 'error') resolve(reply);
          else reject(new EngineApiError(`${method} ${path}: ${reply.error}`, reply.error_code ?? 500));
        });
      },
    );
    call.setTimeout(timeoutMs, () => call.destroy(new SetupError(`${method} ${path}: no answer in time`)));
    call.on('error', (error) =>
      reject(new SetupError(`${method} ${path}: ${error.message}`, { cause: error })),
    );
    call.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** A string field of an answer; empty when there is none. */
export function readString(value: unknown, field: string): string {
  const found: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, field) : undefined;
  return typeof found === 'string' ? found : '';
}
