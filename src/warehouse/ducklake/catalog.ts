/** The Postgres that a DuckLake's catalog lies in, spoken to past DuckDB: whether there is a catalog, who may publish, what is wrong. */
import { hash } from 'node:crypto';
import pg from 'pg';
import type { Clock } from '../../core/clock.ts';
import { EtlError } from '../../core/errors.ts';
import { quoteName } from '../../engine/duckdb.ts';
import { connectError, statementError, stateOf } from '../../store/postgres/errors.ts';
import { keepsSession } from '../../store/postgres/kept-session.ts';
import { type LockName, waitForLock } from '../postgres/lock.ts';

const CONNECT_TIMEOUT_MS = 10_000;
/** First half of the lock's name: 'dkLk' as ASCII; the second is made from the schema. Never changed: old and new programs must meet on it. */
const LOCK = 0x646b4c6b;
/** A host that falls silent, as one without power does, is noticed after so many seconds. */
const SILENT = 'SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3';

/** How messages about it begin, and what they name. */
const OF = {
  concern: { target: 'ducklake' },
  speaker: "DuckLake's catalog",
  variable: 'PARTNER_ETL_DUCKLAKE_URL',
} as const;

export interface PublishLock {
  /** Whether there is a catalog with the table `etl.fence`. */
  readonly hasFence: boolean;
  release(): Promise<void>;
}

export class Catalog {
  private readonly url: string;
  private readonly schema: string;
  private readonly clock: Clock;

  /** `schema`: in which DuckLake keeps its tables. */
  constructor(url: string, schema: string, clock: Clock) {
    this.url = url;
    this.schema = schema;
    this.clock = clock;
  }

  exists(): Promise<boolean> {
    return this.connected((client) => this.isThere(client));
  }

  /**
   * One publisher or caretaker at a time, over all hosts; it is free as soon as its holder's connection ends. Errors: `locked/publish`, naming
   * who has it; those of `check`.
   */
  async lock(): Promise<PublishLock> {
    const client = await this.connect();
    try {
      await client.query(SILENT);
      await this.judge(client);
      await this.demandSession(client);
      // So that its time is shown in UTC, as that of a transaction is.
      await client.query(`SET TimeZone = 'UTC'`);
      const lock = {
        name: this.lockName,
        lasts: 'session',
        target: OF.concern.target,
        place: 'this DuckLake',
      } as const;
      await waitForLock(client, this.clock, lock);
      return { hasFence: await this.hasFence(client), release: () => ended(client) };
    } catch (error) {
      await ended(client);
      throw sorted(error);
    }
  }

  /** Whether it can be published into, without changing anything. Errors: `usage/ducklake_messages`, `failed/ducklake_rights`, `usage/ducklake_pooler`. */
  check(): Promise<void> {
    return this.connected(async (client) => {
      await this.judge(client);
      await this.demandSession(client);
    });
  }

  /** Renames the catalog, so that another one can be made. For the holder of the lock. */
  setAside(): Promise<void> {
    const aside = quoteName(`${this.schema}_damaged`);
    return this.connected(async (client) => {
      await client.query(`BEGIN; DROP SCHEMA IF EXISTS ${aside} CASCADE;
        ALTER SCHEMA ${quoteName(this.schema)} RENAME TO ${aside}; COMMIT`);
    });
  }

  private get lockName(): LockName {
    return [LOCK, hash('sha256', this.schema, 'buffer').readInt32BE(0)];
  }

  private async isThere(client: pg.Client): Promise<boolean> {
    const { rows } = await client.query('SELECT to_regclass($1) IS NOT NULL AS there', [
      `${quoteName(this.schema)}.ducklake_snapshot`,
    ]);
    return rows[0]?.there === true;
  }

  private async hasFence(client: pg.Client): Promise<boolean> {
    if (!(await this.isThere(client))) return false;
    const { rows } = await client.query(
      `SELECT 1 FROM ${quoteName(this.schema)}.ducklake_table WHERE table_name = 'fence' AND end_snapshot IS NULL`,
    );
    return rows.length > 0;
  }

  private async judge(client: pg.Client): Promise<void> {
    const { rows } = await client.query<{ messages: string; database: string; creates: boolean; owns: boolean | null }>(
      `SELECT current_setting('lc_messages') AS messages, current_database() AS database,
         has_database_privilege(current_database(), 'CREATE') AS creates,
         (SELECT has_schema_privilege(oid, 'CREATE') FROM pg_namespace WHERE nspname = $1) AS owns`,
      [this.schema],
    );
    const { messages, database, creates, owns } = rows[0]!;
    // DuckLake tells a conflict, which it may try again, from an error by the words of Postgres.
    if (!/^(?:C|POSIX|en)(?:[._@]|$)/i.test(messages))
      throw refusal(
        'usage',
        'ducklake_messages',
        `database ${database} speaks ${messages}, which DuckLake cannot read`,
        {
          hint: `ALTER DATABASE ${quoteName(database)} SET lc_messages = 'C'`,
        },
      );
    if (!(owns ?? creates))
      throw refusal(
        'failed',
        'ducklake_rights',
        `the user may not make tables in schema ${this.schema} of ${database}`,
        {
          hint: 'GRANT CREATE ON DATABASE to it, or let it own that schema',
        },
      );
  }

  private async demandSession(client: pg.Client): Promise<void> {
    if (await this.connected((other) => keepsSession(client, other))) return;
    throw refusal(
      'usage',
      'ducklake_pooler',
      'a pooler is in between that keeps no sessions, so its lock holds nobody',
      {
        hint: 'let PARTNER_ETL_DUCKLAKE_URL name the server itself, or a pooler in session mode',
      },
    );
  }

  private async connected<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
    const client = await this.connect();
    try {
      return await work(client);
    } catch (error) {
      throw sorted(error);
    } finally {
      await ended(client);
    }
  }

  private async connect(): Promise<pg.Client> {
    try {
      const client = new pg.Client({
        connectionString: this.url,
        application_name: 'partner-etl',
        connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
        keepAlive: true,
      });
      client.on('error', () => undefined); // a lost lock is noticed by the fence
      await client.connect();
      return client;
    } catch (error) {
      throw connectError(error, OF);
    }
  }
}

function sorted(error: unknown): unknown {
  if (error instanceof EtlError) return error;
  return stateOf(error) === null ? connectError(error, OF) : statementError(error, OF);
}

async function ended(client: pg.Client): Promise<void> {
  await client.end().catch(() => undefined); // it was lost: so is the lock
}

function refusal(kind: 'usage' | 'failed', code: string, what: string, { hint }: { hint: string }): EtlError {
  return new EtlError(kind, code, `${OF.speaker}: ${what}`, { concern: { target: OF.concern.target }, hint });
}
