/**
 * The state as a SQLite file, by libsql (prebuilt, with better-sqlite3's interface).
 *
 * Traps, each seen: a blob comes back as an ArrayBuffer; an integer above 2^53 comes back rounded, so none is stored; a transaction
 * that begins by reading (`BEGIN`) fails at its first write when another process has written meanwhile, so all begin with
 * `BEGIN IMMEDIATE`. Waiting for another writer blocks the thread, so transactions must be short.
 */
import { chmodSync, closeSync, lstatSync, openSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import {
  type CompiledQuery,
  type DatabaseConnection,
  Kysely,
  type QueryResult,
  SqliteDialect,
  SqliteDriver,
  sql,
} from 'kysely';
import Database from 'libsql';
import { systemClock } from '../../core/clock.ts';
import { EtlError } from '../../core/errors.ts';
import { prepareSchema } from '../schema.ts';
import type { State } from '../state.ts';
import type { StateTables } from '../tables/tables.ts';

/** Connections that are done with: closed while statements are left, they would let go of the side files at any later moment. */
const kept = new Set<Database.Database>();

/** How long a statement waits for the transactions of other processes. */
const BUSY_MS = 10_000;
const LONGEST_PAUSE_MS = 16;
/** Prepared statements that are kept, and up to which length: those of many rows come seldom. */
const MOST_KEPT = 64;
const LONGEST_KEPT = 2000;
/** Beginnings of the codes with which SQLite says that the file is damaged. */
const DAMAGED = ['SQLITE_CORRUPT', 'SQLITE_NOTADB'];

/**
 * Opens the state and makes its tables where there are none. The file holds the short-lived token, so nobody else may read it.
 * `mayMake` is done before tables are made, and throws where there should be some already. Errors: those of it;
 * `failed/damaged_state` for what is no sound database, `failed/foreign_state`, `failed/newer_state`, `failed/older_state`.
 */
export async function openSqliteState(file: string, mayMake: () => Promise<void> = async () => {}): Promise<State> {
  await mkdir(path.dirname(file), { recursive: true });
  demandOwnFile(file);
  closeSync(openSync(file, 'a', 0o600));
  chmodSync(file, 0o600);
  const database = open(file);
  const db = new Kysely<StateTables>({ dialect: new PatientDialect(database, file) });
  const state: State = {
    engine: 'sqlite',
    db,
    write: (work) => db.transaction().execute(work),
    writeUnsynced: (work) =>
      // How a commit is synced cannot be changed inside of a transaction; the connection is this one's until the end.
      db.connection().execute(async (connection) => {
        database.pragma('synchronous = NORMAL');
        try {
          return await connection.transaction().execute(work);
        } finally {
          database.pragma('synchronous = FULL');
        }
      }),
    elements: (json) => sql`json_each(${json})`,
    file: {
      path: file,
      async prove() {
        demandSound(file, (await sql<Quick>`PRAGMA quick_check`.execute(db)).rows);
      },
      async copyTo(copy) {
        await sql`VACUUM INTO ${copy}`.execute(db);
        dropToken(copy);
      },
    },
    compact: async () => {
      await sql`VACUUM`.execute(db);
      await sql`PRAGMA wal_checkpoint(TRUNCATE)`.execute(db);
    },
    async close() {
      kept.add(database);
      await db.destroy();
    },
  };
  try {
    await prepareSchema(state, file, (script) => void database.exec(script), mayMake);
  } catch (cause) {
    await state.close();
    throw cause instanceof EtlError ? cause : damaged(file, cause);
  }
  return state;
}

/** A copy lives for days, and the token for minutes. Nothing but `exec`, so that the file is let go of at once. */
function dropToken(copy: string): void {
  const database = new Database(copy);
  try {
    database.exec(
      'PRAGMA secure_delete = ON; UPDATE token SET access_token = NULL, obtained_at = NULL, expires_at = NULL',
    );
  } finally {
    database.close();
  }
}

/** A link may lead to anybody's file, and what somebody else wrote is not to be believed. */
function demandOwnFile(file: string): void {
  const found = lstatSync(file, { throwIfNoEntry: false });
  if (found === undefined) return;
  const uid = process.getuid?.() ?? found.uid;
  const what = found.isSymbolicLink() ? 'a link' : !found.isFile() ? 'no file' : `of user ${found.uid}, not of ${uid}`;
  if (found.isFile() && found.uid === uid) return;
  throw new EtlError('failed', 'foreign_state', `${file} is no state of ours: it is ${what}`, {
    concern: { file },
    hint: 'find out who put it there, and put the file of this user in its place; to move everything, name another folder in PARTNER_ETL_HOME',
  });
}

function open(file: string): Database.Database {
  let database: Database.Database | null = null;
  try {
    database = new Database(file);
    database.pragma('busy_timeout = 0');
    database.pragma('journal_mode = WAL');
    database.pragma('synchronous = FULL');
    return database;
  } catch (cause) {
    database?.close();
    throw damaged(file, cause);
  }
}

/**
 * Whether the file holds a state, or no table at all. It is attached to a database in memory, so that it is let go of at once: a
 * connection of its own would end whenever its statements are garbage, and take the side files of what has replaced the file with it.
 * Errors: `failed/damaged_state` when a page of it is not sound.
 */
export function proveSqliteFile(file: string): boolean {
  const database = new Database(':memory:');
  try {
    database.exec(`ATTACH '${file.replaceAll("'", "''")}' AS proven`);
    try {
      demandSound(file, database.pragma('proven.quick_check') as readonly Quick[]);
      return (database.pragma('proven.table_info(state_version)') as readonly unknown[]).length > 0;
    } finally {
      database.exec('DETACH proven');
    }
  } catch (cause) {
    throw cause instanceof EtlError ? cause : damaged(file, cause);
  } finally {
    database.close();
  }
}

interface Quick {
  readonly quick_check: string;
}

function demandSound(file: string, rows: readonly Quick[]): void {
  const said = rows.map((row) => row.quick_check).join('; ');
  if (said !== 'ok') throw damaged(file, new Error(said));
}

function damaged(file: string, cause: unknown): EtlError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new EtlError('failed', 'damaged_state', `${file} is no sound state database: ${why}`, {
    cause,
    concern: { file },
    hint: 'take the newest backup and make the rest again: partner-etl rebuild --state',
  });
}

