import type WebSocket from 'ws';
import type { ComputeEvent } from '../driver.js';
import type { EngineClient } from './EngineClient.js';

const firstDelayMs = 100;
const longestDelayMs = 5_000;
const pingIntervalMs = 20_000;

/** Events that change what a listing shows. Others, such as a program run in a guest, are as many as calls. */
const changes = new Set(
  ['created', 'deleted', 'renamed', 'updated', 'started', 'stopped', 'shutdown', 'restarted', 'restored']
    .concat(['paused', 'resumed', 'ready'])
    .map((verb) => `instance-${verb}`),
);

/** Listens to the engine's events, and connects again whenever the connection is lost, until closed. */
export function watchEngine(
  client: EngineClient,
  project: string,
  listener: (event: ComputeEvent) => void,
): { close(): void } {
  let closed = false;
  let socket: WebSocket | undefined;
  let timer: NodeJS.Timeout | undefined;
  let delayMs = firstDelayMs;

  const connect = (): void => {
    const current = client.openWebSocket('/1.0/events', { type: 'lifecycle', project });
    socket = current;
    let isAlive = true;
    // A peer that vanished without a word would otherwise be waited for for ever.
    const ping = setInterval(() => {
      if (!isAlive) current.terminate();
      isAlive = false;
      if (current.readyState === current.OPEN) current.ping();
    }, pingIntervalMs);
    ping.unref();
    current.on('pong', () => {
      isAlive = true;
    });
    current.on('open', () => {
      delayMs = firstDelayMs;
      listener({ type: 'resync' });
    });
    current.on('message', (data) => {
      const instanceName = parseChange(String(data));
      if (instanceName !== undefined && !closed) listener({ type: 'changed', instanceName });
    });
    // `close` follows.
    current.on('error', () => undefined);
    current.on('close', () => {
      clearInterval(ping);
      if (closed) return;
      timer = setTimeout(connect, delayMs);
      delayMs = Math.min(delayMs * 2, longestDelayMs);
    });
  };
  connect();
  return {
    close: () => {
      closed = true;
      clearTimeout(timer);
      socket?.terminate();
    },
  };
}

function parseChange(text: string): string | undefined {
  const event = JSON.parse(text) as { metadata?: { action?: string; source?: string } };
  if (!changes.has(event.metadata?.action ?? '')) return undefined;
  const path = event.metadata?.source?.split('?')[0];
  return /^\/1\.0\/instances\/([^/]+)$/.exec(path ?? '')?.[1];
}
