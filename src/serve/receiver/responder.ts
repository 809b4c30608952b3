/** What is answered to each request, and what is counted, logged and kept of it. The only place that speaks HTTP. */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { PushSettings } from '../../config.ts';
import type { Clock } from '../../core/clock.ts';
import { asEtlError } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import { type CountsInTheMaking, type ReceiverCounts, zeroCounts } from '../refusals/counts.ts';
import { RefusalLog } from '../refusals/refusal-log.ts';
import { type Deferral, isRefusal, REFUSALS, type Refusal } from '../refusals/refusals.ts';
import type { RefusedMessages } from '../refusals/refused-messages.ts';
import type { SignatureKeys } from '../signature/keys.ts';
import type { SourceCheck } from '../source-address.ts';
import { Intake, type IntakeOptions, type Outcome, type Received } from './intake.ts';
import type { MessageBody } from './message-body.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Where the message came from. */
    sourceAddress: string;
  }
}

export interface ResponderOptions {
  readonly settings: PushSettings;
  readonly inbox: IntakeOptions['inbox'];
  readonly keys: IntakeOptions['keys'] & Pick<SignatureKeys, 'fetches'>;
  readonly refused: Pick<RefusedMessages, 'keep'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Messages that wait for a key or the disk. At 2,000 a second these are a quarter of a second's. */
const MOST_IN_HAND = 512;
const RETRY_AFTER_SECONDS = '60';
const NOTHING = Buffer.alloc(0);

export class Responder {
  readonly counts: ReceiverCounts;
  private readonly making: CountsInTheMaking;
  private readonly options: ResponderOptions;
  private readonly sources: SourceCheck;
  private readonly intake: Intake;
  private readonly refusalLog: RefusalLog;
  private readonly mostBytes: number;
  private isClosing = false;
  private unsaid: { readonly reply: FastifyReply; readonly reason: Refusal }[] = [];

  constructor(options: ResponderOptions, sources: SourceCheck) {
    const { settings, keys, inbox, log, clock } = options;
    const { oldestDays, copiesKept, bodyKiB } = settings;
    this.options = options;
    this.sources = sources;
    this.mostBytes = bodyKiB * 1024;
    this.intake = new Intake({ keys, inbox, oldestDays, copiesKept });
    this.refusalLog = new RefusalLog(log, clock);
    this.making = zeroCounts(() => keys.fetches);
    this.counts = this.making;
  }

  /** Whether the body shall be read; when not, the request is answered. */
  mayRead(request: FastifyRequest, reply: FastifyReply): boolean {
    const { raw } = request;
    const { headers } = raw;
    const source = this.sources.of(raw.socket.remoteAddress, headers['x-forwarded-for']);
    request.sourceAddress = source.address;
    // fastify refuses what is no media type; a message is its bytes, whatever it calls itself.
    headers['content-type'] = undefined;
    if (this.isClosing) this.defer(reply, 'closing', source.address);
    else if (Number(headers['content-length'] ?? 0) > this.mostBytes) this.refuse(request, reply, 'too_large');
    else if (isPacked(headers['content-encoding'])) this.refuse(request, reply, 'encoded');
    else if (!source.isAllowed) this.refuse(request, reply, 'wrong_source');
    else return true;
    return false;
  }

  /** Takes a message whose body was read. */
  receive(request: FastifyRequest, reply: FastifyReply): void {
    const body = (request.body ?? NOTHING) as MessageBody;
    const { sourceAddress } = request;
    if (typeof body === 'string') this.refuse(request, reply, body);
    else if (this.making.inHand >= MOST_IN_HAND) this.defer(reply, 'too_busy', sourceAddress);
    else {
      const { method = '', rawHeaders } = request.raw;
      const receivedAtMs = this.options.clock.now();
      this.take({ receivedAtMs, sourceAddress, method, rawHeaders, body }, request, reply);
    }
  }

  /** Another path, another method, or what is no path. */
  refuseUnknown(request: FastifyRequest, reply: FastifyReply): void {
    const [path] = (request.raw.url ?? '').split('?', 1);
    const allowed = path === this.options.settings.path ? 'POST, PUT' : path === HEALTH_PATH ? 'GET, HEAD' : null;
    if (allowed !== null) reply.header('allow', allowed);
    this.refuse(request, reply, allowed === null ? 'not_found' : 'wrong_method');
  }

