/** What Postgres says, sorted by what is to be done next. SQLSTATEs: https://www.postgresql.org/docs/current/errcodes-appendix.html */
import { type Concern, type ErrorKind, EtlError } from '../../core/errors.ts';

interface Verdict {
  readonly kind: ErrorKind;
  readonly code: string;
  readonly hint: string;
}

/** Which Postgres speaks, for messages about it. */
export interface Speaker {
  /** What an error is about. */
  readonly concern: Concern;
  readonly speaker: string;
  /** That names it. */
  readonly variable: string;
}

const WAREHOUSE: Speaker = {
  concern: { target: 'postgres' },
  speaker: 'Postgres',
  variable: 'PARTNER_ETL_POSTGRES_URL',
};

const CONNECTION: Verdict = {
  kind: 'retry',
  code: 'postgres_connection',
  hint: 'see whether the server runs and PARTNER_ETL_POSTGRES_URL names it',
};
const LOGIN: Verdict = {
  kind: 'usage',
  code: 'postgres_login',
  hint: 'the server refuses user, password or database: fix PARTNER_ETL_POSTGRES_URL',
};
const CERTIFICATE: Verdict = {
  kind: 'usage',
  code: 'postgres_certificate',
  hint: "its certificate is not to be trusted: name its issuer's file in PARTNER_ETL_POSTGRES_URL (sslrootcert=FILE), or have it renewed",
};
const BUSY: Verdict = {
  kind: 'retry',
  code: 'postgres_busy',
  hint: 'the server is busy with other work; it will pass',
};
const RIGHTS: Verdict = {
  kind: 'failed',
  code: 'postgres_rights',
  hint: 'GRANT CREATE ON DATABASE to the user in PARTNER_ETL_POSTGRES_URL, or let it own its schemas',
};
const VALUE: Verdict = {
  kind: 'failed',
  code: 'postgres_value',
  hint: 'the table cannot hold a row that the lake holds; the message says which value',
};
const FULL: Verdict = { kind: 'failed', code: 'postgres_full', hint: "make room on the server's disk" };
const OTHER: Verdict = { kind: 'failed', code: 'postgres', hint: "see the server's message, and its log" };

/** By SQLSTATE or its class (the first two signs), the longer one first. */
const VERDICTS: Readonly<Record<string, Verdict>> = {
  '08': CONNECTION,
  '57P01': CONNECTION, // the server shuts down, or somebody ended our session
  '57P02': CONNECTION,
  '57P03': CONNECTION, // it is starting up
  '25P03': CONNECTION, // our session was idle in a transaction for too long
  '28': LOGIN,
  '3D000': LOGIN,
  '53100': FULL,
  '53': BUSY,
  '40': BUSY, // deadlock, serialization
  '55P03': BUSY, // lock_timeout
  '57014': { kind: 'failed', code: 'postgres_timeout', hint: 'the statement took longer than it may' },
  '42501': RIGHTS,
  '25006': {
    kind: 'failed',
    code: 'postgres_read_only',
    hint: 'PARTNER_ETL_POSTGRES_URL must name the primary, not a replica',
  },
  '22': VALUE,
  '23': VALUE,
  '54': VALUE,
};

/** What the server said to a statement, as an EtlError. */
export function statementError(thrown: unknown, of = WAREHOUSE): EtlError {
  const state = stateOf(thrown) ?? '';
  return tell(thrown, VERDICTS[state] ?? VERDICTS[state.slice(0, 2)] ?? OTHER, of);
}

/** A connection that was lost, or could not be made for want of an answer. */
export function connectionError(thrown: unknown, of = WAREHOUSE): EtlError {
  return tell(thrown, CONNECTION, of);
}

/** Why no connection came about: the server's refusal, an address that is none, or no answer. */
export function connectError(thrown: unknown, of = WAREHOUSE): EtlError {
  if (stateOf(thrown) !== null) return statementError(thrown, of);
  const { code } = (thrown ?? {}) as { code?: unknown };
  if (code === 'ERR_INVALID_URL') return tell(thrown, LOGIN, of);
  return isOfCertificate(code) ? tell(thrown, CERTIFICATE, of) : connectionError(thrown, of);
}

function tell(thrown: unknown, { kind, code, hint }: Verdict, { concern, speaker, variable }: Speaker): EtlError {
  const message = `${speaker}: ${messageOf(thrown)}${detailOf(thrown)}`;
  return new EtlError(kind, code, message, {
    cause: thrown,
    concern,
    hint: hint.replace(WAREHOUSE.variable, variable),
  });
}

/** Whether the server said it, or the way to it; not so for what our own code threw in between. */
export function isOfServer(thrown: unknown): boolean {
  const { code, message = '' } = (thrown ?? {}) as { readonly code?: unknown; readonly message?: string };
  const isOfNetwork = code === 'ERR_INVALID_URL' || isOfCertificate(code) || /^E[A-Z]+$/.test(String(code ?? ''));
  return stateOf(thrown) !== null || isOfNetwork || /terminated|timeout|Connection ended/i.test(message);
}

/** By the names that OpenSSL and Node give: https://nodejs.org/api/tls.html#x509-certificate-error-codes */
function isOfCertificate(code: unknown): boolean {
  return (
    typeof code === 'string' && /^ERR_TLS_|CERT|^UNABLE_TO_|^INVALID_(?:CA|PURPOSE)$|^HOSTNAME_MISMATCH$/.test(code)
  );
}

/** The five signs of SQLSTATE, or null for what did not come from the server. */
export function stateOf(thrown: unknown): string | null {
  const { code, severity } = (thrown ?? {}) as { code?: unknown; severity?: unknown };
  return typeof code === 'string' && severity !== undefined ? code : null;
}

function messageOf(thrown: unknown): string {
  const { message, code } = (thrown ?? {}) as { message?: unknown; code?: unknown };
  // Node's refusal to connect to any of several addresses has no message of its own.
  return typeof message === 'string' && message !== '' ? withoutValue(thrown, message) : String(code ?? thrown);
}

/** Where a value or a row is at fault the server quotes it, behind a colon: it may be a person's, and messages go into logs and records. */
function withoutValue(thrown: unknown, text: string): string {
  return isOfValues(thrown) ? text.replace(/: ".*$/s, '') : text;
}

/** Data that cannot be held (22…) and constraints that are broken (23…). */
function isOfValues(thrown: unknown): boolean {
  return /^2[23]/.test(stateOf(thrown) ?? '');
}

/** What the server adds: for a COPY, the line and the column; of a row at fault nothing of what stands in it. */
function detailOf(thrown: unknown): string {
  const { detail, where } = (thrown ?? {}) as { detail?: unknown; where?: unknown };
  const said = isOfValues(thrown) ? [typeof where === 'string' ? withoutValue(thrown, where) : null] : [detail, where];
  const parts = said.filter((part) => typeof part === 'string' && part !== '') as string[];
  return parts.length ? ` (${parts.map((part) => part.slice(0, 500)).join('; ')})` : '';
}
