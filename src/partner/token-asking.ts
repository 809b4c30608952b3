/** Asking for a token with patience: a few tries, each one admitted by the circuit and counted before it is sent. */
import type { Clock } from '../core/clock.ts';
import { isoTime } from '../core/clock.ts';
import { asEtlError, EtlError } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import { backoffMs } from './retry.ts';
import type { PartnerSettings } from './settings.ts';
import type { Token } from './token-cache.ts';
import {
  admitRequest,
  type Circuit,
  closedCircuit,
  openedCircuit,
  readCircuit,
  writeCircuit,
} from './token-circuit.ts';
import { type Refused, requestToken } from './token-request.ts';
import { passOn } from './wait.ts';

export interface AskingOptions {
  readonly settings: PartnerSettings;
  readonly circuitFile: string;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
}

/** The limits of the authentication service are far lower than the service's own, so fewer tries than a call has. */
const MOST_TRIES = 3;
/** Shorter pauses are over before anybody wonders. */
const SHORTEST_TOLD_MS = 5_000;
/** Pause after a 429 that names none. */
const UNNAMED_PAUSE_MS = 60_000;

/**
 * Resolves with a new token. Only to be called under the token's lock. Errors: `refused/…` of the circuit; `failed/<code>` when
 * the tries or `timeouts.totalMs` are used up; the signal's reason. Nothing goes on when it has ended.
 */
export async function askForToken(options: AskingOptions, signal: AbortSignal): Promise<Token> {
  const { settings, clock } = options;
  const { totalMs } = settings.timeouts;
  const stop = new AbortController();
  const over = new AbortController();
  const unlink = passOn(signal, stop);
  clock.sleep(totalMs, over.signal).then(
    () => stop.abort(new EtlError('failed', 'token_timeout', `no token within ${totalMs} ms`)),
    () => undefined, // it ended in time
  );
  try {
    return await tryRepeatedly(options, stop.signal);
  } finally {
    over.abort();
    unlink();
  }
}

async function tryRepeatedly(options: AskingOptions, signal: AbortSignal): Promise<Token> {
  const { settings, clock, random, log } = options;
  const deadlineMs = clock.now() + settings.timeouts.totalMs;
  const mostTries = Math.min(settings.retry.tries, MOST_TRIES);
  for (let made = 1; ; made++) {
    await keepPause(options, deadlineMs, signal);
    const tried = await tryOnce(options, signal);
    if ('token' in tried) return tried.token;
    signal.throwIfAborted();
    const { error, isTrial } = tried;
    if (error.kind !== 'retry') throw error;
    const triesMade = `${made} ${made === 1 ? 'try' : 'tries'}`;
    if (isTrial || made >= mostTries) throw gaveUp(error, `gave up after ${triesMade}`);
    const pauseMs = error.retryAfterMs ?? backoffMs(settings.retry, made, random);
    if (clock.now() + pauseMs >= deadlineMs)
      throw gaveUp(error, `the next try would come in ${pauseMs} ms, after the time limit of timeouts.totalMs`);
    log.warn(`no token yet: ${error.message}; trying again in ${pauseMs} ms`, { code: error.code, try: made });
    await clock.sleep(pauseMs, signal);
  }
}

/** `isTrial`: it was the single request of a half-open circuit. */
type Tried = { readonly token: Token } | { readonly error: EtlError; readonly isTrial: boolean };

async function tryOnce(options: AskingOptions, signal: AbortSignal): Promise<Tried> {
  const { settings, circuitFile, clock, log } = options;
  const before = await readCircuit(circuitFile, settings.credentials, clock.now(), log);
  const asked = await admitted(before, options);
  const isTrial = before.refusal !== null;
  /** The request is counted; what was known of refusals is as before it. */
  const undecided: Circuit = { ...asked, refusal: before.refusal };
  let answer: Token | Refused;
  try {
    answer = await requestToken(settings, clock, log, signal);
  } catch (thrown) {
    const error = paced(asEtlError(thrown));
    const pausedUntilMs = error.retryAfterMs === undefined ? 0 : clock.now() + error.retryAfterMs;
    if (isTrial || pausedUntilMs > 0) await writeCircuit(circuitFile, { ...undecided, pausedUntilMs });
    return { error, isTrial };
  }
  if ('refused' in answer) {
    const { circuit, error } = openedCircuit(undecided, answer, settings.token, clock.now(), circuitFile);
    await writeCircuit(circuitFile, circuit);
    log.error(error.message, { code: error.code, hint: error.hint });
    return { error, isTrial };
  }
  if (isTrial || before.pausedUntilMs > 0) await writeCircuit(circuitFile, closedCircuit(undecided));
  const { requestsMs } = asked;
  log.info('new access token', { expires_at: isoTime(answer.expiresAtMs), requests_in_the_hour: requestsMs.length });
  return { token: answer };
}

/** Counts the request, on disk, before it is sent. */
async function admitted(before: Circuit, { settings, circuitFile, clock }: AskingOptions): Promise<Circuit> {
  let circuit = before;
  try {
    circuit = admitRequest(before, settings.token, clock.now(), circuitFile);
    return circuit;
  } finally {
    // Also when it is not admitted: instants that were ahead of the clock have been brought back, and must stay so.
    await writeCircuit(circuitFile, circuit);
  }
}

/** Waits as long as the service asked for, be it in this process or in another one before. */
async function keepPause(options: AskingOptions, deadlineMs: number, signal: AbortSignal): Promise<void> {
  const { settings, circuitFile, clock, log } = options;
  const { pausedUntilMs } = await readCircuit(circuitFile, settings.credentials, clock.now(), log);
  if (pausedUntilMs >= deadlineMs)
    throw new EtlError(
      'failed',
      'token_paused',
      `the authentication service wants no request before ${isoTime(pausedUntilMs)}`,
    );
  const pauseMs = pausedUntilMs - clock.now();
  if (pauseMs <= 0) return;
  if (pauseMs >= SHORTEST_TOLD_MS)
    log.warn(`the authentication service wants no request for ${Math.ceil(pauseMs / 1000)} s: waiting`);
  await clock.sleep(pauseMs, signal);
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
