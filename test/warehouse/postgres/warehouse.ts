/** A Postgres warehouse of one's own for the conformance suite: a database. */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { pipelines } from '../../../pipelines/index.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { migratePostgres } from '../../../src/warehouse/postgres/migrate.ts';
import { Sessions } from '../../../src/warehouse/postgres/sessions.ts';
import { openPostgresTarget } from '../../../src/warehouse/postgres/target.ts';
import { NO_SETTINGS } from '../../../src/warehouse/settings.ts';
import type { Target } from '../../../src/warehouse/target.ts';
import { type Database, freshDatabase } from '../../support/postgres-database.ts';
import { type Beginning, removeFolder, type Warehouse } from '../bench.ts';

export interface PostgresWarehouse extends Warehouse {
  readonly url: string;
  /** A target on another address of the same database, or with another user. */
  openAt(url: string): Target;
  /** The first column of a query, as text, through a connection of its own. */
  ask(sql: string): Promise<string[]>;
}

/** Made by the first test of a process that needs it; goes with the server. */
let template: Promise<Database> | null = null;

async function makeTemplate(): Promise<Database> {
  const database = await freshDatabase();
  const sessions = new Sessions(database.url);
  try {
    await migratePostgres(sessions, pipelines, systemClock);
  } finally {
    await sessions.close();
  }
  return database;
}

export async function postgresWarehouse(beginning: Beginning): Promise<PostgresWarehouse> {
  if (beginning === 'migrated') template ??= makeTemplate();
  const database = await freshDatabase(beginning === 'migrated' ? await template : null);
  const workDir = await mkdtemp(path.join(tmpdir(), 'partner-etl-postgres-'));
  const targets: Target[] = [];
  const open = (url: string, clock = systemClock, settings = NO_SETTINGS, declared = pipelines) => {
    const target = openPostgresTarget({ url, workDir, clock, pipelines: declared, settings });
    targets.push(target);
    return target;
  };
  const connected = async <T>(work: (client: pg.Client) => Promise<T>): Promise<T> => {
    const client = new pg.Client({ connectionString: database.url, application_name: 'a test' });
    await client.connect();
    try {
      return await work(client);
    } finally {
      await client.end();
    }
  };
  const ask = (sql: string) =>
    connected(async (client) =>
      (await client.query({ text: sql, rowMode: 'array' })).rows.map(([value]) => String(value)),
    );
  return {
    name: 'postgres',
    engine: 'postgres',
    url: database.url,
    open: (clock, settings, declared) => open(database.url, clock, settings, declared),
    openAt: (url) => open(url),
    ask,
    async execute(sql) {
      await connected((client) => client.query(sql));
    },
    async fingerprint() {
      const tables = await ask(
        `SELECT oid::regclass::text FROM pg_class
         WHERE relkind = 'r' AND relnamespace IN (to_regnamespace('warehouse'), to_regnamespace('etl')) ORDER BY 1`,
      );
      const states = tables.map(async (table) => {
        // A row that is written again gets a new place and a new xmin; one that is deleted leaves the table as large as it was.
        const [state] = await ask(
          `SELECT concat(pg_relation_size('${table}'), ' ', count(*), ' ', md5(string_agg(concat(ctid, xmin, xmax), ' ' ORDER BY ctid)))
           FROM ${table}`,
        );
        return `${table} ${state}`;
      });
      return (await Promise.all(states)).join('\n');
    },
    async occupy() {
      const client = new pg.Client({ connectionString: database.url, application_name: 'a test' });
      await client.connect();
      await client.query('BEGIN');
      await client.query('SELECT pg_advisory_xact_lock(1885434484, 1702128689)');
      return () => client.end();
    },
    async remove() {
      await Promise.all(targets.map((target) => target.close()));
      await database.drop();
      await removeFolder(workDir);
    },
  };
}
