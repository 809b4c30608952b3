/**
 * Connections to Postgres, and transactions on them. A connection that breaks is noticed, thrown away, and reported as `retry/…`.
 * A transaction whose COMMIT got no answer is reported as `retry/commit_unknown`: it may or may not have happened, which the receipts
 * tell on the next try.
 */
import pg from 'pg';
import { EtlError } from '../../core/errors.ts';
import { connectError, connectionError, statementError, stateOf } from '../../store/postgres/errors.ts';

export type Client = pg.PoolClient;

const CONNECTIONS = 4;
const CONNECT_TIMEOUT_MS = 10_000;
const IDLE_TIMEOUT_MS = 10_000;

interface TransactionOptions {
  readonly readOnly: boolean;
  /** Longest time for one statement. */
  readonly statementTimeoutMs: number;
}

/** How long a statement waits for somebody's lock on a table: analysts who read hold none that is in the way. */
const LOCK_TIMEOUT_MS = 60_000;
/** How long the server keeps a transaction, and its locks, of a client that fell silent. */
const SILENCE_MS = 600_000;
/**
 * With the server's own 4 MB a mart sorts a month of groups on disk instead of hashing them: 64 MB make it up to a third faster. Never
 * less than the server grants.
 */
const ENOUGH_MEMORY = `SELECT set_config('work_mem', greatest(CAST(setting AS integer), 65536) || 'kB', true)
  FROM pg_settings WHERE name = 'work_mem'`;

export class Sessions {
  private readonly url: string;
  private pool: pg.Pool | null = null;

  constructor(url: string) {
    this.url = url;
  }

  /** Runs `work` in a transaction: committed when it resolves, rolled back when it throws. Times are UTC, days ISO. */
  async transaction<T>(options: TransactionOptions, work: (client: Client) => Promise<T>): Promise<T> {
    return this.withClient(async (client) => {
      await client.query(
        `BEGIN ${options.readOnly ? 'READ ONLY' : 'READ WRITE'};
         SET LOCAL TimeZone = 'UTC'; SET LOCAL DateStyle = 'ISO'; SET LOCAL extra_float_digits = 1;
         SET LOCAL statement_timeout = ${options.statementTimeoutMs};
         SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS};
         SET LOCAL idle_in_transaction_session_timeout = ${SILENCE_MS};
         ${ENOUGH_MEMORY}`,
      );
      let result: T;
      try {
        result = await work(client);
      } catch (error) {
        await client.query('ROLLBACK').catch(() => undefined); // the first error is the one to tell
        throw error;
      }
      await commit(client);
      return result;
    });
  }

  /** Runs a statement that must stand in no transaction. */
  async alone(statement: string, statementTimeoutMs: number): Promise<void> {
    await this.withClient(async (client) => {
      await client.query(`SET statement_timeout = ${statementTimeoutMs}`);
      try {
        await client.query(statement);
      } finally {
        await client.query('RESET statement_timeout');
      }
    });
  }

  private async withClient<T>(work: (client: Client) => Promise<T>): Promise<T> {
    const client = await this.connect();
    let lost = false;
    const onError = () => {
      lost = true;
    };
    client.on('error', onError);
    try {
      return await work(client);
    } catch (error) {
      if (error instanceof EtlError) throw error;
      if (lost) throw connectionError(error);
      throw stateOf(error) === null ? error : statementError(error);
    } finally {
      client.off('error', onError);
      client.release(lost);
    }
  }

  private async connect(): Promise<Client> {
    this.pool ??= newPool(this.url);
    try {
      return await this.pool.connect();
    } catch (error) {
      throw connectError(error);
    }
  }

  async close(): Promise<void> {
    await this.pool?.end();
    this.pool = null;
  }
}

function newPool(url: string): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    application_name: 'partner-etl',
    max: CONNECTIONS,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: IDLE_TIMEOUT_MS,
    keepAlive: true,
    allowExitOnIdle: true,
  });
  pool.on('error', () => undefined); // an idle connection broke: the pool has dropped it already
  return pool;
}

async function commit(client: Client): Promise<void> {
  let done: string;
  try {
    done = (await client.query('COMMIT')).command;
  } catch (cause) {
    if (stateOf(cause) !== null && statementError(cause).kind !== 'retry') throw cause;
    throw new EtlError('retry', 'commit_unknown', 'Postgres: the connection was lost while committing', {
      cause,
      concern: { target: 'postgres' },
      hint: 'the next try reads from the receipts whether it was committed',
    });
  }
  // The server answers ROLLBACK, and no error, to the COMMIT of a transaction that had failed.
  if (done !== 'COMMIT')
    throw new EtlError('bug', 'commit', `Postgres answered ${done} to COMMIT`, { concern: { target: 'postgres' } });
}
