/**
 * The state: what the program must remember between runs, as one SQL database. A SQLite file under the home directory, or a schema in
 * Postgres; the same tables and the same queries on both, so nothing outside this folder knows which one it is.
 *
 * Writing goes through `write`, whose transactions come one after the other in all processes: SQLite has one writer, and in Postgres
 * each takes the same advisory lock. So what a transaction has read cannot be changed by another one before it commits.
 * Reading never waits for a writer (SQLite in WAL mode). A committed transaction is on disk (`synchronous=FULL`),
 * but for those of `writeUnsynced`.
 */
import type { Kysely, RawBuilder, Transaction } from 'kysely';
import type { StateTables } from './tables/tables.ts';

export type StateDb = Kysely<StateTables>;
export type StateTransaction = Transaction<StateTables>;

export interface State {
  readonly engine: 'sqlite' | 'postgres';
  /** For reading, outside any transaction. Not to be used inside `write`: SQLite has one connection, which that one holds. */
  readonly db: StateDb;
  /** Commits when `work` resolves, rolls back when it throws. Keep it short: whoever wants to write waits for it. */
  write<T>(work: (tx: StateTransaction) => Promise<T>): Promise<T>;
  /**
   * The same without waiting for the disk: what is committed outlives this process, however it ends, and may be lost with the machine. For
   * what is worth nothing after a restart of it.
   */
  writeUnsynced<T>(work: (tx: StateTransaction) => Promise<T>): Promise<T>;
  /** A FROM item with a row for each element of a JSON array, in column `value`; many rows go in as one parameter. */
  elements(json: string): RawBuilder<{ readonly value: unknown }>;
  /** Where it is one: a server proves and backs up its databases by its own means. */
  readonly file: StateFile | null;
  /** Makes the files anew, so that nothing that was deleted or replaced can be read in them any more. */
  compact(): Promise<void>;
  close(): Promise<void>;
}

export interface StateFile {
  readonly path: string;
  /** Grows with the file (some 100 MB a second), so a run looks once at its beginning. Errors: `failed/damaged_state`. */
  prove(): Promise<void>;
  /** Writes a copy of what is committed now to a file that is empty or not there. */
  copyTo(file: string): Promise<void>;
}
