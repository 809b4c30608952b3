import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request as it arrived. */
export interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
  readonly atMs: number;
  /** Of the connection's other end: tells connections apart. */
  readonly port: number | undefined;
}

export type Script = (response: http.ServerResponse, seen: Seen) => void | Promise<void>;

const TOKEN_PATH = '/auth/token';

/**
 * A real HTTP server on the loopback that plays what it is told, in order: `tokens` for POST /auth/token, `answers` for
 * everything else. Where a list is empty, tokens are granted (`token-1-…`, `token-2-…`) and calls answered with `{"items":[]}`.
 */
export class ScriptedService {
  readonly tokens: Script[] = [];
  readonly answers: Script[] = [];
  readonly tokenRequests: Seen[] = [];
  readonly calls: Seen[] = [];
  private readonly server: http.Server;
  private readonly now: () => number;
  private granted = 0;
  private arrivals: { readonly count: number; readonly tell: () => void }[] = [];

  private constructor(now: () => number) {
    this.now = now;
    this.server = http.createServer((request, response) => void this.play(request, response));
    this.server.keepAliveTimeout = 60_000;
  }

  static async start(now: () => number): Promise<ScriptedService> {
    const service = new ScriptedService(now);
    service.server.listen(0, '127.0.0.1');
    await once(service.server, 'listening');
    return service;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Resolves when so many requests (tokens and calls) have arrived. */
  arrived(count: number): Promise<void> {
    if (this.total >= count) return Promise.resolve();
    return new Promise((tell) => {
      this.arrivals.push({ count, tell });
    });
  }

  /** Cuts every connection there is. */
  cutAll(): void {
    this.server.closeAllConnections();
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  private get total(): number {
    return this.tokenRequests.length + this.calls.length;
  }

  private async play(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { method = '', url = '', headers } = request;
    const { remotePort: port } = request.socket;
    const seen: Seen = { method, url, headers, body: Buffer.concat(chunks).toString(), atMs: this.now(), port };
    const isToken = url.startsWith(TOKEN_PATH);
    (isToken ? this.tokenRequests : this.calls).push(seen);
    for (const { tell } of this.arrivals.filter(({ count }) => this.total >= count)) tell();
    this.arrivals = this.arrivals.filter(({ count }) => this.total < count);
    const script = isToken ? (this.tokens.shift() ?? this.grant()) : (this.answers.shift() ?? answer(200, NO_ITEMS));
    // By the scene's clock, unless the script says another time.
    response.setHeader('date', new Date(this.now()).toUTCString());
    await script(response, seen);
  }

  private grant(): Script {
    this.granted += 1;
    return granted(tokenNamed(this.granted));
  }
}

export const NO_ITEMS = '{"items":[]}';

/** The token that an unscripted service grants as its nth. */
export function tokenNamed(n: number): string {
  return `token-${n}-qLx7Zr0vTtB2aWmE`;
}

export function granted(
  value: string,
  fields: Record<string, unknown> = {},
  headers: http.OutgoingHttpHeaders = {},
): Script {
  const body = { access_token: value, token_type: 'Bearer', expires_in: 299, scope: 'RETAILER', ...fields };
  return answer(200, JSON.stringify(body), { 'content-type': 'application/json', ...headers });
}

/** A whole answer. */
export function answer(status: number, body: string | Buffer = '', headers: http.OutgoingHttpHeaders = {}): Script {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(body);
  };
}

/** The connection is closed without a word. */
export const hangUp: Script = (response) => {
  response.destroy();
};

/** Nothing is ever answered. */
export const silence: Script = () => undefined;

/** Head and first bytes, then the connection is cut. */
export function cutAfter(body: string, headers: http.OutgoingHttpHeaders = {}): Script {
  return (response) => {
    response.writeHead(200, { 'content-type': 'application/json', ...headers });
    response.write(body, () => response.destroy());
  };
}

/** Head and first bytes, then nothing. */
export function stallAfter(body: string): Script {
  return (response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write(body);
  };
}
