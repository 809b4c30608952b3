/**
 * The DuckDB warehouse as a file, which is never changed in its place.
 *
 *   none ──publish──▶ current ──publish──▶ current' ──▶ …
 *
 * A publication copies the current file to `<workDir>/publish-duckdb/warehouse.next.duckdb`, changes the copy, closes and syncs it
 * and renames it over the current one. Hence:
 * - a crash at any point leaves the old file whole, and what it left in the work folder goes with the next publication;
 * - who has the old file open keeps reading the old rows, who opens it afterwards sees the new ones;
 * - nobody who has the file open, for reading or for writing, holds a publication up.
 *
 * `warehouse.duckdb.wal` is never ours. A program that has opened the file for writing leaves one there, and DuckDB would apply
 * it to whatever file has the name now: so a file with a WAL beside it is read from a copy without, and a publication
 * takes the WAL away before it renames.
 *
 * DuckDB names a database after its file, and `warehouse.fact_order_item` is said with that name: so the file and all its copies are
 * called `warehouse.…`.
 *
 * In this process one instance has the file open at a time: two instances of one file have silently lost a table. Readings
 * therefore queue, by file and not by object.
 */
import { constants } from 'node:fs';
import { access, copyFile, mkdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Clock } from '../../core/clock.ts';
import { assert, EtlError } from '../../core/errors.ts';
import { moveIntoPlace } from '../../disk/atomic.ts';
import { Engine, quoteName, quoteText } from '../../engine/duckdb.ts';
import type { EngineSize } from '../../engine/size.ts';
import { type Lock, waitLock, whoHolds } from '../../store/locks.ts';
import { fileLocks } from '../../store/sqlite/locks.ts';
import { proveTables, proving } from './prove.ts';
import type { Change, Changed, DuckdbStore } from './store.ts';

/** The last reading of each file, which the next one waits for. */
const queues = new Map<string, Promise<unknown>>();
let opened = 0;

const NAME = 'warehouse.duckdb';
const FIX = 'make it again from the lake: partner-etl rebuild --target duckdb';

/** Taken to change the file. */
const PUBLISH_LOCK = 'publish-warehouse.duckdb';
/** How long a publication waits for another one into the same file. */
const LOCK_WAIT_MS = 30_000;

export class WarehouseFile implements DuckdbStore {
  readonly name = 'duckdb';
  readonly place: string;
  /** Where publications take their lock: the same for all processes, whatever their work folder. */
  private readonly lockDir: string;
  private readonly workDir: string;
  private readonly nextDir: string;
  private readonly size: EngineSize;
  private readonly clock: Clock;

  constructor(file: string, workDir: string, size: EngineSize, clock: Clock) {
    this.place = path.resolve(file);
    assert(path.basename(file) === NAME, `the DuckDB warehouse must be called ${NAME}, its tables are named after it`);
    this.workDir = path.resolve(workDir);
    this.size = size;
    this.clock = clock;
    this.lockDir = path.join(path.dirname(this.place), 'locks');
    this.nextDir = path.join(this.workDir, 'publish-duckdb');
  }

  async exists(): Promise<boolean> {
    return (await sizeOf(this.place)) !== null;
  }

  async read<T>(work: (engine: Engine) => Promise<T>): Promise<T> {
    const before = queues.get(this.place) ?? Promise.resolve();
    const mine = before.then(() => this.readNow(work));
    const settled = mine.catch(() => undefined);
    queues.set(this.place, settled);
    try {
      return await mine;
    } finally {
      if (queues.get(this.place) === settled) queues.delete(this.place);
    }
  }

  private async readNow<T>(work: (engine: Engine) => Promise<T>): Promise<T> {
    const engine = (await this.openInPlace()) ?? (await this.openCopy());
    try {
      return await proving(this, engine, () => work(engine));
    } finally {
      engine.close();
    }
  }

  private async proveWhole(): Promise<void> {
    if (await this.exists()) await this.read((engine) => this.prove(engine));
  }

  prove(engine: Engine): Promise<void> {
    return proveTables(engine, this.place, FIX);
  }

  /** `copyMs`: of the time, the copying of the file. */
  async change<T>(how: Change, work: (engine: Engine) => Promise<Changed<T>>) {
    const lock = await this.lock(how.what);
    try {
      const startedMs = this.clock.now();
      if (how.afresh) await this.setAsideIfDamaged();
      how.onStep?.('copying the file');
      const next = await this.copyNext();
      const copyMs = this.clock.now() - startedMs;
      const { value, file } = await this.changeNext(next, how, work);
      if (file !== null) await this.putInPlace(file);
      return { value, copyMs };
    } catch (cause) {
      if (!(cause instanceof EtlError)) await this.proveWhole(); // What could not be changed may be a copy of what is damaged.
      throw cause;
    } finally {
      await this.discardNext();
      await lock.release();
    }
  }

  /** The changed and closed copy; null where nothing was written. */
  private async changeNext<T>(next: string, how: Change, work: (engine: Engine) => Promise<Changed<T>>) {
    const engine = await this.openNext(next);
    try {
      const { value, isWritten } = await work(engine);
      if (!isWritten) return { value, file: null };
      how.onStep?.('writing the file');
      if (how.isTraceless) return { value, file: await this.writeAnew(engine) };
      await engine.run('CHECKPOINT');
      return { value, file: next };
    } finally {
      engine.close();
    }
  }

