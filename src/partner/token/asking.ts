/**
 * Asking for a token with patience: a few tries, of all processes one at a time. Each is admitted by the circuit and counted before it
 * is sent, in the transaction that also says who asks and until when; in the one behind it the circuit learns how it ended. So a
 * process that is killed while it asks holds the others up for as long as a request may take, and no longer.
 */
import type { Clock } from '../../core/clock.ts';
import { isoTime } from '../../core/clock.ts';
import { asEtlError, EtlError } from '../../core/errors.ts';
import { newId } from '../../core/ids.ts';
import type { Log } from '../../core/log.ts';
import type { State } from '../../store/state.ts';
import { type Asking, type Circuit, changeTokenRow, type Token } from '../../store/tables/token.ts';
import { ENDED, passOn } from '../pacing/wait.ts';
import { backoffMs } from '../retry.ts';
import type { PartnerSettings } from '../settings.ts';
import { admitRequest, circuitNow, openedCircuit, pairOf } from './circuit.ts';
import { type Refused, requestToken } from './request.ts';

export interface AskingOptions {
  readonly settings: PartnerSettings;
  readonly state: State;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  /** Whether a token that another process has got meanwhile will do. */
  readonly isUsable: (token: Token) => boolean;
}

/** The limits of the authentication service are far lower than the service's own, so fewer tries than a call has. */
const MOST_TRIES = 3;
/** Shorter pauses are over before anybody wonders. */
const SHORTEST_TOLD_MS = 5_000;
/** Pause after a 429 that names none. */
const UNNAMED_PAUSE_MS = 60_000;
/** A token is made in no time; only reports take minutes. */
const LONGEST_ANSWER_MS = 30_000;
/** Between the end of a request and the next one of another process, where the first could not say that it ended. */
const GRACE_MS = 1_000;
/** How often one who waits for another's request looks whether it has ended. */
const LOOK_MS = 50;

/**
 * Resolves with a token of the state or a new one. Errors: `refused/…` of the circuit; `failed/<code>` when the tries or
 * `timeouts.totalMs` are used up; the signal's reason. Nothing goes on when it has ended.
 */
export async function askForToken(options: AskingOptions, signal: AbortSignal): Promise<Token> {
  const { totalMs } = options.settings.timeouts;
  const late = () => new EtlError('failed', 'token_timeout', `no token within ${totalMs} ms`);
  return limited(options.clock, totalMs, late, signal, (stop) => tryRepeatedly(options, stop));
}

/** Does `work` under a signal that is aborted by `signal`, and after so long with what `late` makes. */
async function limited<T>(
  clock: Clock,
  limitMs: number,
  late: () => EtlError,
  signal: AbortSignal,
  work: (stop: AbortSignal) => Promise<T>,
): Promise<T> {
  const stop = new AbortController();
  const over = new AbortController();
  const unlink = passOn(signal, stop);
  clock.sleep(limitMs, over.signal).then(
    () => stop.abort(late()),
    () => undefined, // it ended in time
  );
  try {
    return await work(stop.signal);
  } finally {
    over.abort(ENDED);
    unlink();
  }
}

async function tryRepeatedly(options: AskingOptions, signal: AbortSignal): Promise<Token> {
  const { settings, clock, random, log } = options;
  const deadlineMs = clock.now() + settings.timeouts.totalMs;
  const mostTries = Math.min(settings.retry.tries, MOST_TRIES);
  for (let made = 1; ; made++) {
    const admitted = await waitForAdmission(options, deadlineMs, signal);
    if ('token' in admitted) return admitted.token;
    const tried = await tryOnce(options, admitted, signal);
    if ('token' in tried) return tried.token;
    signal.throwIfAborted();
    const { error } = tried;
    if (error.kind !== 'retry') throw error;
    const triesMade = `${made} ${made === 1 ? 'try' : 'tries'}`;
    if (admitted.before.refusal !== null || made >= mostTries) throw gaveUp(error, `gave up after ${triesMade}`);
    const pauseMs = error.retryAfterMs ?? backoffMs(settings.retry, made, random);
    if (clock.now() + pauseMs >= deadlineMs)
      throw gaveUp(error, `the next try would come in ${pauseMs} ms, after the time limit of timeouts.totalMs`);
    log.warn(`no token yet: ${error.message}; trying again in ${pauseMs} ms`, { code: error.code, try: made });
    await clock.sleep(pauseMs, signal);
  }
}

/** Leave to make one request; `before`: the circuit as it was, whose refusal makes the request a trial. */
interface Admitted {
  readonly before: Circuit;
  readonly asking: Asking;
}

/** What the transaction in front of a request found. */
type Found =
  | Admitted
  | { readonly token: Token }
  | { readonly pausedUntilMs: number }
  | { readonly refused: unknown }
  | 'another asks';

