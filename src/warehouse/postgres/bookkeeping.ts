/** The bookkeeping through one Postgres connection, inside whatever transaction it is in. */
import { Kysely, PostgresDialect } from 'kysely';
import type { BookkeepingTables } from '../bookkeeping-tables.ts';
import type { Client } from './sessions.ts';

export function postgresBookkeeping(client: Client): Kysely<BookkeepingTables> {
  const borrowed = { query: client.query.bind(client), release: () => undefined };
  const pool = { connect: async () => borrowed, end: async () => undefined };
  return new Kysely<BookkeepingTables>({ dialect: new PostgresDialect({ pool: pool as never }) });
}
