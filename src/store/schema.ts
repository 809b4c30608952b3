/** Makes the tables of a new state, and refuses one that another version of the program has made. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { sql } from 'kysely';
import { EtlError } from '../core/errors.ts';
import { packageRoot } from '../disk/package-root.ts';
import type { State, StateDb, StateTransaction } from './state.ts';

/** Raised with every change of sql/state/tables.sql from the first release on. */
const VERSION = 1;

/** Runs all statements of a script inside the transaction. */
type RunScript = (script: string, tx: StateTransaction) => void | Promise<void>;

/** `place`: what people call the database. Errors: `failed/newer_state`, `failed/older_state`. */
export async function prepareSchema(
  state: State,
  place: string,
  run: RunScript,
  mayMake = async () => {},
): Promise<void> {
  const found = await versionOf(state.db, state.engine);
  if (found === null) {
    await mayMake();
    await state.write((tx) => createTables(tx, state, run));
  } else if (found !== VERSION) throw otherVersion(place, found);
}

/** null: there are no tables yet. */
async function versionOf(db: StateDb, engine: State['engine']): Promise<number | null> {
  const { rows } =
    engine === 'sqlite'
      ? await sql`SELECT name FROM sqlite_master WHERE name = 'state_version'`.execute(db)
      : await sql`SELECT relname FROM pg_class WHERE oid = to_regclass('state_version')`.execute(db);
  if (rows.length === 0) return null;
  return (await db.selectFrom('state_version').select('version').executeTakeFirstOrThrow()).version;
}

async function createTables(tx: StateTransaction, state: State, run: RunScript): Promise<void> {
  // Another process may have made them while this one waited for its turn.
  if ((await versionOf(tx, state.engine)) !== null) return;
  const script = await readFile(path.join(await packageRoot(), 'sql', 'state', 'tables.sql'), 'utf8');
  await run(state.engine === 'sqlite' ? script.replaceAll('BYTES', 'BLOB') : script, tx);
  await tx.insertInto('state_version').values({ version: VERSION }).execute();
}

function otherVersion(place: string, found: number): EtlError {
  const code = found > VERSION ? 'newer_state' : 'older_state';
  const hint = found > VERSION ? 'update this partner-etl' : 'it was made before the first release: begin a new home';
  return new EtlError('failed', code, `${place} has version ${found} of the state, this program has ${VERSION}`, {
    hint: `${hint}, or set PARTNER_ETL_HOME to another folder`,
  });
}