/** Waits while another process asks, and as long as the service asked for, be it in this process or in another one before. */
async function waitForAdmission(
  options: AskingOptions,
  deadlineMs: number,
  signal: AbortSignal,
): Promise<Admitted | { readonly token: Token }> {
  const { clock, log } = options;
  for (;;) {
    signal.throwIfAborted();
    const found = await seekAdmission(options);
    if (found === 'another asks') await clock.sleep(LOOK_MS, signal);
    else if ('pausedUntilMs' in found) {
      const { pausedUntilMs } = found;
      if (pausedUntilMs >= deadlineMs) {
        const then = isoTime(pausedUntilMs);
        throw new EtlError('failed', 'token_paused', `the authentication service wants no request before ${then}`);
      }
      const pauseMs = pausedUntilMs - clock.now();
      if (pauseMs >= SHORTEST_TOLD_MS)
        log.warn(`the authentication service wants no request for ${Math.ceil(pauseMs / 1000)} s: waiting`);
      await clock.sleep(pauseMs, signal);
    } else if ('refused' in found) throw found.refused;
    else return found;
  }
}

function seekAdmission({ settings, state, clock, isUsable }: AskingOptions): Promise<Found> {
  return changeTokenRow(state, pairOf(settings), (row): readonly [Circuit, Found] => {
    const nowMs = clock.now();
    // Written also where nothing is asked: instants that were ahead of the clock have been brought back, and must stay so.
    const before = circuitNow(row, settings.credentials, nowMs);
    if (before.token && isUsable(before.token)) return [before, { token: before.token }];
    if (before.asking) return [before, 'another asks'];
    if (before.pausedUntilMs > nowMs) return [before, { pausedUntilMs: before.pausedUntilMs }];
    try {
      const asked = admitRequest(before, settings.token, nowMs);
      const asking = { by: newId('c', clock), atMs: nowMs, untilMs: nowMs + longestMs(settings) + GRACE_MS };
      return [
        { ...asked, asking },
        { before, asking },
      ];
    } catch (refused) {
      return [before, { refused }];
    }
  });
}

/** How long one request may take. */
function longestMs({ timeouts }: PartnerSettings): number {
  return timeouts.connectMs + Math.min(timeouts.headersMs, LONGEST_ANSWER_MS);
}

type Tried = { readonly token: Token } | { readonly error: EtlError };

async function tryOnce(options: AskingOptions, { before, asking }: Admitted, signal: AbortSignal): Promise<Tried> {
  const { settings, state, clock, log } = options;
  /** The request stays counted; what was known of refusals is as before it. */
  const settle = (change: (circuit: Circuit) => Circuit) =>
    changeTokenRow(state, pairOf(settings), (row) => {
      const circuit = circuitNow(row, settings.credentials, clock.now());
      const isOurs = circuit.asking?.by === asking.by;
      return [change({ ...circuit, refusal: before.refusal, asking: isOurs ? null : circuit.asking }), null];
    });
  let answer: Token | Refused;
  try {
    const late = () => new EtlError('retry', 'token_silence', 'the authentication service did not answer in time');
    const ask = (stop: AbortSignal) => requestToken(settings, clock, log, stop);
    answer = await limited(clock, longestMs(settings), late, signal, ask);
  } catch (thrown) {
    const error = paced(asEtlError(thrown));
    const pausedUntilMs = error.retryAfterMs === undefined ? 0 : clock.now() + error.retryAfterMs;
    await settle((circuit) => ({ ...circuit, pausedUntilMs }));
    return { error };
  }
  if ('refused' in answer) {
    const { circuit: opened, error } = openedCircuit(before, answer, settings.token, clock.now());
    await settle((circuit) => ({ ...circuit, refusal: opened.refusal }));
    log.error(error.message, { code: error.code, hint: error.hint });
    return { error };
  }
  const token = answer;
  try {
    await settle((circuit) => ({ ...circuit, token, refusal: null, pausedUntilMs: 0 }));
  } catch (error) {
    log.warn('the token cannot be kept for other processes', { error });
  }
  const inTheHour = before.requestsMs.length + 1;
  log.info('new access token', { expires_at: isoTime(token.expiresAtMs), requests_in_the_hour: inTheHour });
  return { token };
}

/** Too many requests is a warning that comes before a ban: never hurry after it. */
function paced(error: EtlError): EtlError {
  if (error.code !== 'token_http_429' || error.retryAfterMs !== undefined) return error;
  const { kind, code, message, concern, cause } = error;
  return new EtlError(kind, code, message, { concern, cause, retryAfterMs: UNNAMED_PAUSE_MS });
}

function gaveUp(error: EtlError, why: string): EtlError {
  return new EtlError('failed', error.code, `${error.message}; ${why}`, {
    concern: error.concern,
    cause: error.cause,
    hint: error.hint ?? 'the authentication service is in trouble or cannot be reached: try again later',
  });
}
