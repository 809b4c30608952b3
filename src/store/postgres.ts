/**
 * The state in Postgres: a schema of its own, to which nobody but its owner has a right (that of a new schema). What SQLite gives by having one writer, an advisory
 * lock gives here: each writing transaction holds it to its end.
 */
import { Kysely, PostgresDialect, sql } from 'kysely';
import pg from 'pg';
import { prepareSchema } from './schema.ts';
import type { State } from './state.ts';
import type { StateTables } from './tables.ts';

const SCHEMA = 'partner_etl_state';
/** Of the advisory lock that writers hold: any number that is not taken otherwise. */
const WRITER_LOCK = 7_215_001;
const CONNECTIONS = 4;
/** `bigint`: all of ours fit a JavaScript number. */
const INT8 = 20;

/** Opens the state and makes its tables where there are none. Errors: those of `pg`; `failed/newer_state`, `failed/older_state`. */
export async function openPostgresState(url: string): Promise<State> {
  const pool = new pg.Pool({
    connectionString: url,
    max: CONNECTIONS,
    options: `-c search_path=${SCHEMA} -c synchronous_commit=on`,
    types: { getTypeParser: (oid, format) => (oid === INT8 ? Number : pg.types.getTypeParser(oid, format)) },
  });
  pool.on('error', () => undefined); // an idle connection was cut: the next query opens another one, or says why it cannot.
  const db = new Kysely<StateTables>({ dialect: new PostgresDialect({ pool }) });
  const state: State = {
    engine: 'postgres',
    db,
    write: (work) =>
      db.transaction().execute(async (tx) => {
        await sql`SELECT pg_advisory_xact_lock(${sql.lit(WRITER_LOCK)})`.execute(tx);
        return work(tx);
      }),
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
      await sql.raw(`CREATE SCHEMA IF NOT EXISTS ${SCHEMA}`).execute(tx);
    });
    await prepareSchema(state, `schema ${SCHEMA}`, async (script, tx) => {
      await sql.raw(script.replaceAll('BYTES', 'BYTEA').replaceAll(' WITHOUT ROWID', '')).execute(tx);
    });
  } catch (error) {
    await state.close();
    throw error;
  }
  return state;
}
