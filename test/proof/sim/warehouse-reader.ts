/** Reads a warehouse as an analyst does, beside the program and without its code: DuckDB's file read-only, or Postgres. */
import { existsSync, statSync } from 'node:fs';
import { DuckDBInstance } from '@duckdb/node-api';
import pg from 'pg';

export type TextRow = Readonly<Record<string, string | null>>;

export interface Reader {
  /** Rows with all values as text. */
  rows(table: string, where?: string): Promise<TextRow[]>;
  /** The rows of a statement that makes text of everything itself. */
  ask(sql: string): Promise<TextRow[]>;
  close(): Promise<void>;
}

/**
 * Opens a warehouse again and again. A file that is the one it was is not opened anew, since that takes as long as all questions
 * together; its reader lives on when it is closed, as an analyst's does, and ends when another file is there.
 */
export class Readers {
  private readonly file: string;
  private readonly postgresUrl: string | null;
  private kept: { readonly stamp: string; readonly reader: Reader } | null = null;

  constructor(file: string, postgresUrl: string | null) {
    this.file = file;
    this.postgresUrl = postgresUrl;
  }

  /** A reader of the warehouse as it is now, null where there is none yet. One that was opened before is no longer used. */
  async open(): Promise<Reader | null> {
    if (this.postgresUrl !== null) return openPostgres(this.postgresUrl);
    const stamp = existsSync(this.file) ? stampOf(this.file) : null;
    if (this.kept?.stamp !== stamp) await this.close();
    if (stamp === null) return null;
    this.kept ??= { stamp, reader: await openDuckdb(this.file) };
    return { ...this.kept.reader, close: async () => undefined };
  }

  async close(): Promise<void> {
    await this.kept?.reader.close();
    this.kept = null;
  }
}

/** Changes whenever the file is another one, or is written. */
export function stampOf(file: string): string {
  const { ino, mtimeNs, size } = statSync(file, { bigint: true });
  return `${ino} ${mtimeNs} ${size}`;
}

async function openDuckdb(file: string): Promise<Reader> {
  const instance = await DuckDBInstance.create(file, { access_mode: 'READ_ONLY', threads: '1' });
  const connection = await instance.connect();
  await connection.run(`SET TimeZone = 'UTC'`);
  const ask = async (sql: string) => (await connection.runAndReadAll(sql)).getRowObjects() as TextRow[];
  return {
    rows: (table, where = 'true') => ask(`SELECT CAST(COLUMNS(*) AS VARCHAR) FROM ${table} WHERE ${where}`),
    ask,
    close: async () => {
      connection.closeSync();
      instance.closeSync();
    },
  };
}

/** Null where not all its tables are there yet. */
export async function openPostgres(url: string): Promise<Reader | null> {
  const asText = (value: string) => value;
  const asTruth = (value: string) => (value === 't' ? 'true' : 'false');
  const BOOLEAN = 16;
  const client = new pg.Client({
    connectionString: url,
    types: { getTypeParser: (type: number) => (type === BOOLEAN ? asTruth : asText) } as never,
  });
  await client.connect();
  await client.query(`SET TimeZone = 'UTC'`);
  // Migrations are applied one by one, and one that drops an index waits for whoever has read the table and not ended.
  if (!(await isMigrated(client))) {
    await client.end();
    return null;
  }
  // Whoever reads for longer sees one state, and holds nobody up.
  await client.query('BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY');
  const ask = async (sql: string) => (await client.query<Record<string, string | null>>(sql)).rows;
  return {
    rows: (table, where = 'true') => ask(`SELECT * FROM ${table} WHERE ${where}`),
    ask,
    close: () => client.end(),
  };
}

async function isMigrated(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query(`SELECT to_regclass('etl.catalogue') AS there`);
  return rows[0]?.there !== null; // tables and views come in one commit with it
}

/**
 * Asks Postgres again and again, in one statement each, whether rows and receipts agree, as a dashboard would while a run publishes.
 * `stop` says what was seen that did not.
 */
export function watchPostgres(url: string): { stop(): Promise<string[]> } {
  let isOver = false;
  const seen = new Set<string>();
  const look = async () => {
    const reader = new pg.Client({ connectionString: url });
    await reader.connect();
    try {
      while (!isOver) {
        const { rows } = await reader.query<{ rows: string; told: string }>(
          `SELECT (SELECT count(*) FROM warehouse.fact_order_item) AS rows,
             (SELECT coalesce(sum(rows), 0) FROM etl.receipt WHERE pipeline = 'orders' AND superseded_at IS NULL) AS told`,
        );
        const [found] = rows;
        if (found && found.rows !== found.told)
          seen.add(`a reader saw half a run: ${found.rows} rows, receipts of ${found.told}`);
      }
    } finally {
      await reader.end();
    }
  };
  const watching = look();
  return {
    stop: async () => {
      isOver = true;
      await watching;
      return [...seen];
    },
  };
}
