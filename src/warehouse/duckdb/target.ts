/** A warehouse that DuckDB reads and writes, as a target: one file under the home directory, or a DuckLake. */
import { version } from '@duckdb/node-api';
import { type Clock, isoTime } from '../../core/clock.ts';
import type { Day } from '../../core/days.ts';
import { EtlError } from '../../core/errors.ts';
import type { Pipeline } from '../../core/pipeline.ts';
import { noTracer, spanning } from '../../core/tracer.ts';
import type { Engine } from '../../engine/duckdb.ts';
import { type EngineSize, engineSize, warehouseSize } from '../../engine/size.ts';
import { currentReceipts, recordPublication } from '../bookkeeping.ts';
import { changedSlices, changesFor, isAlways } from '../changes.ts';
import { checkLoaded, proveChecks } from '../checks/checking.ts';
import type { BrokenCheck, Check } from '../checks/checks.ts';
import { recordingOf } from '../checks/drift.ts';
import type { DifferingRows } from '../differing-rows.ts';
import { type Erasure, eraseRows } from '../erasing.ts';
import { demandOwn, NO_SETTINGS, recordSettings, settingsDiffer, type WarehouseSettings } from '../settings.ts';
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
  RejectSums,
  SliceSums,
  Target,
  TargetState,
} from '../target.ts';
import { duckdbChecks } from './check-engine.ts';
import { confine } from './confine.ts';
import { duckdbBookkeeping } from './dialect.ts';
import { loadingAt, loadPipeline } from './load.ts';
import { migrateDuckdb } from './migrate.ts';
import { runQuery, runStream } from './query.ts';
import { DuckdbReading } from './reading.ts';
import type { Changed, DuckdbStore } from './store.ts';
import { WarehouseFile } from './warehouse-file.ts';

/** What every warehouse of DuckDB is opened with. */
export interface WarehouseOptions {
  /** Scratch space; for a file on the same file system. */
  readonly workDir: string;
  /** What DuckDB may use of the machine, of which a warehouse takes its part; absent: as the machine has it. */
  readonly engine?: EngineSize;
  readonly clock: Clock;
  /** All pipelines whose tables the warehouse has. */
  readonly pipelines: readonly Pipeline[];
  /** What views need to know; absent: nothing. */
  readonly settings?: WarehouseSettings;
}

export interface DuckdbTargetOptions extends WarehouseOptions {
  /** The warehouse's file, called `warehouse.duckdb`; made by the first publication. */
  readonly file: string;
}

type Changes = Pick<PublishResult, 'slices' | 'rows' | 'warnings'>;

const NOTHING: Changes = { slices: 0, rows: 0, warnings: [] };

/** Nothing is opened or made before it is used. */
export function openDuckdbTarget(options: DuckdbTargetOptions): Target {
  const { file, workDir, engine = engineSize(), clock } = options;
  return openTargetIn(new WarehouseFile(file, workDir, warehouseSize(engine), clock), options);
}

export function openTargetIn(
  store: DuckdbStore,
  options: Pick<WarehouseOptions, 'clock' | 'pipelines' | 'settings'>,
): Target {
  return new DuckdbTarget(store, options);
}

class DuckdbTarget implements Target {
  readonly dialect = 'duckdb';
  private readonly warehouse: DuckdbStore;
  private readonly clock: Clock;
  private readonly pipelines: readonly Pipeline[];
  private readonly settings: WarehouseSettings;

  constructor(store: DuckdbStore, { clock, pipelines, settings = NO_SETTINGS }: Parameters<typeof openTargetIn>[1]) {
    this.warehouse = store;
    this.clock = clock;
    this.pipelines = pipelines;
    this.settings = settings;
  }

