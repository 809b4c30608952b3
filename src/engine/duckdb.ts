/**
 * DuckDB as the engine of normalise, lake and warehouse: opening it with limits, and SQL text that cannot be broken out of.
 *
 * Rows cross into JavaScript only where there are few of them. Decimals and 64-bit integers cross as text or bigint.
 */
import { createRequire } from 'node:module';
import { type DuckDBConnection, DuckDBInstance, type DuckDBValue } from '@duckdb/node-api';
import { EtlError } from '../core/errors.ts';
import { LIMITS } from '../core/limits.ts';

// The client drops a byte order mark at the beginning of a text that it hands over: such a text would be taken for another one.
const accessors: { textDecoder: InstanceType<typeof TextDecoder> } = createRequire(import.meta.url)(
  '@duckdb/node-api/lib/vectors/dataAccessors.js',
);
accessors.textDecoder = new TextDecoder('utf-8', { ignoreBOM: true });

export interface EngineOptions {
  /** Where it may spill; made when missing. */
  readonly tempDir: string;
  /** A database file, or in memory when absent. */
  readonly file?: string;
  readonly readOnly?: boolean;
  readonly memoryMiB?: number;
  readonly threads?: number;
}

export type Row = Readonly<Record<string, DuckDBValue>>;

/** One DuckDB instance with one connection; statements run one after the other. */
export class Engine {
  private readonly instance: DuckDBInstance;
  readonly connection: DuckDBConnection;

  private readonly isGuest: boolean;

  private constructor(instance: DuckDBInstance, connection: DuckDBConnection, isGuest = false) {
    this.instance = instance;
    this.connection = connection;
    this.isGuest = isGuest;
  }

  static async open(options: EngineOptions): Promise<Engine> {
    const config: Record<string, string> = {
      temp_directory: options.tempDir,
      memory_limit: `${options.memoryMiB ?? LIMITS.engineMemoryMiB}MiB`,
      autoinstall_known_extensions: 'false',
      autoload_known_extensions: 'false',
      preserve_insertion_order: 'false',
      // A run reads each file once or twice; kept, they fill the memory there is (1,000 days of 1,000 rows: 185 MB more).
      enable_external_file_cache: 'false',
    };
    if (options.threads !== undefined) config.threads = String(options.threads);
    if (options.readOnly) config.access_mode = 'READ_ONLY';
    let instance: DuckDBInstance;
    try {
      instance = await DuckDBInstance.create(options.file ?? ':memory:', config);
    } catch (cause) {
      throw new EtlError('failed', 'engine_open', `DuckDB cannot open ${options.file ?? 'memory'}`, {
        cause,
        ...(options.file === undefined ? {} : { concern: { file: options.file } }),
        hint: 'another program may have the file open for writing, or it is damaged: see the cause with --verbose',
      });
    }
    const connection = await instance.connect();
    await connection.run(`SET GLOBAL TimeZone = 'UTC'`); // of all its connections, also those that are made when settings are locked
    return new Engine(instance, connection);
  }

  /**
   * Another connection to the same database, whose statements run beside this one's. It sees tables and views, but not
   * temporary ones; closing it leaves the database open.
   */
  async beside(): Promise<Engine> {
    return new Engine(this.instance, await this.instance.connect(), true);
  }

  /** Does the work with so many threads for each statement, whichever connection it runs on; statements of others must not run meanwhile. */
  async withThreads<T>(threads: number, work: () => Promise<T>): Promise<T> {
    const before = String((await this.row(`SELECT current_setting('threads') AS threads`)).threads);
    await this.run(`SET threads = ${threads}`);
    try {
      return await work();
    } finally {
      await this.run(`SET threads = ${before}`);
    }
  }

  /** Runs a statement; returns how many rows it changed. */
  async run(sql: string): Promise<number> {
    const result = await this.connection.run(sql);
    return result.rowsChanged;
  }

  /** Runs a statement and returns its rows as objects; for few rows. */
  async rows(sql: string): Promise<Row[]> {
    const reader = await this.connection.runAndReadAll(sql);
    return reader.getRowObjects() as Row[];
  }

  /** The only row of a statement that returns one. */
  async row(sql: string): Promise<Row> {
    const rows = await this.rows(sql);
    if (rows.length !== 1)
      throw new EtlError('bug', 'one_row', `expected one row, got ${rows.length}: ${sql.slice(0, 200)}`);
    return rows[0]!;
  }

  /** Runs `work` in a transaction: committed when it resolves, rolled back when it throws. */
  async transaction<T>(work: () => Promise<T>): Promise<T> {
    await this.run('BEGIN TRANSACTION');
    let result: T;
    try {
      result = await work();
    } catch (error) {
      await this.run('ROLLBACK').catch(() => undefined); // the first error is the one to tell
      throw error;
    }
    await this.run('COMMIT');
    return result;
  }

  close(): void {
    this.connection.closeSync();
    if (!this.isGuest) this.instance.closeSync();
  }
}

/** A text literal. */
export function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** An identifier. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** A list of file names for read_parquet and its like. */
export function quoteList(texts: readonly string[]): string {
  return `[${texts.map(quoteText).join(', ')}]`;
}

/** DuckDB's readers take file names for patterns; this one means itself. */
export function literalPath(file: string): string {
  return file.replace(/[[*?]/g, (sign) => `[${sign}]`);
}

/** A file for a reader of DuckDB. What is written to is named as it is, by `quoteText`. */
export function quoteFile(file: string): string {
  return quoteText(literalPath(file));
}

/** Several of them. */
export function quoteFiles(files: readonly string[]): string {
  return `[${files.map(quoteFile).join(', ')}]`;
}

/**
 * SQL of a relation with the rows of Parquet files. The folders of the lake are named as hive partitions are: without that word here
 * they would become columns.
 */
export function readParquet(files: readonly string[], options: readonly string[] = []): string {
  return `read_parquet(${[quoteFiles(files), 'hive_partitioning = false', ...options].join(', ')})`;
}