class PatientDialect extends SqliteDialect {
  private readonly connection: PatientConnection;
  private readonly database: Database.Database;

  constructor(database: Database.Database, file: string) {
    super({ database });
    this.database = database;
    this.connection = new PatientConnection(database, file);
  }

  override createDriver(): SqliteDriver {
    return new PatientDriver(this.database, this.connection);
  }
}

class PatientDriver extends SqliteDriver {
  private readonly database: Database.Database;
  private readonly connection: PatientConnection;

  constructor(database: Database.Database, connection: PatientConnection) {
    super({ database });
    this.database = database;
    this.connection = connection;
  }

  override async acquireConnection(): Promise<DatabaseConnection> {
    await super.acquireConnection(); // waits for its turn
    return this.connection;
  }

  override beginTransaction(): Promise<void> {
    return this.connection.begin();
  }

  /** A full disk makes SQLite roll back by itself; to do it again would be an error in the place of the one that says so. */
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    if (this.database.inTransaction) await super.rollbackTransaction(connection);
  }

  /** The connection stays (see `kept`); after this nobody can use it. */
  override async destroy(): Promise<void> {}
}

class PatientConnection implements DatabaseConnection {
  private readonly database: Database.Database;
  private readonly file: string;
  /** Those that were used last, by their text: to prepare one takes as long as to run it. */
  private readonly statements = new Map<string, Database.Statement>();

  constructor(database: Database.Database, file: string) {
    this.database = database;
    this.file = file;
  }

  /** By `exec`: a prepared BEGIN that has failed would keep its outdated view of the file, and could never begin. */
  begin(): Promise<void> {
    return this.patiently(() => void this.database.exec('BEGIN IMMEDIATE'));
  }

  /** One statement for all tries: the next try resets what the one before has begun. */
  async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    const known = this.statements.get(sql);
    // Out of the list while it is at work: one that has failed is not used again.
    this.statements.delete(sql);
    const statement = known ?? (await this.patiently(() => this.database.prepare(sql)));
    const result = statement.reader
      ? { rows: await this.patiently(() => statement.all(parameters) as R[]) }
      : { rows: [], numAffectedRows: BigInt((await this.patiently(() => statement.run(parameters))).changes) };
    this.keep(sql, statement);
    return result;
  }

  private keep(sql: string, statement: Database.Statement): void {
    if (sql.length > LONGEST_KEPT) return;
    this.statements.set(sql, statement);
    if (this.statements.size > MOST_KEPT) this.statements.delete(this.statements.keys().next().value!);
  }

  // biome-ignore lint/correctness/useYield: nothing here is read as a stream.
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new EtlError('bug', 'no_stream', 'the state is read in pages, not as a stream');
  }

  /** Tries again what found the file busy, until BUSY_MS have passed: of real time, as other processes go by it. */
  private async patiently<T>(work: () => T): Promise<T> {
    const until = systemClock.now() + BUSY_MS;
    for (let pauseMs = 1; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      try {
        return work();
      } catch (error) {
        if (DAMAGED.some((code) => codeOf(error).startsWith(code))) throw damaged(this.file, error);
        if (!codeOf(error).startsWith('SQLITE_BUSY') || systemClock.now() >= until) throw error;
      }
      await systemClock.sleep(pauseMs);
    }
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
