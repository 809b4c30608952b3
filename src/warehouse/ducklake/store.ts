/**
 * A DuckLake as the place of a warehouse: a catalog in Postgres, Parquet files in a folder or a bucket, read by any DuckDB.
 *
 * One transaction is one snapshot, which readers see whole or not at all. DuckLake finds conflicts table by table and sees none where two
 * hosts load the same empty day, so both would stand. Hence one publisher at a time, under an advisory lock in the catalog's database,
 * and a row that every transaction replaces (`etl.fence`): a host that has lost its lock and wakes up late fails on that row.
 */
import path from 'node:path';
import { type Clock, isoTime } from '../../core/clock.ts';
import { MS_PER_DAY } from '../../core/days.ts';
import { type DucklakePlace, isBucket } from '../../core/ducklake.ts';
import { assert, EtlError } from '../../core/errors.ts';
import { Engine, quoteList, quoteText } from '../../engine/duckdb.ts';
import { loadExtensions } from '../../engine/extensions.ts';
import type { EngineSize } from '../../engine/size.ts';
import { proveTables, proving } from '../duckdb/prove.ts';
import type { Change, Changed, DuckdbStore } from '../duckdb/store.ts';
import { Catalog } from './catalog.ts';
import { connectionOf } from './connection.ts';
import { allowBucket, dataPath } from './data-place.ts';
import { refusalOf } from './refusals.ts';

const FIX = 'make it again from the lake: partner-etl rebuild --target ducklake';

let opened = 0;

export class DucklakeStore implements DuckdbStore {
  readonly name = 'ducklake';
  readonly place: string;
  private readonly at: DucklakePlace;
  private readonly workDir: string;
  private readonly size: EngineSize;
  private readonly clock: Clock;
  private readonly catalog: Catalog;
  /** With its extensions, of which a tenth of a second is spent on reading and proving their files; without the lake. */
  private spare: Engine | null = null;

  constructor(at: DucklakePlace, workDir: string, size: EngineSize, clock: Clock) {
    this.at = at;
    this.workDir = path.resolve(workDir);
    this.size = size;
    this.clock = clock;
    this.catalog = new Catalog(at.catalogUrl, at.schema, clock);
    const { host, pathname } = new URL(at.catalogUrl);
    this.place = `the DuckLake ${at.schema} (${host}${pathname})`;
  }

  exists(): Promise<boolean> {
    return this.catalog.exists();
  }

  async read<T>(work: (engine: Engine) => Promise<T>): Promise<T> {
    const engine = await this.open(true);
    try {
      return await proving(this, engine, () => work(engine));
    } finally {
      await this.leave(engine);
    }
  }

  prove(engine: Engine): Promise<void> {
    return proveTables(engine, this.place, FIX);
  }

  async change<T>(how: Change, work: (engine: Engine) => Promise<Changed<T>>) {
    how.onStep?.('waiting for the lock');
    const lock = await this.catalog.lock();
    try {
      const isAside = how.afresh === true && (await this.setAsideIfDamaged());
      const engine = await this.open(false);
      try {
        if (isAside || !lock.hasFence) await makeFence(engine);
        const { value } = await work(engine);
        if (how.isTraceless) await this.forget(engine);
        return { value, copyMs: 0 };
      } finally {
        engine.close();
      }
    } finally {
      await lock.release();
    }
  }

  transaction<T>(engine: Engine, work: () => Promise<T>): Promise<T> {
    return engine.transaction(async () => {
      const at = `TIMESTAMPTZ ${quoteText(isoTime(this.clock.now()))}`;
      const fenced = await engine.run(`UPDATE etl.fence SET generation = generation + 1, published_at = ${at}`);
      assert(fenced === 1, `etl.fence has ${fenced} rows`);
      return work();
    });
  }

  refusal(cause: unknown): EtlError {
    return refusalOf(cause, `cannot publish into ${this.place}`);
  }

  async oldSnapshots(): Promise<number> {
    const older = this.cutoff();
    if (older === null || !(await this.exists())) return 0;
    return this.read(async (engine) => {
      // The newest one is what readers see.
      const { old } = await engine.row(
        `SELECT count(*) AS old FROM ducklake_snapshots('warehouse')
         WHERE snapshot_time < ${older} AND snapshot_id < (SELECT max(snapshot_id) FROM ducklake_snapshots('warehouse'))`,
      );
      return Number(old);
    });
  }

  async tidy(): Promise<void> {
    if (!(await this.exists())) return;
    const older = this.cutoff();
    await this.change({ what: 'tidying' }, async (engine) => {
      try {
        await engine.run(`CALL ducklake_merge_adjacent_files('warehouse')`);
        await engine.run(`CALL ducklake_rewrite_data_files('warehouse')`);
        if (older !== null) await engine.run(`CALL ducklake_expire_snapshots('warehouse', older_than => ${older})`);
        // Who began to read them before keeps them for a day.
        const unread = this.before(1);
        await engine.run(`CALL ducklake_cleanup_old_files('warehouse', older_than => ${unread})`);
        await engine.run(`CALL ducklake_delete_orphaned_files('warehouse', older_than => ${unread})`);
      } catch (cause) {
        throw refusalOf(cause, `cannot tidy ${this.place}`);
      }
      return { value: null, isWritten: true };
    });
  }

