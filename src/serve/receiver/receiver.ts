/**
 * The receiver of push messages. What a message passes, in this order; the first that it fails is its answer:
 *
 *   1 size          413; 415 for a body that is packed
 *   2 source        403, before the body is read
 *   3 signature     400, 401; 503 when it may be signed with a key that we could not ask for
 *   4 shape         422: a message of the service's own, so it is kept for inspection
 *   5 copies        204 without a further one, when enough of them are on disk
 *   6 inbox         204 once it is on disk; 503 when it cannot be written
 *
 * 503 means: send it again later. The service sends a message five times within 15 minutes, then it is lost.
 * Answers say one word of ours, in the status line, and never repeat anything that was sent.
 */
import type { Server } from 'node:http';
import fastify, { type FastifyInstance } from 'fastify';
import type { PushSettings } from '../../config.ts';
import type { Clock } from '../../core/clock.ts';
import { listenAt } from '../listening.ts';
import type { ReceiverCounts } from '../refusals/counts.ts';
import { SourceCheck } from '../source-address.ts';
import { type CertificateFiles, readCertificate, watchCertificate } from './certificate.ts';
import { type Listener, makeListener, serveCertificate } from './listener.ts';
import { readBody } from './message-body.ts';
import { CHALLENGE_HEADER, PROOF_HEADER, proofOf } from './proof.ts';
import { HEALTH_PATH, Responder, type ResponderOptions } from './responder.ts';

export interface ReceiverOptions extends ResponderOptions {
  /** Under which challenges are answered; absent: none is. */
  readonly proofKey?: string;
  /** Whether what comes now can be stored; absent: always. */
  readonly isTaking?: () => boolean;
}

export interface Receiver {
  /** Where it listens, with the path of the webhook. */
  readonly url: string;
  readonly counts: ReceiverCounts;
  /** Takes no more connections, answers what is in hand, and ends. Inbox, keys and refused messages are the caller's to close. */
  close(): Promise<void>;
}

/** After this connections are cut that are still in the middle of a request. */
const CLOSE_MS = 5_000;

/** Errors: `usage/bad_certificate`, `usage/port_taken`, `usage/cannot_listen`. */
export async function startReceiver(options: ReceiverOptions): Promise<Receiver> {
  const { settings, clock, log } = options;
  const files = certificateFiles(settings);
  const certificate = files && (await readCertificate(files));
  if (certificate !== null && certificate.expiresAtMs <= clock.now())
    log.warn('the certificate has expired: the service will not deliver', { file: settings.tls.certFile });
  const sources = new SourceCheck(settings);
  const responder = new Responder(options, sources);
  const listeners: Listener[] = [];
  const isRefused = (peer: string | undefined) => sources.refusesPeer(peer);
  const app = fastify({
    logger: false,
    return503OnClosing: false, // ours says less, and is counted
    clientErrorHandler: (error, socket) => responder.answerBroken(error, socket),
    frameworkErrors: (_error, request, reply) => responder.refuseUnknown(request, reply),
    serverFactory: (handle) => {
      const listener = makeListener({ certificate, handle, isRefused, onDropped: () => responder.countDropped() });
      listeners.push(listener);
      return listener as Server;
    },
  });
  if (options.proofKey !== undefined) answerChallenges(app, options.proofKey);
  addRoutes(app, responder, options);
  const { host, port } = settings;
  const scheme = files === null ? 'http' : 'https';
  const place = { host, port, name: 'the receiver', section: 'push', scheme } as const;
  const url = `${await listenAt(app, place)}${settings.path}`;
  const watch = new AbortController();
  const apply = (renewed: Parameters<typeof serveCertificate>[1]) => {
    for (const listener of listeners) serveCertificate(listener, renewed);
  };
  const watching = files ? watchCertificate({ files, clock, log, signal: watch.signal, apply }) : null;
  const close = async () => {
    watch.abort();
    await closeServer(app, responder, listeners, clock);
    await watching;
  };
  return { url, counts: responder.counts, close };
}

function certificateFiles({ tls: { certFile, keyFile } }: PushSettings): CertificateFiles | null {
  return certFile === null || keyFile === null ? null : { certFile, keyFile };
}

/** First of all: whatever else is answered, that it is we who answer can be proved. */
function answerChallenges(app: FastifyInstance, key: string): void {
  app.addHook('onRequest', (request, reply, done) => {
    const proof = proofOf(key, request.headers[CHALLENGE_HEADER]);
    if (proof !== null) reply.header(PROOF_HEADER, proof);
    done();
  });
}

function addRoutes(app: FastifyInstance, responder: Responder, options: ReceiverOptions): void {
  const { settings, isTaking = () => true } = options;
  const mostBytes = settings.bodyKiB * 1024;
  app.decorateRequest('sourceAddress', '');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (request, _payload, done) => {
    readBody(request.raw, mostBytes, (body) => done(null, body));
  });
  app.addHook('onRequest', (request, reply, done) => {
    if (request.is404) responder.refuseUnknown(request, reply);
    else done();
  });
  app.setNotFoundHandler((request, reply) => responder.refuseUnknown(request, reply));
  app.setErrorHandler((error, request, reply) => responder.answerFailure(error, request, reply));
  app.get(HEALTH_PATH, (_request, reply) => {
    const isOk = isTaking();
    reply.header('cache-control', 'no-store').code(isOk ? 200 : 503);
    reply.send({ status: isOk ? 'ok' : 'the inbox takes nothing' });
  });
  app.route({
    method: ['POST', 'PUT'],
    url: settings.path,
    onRequest: (request, reply, done) => {
      if (responder.mayRead(request, reply)) done();
    },
    handler: (request, reply) => responder.receive(request, reply),
  });
}

async function closeServer(
  app: FastifyInstance,
  responder: Responder,
  listeners: readonly Listener[],
  clock: Clock,
): Promise<void> {
  const over = new AbortController();
  const cut = () => {
    for (const listener of listeners) listener.closeAllConnections();
  };
  // Node no longer looks after slow senders once a server is closing.
  clock.sleep(CLOSE_MS, over.signal).then(cut, () => undefined);
  responder.beginClosing();
  await app.close();
  over.abort();
  responder.flushLog();
}
