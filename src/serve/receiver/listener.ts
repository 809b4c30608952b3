/**
 * The server below the receiver: HTTP/1.1, plain or with TLS, with a limit on everything that a sender can hold open. Slow senders
 * are cut off after ten seconds, whether they dawdle over the handshake, the head or the body.
 */
import http from 'node:http';
import https from 'node:https';
import { limitConnections } from '../connections.ts';
import type { Certificate } from './certificate.ts';

/** From a request's first byte to its last; the service gives up after 5 s. */
const REQUEST_MS = 10_000;
/** How exactly that is kept; Node looks only every 30 s by default. */
const CHECK_EVERY_MS = 2_000;
/** Longer than the 60 s of most proxies, so that none sends into a connection that is just being closed. */
const KEEP_ALIVE_MS = 75_000;
const HEADER_BYTES = 16 * 1024;
/** Each may hold one body in memory: 32 MiB with bodies of 64 KiB. */
const MOST_CONNECTIONS = 512;
/** Of peers from which nothing is taken: they get their refusal, but must not use up the connections. */
const MOST_REFUSED_PEERS = 64;

export interface ListenerOptions {
  /** null: plain HTTP. */
  readonly certificate: Certificate | null;
  readonly handle: http.RequestListener;
  readonly isRefused: (peer: string | undefined) => boolean;
  readonly onDropped: () => void;
}

export type Listener = http.Server | https.Server;

export function makeListener({ certificate, handle, isRefused, onDropped }: ListenerOptions): Listener {
  const limits = {
    maxHeaderSize: HEADER_BYTES,
    headersTimeout: REQUEST_MS,
    requestTimeout: REQUEST_MS,
    connectionsCheckingInterval: CHECK_EVERY_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
  };
  const listener = certificate
    ? https.createServer({ ...limits, ...tlsOptions(certificate), handshakeTimeout: REQUEST_MS }, handle)
    : http.createServer(limits, handle);
  limitConnections(listener, { most: MOST_CONNECTIONS, onDropped });
  limitConnections(listener, { most: MOST_REFUSED_PEERS, counts: isRefused, onDropped });
  // Whatever a request expects, it gets an answer of ours.
  listener.on('checkExpectation', handle);
  return listener;
}

/** From now on new connections are served with this certificate. */
export function serveCertificate(listener: Listener, certificate: Certificate): void {
  if ('setSecureContext' in listener) listener.setSecureContext(tlsOptions(certificate));
}

function tlsOptions({ cert, key }: Certificate) {
  return { cert, key, minVersion: 'TLSv1.2' as const };
}
