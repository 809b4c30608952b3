/** Brings the tables of a Postgres warehouse up to this program's migrations and the declared comments. */
import { type Clock, isoTime } from '../../core/clock.ts';
import type { Pipeline } from '../../core/pipeline.ts';
import { appliedMigrations, recordMigration } from '../bookkeeping.ts';
import { type Migration, pendingMigrations, readMigrations } from '../migrations.ts';
import { commentsDue, type TableComment } from '../table-comments.ts';
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
  const due = async (client: Client) => commentsDue(pipelines, await foundComments(client, pipelines));
  if ((await sessions.transaction(reading, due)).length === 0) return;
  await sessions.transaction(writing, async (client) => {
    await takeLock(client, clock);
    const statements = await due(client);
    if (statements.length > 0) await client.query(statements.join(';'));
  });
}

async function foundComments(client: Client, pipelines: readonly Pipeline[]): Promise<TableComment[]> {
  const { rows } = await client.query<TableComment>(
    `SELECT relname AS "table", attname AS "column", col_description(attrelid, attnum) AS comment
     FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
     WHERE relnamespace = to_regnamespace('warehouse') AND relname = ANY($1) AND attnum > 0 AND NOT attisdropped
     UNION ALL
     SELECT relname, NULL, obj_description(oid, 'pg_class') FROM pg_class
     WHERE relnamespace = to_regnamespace('warehouse') AND relname = ANY($1)`,
    [pipelines.map((pipeline) => pipeline.table)],
  );
  return rows;
}
