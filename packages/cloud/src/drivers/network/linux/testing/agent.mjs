// Runs inside a test guest's network namespace and does what the test says over the IPC channel.

import { createSocket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { connect, createServer } from 'node:net';

const connections = new Map();

const commands = {
  /** Answers every connection with `<own name> <address of the caller>`, then echoes. */
  listenTcp: ({ port, name }) =>
    new Promise((resolve, reject) => {
      const server = createServer((socket) => {
        socket.write(`${name} ${socket.remoteAddress}\n`);
        socket.on('data', (data) => socket.write(data));
        socket.on('error', () => {});
      });
      server.on('error', reject);
      server.listen(port, '0.0.0.0', () => resolve('listening'));
    }),

  listenUdp: ({ port, name }) =>
    new Promise((resolve, reject) => {
      const socket = createSocket('udp4');
      socket.on('message', (_data, { address, port: from }) =>
        socket.send(`${name} ${address}`, from, address),
      );
      socket.on('error', reject);
      socket.bind(port, '0.0.0.0', () => resolve('listening'));
    }),

  /** First line of the server, or `blocked`. With an id the connection stays for `exchange`. */
  connectTcp: ({ host, port, localAddress, timeoutMs, id }) =>
    new Promise((resolve) => {
      const socket = connect({ host, port, ...(localAddress && { localAddress }) });
      const end = (result) => {
        clearTimeout(timer);
        if (id !== undefined && result !== 'blocked') connections.set(id, socket);
        else socket.destroy();
        resolve(result);
      };
      const timer = setTimeout(() => end('blocked'), timeoutMs);
      socket.once('data', (data) => end(String(data).trim()));
      socket.on('error', () => end('blocked'));
    }),

  /** Sends a line over an open connection: `echoed`, or `cut` when nothing comes back. */
  exchange: ({ id, timeoutMs }) =>
    new Promise((resolve) => {
      const socket = connections.get(id);
      const timer = setTimeout(() => resolve('cut'), timeoutMs);
      socket.once('data', () => {
        clearTimeout(timer);
        resolve('echoed');
      });
      socket.write('hello\n');
    }),

  sendUdp: ({ host, port, timeoutMs }) =>
    new Promise((resolve) => {
      const socket = createSocket('udp4');
      const end = (result) => {
        clearTimeout(timer);
        socket.close();
        resolve(result);
      };
      const timer = setTimeout(() => end('blocked'), timeoutMs);
      socket.once('message', (data) => end(String(data)));
      socket.on('error', () => end('blocked'));
      socket.send('hello', port, host);
    }),

  resolve: async ({ server, name }) => {
    const resolver = new Resolver({ timeout: 500, tries: 2 });
    resolver.setServers([server]);
    return resolver.resolve4(name).catch((error) => error.code);
  },
};

process.on('message', async ({ sequence, command, options }) => {
  try {
    process.send({ sequence, result: await commands[command](options) });
  } catch (error) {
    process.send({ sequence, error: String(error) });
  }
});
process.on('disconnect', () => process.exit());
process.send({ ready: true });
