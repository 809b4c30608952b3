/** The DuckDB warehouse as a target: one file under the home directory, published by putting a changed copy in its place. */
import { access, constants } from 'node:fs/promises';
import path from 'node:path';
import { version } from '@duckdb/node-api';
import { type Clock, isoTime } from '../../core/clock.ts';
import type { Day } from '../../core/days.ts';
import { EtlError } from '../../core/errors.ts';
import type { Pipeline } from '../../core/pipeline.ts';
import { noTracer, spanning } from '../../core/tracer.ts';
import type { Engine } from '../../engine/duckdb.ts';
import { type EngineSize, engineSize, warehouseSize } from '../../engine/size.ts';
import { fileLocks } from '../../store/file-locks.ts';
import { type Lock, waitLock, whoHolds } from '../../store/locks.ts';
import { currentReceipts, recordPublication } from '../bookkeeping.ts';
import { changedSlices, changesFor, isAlways } from '../changes.ts';
import { recordingOf } from '../check-drift.ts';
import { checkLoaded, proveChecks } from '../checking.ts';
import type { BrokenCheck, Check } from '../checks.ts';
import type { DifferingRows } from '../differing-rows.ts';
import { type Erasure, eraseRows } from '../erasing.ts';
import { NO_SETTINGS, recordSettings, settingsDiffer, type WarehouseSettings } from '../settings.ts';
import { checkFiles, rejectFiles, rowFiles } from '../slice-files.ts';
import { emptying, loadAll, loadsOf } from '../slice-sql.ts';
import type {
  LoadSlice,
  Publication,
  PublishResult,
  QueryResult,
  ReadAnswer,
  Reading,
  Receipts,
  SliceSums,
  Target,
  TargetState,
} from '../target.ts';
import { duckdbChecks } from './check-engine.ts';
import { confine } from './confine.ts';
import { duckdbBookkeeping } from './dialect.ts';
import { loadPipeline } from './load.ts';
import { migrateDuckdb } from './migrate.ts';
import { runQuery, runStream } from './query.ts';
import { DuckdbReading } from './reading.ts';
import { WarehouseFile } from './warehouse-file.ts';

export interface DuckdbTargetOptions {
  /** The warehouse's file, called `warehouse.duckdb`; made by the first publication. */
  readonly file: string;
  /** Scratch space on the same file system. */
  readonly workDir: string;
  /** What DuckDB may use of the machine, of which a warehouse takes its part; absent: as the machine has it. */
  readonly engine?: EngineSize;
  readonly clock: Clock;
  /** All pipelines whose tables the warehouse has. */
  readonly pipelines: readonly Pipeline[];
  /** What views need to know; absent: nothing. */
  readonly settings?: WarehouseSettings;
}

type Changed = Pick<PublishResult, 'slices' | 'rows' | 'warnings'>;

const NOTHING: Changed = { slices: 0, rows: 0, warnings: [] };

/** Taken to change the file. */
const PUBLISH_LOCK = 'publish-warehouse.duckdb';
/** How long a publication waits for another one into the same file. */
const LOCK_WAIT_MS = 30_000;

/** Nothing is opened or made before it is used. */
export function openDuckdbTarget(options: DuckdbTargetOptions): Target {
  return new DuckdbTarget(options);
}

class DuckdbTarget implements Target {
  readonly name = 'duckdb';
  private readonly warehouse: WarehouseFile;
  private readonly clock: Clock;
  private readonly pipelines: readonly Pipeline[];
  private readonly settings: WarehouseSettings;

  constructor(options: DuckdbTargetOptions) {
    const { file, workDir, engine = engineSize(), clock, pipelines, settings = NO_SETTINGS } = options;
    this.warehouse = new WarehouseFile(file, workDir, warehouseSize(engine));
    this.clock = clock;
    this.pipelines = pipelines;
    this.settings = settings;
  }

  async reading<T>(work: (warehouse: Reading) => Promise<T>): Promise<T> {
    const { warehouse, clock, pipelines, settings } = this;
    const reading = (engine: Engine | null) =>
      work(new DuckdbReading({ warehouse, engine, clock, pipelines, settings }));
    return (await warehouse.exists()) ? warehouse.read(reading) : reading(null);
  }

  exists(): Promise<boolean> {
    return this.reading((warehouse) => warehouse.exists());
  }

  receipts(): Promise<Receipts> {
    return this.reading((warehouse) => warehouse.receipts());
  }

  state(): Promise<TargetState> {
    return this.reading((warehouse) => warehouse.state());
  }

  lacking(): Promise<readonly string[]> {
    return this.reading((warehouse) => warehouse.lacking());
  }

  sums(pipeline: Pipeline, days?: readonly Day[]): Promise<ReadonlyMap<Day, SliceSums>> {
    return this.reading((warehouse) => warehouse.sums(pipeline, days));
  }

  differing(slices: readonly LoadSlice[]): Promise<readonly DifferingRows[]> {
    return this.reading((warehouse) => warehouse.differing(slices));
  }

  broken(checks: readonly Check[]): Promise<readonly BrokenCheck[]> {
    return this.reading((warehouse) => warehouse.broken(checks));
  }

  proveWhole(): Promise<void> {
    return this.reading((warehouse) => warehouse.proveWhole());
  }

  query(sql: string, limit: number): Promise<QueryResult> {
    return this.asked((engine) => runQuery(engine, sql, limit));
  }

  stream(sql: string, limit: number | null, read: ReadAnswer): Promise<boolean> {
    return this.asked((engine) => runStream(engine, sql, limit, read));
  }

