/** The access token and the circuit in front of the authentication service, one row a pair of credentials. */

import { ACCOUNT } from '../../core/account.ts';
import { isoTime } from '../../core/clock.ts';
import type { State, StateDb } from '../state.ts';
import type { TokenTable } from './tables.ts';

export interface Token {
  readonly value: string;
  /** By our clock, taken before the request was sent, so that the token is never older than we think. */
  readonly obtainedAtMs: number;
  readonly expiresAtMs: number;
}

/** Tells whether credentials are still the same ones, without holding them. */
export interface CredentialPrint {
  readonly salt: string;
  readonly sha256: string;
}

export interface Refusal {
  readonly code: 'credentials_refused' | 'address_banned';
  readonly status: number;
  readonly said: string;
  /** Refusals without a grant in between. */
  readonly count: number;
  readonly atMs: number;
  readonly notBeforeMs: number;
}

/** The one request that is under way. It is over at `untilMs` at the latest, also when its process was killed. */
export interface Asking {
  readonly by: string;
  readonly atMs: number;
  readonly untilMs: number;
}

export interface Circuit {
  /** Of the credentials that were last used. */
  readonly print: CredentialPrint;
  /** The last one that was granted. */
  readonly token: Token | null;
  readonly refusal: Refusal | null;
  /** When requests were made, the last hour's. */
  readonly requestsMs: readonly number[];
  /** The service asked for a pause until then (429 with Retry-After); 0: it did not. */
  readonly pausedUntilMs: number;
  readonly asking: Asking | null;
}

/** null: nobody has asked with this pair yet. */
export async function readTokenRow(db: StateDb, pair: string): Promise<Circuit | null> {
  const row = await db
    .selectFrom('token')
    .selectAll()
    .where('account', '=', ACCOUNT)
    .where('pair', '=', pair)
    .executeTakeFirst();
  return row === undefined ? null : circuitOf(row);
}

/** Puts the circuit that `change` returns in the place of the one it was given, alone among all processes; its result is the second. */
export async function changeTokenRow<T>(
  state: State,
  pair: string,
  change: (found: Circuit | null) => readonly [Circuit, T],
): Promise<T> {
  return state.write(async (tx) => {
    const [circuit, result] = change(await readTokenRow(tx, pair));
    const row = rowOf(circuit);
    await tx
      .insertInto('token')
      .values({ account: ACCOUNT, pair, ...row })
      .onConflict((conflict) => conflict.columns(['account', 'pair']).doUpdateSet(row))
      .execute();
    return result;
  });
}

function circuitOf(row: TokenTable): Circuit {
  const { access_token: value, obtained_at: obtained, expires_at: expires } = row;
  return {
    print: JSON.parse(row.credentials),
    token:
      value === null || obtained === null || expires === null
        ? null
        : { value, obtainedAtMs: Date.parse(obtained), expiresAtMs: Date.parse(expires) },
    refusal: row.refusal === null ? null : JSON.parse(row.refusal),
    requestsMs: (JSON.parse(row.requested_at) as string[]).map((at) => Date.parse(at)),
    pausedUntilMs: row.paused_until === null ? 0 : Date.parse(row.paused_until),
    asking: row.asking === null ? null : JSON.parse(row.asking),
  };
}

function rowOf({ print, token, refusal, requestsMs, pausedUntilMs, asking }: Circuit) {
  return {
    credentials: JSON.stringify(print),
    access_token: token?.value ?? null,
    obtained_at: token && isoTime(token.obtainedAtMs),
    expires_at: token && isoTime(token.expiresAtMs),
    refusal: refusal && JSON.stringify(refusal),
    requested_at: JSON.stringify(requestsMs.map(isoTime)),
    paused_until: pausedUntilMs === 0 ? null : isoTime(pausedUntilMs),
    asking: asking && JSON.stringify(asking),
  };
}
