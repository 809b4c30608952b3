/**
 * The circuit in front of the authentication service, in the state, so that neither a retry loop nor the next process can ask more
 * often than is good for us: the service bans addresses that do.
 *
 *   closed     requests may be made, `mostPerHour` at the most
 *   open       the service refused; nobody asks before `notBeforeMs`
 *   half-open  that instant has passed: one single request. Granted → closed; refused → open again, for twice as long
 * While the half-open request is under way the state says "open", so a crash in it cannot allow a second one.
 * New credentials close a circuit that was opened by the old ones; a ban is the address's and stays.
 */
import { createHash, randomBytes } from 'node:crypto';
import { isoTime } from '../../core/clock.ts';
import { EtlError } from '../../core/errors.ts';
import type { State, StateDb } from '../../store/state.ts';
import {
  type Circuit,
  type CredentialPrint,
  changeTokenRow,
  type Refusal,
  readTokenRow,
} from '../../store/tables/token.ts';
import type { Credentials, PartnerSettings, TokenSettings } from '../settings.ts';
import type { Refused } from './request.ts';

const HOUR_MS = 3_600_000;
const LONGEST_OPEN_MS = 24 * HOUR_MS;
/** A pause that the service asks for counts up to this. */
const LONGEST_PAUSE_MS = HOUR_MS;

/** By what the state names a pair of credentials. Another address or path is another pair: what it was refused says nothing about it. */
export function pairOf({ authUrl, token, credentials }: PartnerSettings): string {
  const text = JSON.stringify([authUrl, token.path, credentials.clientId]);
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}

/** The circuit as the state has it, looked at with the credentials of now. */
export async function readCircuit(db: StateDb, settings: PartnerSettings, nowMs: number): Promise<Circuit> {
  return circuitNow(await readTokenRow(db, pairOf(settings)), settings.credentials, nowMs);
}

/** The service is said to have lifted a ban of the address: the next request may be made at once. A person says so, never a program. */
export async function endBan(state: State, settings: PartnerSettings, nowMs: number): Promise<void> {
  await changeTokenRow(state, pairOf(settings), (found) => {
    const circuit = circuitNow(found, settings.credentials, nowMs);
    const isBanned = circuit.refusal?.code === 'address_banned';
    return [isBanned ? { ...circuit, refusal: { ...circuit.refusal, notBeforeMs: nowMs } } : circuit, null];
  });
}

/** What was found, looked at with the credentials of now. */
export function circuitNow(found: Circuit | null, credentials: Credentials, nowMs: number): Circuit {
  if (found === null) {
    const print = printOf(credentials);
    return { print, token: null, refusal: null, requestsMs: [], pausedUntilMs: 0, asking: null };
  }
  const known = notAhead(found, nowMs);
  if (printOf(credentials, known.print.salt).sha256 === known.print.sha256) return known;
  const refusal = known.refusal?.code === 'address_banned' ? known.refusal : null;
  return { ...known, print: printOf(credentials), token: null, refusal };
}

function printOf({ clientId, clientSecret }: Credentials, salt = randomBytes(16).toString('hex')): CredentialPrint {
  // As JSON, since id and secret run together could be cut in two ways.
  const text = JSON.stringify([salt, clientId, clientSecret]);
  return { salt, sha256: createHash('sha256').update(text).digest('hex') };
}

/** What a clock that was set back since has put into the future counts as just now, or it would stand for as long. */
function notAhead(circuit: Circuit, nowMs: number): Circuit {
  const { requestsMs, pausedUntilMs, refusal, asking } = circuit;
  const isAhead = refusal !== null && refusal.atMs > nowMs;
  return {
    ...circuit,
    requestsMs: requestsMs.map((ms) => Math.min(ms, nowMs)).filter((ms) => nowMs - ms < HOUR_MS),
    pausedUntilMs: Math.min(pausedUntilMs, nowMs + LONGEST_PAUSE_MS),
    refusal: isAhead ? { ...refusal, atMs: nowMs, notBeforeMs: nowMs + refusal.notBeforeMs - refusal.atMs } : refusal,
    asking: asking !== null && asking.atMs <= nowMs && nowMs < asking.untilMs ? asking : null,
  };
}

export function circuitState({ refusal }: Circuit, nowMs: number): 'closed' | 'open' | 'half-open' {
  if (!refusal) return 'closed';
  return nowMs < refusal.notBeforeMs ? 'open' : 'half-open';
}

/**
 * The circuit with one more request, to be written before the request is sent. Errors: `refused/credentials_refused` or
 * `refused/address_banned` while it is open; `refused/token_budget` when the hour has had its requests.
 */
export function admitRequest(circuit: Circuit, settings: TokenSettings, nowMs: number): Circuit {
  const { refusal, requestsMs } = circuit;
  if (refusal && nowMs < refusal.notBeforeMs) throw refusedError(refusal);
  if (requestsMs.length >= settings.mostPerHour) throw budgetError(requestsMs, settings);
  const trial = refusal && { ...refusal, notBeforeMs: nowMs + openMs(settings, refusal.count + 1) };
  return { ...circuit, refusal: trial, requestsMs: [...requestsMs, nowMs] };
}

/** The circuit after a refusal, and the error to tell. */
export function openedCircuit(
  circuit: Circuit,
  { refused: code, status, said }: Refused,
  settings: TokenSettings,
  nowMs: number,
): { circuit: Circuit; error: EtlError } {
  const count = (circuit.refusal?.count ?? 0) + 1;
  const refusal = { code, status, said, count, atMs: nowMs, notBeforeMs: nowMs + openMs(settings, count) };
  return { circuit: { ...circuit, refusal }, error: refusedError(refusal) };
}

/** Doubles with every refusal in a row, up to a day (or what the settings name, where that is longer). */
function openMs({ circuitMinutes }: TokenSettings, count: number): number {
  const firstMs = circuitMinutes * 60_000;
  return Math.min(firstMs * 2 ** Math.min(count - 1, 20), Math.max(LONGEST_OPEN_MS, firstMs));
}

function refusedError({ code, status, said, atMs, notBeforeMs }: Refusal): EtlError {
  const answer = `HTTP ${status}${said === '' ? '' : `: ${said}`}, at ${isoTime(atMs)}`;
  const then = `the next try is allowed at ${isoTime(notBeforeMs)}`;
  if (code === 'address_banned')
    return new EtlError('refused', code, `the authentication service has banned this address (${answer}); ${then}`, {
      hint: 'a wrong PARTNER_AUTH_URL or service.token.path looks the same: check them, changed ones are tried at once; otherwise ask the service to lift the ban, then partner-etl doctor --online --ban-lifted tries at once',
    });
  return new EtlError('refused', code, `the authentication service refused the credentials (${answer}); ${then}`, {
    hint: 'check PARTNER_CLIENT_ID and PARTNER_CLIENT_SECRET; changed credentials are tried at once',
  });
}

function budgetError(requestsMs: readonly number[], { mostPerHour }: TokenSettings): EtlError {
  const oldest = requestsMs.toSorted((a, b) => a - b)[requestsMs.length - mostPerHour]!;
  const then = isoTime(oldest + HOUR_MS);
  const message = `${requestsMs.length} tokens were asked for within an hour, and ${mostPerHour} are allowed; the next request is allowed at ${then}`;
  return new EtlError('refused', 'token_budget', message, {
    hint: 'look in the log why tokens do not last (401 answers, a failing authentication service); service.token.mostPerHour is the ceiling',
  });
}
