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
import { copyFile, mkdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { assert, EtlError } from '../../core/errors.ts';
import { moveIntoPlace } from '../../disk/atomic.ts';
import { Engine, quoteName, quoteText } from '../../engine/duckdb.ts';
import type { EngineSize } from '../../engine/size.ts';

/** The last reading of each file, which the next one waits for. */
const queues = new Map<string, Promise<unknown>>();
let opened = 0;

const NAME = 'warehouse.duckdb';
const FIX = 'make it again from the lake: partner-etl rebuild --target duckdb';

export class WarehouseFile {
  readonly path: string;
  /** Where publications take their lock: the same for all processes, whatever their work folder. */
  readonly lockDir: string;
  private readonly workDir: string;
  private readonly nextDir: string;
  private readonly size: EngineSize;

  constructor(file: string, workDir: string, size: EngineSize) {
    this.path = path.resolve(file);
    assert(path.basename(file) === NAME, `the DuckDB warehouse must be called ${NAME}, its tables are named after it`);
    this.workDir = path.resolve(workDir);
    this.size = size;
    this.lockDir = path.join(path.dirname(this.path), 'locks');
    this.nextDir = path.join(this.workDir, 'publish-duckdb');
  }

  async exists(): Promise<boolean> {
    return (await sizeOf(this.path)) !== null;
  }

  /**
   * Opens the current file read-only, runs `work`, closes it. Errors: `failed/engine_open` and `failed/damaged_warehouse` when it is
   * damaged.
   */
  async read<T>(work: (engine: Engine) => Promise<T>): Promise<T> {
    const before = queues.get(this.path) ?? Promise.resolve();
    const mine = before.then(() => this.readNow(work));
    const settled = mine.catch(() => undefined);
    queues.set(this.path, settled);
    try {
      return await mine;
    } finally {
      if (queues.get(this.path) === settled) queues.delete(this.path);
    }
  }

  private async readNow<T>(work: (engine: Engine) => Promise<T>): Promise<T> {
    const engine = (await this.openInPlace()) ?? (await this.openCopy());
    try {
      return await this.proving(engine, () => work(engine));
    } finally {
      engine.close();
    }
  }

  /** Runs `work` on the open file. Errors: `failed/damaged_warehouse` in the place of what DuckDB says of a damaged file. */
  async proving<T>(engine: Engine, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (thrown) {
      // DuckDB says what broke and not of what kind it is; only a look at everything shows it.
      if (!(thrown instanceof EtlError)) await this.prove(engine);
      throw thrown;
    }
  }

  async proveWhole(): Promise<void> {
    if (await this.exists()) await this.read((engine) => this.prove(engine));
  }

  /** Reads every value that the file holds: its blocks have checksums, which are only looked at when they are read. */
  async prove(engine: Engine): Promise<void> {
    try {
      const tables = await engine.rows('SELECT schema_name, table_name FROM duckdb_tables() WHERE NOT internal');
      for (const { schema_name: schema, table_name: table } of tables)
        await engine.run(
          `SELECT bit_xor(hash(held)) FROM ${quoteName(String(schema))}.${quoteName(String(table))} AS held`,
        );
    } catch (cause) {
      throw new EtlError('failed', 'damaged_warehouse', `${this.path} is damaged`, {
        cause,
        concern: { file: this.path },
        hint: FIX,
      });
    }
  }

  /** Null where the file cannot be read in its place because another program writes into it. */
  private async openInPlace(): Promise<Engine | null> {
    if ((await sizeOf(this.wal)) !== null) return null;
    try {
      return await Engine.open({ file: this.path, readOnly: true, tempDir: this.ownFolder(), ...this.size });
    } catch {
      return null; // The copy shows whether it is damaged or only in use.
    }
  }

  private async openCopy(): Promise<Engine> {
    const folder = this.ownFolder();
    const copy = path.join(folder, NAME);
    try {
      await mkdir(folder, { recursive: true });
      await copyFile(this.path, copy, constants.COPYFILE_FICLONE);
      return await Engine.open({
        file: copy,
        readOnly: true,
        tempDir: path.join(this.ownFolder(), 'spill'),
        ...this.size,
      });
    } catch (cause) {
      throw new EtlError('failed', 'engine_open', `DuckDB cannot open ${this.path}, nor a copy of it`, {
        cause,
        concern: { file: this.path },
        hint: FIX,
      });
    } finally {
      // What is open stays readable; nothing is left behind, also by a kill.
      await rm(folder, { recursive: true, force: true });
    }
  }

  /** Renames a file that DuckDB cannot read any more, so that a new one can be made; a sound one stays. For the holder of the lock. */
  async setAsideIfDamaged(): Promise<void> {
    try {
      await this.proveWhole();
    } catch {
      await rename(this.path, `${this.path}.damaged`);
    }
  }

  /** Copies the current file (or none) to where it can be changed. For the holder of the lock. */
  async copyNext(): Promise<string> {
    await rm(this.nextDir, { recursive: true, force: true });
    await mkdir(this.nextDir, { recursive: true });
    const next = path.join(this.nextDir, 'warehouse.next.duckdb');
    if (await this.exists()) await copyFile(this.path, next, constants.COPYFILE_FICLONE);
    return next;
  }

  openNext(next: string): Promise<Engine> {
    return Engine.open({ file: next, tempDir: path.join(this.nextDir, 'spill'), ...this.size });
  }

  /**
   * Copies what the open copy holds into a file of its own, and returns that: in a changed file the old bytes of rows and statistics
   * stay where nothing new was written over them. Rows keep their order, by which readers find days.
   */
  async writeAnew(engine: Engine): Promise<string> {
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
  async putInPlace(next: string): Promise<void> {
    assert((await sizeOf(`${next}.wal`)) === null, `${next} was closed with a write-ahead log left`);
    if ((await sizeOf(this.wal)) !== null) await rename(this.wal, path.join(this.nextDir, 'foreign.wal'));
    await moveIntoPlace(next, this.path);
  }

  async discardNext(): Promise<void> {
    await rm(this.nextDir, { recursive: true, force: true });
  }

  private get wal(): string {
    return `${this.path}.wal`;
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
