/**
 * kysely over one DuckDB connection, for the bookkeeping. The SQL is Postgres', which DuckDB understands.
 * Transactions are the Engine's: the rows beside the bookkeeping must be in them. Selects return text and numbers that fit.
 */
import type { DuckDBConnection, DuckDBValue } from '@duckdb/node-api';
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  DialectAdapterBase,
  type Driver,
  Kysely,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
} from 'kysely';
import { EtlError } from '../../core/errors.ts';
import type { BookkeepingTables } from '../bookkeeping-tables.ts';

/** The bookkeeping through this connection, inside whatever transaction it is in. */
export function duckdbBookkeeping(connection: DuckDBConnection): Kysely<BookkeepingTables> {
  return new Kysely<BookkeepingTables>({ dialect: duckdbDialect(connection) });
}

function duckdbDialect(connection: DuckDBConnection): Dialect {
  return {
    createAdapter: () => new DuckdbAdapter(),
    createDriver: () => new DuckdbDriver(connection),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  };
}

class DuckdbAdapter extends DialectAdapterBase {
  async acquireMigrationLock(): Promise<void> {}
  async releaseMigrationLock(): Promise<void> {}
}

class DuckdbDriver implements Driver {
  private readonly only: DatabaseConnection;

  constructor(connection: DuckDBConnection) {
    this.only = new DuckdbConnection(connection);
  }

  async init(): Promise<void> {}
  async acquireConnection(): Promise<DatabaseConnection> {
    return this.only;
  }
  async beginTransaction(): Promise<void> {
    throw notOurs('a transaction');
  }
  async commitTransaction(): Promise<void> {
    throw notOurs('a commit');
  }
  async rollbackTransaction(): Promise<void> {
    throw notOurs('a rollback');
  }
  async releaseConnection(): Promise<void> {}
  async destroy(): Promise<void> {}
}

class DuckdbConnection implements DatabaseConnection {
  private readonly connection: DuckDBConnection;

  constructor(connection: DuckDBConnection) {
    this.connection = connection;
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    const reader = await this.connection.runAndReadAll(query.sql, [...query.parameters] as DuckDBValue[]);
    if (query.query.kind !== 'SelectQueryNode') return { rows: [], numAffectedRows: BigInt(reader.rowsChanged) };
    return { rows: reader.getRowObjects() as R[] };
  }

  // biome-ignore lint/correctness/useYield: DuckDB's stream loses errors in mid-query, so there is none.
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw notOurs('a stream');
  }
}

function notOurs(what: string): EtlError {
  return new EtlError('bug', 'dialect', `the bookkeeping asked DuckDB for ${what}, which is the Engine's`);
}
