/**
 * The server for those who run this installation: health, metrics, the status page. It has an address of its own, since the receiver's
 * is open to the world. What it answers is handed in as routes; here stand only its limits.
 */
import fastify, { type FastifyInstance, type FastifyReply } from 'fastify';
import type { ServeSettings } from '../config.ts';
import { limitConnections } from './connections.ts';
import { listenAt } from './listening.ts';

export type AdminPlace = Pick<ServeSettings, 'host' | 'port' | 'trustedProxies'>;

export type Routes = (app: FastifyInstance) => void;

export interface AdminServer {
  /** Without a path. */
  readonly url: string;
  close(): Promise<void>;
}

const REQUEST_MS = 10_000;
/** A page that reads much, or waits for what was begun, is answered later than it is asked. */
const ANSWER_MS = 60_000;
const MOST_CONNECTIONS = 64;
/** Nothing is sent to it that has a body worth the name but the page's forms, which have a limit of their own. */
const BODY_BYTES = 64 * 1024;

/** Errors: `usage/port_taken`, `usage/cannot_listen`. */
export async function startAdminServer(
  { host, port, trustedProxies }: AdminPlace,
  routes: readonly Routes[],
): Promise<AdminServer> {
  const app = fastify({
    logger: false,
    trustProxy: [...trustedProxies],
    bodyLimit: BODY_BYTES,
    requestTimeout: REQUEST_MS,
    connectionTimeout: ANSWER_MS,
    forceCloseConnections: true,
    frameworkErrors: (_error, _request, reply) => void (reply as FastifyReply).code(400).send({ error: 'bad_request' }),
  });
  app.server.headersTimeout = REQUEST_MS;
  limitConnections(app.server, { most: MOST_CONNECTIONS });
  app.addHook('onRequest', (_request, reply, done) => {
    reply.header('cache-control', 'no-store').header('x-content-type-options', 'nosniff');
    done();
  });
  // Answers never repeat what was asked.
  app.setNotFoundHandler((_request, reply) => reply.code(404).send({ error: 'not_found' }));
  app.setErrorHandler((_error, _request, reply) => reply.code(500).send({ error: 'failed' }));
  for (const add of routes) add(app);
  return {
    url: await listenAt(app, { host, port, name: 'the health server', section: 'serve', scheme: 'http' }),
    close: async () => void (await app.close()),
  };
}
