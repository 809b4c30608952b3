/**
 * The circuit in front of the authentication service, on disk, so that neither a retry loop nor the next process can ask more
 * often than is good for us: the service bans addresses that do.
 *
 *   closed     requests may be made, `mostPerHour` at the most
 *   open       the service refused; nobody asks before `notBeforeMs`
 *   half-open  that instant has passed: one single request. Granted → closed; refused → open again, for twice as long
 * While the half-open request is under way the file says "open", so a crash in it cannot allow a second one.
 * New credentials close a circuit that was opened by the old ones; a ban is the address's and stays.
 */
import { z } from 'zod';
import { isoTime } from '../core/clock.ts';
import { EtlError } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import { readIfThere, writeJson } from '../disk/atomic.ts';
import { isPrintOf, printOf, printShape } from './credential-print.ts';
import type { Credentials, TokenSettings } from './settings.ts';
import type { Refused } from './token-request.ts';

const HOUR_MS = 3_600_000;
const LONGEST_OPEN_MS = 24 * HOUR_MS;
/** A pause that the service asks for counts up to this. */
const LONGEST_PAUSE_MS = HOUR_MS;

const circuitShape = z.object({
  version: z.literal(1),
  /** Of the credentials that were last used. */
  print: printShape,
  refusal: z
    .object({
      code: z.enum(['credentials_refused', 'address_banned']),
      status: z.number(),
      said: z.string(),
      /** Refusals without a grant in between. */
      count: z.number(),
      atMs: z.number(),
      notBeforeMs: z.number(),
    })
    .nullable(),
  /** When requests were made, the last hour's. */
  requestsMs: z.array(z.number()),
  /** The service asked for a pause until then (429 with Retry-After). */
  pausedUntilMs: z.number(),
});
export type Circuit = z.infer<typeof circuitShape>;
type Refusal = NonNullable<Circuit['refusal']>;

/** The circuit as the file has it, looked at with the credentials of now. */
export async function readCircuit(file: string, credentials: Credentials, nowMs: number, log: Log): Promise<Circuit> {
  const text = await readIfThere(file);
  const circuit = text === null ? null : parsed(text);
  if (text !== null && circuit === null) log.warn(`${file} is damaged and is begun afresh`, { file });
  if (circuit === null)
    return { version: 1, print: printOf(credentials), refusal: null, requestsMs: [], pausedUntilMs: 0 };
  const known = { ...circuit, ...notAhead(circuit, nowMs) };
  if (isPrintOf(known.print, credentials)) return known;
  const refusal = known.refusal?.code === 'address_banned' ? known.refusal : null;
  return { ...known, print: printOf(credentials), refusal };
}

/** What a clock that was set back since has put into the future counts as just now, or it would stand for as long. */
function notAhead({ requestsMs, pausedUntilMs, refusal }: Circuit, nowMs: number): Partial<Circuit> {
  const isAhead = refusal !== null && refusal.atMs > nowMs;
  return {
    requestsMs: requestsMs.map((ms) => Math.min(ms, nowMs)).filter((ms) => nowMs - ms < HOUR_MS),
    pausedUntilMs: Math.min(pausedUntilMs, nowMs + LONGEST_PAUSE_MS),
    refusal: isAhead ? { ...refusal, atMs: nowMs, notBeforeMs: nowMs + refusal.notBeforeMs - refusal.atMs } : refusal,
  };
}

export async function writeCircuit(file: string, circuit: Circuit): Promise<void> {
  await writeJson(file, circuit, { mode: 0o600 });
}

export function circuitState({ refusal }: Circuit, nowMs: number): 'closed' | 'open' | 'half-open' {
  if (!refusal) return 'closed';
  return nowMs < refusal.notBeforeMs ? 'open' : 'half-open';
}

/**
 * The circuit with one more request, to be written before the request is sent. Errors: `refused/credentials_refused` or
 * `refused/address_banned` while it is open; `refused/token_budget` when the hour has had its requests.
 */
export function admitRequest(circuit: Circuit, settings: TokenSettings, nowMs: number, file: string): Circuit {
  const { refusal, requestsMs } = circuit;
  if (refusal && nowMs < refusal.notBeforeMs) throw refusedError(refusal, file);
  if (requestsMs.length >= settings.mostPerHour) throw budgetError(requestsMs, settings);
  const trial = refusal && { ...refusal, notBeforeMs: nowMs + openMs(settings, refusal.count + 1) };
  return { ...circuit, refusal: trial, requestsMs: [...requestsMs, nowMs] };
}

/** The circuit after a token was granted. */
export function closedCircuit(circuit: Circuit): Circuit {
  return { ...circuit, refusal: null, pausedUntilMs: 0 };
}

/** The circuit after a refusal, and the error to tell. */
export function openedCircuit(
  circuit: Circuit,
  { refused: code, status, said }: Refused,
  settings: TokenSettings,
  nowMs: number,
  file: string,
): { circuit: Circuit; error: EtlError } {
  const count = (circuit.refusal?.count ?? 0) + 1;
  const refusal = { code, status, said, count, atMs: nowMs, notBeforeMs: nowMs + openMs(settings, count) };
  return { circuit: { ...circuit, refusal }, error: refusedError(refusal, file) };
}

/** Doubles with every refusal in a row, up to a day (or what the settings name, where that is longer). */
function openMs({ circuitMinutes }: TokenSettings, count: number): number {
  const firstMs = circuitMinutes * 60_000;
  return Math.min(firstMs * 2 ** Math.min(count - 1, 20), Math.max(LONGEST_OPEN_MS, firstMs));
}

function refusedError({ code, status, said, atMs, notBeforeMs }: Refusal, file: string): EtlError {
  const answer = `HTTP ${status}${said === '' ? '' : `: ${said}`}, at ${isoTime(atMs)}`;
  const then = `the next try is allowed at ${isoTime(notBeforeMs)}`;
  const concern = { file };
  if (code === 'address_banned')
    return new EtlError('refused', code, `the authentication service has banned this address (${answer}); ${then}`, {
      concern,
      hint: `a wrong PARTNER_AUTH_URL or service.token.path looks the same: check them, otherwise ask the service to lift the ban; deleting ${file} allows a try at once`,
    });
  return new EtlError('refused', code, `the authentication service refused the credentials (${answer}); ${then}`, {
    concern,
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

function parsed(text: string): Circuit | null {
  try {
    return circuitShape.parse(JSON.parse(text));
  } catch {
    return null;
  }
}