  private async asked<T>(work: (engine: Engine) => Promise<T>): Promise<T> {
    if (await this.warehouse.exists()) return this.warehouse.read(work);
    throw new EtlError('failed', 'no_warehouse', `there is no ${this.warehouse.path} yet`, {
      concern: { target: this.name, file: this.warehouse.path },
      hint: 'load something first: partner-etl run',
    });
  }

  async publish(publication: Publication): Promise<PublishResult> {
    const startedMs = this.clock.now();
    const { changed, isDue } = await changesFor(publication, () => this.state());
    if (!isDue) return { ...NOTHING, tookMs: this.clock.now() - startedMs, copyMs: 0 };
    const lock = await this.lock(`publishing ${publication.run.run_id}`);
    try {
      return { ...(await this.replace(publication, changed)), tookMs: this.clock.now() - startedMs };
    } finally {
      await lock.release();
    }
  }

  async erase(erasure: Erasure): Promise<number> {
    if (!(await this.warehouse.exists())) return 0;
    const dialect = { jsonType: 'JSON', facts: 'main' };
    if (erasure.isDryRun) return this.warehouse.read((engine) => eraseRows(engine, erasure, dialect));
    const lock = await this.lock('erasing');
    try {
      const engine = await this.warehouse.openNext(await this.warehouse.copyNext());
      let erased: number;
      let anew: string;
      try {
        erased = await engine.transaction(() => eraseRows(engine, erasure, dialect));
        anew = await this.warehouse.writeAnew(engine);
      } finally {
        engine.close();
      }
      await this.warehouse.putInPlace(anew);
      return erased;
    } finally {
      await this.warehouse.discardNext();
      await lock.release();
    }
  }

  async check(): Promise<string> {
    await this.checkFolder();
    await this.lacking();
    return version();
  }

  async close(): Promise<void> {}

  private async lock(what: string): Promise<Lock> {
    const locks = fileLocks(this.warehouse.lockDir, this.clock);
    const lock = await waitLock(locks, PUBLISH_LOCK, what, this.clock, LOCK_WAIT_MS);
    if (lock) return lock;
    const who = await whoHolds(locks, PUBLISH_LOCK);
    throw new EtlError('locked', 'publish', `${who}, is publishing into ${this.warehouse.path}`, {
      concern: { target: this.name, file: this.warehouse.path },
      hint: 'wait for it to end and try again',
    });
  }

  private async replace(
    publication: Publication,
    slices: readonly LoadSlice[],
  ): Promise<Omit<PublishResult, 'tookMs'>> {
    const startedMs = this.clock.now();
    if (publication.afresh) await this.warehouse.setAsideIfDamaged();
    publication.watcher?.onStep('copying the file');
    const next = await this.warehouse.copyNext();
    const copyMs = this.clock.now() - startedMs;
    try {
      const engine = await this.warehouse.openNext(next);
      let done: Changed & { readonly isWritten: boolean };
      try {
        done = await this.change(engine, publication, slices);
      } finally {
        engine.close();
      }
      const { isWritten, ...changed } = done;
      if (isWritten) await this.warehouse.putInPlace(next);
      return { ...changed, copyMs };
    } catch (cause) {
      if (!(cause instanceof EtlError)) await this.warehouse.proveWhole(); // What could not be changed may be a copy of what is damaged.
      throw this.publishError(cause);
    } finally {
      await this.warehouse.discardNext();
    }
  }

  private publishError(cause: unknown): EtlError {
    if (cause instanceof EtlError) return cause;
    const why = cause instanceof Error ? cause.message : String(cause);
    return new EtlError('failed', 'duckdb_publish', `cannot publish into ${this.warehouse.path}: ${why}`, {
      cause,
      concern: { target: this.name, file: this.warehouse.path },
      hint: 'the warehouse is as it was; see whether the disk is full: a publication needs room for a copy of the file',
    });
  }

  private async change(
    engine: Engine,
    publication: Publication,
    slices: readonly LoadSlice[],
  ): Promise<Changed & { readonly isWritten: boolean }> {
    await checkFiles(engine, slices);
    const isMigrated = await migrateDuckdb(engine, this.pipelines, this.clock, publication.afresh);
    const db = duckdbBookkeeping(engine.connection);
    // Somebody else may have published while this one waited for the lock.
    const { afresh = false, watcher } = publication;
    const changed = await changedSlices({ slices, afresh }, () => currentReceipts(db));
    const isDue = changed.length > 0 || isAlways(publication) || isMigrated;
    if (!isDue && !(await settingsDiffer(db, this.settings))) return { ...NOTHING, isWritten: false };
    await confine(engine, [...rowFiles(slices), ...rejectFiles(slices)]); // for the sake of checks, which anybody may write
    const checks = duckdbChecks(engine, this.clock);
    await proveChecks(checks, publication.checks ?? []);
    const at = isoTime(this.clock.now());
    const loaded = await engine.transaction(async () => {
      watcher?.onStep('loading');
      for (const statement of afresh ? emptying(this.pipelines, at) : []) await engine.run(statement);
      const rows = await spanning(publication.tracer ?? noTracer, 'load', { slices: changed.length }, () =>
        loadAll(loadsOf(changed, watcher), (load) => loadPipeline(engine, load, at)),
      );
      await recordPublication(db, publication, changed, at);
      watcher?.onStep('running the checks');
      const checked = await checkLoaded(checks, publication, changed);
      await recordSettings(db, this.settings, at);
      for (const statement of recordingOf(checked, changed, at)) await engine.run(statement);
      return { rows, warnings: checked.warnings };
    });
    watcher?.onStep('writing the file');
    await engine.run('CHECKPOINT');
    return { slices: changed.length, ...loaded, isWritten: true };
  }

  private async checkFolder(): Promise<void> {
    const folder = path.dirname(this.warehouse.path);
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
}
