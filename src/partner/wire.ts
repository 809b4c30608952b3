/**
 * One request over the wire and its answer, with our own timeouts (all through the Clock, so that tests drive them).
 * Nothing is tried again here and no redirect is followed. Bodies are handed over as received: no encoding is undone.
 *
 * | error | when | may it have reached the service |
 * | retry/connect_failed, retry/connect_timeout, failed/tls_certificate | no connection came to stand | no |
 * | retry/headers_timeout, retry/connection_lost, retry/bad_answer | sent, but no head of an answer | yes |
 * | retry/cut_body, retry/stalled_body (thrown by the body) | the answer broke off or fell silent | yes |
 * An abort of the request's signal is thrown as the signal's reason.
 */
import { buildConnector, type Dispatcher, Pool } from 'undici';
import type { Clock } from '../core/clock.ts';
import { EtlError } from '../core/errors.ts';
import { ENDED, passOn, unlessAborted, within } from './pacing/wait.ts';
import type { Timeouts } from './settings.ts';
import { whenSent } from './when-sent.ts';

export interface WireRequest {
  readonly method: string;
  /** Of the wire's own origin. */
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called at the moment at which the request is written into the connection. */
  readonly onSent?: () => void;
}

/** Codes of errors after which the service has surely not seen the request. */
export const NOT_SENT: ReadonlySet<string> = new Set(['connect_failed', 'connect_timeout', 'tls_certificate']);

/** Gateways like to turn away who names none. */
const USER_AGENT = 'partner-etl';
const CERTIFICATE = /CERT|SELF_SIGNED|UNABLE_TO_(?:GET_ISSUER|VERIFY_LEAF)/;
const noop = () => undefined;

export class Wire {
  private readonly pool: Pool;
  private readonly timeouts: Timeouts;
  private readonly clock: Clock;