  private async lock(what: string): Promise<Lock> {
    const locks = fileLocks(this.lockDir, this.clock);
    const lock = await waitLock(locks, PUBLISH_LOCK, what, this.clock, LOCK_WAIT_MS);
    if (lock) return lock;
    const who = await whoHolds(locks, PUBLISH_LOCK);
    throw new EtlError('locked', 'publish', `${who}, is publishing into ${this.place}`, {
      concern: { target: this.name, file: this.place },
      hint: 'wait for it to end and try again',
    });
  }

  transaction<T>(engine: Engine, work: () => Promise<T>): Promise<T> {
    return engine.transaction(work);
  }

  refusal(cause: unknown): EtlError {
    const why = cause instanceof Error ? cause.message : String(cause);
    return new EtlError('failed', 'duckdb_publish', `cannot publish into ${this.place}: ${why}`, {
      cause,
      concern: { target: this.name, file: this.place },
      hint: 'the warehouse is as it was; see whether the disk is full: a publication needs room for a copy of the file',
    });
  }

  async oldSnapshots(): Promise<null> {
    return null;
  }

  async tidy(): Promise<void> {}

  async check(): Promise<void> {
    const folder = path.dirname(this.place);
    for (let there = folder; ; there = path.dirname(there)) {
      const code = await access(there, constants.W_OK).then(
        () => null,
        (error: NodeJS.ErrnoException) => error.code,
      );
      if (code === null) return;
      if (code !== 'ENOENT' || there === path.dirname(there))
        throw new EtlError('failed', 'not_writable', `${there} cannot be written to (${code})`, {
          concern: { target: this.name, file: there },
          hint: 'give the user of partner-etl the right to write there, or set PARTNER_ETL_HOME to another folder',
        });
    }
  }

  async close(): Promise<void> {}

  /** Null where the file cannot be read in its place because another program writes into it. */
  private async openInPlace(): Promise<Engine | null> {
    if ((await sizeOf(this.wal)) !== null) return null;
    try {
      return await Engine.open({ file: this.place, readOnly: true, tempDir: this.ownFolder(), ...this.size });
    } catch {
      return null; // The copy shows whether it is damaged or only in use.
    }
  }

  private async openCopy(): Promise<Engine> {
    const folder = this.ownFolder();
    const copy = path.join(folder, NAME);
    try {
      await mkdir(folder, { recursive: true });
      await copyFile(this.place, copy, constants.COPYFILE_FICLONE);
      return await Engine.open({
        file: copy,
        readOnly: true,
        tempDir: path.join(this.ownFolder(), 'spill'),
        ...this.size,
      });
    } catch (cause) {
      throw new EtlError('failed', 'engine_open', `DuckDB cannot open ${this.place}, nor a copy of it`, {
        cause,
        concern: { file: this.place },
        hint: FIX,
      });
    } finally {
      // What is open stays readable; nothing is left behind, also by a kill.
      await rm(folder, { recursive: true, force: true });
    }
  }

  /** Renames a file that DuckDB cannot read any more, so that a new one can be made; a sound one stays. For the holder of the lock. */
  private async setAsideIfDamaged(): Promise<void> {
    try {
      await this.proveWhole();
    } catch {
      await rename(this.place, `${this.place}.damaged`);
    }
  }

  /** Copies the current file (or none) to where it can be changed. For the holder of the lock. */
  private async copyNext(): Promise<string> {
    await rm(this.nextDir, { recursive: true, force: true });
    await mkdir(this.nextDir, { recursive: true });
    const next = path.join(this.nextDir, 'warehouse.next.duckdb');
    if (await this.exists()) await copyFile(this.place, next, constants.COPYFILE_FICLONE);
    return next;
  }

  private openNext(next: string): Promise<Engine> {
    return Engine.open({ file: next, tempDir: path.join(this.nextDir, 'spill'), ...this.size });
  }

  /**
   * Copies what the open copy holds into a file of its own, and returns that: in a changed file the old bytes of rows and statistics
   * stay where nothing new was written over them. Rows keep their order, by which readers find days.
   */
  private async writeAnew(engine: Engine): Promise<string> {
    const anew = path.join(this.nextDir, 'warehouse.anew.duckdb');
    const { name } = await engine.row('SELECT current_database() AS name');
    await engine.run('SET preserve_insertion_order = true');
    await engine.run(`ATTACH ${quoteText(anew)} AS anew`);
    await engine.run(`COPY FROM DATABASE ${quoteName(String(name))} TO anew`);
    await engine.run('CHECKPOINT anew');
    await engine.run('DETACH anew');
    return anew;
  }

  /** Puts the changed and closed copy into the place of the current file. */
  private async putInPlace(next: string): Promise<void> {
    assert((await sizeOf(`${next}.wal`)) === null, `${next} was closed with a write-ahead log left`);
    if ((await sizeOf(this.wal)) !== null) await rename(this.wal, path.join(this.nextDir, 'foreign.wal'));
    await moveIntoPlace(next, this.place);
  }

  private async discardNext(): Promise<void> {
    await rm(this.nextDir, { recursive: true, force: true });
  }

  private get wal(): string {
    return `${this.place}.wal`;
  }

  /** A folder of this opening alone: DuckDB's spill files have the same names in every process. */
  private ownFolder(): string {
    opened += 1;
    return path.join(this.workDir, `duckdb-read-${process.pid}-${opened}`);
  }
}

/** Bytes, or null when there is no such file. */
async function sizeOf(file: string): Promise<number | null> {
  try {
    return (await stat(file)).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