  private cutoff(): string | null {
    return this.at.snapshotDays === null ? null : this.before(this.at.snapshotDays);
  }

  private before(days: number): string {
    return `TIMESTAMPTZ ${quoteText(isoTime(this.clock.now() - days * MS_PER_DAY))}`;
  }

  async check(): Promise<void> {
    await this.catalog.check();
    const engine = await this.load();
    engine.close();
  }

  async close(): Promise<void> {
    this.spare?.close();
    this.spare = null;
  }

  /** Keeps an engine for the next opening, unless it was confined: that cannot be taken back. */
  private async leave(engine: Engine): Promise<void> {
    try {
      const { locked } = await engine.row(`SELECT current_setting('lock_configuration') AS locked`);
      if (locked || this.spare !== null) return engine.close();
      await engine.run('USE memory; DETACH warehouse');
      this.spare = engine;
    } catch {
      engine.close(); // what went wrong with it was reported already
    }
  }

  /** Whether it was, and another one is to be made. */
  private async setAsideIfDamaged(): Promise<boolean> {
    try {
      if (await this.exists()) await this.read((engine) => this.prove(engine));
      return false;
    } catch (error) {
      if (!(error instanceof EtlError && error.code === 'damaged_warehouse')) throw error;
      await this.catalog.setAside();
      return true;
    }
  }

  private async open(isReadOnly: boolean): Promise<Engine> {
    const engine = await this.load();
    const data = dataPath(this.at.data);
    try {
      await this.attach(engine, data, isReadOnly);
      await engine.run('USE warehouse');
      // What is confined afterwards still reads and writes there.
      await engine.run(`SET allowed_directories = ${quoteList([data])}`);
      return engine;
    } catch (cause) {
      engine.close();
      throw cause instanceof EtlError ? cause : refusalOf(cause, `cannot open ${this.place}`);
    }
  }

  /** DuckDB with what a DuckLake needs, and without the lake. */
  private async load(): Promise<Engine> {
    const { data, s3, extensions } = this.at;
    const { spare } = this;
    this.spare = null;
    if (spare !== null) return spare;
    opened += 1;
    const tempDir = path.join(this.workDir, `ducklake-${process.pid}-${opened}`);
    const engine = await Engine.open({ tempDir, ...this.size });
    try {
      // Not what somebody has left in the home of this user.
      await engine.run(`SET secret_directory = ${quoteText(path.join(tempDir, 'secrets'))}`);
      await loadExtensions(
        engine,
        ['postgres_scanner', 'ducklake', ...(isBucket(data) ? (['httpfs'] as const) : [])],
        extensions,
      );
      if (isBucket(data) && s3 !== null) await allowBucket(engine, s3);
      return engine;
    } catch (error) {
      engine.close();
      throw error;
    }
  }

  /** The password goes by a secret: the address can be read by every statement. */
  private async attach(engine: Engine, data: string, isReadOnly: boolean): Promise<void> {
    const { password, connection } = connectionOf(this.at.catalogUrl);
    const options = [`DATA_PATH ${quoteText(data)}`, `METADATA_SCHEMA ${quoteText(this.at.schema)}`];
    if (password !== '') {
      await engine.run(`CREATE OR REPLACE SECRET catalog (TYPE postgres, PASSWORD ${quoteText(password)})`);
      options.push(`META_SECRET 'catalog'`);
    }
    if (isReadOnly) options.push('READ_ONLY');
    await engine.run(`ATTACH ${quoteText(`ducklake:postgres:${connection}`)} AS warehouse (${options.join(', ')})`);
  }

  /** Drops every older snapshot and each file that only those name, and writes files with dead rows anew. */
  private async forget(engine: Engine): Promise<void> {
    await engine.run(`CALL ducklake_flush_inlined_data('warehouse')`);
    await engine.run(`CALL ducklake_rewrite_data_files('warehouse', delete_threshold => 0)`);
    await engine.run(`CALL ducklake_merge_adjacent_files('warehouse')`);
    await engine.run(`CALL ducklake_expire_snapshots('warehouse', older_than => now())`);
    await engine.run(`CALL ducklake_cleanup_old_files('warehouse', cleanup_all => true)`);
    await engine.run(`CALL ducklake_delete_orphaned_files('warehouse', cleanup_all => true)`);
  }
}

/** In one transaction with its row: of two hosts that make it at once, the other fails. */
async function makeFence(engine: Engine): Promise<void> {
  await engine.transaction(() =>
    engine.run(`CREATE SCHEMA IF NOT EXISTS etl; CREATE TABLE etl.fence (generation BIGINT, published_at TIMESTAMPTZ);
      INSERT INTO etl.fence VALUES (0, NULL)`),
  );
}
