/**
 * The server for the house: health, and whatever else this installation tells about itself. It has an address of its own, since the
 * receiver's is open to the world. What it answers is handed in as routes; here stand only its limits.
 */
import type { AddressInfo } from 'node:net';
import fastify, { type FastifyInstance } from 'fastify';
import type { ServeSettings } from '../config.ts';
import { EtlError } from '../core/errors.ts';

export type Routes = (app: FastifyInstance) => void;

export interface HouseServer {
  /** Without a path. */
  readonly url: string;
  close(): Promise<void>;
}

const REQUEST_MS = 10_000;
const MOST_CONNECTIONS = 64;
/** Nothing is sent to it yet that has a body worth the name. */
const BODY_BYTES = 64 * 1024;

/** Errors: `usage/port_taken`, `usage/cannot_listen`. */
export async function startHouseServer(
  { host, port }: Pick<ServeSettings, 'host' | 'port'>,
  routes: readonly Routes[],
): Promise<HouseServer> {
  const app = fastify({
    logger: false,
    bodyLimit: BODY_BYTES,
    requestTimeout: REQUEST_MS,
    connectionTimeout: REQUEST_MS,
    forceCloseConnections: true,
  });
  app.server.headersTimeout = REQUEST_MS;
  app.server.maxConnections = MOST_CONNECTIONS;
  app.addHook('onRequest', (_request, reply, done) => {
    reply.header('cache-control', 'no-store').header('x-content-type-options', 'nosniff');
    done();
  });
  // Answers never repeat what was asked.
  app.setNotFoundHandler((_request, reply) => reply.code(404).send({ error: 'not_found' }));
  app.setErrorHandler((_error, _request, reply) => reply.code(500).send({ error: 'failed' }));
  for (const add of routes) add(app);
  try {
    await app.listen({ host, port });
  } catch (cause) {
    await app.close();
    const isTaken = (cause as NodeJS.ErrnoException).code === 'EADDRINUSE';
    const code = isTaken ? 'port_taken' : 'cannot_listen';
    throw new EtlError('usage', code, `the health server cannot listen on ${host}, port ${port}`, {
      cause,
      hint: isTaken ? 'end what listens there, or set serve.port to another one' : 'set serve.host and serve.port',
    });
  }
  const { address, family, port: taken } = app.server.address() as AddressInfo;
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${taken}`,
    close: async () => void (await app.close()),
  };
}
