/**
 * One publication or migration of a database at a time, over all processes and machines: an advisory lock that the server lets
 * go of with the transaction, however it ends.
 */
import type pg from 'pg';
import type { Clock } from '../../core/clock.ts';
import { EtlError } from '../../core/errors.ts';
import type { TargetName } from '../target-name.ts';
import type { Client } from './sessions.ts';

/** The two halves of the lock's name: 'part', 'etl1' as ASCII. Never changed: old and new programs must meet on it. */
const LOCK: LockName = [0x70617274, 0x65746c31];

const WAIT_MS = 30_000;
const POLL_MS = 100;

/** Of two 32-bit numbers. */
export type LockName = readonly [number, number];

export interface PublishLock {
  readonly name: LockName;
  /** Until when the server keeps it. */
  readonly lasts: 'transaction' | 'session';
  readonly target: TargetName;
  /** What it is taken for, in words. */
  readonly place: string;
}

/** Takes the lock of the Postgres warehouse for the rest of the transaction. Errors: `locked/publish`, naming who has it. */
export function takeLock(client: Client, clock: Clock): Promise<void> {
  const lock = { name: LOCK, lasts: 'transaction', target: 'postgres', place: 'this Postgres warehouse' } as const;
  return waitForLock(client, clock, lock);
}

/**
 * Waits for the lock. It asks again and again, because a session that waits inside the server could not be made to stop waiting by
 * our clock. Errors: `locked/publish`, naming who has it.
 */
export async function waitForLock(client: pg.ClientBase, clock: Clock, lock: PublishLock): Promise<void> {
  const untilMs = clock.now() + WAIT_MS;
  const take = lock.lasts === 'transaction' ? 'pg_try_advisory_xact_lock' : 'pg_try_advisory_lock';
  for (;;) {
    const { rows } = await client.query<{ taken: boolean }>(`SELECT ${take}($1, $2) AS taken`, [...lock.name]);
    if (rows[0]?.taken) return;
    if (clock.now() >= untilMs) throw await lockedError(client, lock);
    await clock.sleep(POLL_MS);
  }
}

/** A lock of a session is held outside of transactions: then it is its last statement that has a time. */
async function lockedError(client: pg.ClientBase, { name, target, place }: PublishLock): Promise<EtlError> {
  const { rows } = await client.query<{ who: string }>(
    `SELECT concat('session ', pid, ' of ', usename, ' (', application_name, ') from ', coalesce(host(client_addr), 'the server itself'),
       ', since ', to_char(coalesce(xact_start, query_start), 'YYYY-MM-DD"T"HH24:MI:SS"Z"')) AS who
     FROM pg_locks JOIN pg_stat_activity USING (pid)
     WHERE locktype = 'advisory' AND granted AND classid::bigint = $1 AND objid::bigint = $2::bigint & 4294967295 AND objsubid = 2
       AND pg_locks.database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    [...name],
  );
  const who = rows[0]?.who ?? 'another session';
  return new EtlError('locked', 'publish', `${who}, is publishing into ${place}`, {
    concern: { target },
    hint: 'wait for it to end and try again',
  });
}
