/** Brings the tables of a Postgres warehouse up to this program's migrations and the declared comments. */
import { type Clock, isoTime } from '../../core/clock.ts';
import type { Pipeline } from '../../core/pipeline.ts';
import { appliedMigrations, recordMigration } from '../bookkeeping.ts';
import { readDictionary } from '../dictionary.ts';
import { type Migration, pendingMigrations, readMigrations } from '../migrations.ts';
import { commentsDue, declaredComments, type FoundComment } from '../table-comments.ts';
import { postgresBookkeeping } from './bookkeeping.ts';
import { takeLock } from './lock.ts';
import type { Client, Sessions } from './sessions.ts';

/** Building an index on a large table takes its time. */
const STATEMENT_TIMEOUT_MS = 3_600_000;

/**
 * Each migration in a transaction of its own, under the publishing lock; any number of processes may do this at once. Takes no
 * lock and writes nothing where everything is up to date.
 * Errors: `failed/migration_changed`, `failed/newer_schema`, `locked/publish`.
 */
export async function migratePostgres(sessions: Sessions, pipelines: readonly Pipeline[], clock: Clock): Promise<void> {
  const ours = await readMigrations('postgres');
  const writing = { readOnly: false, statementTimeoutMs: STATEMENT_TIMEOUT_MS };
  const reading = { readOnly: true, statementTimeoutMs: STATEMENT_TIMEOUT_MS };
  const next = async (client: Client): Promise<Migration | undefined> =>
    pendingMigrations(ours, await appliedMigrations(postgresBookkeeping(client)))[0];
  while (await sessions.transaction(reading, next))
    await sessions.transaction(writing, async (client) => {
      await takeLock(client, clock);
      const migration = await next(client);
      if (!migration) return;
      await client.query(migration.sql);
      await recordMigration(postgresBookkeeping(client), migration, isoTime(clock.now()));
    });
  const declared = declaredComments(pipelines, await readDictionary());
  const due = async (client: Client) => commentsDue(declared, await foundComments(client));
  if ((await sessions.transaction(reading, due)).length === 0) return;
  await sessions.transaction(writing, async (client) => {
    await takeLock(client, clock);
    const statements = await due(client);
    if (statements.length > 0) await client.query(statements.join(';'));
  });
}

async function foundComments(client: Client): Promise<FoundComment[]> {
  const { rows } = await client.query<FoundComment>(
    `WITH things AS (
       SELECT
         pg_class.oid,
         CASE relkind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE 'TABLE' END AS kind,
         nspname AS schema,
         relname AS name
       FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
       WHERE nspname IN ('warehouse', 'mart', 'etl') AND relkind IN ('r', 'p', 'v', 'm')
     )
     SELECT kind, schema, name, NULL AS "column", obj_description(oid, 'pg_class') AS comment FROM things
     UNION ALL
     SELECT kind, schema, name, attname, col_description(attrelid, attnum)
     FROM things JOIN pg_attribute ON attrelid = oid
     WHERE attnum > 0 AND NOT attisdropped
     UNION ALL
     SELECT 'FUNCTION', nspname, proname, NULL, obj_description(pg_proc.oid, 'pg_proc')
     FROM pg_proc JOIN pg_namespace ON pg_namespace.oid = pronamespace
     WHERE nspname IN ('warehouse', 'mart', 'etl')`,
  );
  return rows;
}