  get name() {
    return this.warehouse.name;
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

  altered(): Promise<readonly string[]> {
    return this.reading((warehouse) => warehouse.altered());
  }

  sums(pipeline: Pipeline, days?: readonly Day[]): Promise<ReadonlyMap<Day, SliceSums>> {
    return this.reading((warehouse) => warehouse.sums(pipeline, days));
  }

  differing(slices: readonly LoadSlice[]): Promise<readonly DifferingRows[]> {
    return this.reading((warehouse) => warehouse.differing(slices));
  }

  rejectSums(pipeline: Pipeline): Promise<ReadonlyMap<Day, RejectSums>> {
    return this.reading((warehouse) => warehouse.rejectSums(pipeline));
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
    throw new EtlError('failed', 'no_warehouse', `there is no ${this.warehouse.place} yet`, {
      concern: { target: this.name, file: this.warehouse.place },
      hint: 'load something first: partner-etl run',
    });
  }

  async publish(publication: Publication): Promise<PublishResult> {
    const startedMs = this.clock.now();
    const { changed, isDue } = await changesFor(publication, () => this.state());
    if (!isDue) return { ...NOTHING, tookMs: this.clock.now() - startedMs, copyMs: 0 };
    const { run, afresh = false, watcher } = publication;
    const how = {
      what: `publishing ${run.run_id}`,
      afresh,
      onStep: (step: string) => watcher?.onStep(step),
    };
    try {
      const { value, copyMs } = await this.warehouse.change(how, (engine) => this.change(engine, publication, changed));
      return { ...value, copyMs, tookMs: this.clock.now() - startedMs };
    } catch (cause) {
      throw cause instanceof EtlError ? cause : this.warehouse.refusal(cause);
    }
  }

  async erase(erasure: Erasure): Promise<number> {
    if (!(await this.warehouse.exists())) return 0;
    const erasing = (engine: Engine) => eraseRows(engine, erasure, { jsonType: 'JSON', facts: 'main' });
    if (erasure.isDryRun) return this.warehouse.read(erasing);
    const { value } = await this.warehouse.change({ what: 'erasing', isTraceless: true }, async (engine) => {
      return { value: await this.warehouse.transaction(engine, () => erasing(engine)), isWritten: true };
    });
    return value;
  }

  oldSnapshots(): Promise<number | null> {
    return this.warehouse.oldSnapshots();
  }

  tidy(): Promise<void> {
    return this.warehouse.tidy();
  }

  async check(): Promise<string> {
    await this.warehouse.check();
    await this.lacking();
    return version();
  }

  close(): Promise<void> {
    return this.warehouse.close();
  }

  private async change(
    engine: Engine,
    publication: Publication,
    slices: readonly LoadSlice[],
  ): Promise<Changed<Changes>> {
    await checkFiles(engine, slices);
    const isMigrated = await this.migrate(engine, publication.afresh ?? false);
    const db = duckdbBookkeeping(engine.connection);
    // Somebody else may have published while this one waited for the lock.
    const { afresh = false, watcher } = publication;
    const before = afresh ? new Map() : await currentReceipts(db);
    const changed = await changedSlices({ slices, afresh }, async () => before);
    const isDue = changed.length > 0 || isAlways(publication) || isMigrated;
    if (!isDue && !(await settingsDiffer(db, this.settings))) return { value: NOTHING, isWritten: false };
    if (!afresh) await demandOwn(db, this.settings, this.name);
    await confine(engine, [...rowFiles(slices), ...rejectFiles(slices)]); // for the sake of checks, which anybody may write
    const checks = duckdbChecks(engine, this.clock, this.name);
    await proveChecks(checks, publication.checks ?? []);
    const at = isoTime(this.clock.now());
    const loaded = await this.warehouse.transaction(engine, async () => {
      watcher?.onStep('loading');
      for (const statement of afresh ? emptying(this.pipelines, at) : []) await engine.run(statement);
      const loading = await loadingAt(engine, at);
      const rows = await spanning(publication.tracer ?? noTracer, 'load', { slices: changed.length }, () =>
        loadAll(loadsOf(changed, watcher), (load) => loadPipeline(engine, load, loading)),
      );
      await recordPublication(db, publication, changed, at);
      watcher?.onStep('running the checks');
      const checked = await checkLoaded(checks, publication, changed, before);
      await recordSettings(db, this.settings, at);
      for (const statement of recordingOf(checked, changed, at)) await engine.run(statement);
      return { rows, warnings: checked.warnings };
    });
    return { value: { slices: changed.length, ...loaded }, isWritten: true };
  }

  private migrate(engine: Engine, afresh: boolean): Promise<boolean> {
    const { clock, pipelines, name: target } = this;
    return migrateDuckdb(engine, { pipelines, clock, afresh, target });
  }
}
