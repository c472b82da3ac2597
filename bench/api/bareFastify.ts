import Fastify from 'fastify';

/** The peer: a Fastify server that answers every request with a text of the given length, and does nothing else. */
const body = JSON.stringify({ text: 'x'.repeat(Number(process.argv[2] ?? 1000)) });
const server = Fastify();
server.get('/', async (_request, reply) => reply.type('application/json').send(body));
const endpoint = await server.listen({ host: '127.0.0.1', port: 0 });
console.log(JSON.stringify({ event: 'ready', endpoint }));
process.on('SIGTERM', () => process.exit(0));
