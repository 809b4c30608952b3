/**
 * The state in Postgres: a schema of its own, to which nobody but its owner has a right (that of a new schema). What SQLite gives by having one writer, an advisory
 * lock gives here: each writing transaction holds it to its end.
 */
import { Kysely, PostgresDialect, sql } from 'kysely';
import pg from 'pg';
import { z } from 'zod';
import { EtlError } from '../../core/errors.ts';
import { currentGeneration, demandNewest, generationMemo } from '../locks.ts';
import { prepareSchema } from '../schema.ts';
import type { State, StateTransaction } from '../state.ts';
import { readMemo } from '../tables/memo.ts';
import type { StateTables } from '../tables/tables.ts';
import { connectError, isOfServer } from './errors.ts';

const SCHEMA = 'partner_etl_state';
/** Of the advisory lock that writers hold: any number that is not taken otherwise. */
const WRITER_LOCK = 7_215_001;
const CONNECTIONS = 4;
const CONNECT_TIMEOUT_MS = 10_000;
/** `bigint`: all of ours fit a JavaScript number. */
const INT8 = 20;

/** The lock of runs, whose generation every commit of a run is held against. */
const RUN_LOCK = 'run';

/**
 * Opens the state and makes its tables where there are none. `mayMake` is done before, and throws where there should be some already.
 * Errors: those of it; `usage/state_pooler`; those of `connectError`; `failed/newer_state`, `failed/older_state`.
 */
export async function openPostgresState(url: string, mayMake: () => Promise<void> = async () => {}): Promise<State> {
  const pool = new pg.Pool({
    connectionString: url,
    max: CONNECTIONS,
    application_name: 'partner-etl state',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    options: `-c search_path=${SCHEMA} -c synchronous_commit=on`,
    types: { getTypeParser: (oid, format) => (oid === INT8 ? Number : pg.types.getTypeParser(oid, format)) },
  });
  pool.on('error', () => undefined); // an idle connection was cut: the next query opens another one, or says why it cannot.
  const db = new Kysely<StateTables>({ dialect: new PostgresDialect({ pool }) });
  const write = <T>(work: (tx: StateTransaction) => Promise<T>, isSynced: boolean): Promise<T> =>
    db
      .transaction()
      .execute(async (tx) => {
        if (!isSynced) await sql`SET LOCAL synchronous_commit = off`.execute(tx);
        await sql`SELECT pg_advisory_xact_lock(${sql.lit(WRITER_LOCK)})`.execute(tx);
        if (currentGeneration() !== null) demandNewest(await readMemo(tx, generationMemo(RUN_LOCK), z.int()));
        return work(tx);
      })
      .catch((error: unknown) => {
        throw sorted(error);
      });
  const state: State = {
    engine: 'postgres',
    db,
    write: (work) => write(work, true),
    writeUnsynced: (work) => write(work, false),
    elements: (json) => sql`jsonb_array_elements(cast(${json} AS jsonb)) AS each(value)`,
    file: null,
    compact: async () => {
      for (const { name, schema } of await db.introspection.getTables())
        if (schema === SCHEMA) await sql`VACUUM FULL ${sql.table(name)}`.execute(db);
    },
    close: () => db.destroy(),
  };
  try {
    await state.write(async (tx) => {
      const { rows } = await sql<{ path: string }>`SELECT current_setting('search_path') AS path`.execute(tx);
      if (rows[0]?.path !== SCHEMA) throw poolerError();
      await sql.raw(`CREATE SCHEMA IF NOT EXISTS ${SCHEMA}`).execute(tx);
    });
    const run = async (script: string, tx: StateTransaction) => {
      await sql.raw(script.replaceAll('BYTES', 'BYTEA').replaceAll(' WITHOUT ROWID', '')).execute(tx);
    };
    await prepareSchema(state, `schema ${SCHEMA}`, run, mayMake);
  } catch (error) {
    await state.close();
    throw sorted(error);
  }
  return state;
}

/** How messages about it begin, and what names it. */
const STATE = { concern: {}, speaker: 'the state in Postgres', variable: 'PARTNER_ETL_STATE_URL' } as const;

/** A pooler that keeps no sessions lies in between: locks would be anybody's, and names would mean other tables. */
export function poolerError(cause?: unknown): EtlError {
  return new EtlError('usage', 'state_pooler', 'the state in Postgres: a pooler is in between that keeps no sessions', {
    cause,
    hint: 'let PARTNER_ETL_STATE_URL name the server itself, or a pooler in session mode',
  });
}

/** What the server or the way to it says, sorted by what is to be done next; what is sorted already, and mistakes of ours, as they are. */
function sorted(error: unknown): unknown {
  if (error instanceof EtlError || !isOfServer(error)) return error;
  if (error instanceof Error && /startup parameter/.test(error.message)) return poolerError(error);
  return connectError(error, STATE);
}
