/**
 * Locks as advisory locks of Postgres, each held by a connection of its own: the server ends it with the connection, so within moments
 * of the process's death, and within half a minute of its host's. Who holds it stands in the state.
 */
import { sql } from 'kysely';
import pg from 'pg';
import { z } from 'zod';
import type { Clock } from '../../core/clock.ts';
import { generationMemo, holderNow, type Locks, lockHolderShape } from '../locks.ts';
import type { State } from '../state.ts';
import { readMemo, writeMemo } from '../tables/memo.ts';
import { keepsSession } from './kept-session.ts';
import { poolerError } from './state.ts';

/** The first half of the key of all these locks; the second is the hash of the name. */
const LOCK_CLASS = 7_215_002;
const NOTICE_DEATH = '-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3';

/** `state` lies in the database of that address. Errors of `tryLock`: also `usage/state_pooler`. */
export function postgresLocks(url: string, state: State, clock: Clock): Locks {
  return {
    async tryLock(name, what) {
      const client = new pg.Client({ connectionString: url, options: NOTICE_DEATH, keepAlive: true });
      client.on('error', () => undefined); // Cut: the lock is gone, and what is committed without it is refused by its generation.
      try {
        await client.connect();
        const byState = { query: (text: string) => sql.raw<{ pid: number }>(text).execute(state.db) };
        if (!(await keepsSession(client, byState))) throw poolerError();
        const { rows } = await client.query('SELECT pg_try_advisory_lock($1, hashtext($2)) AS is_mine', [
          LOCK_CLASS,
          name,
        ]);
        if (rows[0].is_mine) {
          const holder = holderNow(what, clock);
          await writeMemo(state, memoOf(name), holder, holder.since);
          return { generation: await nextGeneration(state, name, holder.since), release: () => letGo(client) };
        }
      } catch (error) {
        await letGo(client);
        throw error;
      }
      await letGo(client);
      return null;
    },
    async isLocked(name) {
      const { rows } = await sql`
        SELECT 1 FROM pg_locks
        WHERE locktype = 'advisory' AND classid = ${LOCK_CLASS} AND objid = hashtext(${name})::bigint & 4294967295
          AND objsubid = 2 AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`.execute(
        state.db,
      );
      return rows.length > 0;
    },
    holder: (name) => readMemo(state.db, memoOf(name), lockHolderShape),
  };
}

/** Whoever holds the lock is alone here. */
async function nextGeneration(state: State, name: string, at: string): Promise<number> {
  const next = ((await readMemo(state.db, generationMemo(name), z.int())) ?? 0) + 1;
  await writeMemo(state, generationMemo(name), next, at);
  return next;
}

/** Unlocked first: the server may notice the end of a connection later than we do. */
async function letGo(client: pg.Client): Promise<void> {
  await client.query('SELECT pg_advisory_unlock_all()').catch(() => undefined);
  await client.end().catch(() => undefined);
}

const memoOf = (name: string) => `lock ${name}`;
