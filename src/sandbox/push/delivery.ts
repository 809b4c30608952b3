/** One attempt to deliver a push: POST, and any 2xx within the time limit counts. Only loopback is ever called. */
import { Agent, type ClientRequest, request as httpRequest, type RequestOptions } from 'node:http';
import { request as httpsRequest, Agent as TlsAgent } from 'node:https';
import { isIP } from 'node:net';
import { isLoopback, type PushRoutes } from './routes.ts';

export interface Parcel {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface DeliveryAnswer {
  /** null: none came. */
  readonly status: number | null;
  /** Why it does not count; null for a 2xx. */
  readonly error: string | null;
}

/** Shorter than receivers keep an idle connection: a push must not meet one that is just being closed. */
const IDLE_MS = 2000;

const CLOSED = 'the sandbox was closed';

const failed = (error: string): DeliveryAnswer => ({ status: null, error });

function answerOf(status: number): DeliveryAnswer {
  const isTaken = status >= 200 && status < 300;
  return { status, error: isTaken ? null : `answered ${status}` };
}

/** What a failed connection says of itself; several addresses that fail say it only in their code. */
function reasonOf({ code, message }: NodeJS.ErrnoException): string {
  return message || (code ?? 'the connection failed');
}

export class Delivery {
  readonly #routes: PushRoutes;
  readonly #timeoutMs: number;
  readonly #plain = new Agent({ keepAlive: true, timeout: IDLE_MS });
  /** The certificate of a receiver on loopback is its own matter. */
  readonly #tls = new TlsAgent({ keepAlive: true, timeout: IDLE_MS, rejectUnauthorized: false });
  readonly #underWay = new Set<ClientRequest>();
  #isClosed = false;

  /** `timeoutMs` is real time, whatever the sandbox's clock does. */
  constructor(routes: PushRoutes, timeoutMs: number) {
    this.#routes = routes;
    this.#timeoutMs = timeoutMs;
  }

  /** Address that is called for a url. */
  addressOf(url: string): string {
    return this.#routes.destinationOf(url).to.href;
  }

  /** Never rejects. */
  send(parcel: Parcel): Promise<DeliveryAnswer> {
    const { to } = this.#routes.destinationOf(parcel.url);
    if (!isLoopback(to)) return Promise.resolve(failed(`${to.host} is not on loopback, and there is no route for it`));
    return new Promise((resolve) => {
      if (this.#isClosed) return resolve(failed(CLOSED));
      const request = this.#requestFor(parcel);
      this.#underWay.add(request);
      // Also for the rest of an answer that never ends.
      const timer = setTimeout(() => {
        resolve(failed(`no answer within ${this.#timeoutMs} ms`));
        request.destroy();
      }, this.#timeoutMs);
      request.on('close', () => {
        clearTimeout(timer);
        this.#underWay.delete(request);
        resolve(failed(this.#isClosed ? CLOSED : 'the connection was closed without an answer'));
      });
      request.on('error', (error) => resolve(failed(this.#isClosed ? CLOSED : reasonOf(error))));
      request.on('response', (response) => {
        resolve(answerOf(response.statusCode ?? 0));
        response.on('error', () => {}).resume();
      });
      request.end(parcel.body);
    });
  }

  /** The receiver sees the url's own host, as behind a proxy. */
  #requestFor({ url, headers }: Parcel): ClientRequest {
    const { to, forwardedFor } = this.#routes.destinationOf(url);
    const meant = new URL(url);
    const forwarded = forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor };
    const options: RequestOptions = { method: 'POST', headers: { ...headers, ...forwarded, host: meant.host } };
    if (to.protocol === 'http:') return httpRequest(to, { ...options, agent: this.#plain });
    const isName = isIP(meant.hostname.replace(/^\[|\]$/g, '')) === 0;
    return httpsRequest(to, { ...options, agent: this.#tls, ...(isName ? { servername: meant.hostname } : {}) });
  }

  /** Breaks off what is under way; what is sent later fails. */
  close(): void {
    this.#isClosed = true;
    for (const request of this.#underWay) request.destroy();
    this.#plain.destroy();
    this.#tls.destroy();
  }
}
