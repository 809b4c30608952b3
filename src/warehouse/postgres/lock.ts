/**
 * One publication or migration of a database at a time, over all processes and machines: an advisory lock that the server lets
 * go of with the transaction, however it ends.
 */
import type { Clock } from '../../core/clock.ts';
import { EtlError } from '../../core/errors.ts';
import type { Client } from './sessions.ts';

/** The two halves of the lock's name: 'part', 'etl1' as ASCII. Never changed: old and new programs must meet on it. */
const LOCK = [0x70617274, 0x65746c31] as const;

const WAIT_MS = 30_000;
const POLL_MS = 100;

/**
 * Takes the lock for the rest of the transaction. It asks again and again, because a session that waits inside the server
 * could not be made to stop waiting by our clock.
 * Errors: `locked/publish`, naming who has it.
 */
export async function takeLock(client: Client, clock: Clock): Promise<void> {
  const untilMs = clock.now() + WAIT_MS;
  for (;;) {
    const { rows } = await client.query<{ taken: boolean }>('SELECT pg_try_advisory_xact_lock($1, $2) AS taken', [
      ...LOCK,
    ]);
    if (rows[0]?.taken) return;
    if (clock.now() >= untilMs) throw await lockedError(client);
    await clock.sleep(POLL_MS);
  }
}

async function lockedError(client: Client): Promise<EtlError> {
  const { rows } = await client.query<{ who: string }>(
    `SELECT concat('session ', pid, ' of ', usename, ' (', application_name, ') from ', coalesce(host(client_addr), 'the server itself'),
       ', since ', to_char(xact_start, 'YYYY-MM-DD"T"HH24:MI:SS"Z"')) AS who
     FROM pg_locks JOIN pg_stat_activity USING (pid)
     WHERE locktype = 'advisory' AND granted AND classid::bigint = $1 AND objid::bigint = $2 AND objsubid = 2
       AND pg_locks.database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    [...LOCK],
  );
  const who = rows[0]?.who ?? 'another session';
  return new EtlError('locked', 'publish', `${who}, is publishing into this Postgres warehouse`, {
    concern: { target: 'postgres' },
    hint: 'wait for it to end and try again',
  });
}