  /** `origin` is an http or https address; what follows the host is ignored. Connects when the first request is sent. */
  constructor(origin: string, timeouts: Timeouts, clock: Clock) {
    this.timeouts = timeouts;
    this.clock = clock;
    // How many connections there are is decided by the pacing; undici's own timeouts are off, ours stand in their place.
    this.pool = new Pool(new URL(origin).origin, {
      connect: connector(timeouts.connectMs, clock),
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  /** Resolves when the head of the answer has come, whatever its status. The Exchange must be closed. */
  async send(request: WireRequest): Promise<Exchange> {
    const stop = new AbortController();
    const headIsHere = new AbortController();
    const unlink = passOn(request.signal, stop);
    const onSent = () => {
      request.onSent?.();
      this.clock.sleep(this.timeouts.headersMs, headIsHere.signal).then(() => stop.abort(this.headersTimeout()), noop);
    };
    try {
      const work = this.pool.compose(whenSent(onSent)).request({
        method: request.method,
        path: request.url.pathname + request.url.search,
        headers: { 'user-agent': USER_AGENT, ...request.headers },
        body: request.body ?? null,
        signal: stop.signal,
      });
      // An answer that comes after we let go of it must not keep its connection.
      work.then((late) => stop.signal.aborted && late.body.on('error', noop).destroy(), noop);
      const response = await unlessAborted(stop.signal, work);
      return new Exchange(response, this.timeouts.bodyMs, this.clock, stop, unlink);
    } catch (error) {
      unlink();
      throw stop.signal.aborted ? stop.signal.reason : sortedError(error);
    } finally {
      headIsHere.abort(ENDED);
    }
  }

  /** Closes all connections; requests still under way fail. */
  async close(): Promise<void> {
    await this.pool.destroy();
  }

  private headersTimeout(): EtlError {
    const { headersMs } = this.timeouts;
    return new EtlError('retry', 'headers_timeout', `no answer within ${headersMs} ms`, {
      hint: 'where the service just needs longer, raise timeouts.headersMs or make the windows smaller',
    });
  }
}

/** An answer whose body is still on its way. */
export class Exchange {
  readonly status: number;
  /** The body as received; throws `retry/cut_body` or `retry/stalled_body`. To be read once. */
  readonly body: AsyncIterable<Uint8Array>;
  /** Bytes of the body that have come so far. */
  bytesReceived = 0;
  /** What ended the body before its end; null when nothing did. */
  failure: unknown = null;
  private readonly response: Dispatcher.ResponseData;
  private readonly unlink: () => void;

  constructor(
    response: Dispatcher.ResponseData,
    bodyMs: number,
    clock: Clock,
    stop: AbortController,
    unlink: () => void,
  ) {
    this.status = response.statusCode;
    this.response = response;
    this.unlink = unlink;
    response.body.on('error', noop); // reported to whoever reads; without a reader it must not end the process
    this.body = this.chunks(bodyMs, clock, stop);
  }

  /** The first header of that name (lower case), or null. */
  header(name: string): string | null {
    const value = this.response.headers[name];
    return (Array.isArray(value) ? value[0] : value) ?? null;
  }

  /** Lets go of the connection: it is kept for the next request when the body was read to its end. */
  close(): void {
    this.unlink();
    this.response.body.destroy();
  }

  private async *chunks(bodyMs: number, clock: Clock, stop: AbortController): AsyncGenerator<Uint8Array> {
    const source = this.response.body[Symbol.asyncIterator]();
    const stalled = () =>
      new EtlError(
        'retry',
        'stalled_body',
        `the answer fell silent for ${bodyMs} ms after ${this.bytesReceived} bytes`,
      );
    for (;;) {
      let next: IteratorResult<Uint8Array>;
      try {
        next = await within(clock, bodyMs, stalled, stop, source.next());
      } catch (error) {
        this.failure = stop.signal.aborted ? stop.signal.reason : cutBody(error, this.bytesReceived);
        throw this.failure;
      }
      if (next.done) return;
      this.bytesReceived += next.value.length;
      yield next.value;
    }
  }
}

/** undici's connector, with a time limit of ours and with errors that say that nothing was sent. */
function connector(connectMs: number, clock: Clock): buildConnector.connector {
  const connect = buildConnector({ timeout: 0 });
  return (options, callback) => {
    const over = new AbortController();
    const where = `${options.protocol}//${options.host ?? options.hostname}`;
    const socket = connect(options, (...[error, connected]) => {
      over.abort(ENDED);
      if (error) callback(connectError(error, where), null);
      else callback(null, connected);
    }) as unknown as { destroy(error: Error): void }; // declared void, but undici returns the socket
    const late = () =>
      new EtlError('retry', 'connect_timeout', `no connection to ${where} within ${connectMs} ms`, {
        hint: 'check the network, a proxy or firewall in between, and the address in the settings',
      });
    clock.sleep(connectMs, over.signal).then(() => socket.destroy(late()), noop);
  };
}

function connectError(error: Error, where: string): EtlError {
  if (error instanceof EtlError) return error;
  const { code } = error as NodeJS.ErrnoException;
  if (code !== undefined && CERTIFICATE.test(code))
    return new EtlError('failed', 'tls_certificate', `${where} shows a certificate that is not accepted: ${code}`, {
      cause: plainCause(error),
      hint: 'check the address; behind a proxy that inspects traffic, name its certificate in NODE_EXTRA_CA_CERTS',
    });
  return new EtlError('retry', 'connect_failed', `no connection to ${where}: ${code ?? error.message}`, {
    cause: plainCause(error),
    hint: 'check the network and the address in the settings',
  });
}

function sortedError(error: unknown): unknown {
  if (error instanceof EtlError || !(error instanceof Error)) return error;
  const code = (error as NodeJS.ErrnoException).code ?? error.name;
  const cause = plainCause(error);
  if (error.name === 'HTTPParserError')
    return new EtlError('retry', 'bad_answer', `what came back is no HTTP answer: ${code}`, { cause });
  if (/^UND_ERR_(?:INVALID_ARG|DESTROYED|CLOSED|HEADERS_OVERFLOW|NOT_SUPPORTED)$/.test(code))
    return new EtlError('failed', 'request_impossible', `the request could not be made: ${code}`, { cause });
  return new EtlError('retry', 'connection_lost', `the connection was lost before an answer came: ${code}`, { cause });
}

function cutBody(error: unknown, bytes: number): EtlError {
  const cause = error instanceof Error ? plainCause(error) : error;
  return new EtlError('retry', 'cut_body', `the answer broke off after ${bytes} bytes`, { cause });
}

/** undici's errors carry pieces of what was received, which may echo a secret: only code and message are kept. */
function plainCause(error: Error): Error {
  const { code } = error as NodeJS.ErrnoException;
  return new Error(code === undefined ? error.message : `${code}: ${error.message}`);
}
