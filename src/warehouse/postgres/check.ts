/** Whether a Postgres server can be the warehouse: asked without changing anything. */
import { EtlError } from '../../core/errors.ts';
import { hasBookkeeping } from '../bookkeeping.ts';
import { pendingIn, type Schema } from '../schema/schema.ts';
import { postgresBookkeeping } from './bookkeeping.ts';
import type { Sessions } from './sessions.ts';

const TIMEOUT_MS = 30_000;
/** The oldest release that its makers still fix. */
const OLDEST_VERSION = 140_000;

interface Server {
  readonly version: string;
  readonly number: number;
  readonly encoding: string;
  readonly replica: boolean;
  readonly database: string;
  /** May make the schemas, or tables in schemas that are there. */
  readonly creates: boolean;
  /** May make temporary tables, which a publication notes in what it touches. */
  readonly notes: boolean;
}

/**
 * The server's version. Errors: `usage/postgres_version`, `usage/postgres_encoding`, `failed/postgres_read_only`,
 * `failed/postgres_rights`, what a connection can meet, and what `pendingMigrations` refuses.
 */
export async function checkServer(sessions: Sessions, schema: Schema): Promise<string> {
  return sessions.transaction({ readOnly: true, statementTimeoutMs: TIMEOUT_MS }, async (client) => {
    const { rows } = await client.query<Server>(
      `SELECT current_setting('server_version') AS version, current_setting('server_version_num')::integer AS number,
         current_setting('server_encoding') AS encoding, pg_is_in_recovery() AS replica, current_database() AS database,
         has_database_privilege(current_database(), 'CREATE') OR
           (SELECT count(*) = 3 FROM pg_namespace WHERE nspname IN ('warehouse', 'mart', 'etl') AND has_schema_privilege(oid, 'CREATE'))
           AS creates,
         has_database_privilege(current_database(), 'TEMPORARY') AS notes`,
    );
    const server = rows[0]!;
    judge(server);
    const db = postgresBookkeeping(client);
    await pendingIn(db, schema);
    const writes = (await hasBookkeeping(db)) ? await canWrite(client) : server.creates;
    if (!writes)
      throw refusal(
        'failed',
        'postgres_rights',
        `the user may not make or fill tables in database ${server.database}`,
        {
          hint: 'GRANT CREATE ON DATABASE to it, or let it own the schemas warehouse, mart and etl',
        },
      );
    if (!server.notes)
      throw refusal('failed', 'postgres_rights', `the user may not make temporary tables in ${server.database}`, {
        hint: 'GRANT TEMPORARY ON DATABASE to it',
      });
    return server.version;
  });
}

function judge({ version, number, encoding, replica }: Server): void {
  if (number < OLDEST_VERSION)
    throw refusal('usage', 'postgres_version', `the server is Postgres ${version}`, { hint: 'use 14 or newer' });
  if (encoding !== 'UTF8')
    throw refusal('usage', 'postgres_encoding', `the database's encoding is ${encoding}`, {
      hint: "make one that can hold every text: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0",
    });
  if (replica)
    throw refusal('failed', 'postgres_read_only', 'the server is a replica', {
      hint: 'PARTNER_ETL_POSTGRES_URL must name the primary',
    });
}

async function canWrite(client: { query: (sql: string) => Promise<{ rows: { may: boolean }[] }> }): Promise<boolean> {
  const { rows } = await client.query(
    `SELECT bool_and(
       has_table_privilege(pg_class.oid, 'INSERT') AND has_table_privilege(pg_class.oid, 'UPDATE') AND has_table_privilege(pg_class.oid, 'DELETE')
     ) AS may
     FROM pg_class WHERE relkind = 'r' AND relnamespace IN (to_regnamespace('warehouse'), to_regnamespace('etl'))`,
  );
  return rows[0]?.may === true;
}

function refusal(kind: 'usage' | 'failed', code: string, what: string, { hint }: { hint: string }): EtlError {
  return new EtlError(kind, code, `Postgres: ${what}`, { concern: { target: 'postgres' }, hint });
}
