import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type WebSocket from 'ws';
import { ComputeError, type ExecRequest, type ExecResult } from '../driver.js';
import type { EngineClient, Operation } from './EngineClient.js';
import { toUnavailable } from './engineErrors.js';

/** Variable by which the descendants of a program are found again. */
const markName = 'EGS_EXEC_ID';

/**
 * Kills every process that has the mark, again until there is none: a process may have forked since the
 * look. The engine can signal the program itself, but not the ones that it started.
 */
const sweep = `
mark="${markName}=$1"
again=1 left=100
while [ "$again" -gt 0 ] && [ "$left" -gt 0 ]; do
  again=0 left=$((left - 1))
  for path in /proc/[0-9]*; do
    if grep -qzx "$mark" "$path/environ" 2>/dev/null; then
      kill -9 "\${path#/proc/}" 2>/dev/null && again=1
    fi
  done
done`;

/** Runs a program in a guest over the engine's web sockets. */
export async function execInGuest(
  client: EngineClient,
  project: string,
  name: string,
  request: ExecRequest,
): Promise<ExecResult> {
  request.signal?.throwIfAborted();
  const mark = randomUUID();
  const what = `exec in ${name}`;
  const operation = await client.begin('POST', `/1.0/instances/${name}/exec`, {
    query: { project },
    body: {
      command: request.command,
      environment: { ...request.environment, ...(request.signal === undefined ? {} : { [markName]: mark }) },
      cwd: request.workingDirectory ?? '/root',
      user: request.userId ?? 0,
      group: request.groupId ?? 0,
      'wait-for-websocket': true,
      interactive: false,
    },
  });
  const secrets = readSecrets(operation);
  const open = (stream: string): WebSocket =>
    client.openWebSocket(`/1.0/operations/${operation.id}/websocket`, { secret: secrets[stream] ?? '' });
  // LXD 5.0 starts some programs as soon as there is a stdin, and then loses the output of a short one that
  // ends before the others are connected (1 of 300 on a busy machine): stdin comes last.
  const outputs = { stdout: open('1'), stderr: open('2'), control: open('control') };
  // A broken connection shows in the operation's end too; without a listener it would end this process.
  for (const socket of Object.values(outputs)) socket.on('error', () => undefined);
  const outputEnds = [receive(outputs.stdout, 'stdout', request), receive(outputs.stderr, 'stderr', request)];
  await Promise.all(Object.values(outputs).map(connected));
  const sockets = { ...outputs, stdin: open('0') };
  const all = Object.values(sockets);
  sockets.stdin.on('error', () => undefined);

  const closeAll = (): void => {
    for (const socket of all) socket.terminate();
  };
  const abort = (): void => {
    void kill(client, project, name, sockets.control, mark)
      .catch(() => undefined)
      .finally(() => closeAll());
  };
  const aborted = new Promise<never>((_resolve, reject) => {
    request.signal?.addEventListener('abort', () => reject(request.signal?.reason), { once: true });
  });
  request.signal?.addEventListener('abort', abort, { once: true });
  try {
    const ended = (async () => {
      await send(sockets.stdin, request.stdin).catch((error: unknown) => {
        throw toUnavailable(what, error);
      });
      const end = await client.wait(what, operation.id);
      await Promise.all(outputEnds);
      return readExitCode(what, end);
    })();
    return await Promise.race([ended.catch(toShellExit), aborted]);
  } finally {
    request.signal?.removeEventListener('abort', abort);
    // After an abort the control connection still has a signal to deliver.
    if (request.signal?.aborted !== true) closeAll();
  }
}

/** Resolves when the socket is open, or never will be. */
async function connected(socket: WebSocket): Promise<void> {
  if (socket.readyState !== socket.CONNECTING) return;
  // `once` rejects on an error; what failed shows in the operation's end.
  await Promise.race([once(socket, 'open'), once(socket, 'close')]).catch(() => undefined);
}

/** Hands out what arrives; resolves when there will be no more. */
function receive(socket: WebSocket, stream: 'stdout' | 'stderr', request: ExecRequest): Promise<void> {
  return new Promise((resolve) => {
    socket.on('message', (data, isBinary) => {
      // An empty text frame says that the stream has ended.
      if (!isBinary) resolve();
      else if (request.signal?.aborted !== true) request.onOutput?.(stream, toBytes(data));
    });
    socket.on('close', () => resolve());
    socket.on('error', () => resolve());
  });
}

function toBytes(data: WebSocket.RawData): Uint8Array {
  if (Array.isArray(data)) return Buffer.concat(data);
  return data instanceof ArrayBuffer ? new Uint8Array(data) : data;
}

async function send(socket: WebSocket, stdin: Uint8Array | undefined): Promise<void> {
  if (socket.readyState === socket.CONNECTING) await once(socket, 'open');
  const chunkBytes = 64 * 1024;
  for (let offset = 0; stdin !== undefined && offset < stdin.length; offset += chunkBytes) {
    const chunk = stdin.subarray(offset, offset + chunkBytes);
    // The program may end without having read all.
    await new Promise<void>((resolve) => socket.send(chunk, { binary: true }, () => resolve()));
  }
  await new Promise<void>((resolve) => socket.send('', { binary: false }, () => resolve()));
}

async function kill(
  client: EngineClient,
  project: string,
  name: string,
  control: WebSocket,
  mark: string,
): Promise<void> {
  if (control.readyState === control.CONNECTING) await once(control, 'open');
  control.send(JSON.stringify({ command: 'signal', signal: 9 }));
  await execInGuest(client, project, name, { command: ['/bin/sh', '-c', sweep, 'sh', mark] });
}

function readSecrets(operation: Operation): Readonly<Record<string, string>> {
  const metadata = operation.metadata as { readonly fds?: Readonly<Record<string, string>> };
  if (metadata.fds === undefined) throw new ComputeError('failed', 'The engine gave no connections for exec');
  return metadata.fds;
}

function readExitCode(what: string, operation: Operation): ExecResult {
  const metadata = operation.metadata as { readonly return?: number };
  if (metadata.return === undefined) throw new ComputeError('failed', `${what}: no exit code`);
  return { exitCode: metadata.return };
}

/** A program that is missing, or is not one, answers as in a shell. */
function toShellExit(error: unknown): ExecResult {
  if (error instanceof ComputeError && /command not found/i.test(error.message)) return { exitCode: 127 };
  if (error instanceof ComputeError && /command not executable/i.test(error.message))
    return { exitCode: 126 };
  throw error;
}