  /** What Node could not read as a request. */
  answerBroken(error: NodeJS.ErrnoException, socket: Socket): void {
    const { code = '' } = error;
    if (code === 'ECONNRESET' || socket.destroyed) return;
    const reason = BROKEN[code] ?? 'bad_http';
    this.making.refused[reason] += 1;
    // Of a handshake that failed nobody could read an answer.
    if (!socket.writable || !/^(?:HPE_|ERR_HTTP_)/.test(code)) {
      socket.destroy();
      return;
    }
    const { status } = REFUSALS[reason];
    socket.write(`HTTP/1.1 ${status} ${reason}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
    socket.destroySoon();
  }

  /** Something of ours broke: the sender shall try again. */
  answerFailure(thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
    this.defer(reply, 'broken', request.sourceAddress, { detail: asEtlError(thrown).message });
  }

  countDropped(): void {
    this.making.connectionsDropped += 1;
  }

  /** From now on what comes in is answered 503, and connections end with their answer. */
  beginClosing(): void {
    this.isClosing = true;
  }

  flushLog(): void {
    this.refusalLog.flush();
  }

  private take(received: Received, request: FastifyRequest, reply: FastifyReply): void {
    const outcome = this.intake.take(received);
    if (!(outcome instanceof Promise)) {
      this.answer(received, outcome, reply);
      return;
    }
    this.making.inHand += 1;
    outcome
      .finally(() => {
        this.making.inHand -= 1;
      })
      .then((later) => this.answer(received, later, reply))
      .catch((thrown: unknown) => this.answerFailure(thrown, request, reply));
  }

  private answer(received: Received, { code, keyId, detail }: Outcome, reply: FastifyReply): void {
    const about = { ...(keyId === undefined ? {} : { keyId }), ...(detail === undefined ? {} : { detail }) };
    if (code === 'stored' || code === 'copy') this.acknowledge(reply, code);
    else if (isRefusal(code)) {
      this.count(code, received.sourceAddress, about);
      this.options.refused.keep({ ...received, reason: code, ...(detail === undefined ? {} : { detail }) });
      this.say(reply, code);
    } else this.defer(reply, code, received.sourceAddress, about);
  }

  private acknowledge(reply: FastifyReply, code: 'stored' | 'copy'): void {
    this.making[code === 'stored' ? 'accepted' : 'copies'] += 1;
    if (this.isClosing) reply.header('connection', 'close');
    reply.code(204).send();
  }

  private refuse(request: FastifyRequest, reply: FastifyReply, reason: Refusal): void {
    this.count(reason, request.sourceAddress, {});
    if (reason === 'too_large' || hasBody(request.raw)) reply.header('connection', 'close');
    this.say(reply, reason);
  }

  private count(reason: Refusal, from: string, about: Readonly<Record<string, string>>): void {
    this.making.refused[reason] += 1;
    if (!UNLOGGED.has(reason)) this.refusalLog.count(reason, () => ({ from, ...about }));
  }

  /**
   * Refusals go out together once all that came in has been read, as accepted messages do with their sync: a write that wakes
   * the other side up costs twice as much as one to somebody who is awake.
   */
  private say(reply: FastifyReply, reason: Refusal): void {
    if (this.unsaid.push({ reply, reason }) === 1) setImmediate(() => this.sayAll());
  }

  private sayAll(): void {
    const unsaid = this.unsaid;
    this.unsaid = [];
    for (const { reply, reason } of unsaid) {
      if (this.isClosing) reply.header('connection', 'close');
      answer(reply, REFUSALS[reason].status, reason);
    }
  }

  private defer(
    reply: FastifyReply,
    reason: Deferral,
    from: string,
    about: Readonly<Record<string, string>> = {},
  ): void {
    this.making.deferred[reason] += 1;
    this.refusalLog.count(reason, () => ({ from, ...about }));
    if (this.isClosing) reply.header('connection', 'close');
    reply.header('retry-after', RETRY_AFTER_SECONDS);
    answer(reply, 503, reason);
  }
}

export const HEALTH_PATH = '/healthz';

/** The word stands in the status line: an answer with a body takes Node two writes in one call, 100 µs instead of 30. */
function answer(reply: FastifyReply, status: number, word: Refusal | Deferral): void {
  reply.raw.statusMessage = word;
  reply.code(status).send();
}

/** What is no message at all; the internet is full of it. */
const UNLOGGED: ReadonlySet<Refusal> = new Set(['not_found', 'wrong_method', 'cut_off']);

const BROKEN: Readonly<Record<string, 'too_slow' | 'long_header'>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'too_slow',
  HPE_HEADER_OVERFLOW: 'long_header',
};

function isPacked(encoding: string | undefined): boolean {
  return encoding !== undefined && encoding !== '' && encoding.toLowerCase() !== 'identity';
}

function hasBody({ headers }: IncomingMessage): boolean {
  const { 'content-length': length = '0', 'transfer-encoding': transfer } = headers;
  return transfer !== undefined || length !== '0';
}
