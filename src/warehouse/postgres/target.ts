/** The Postgres warehouse as a target: everything that a run makes visible is one transaction. */
import path from 'node:path';
import { type Clock, isoTime } from '../../core/clock.ts';
import type { Day } from '../../core/days.ts';
import { EtlError } from '../../core/errors.ts';
import type { Pipeline } from '../../core/pipeline.ts';
import { noTracer, spanning } from '../../core/tracer.ts';
import { Engine, quoteName } from '../../engine/duckdb.ts';
import { type EngineSize, engineSize, warehouseSize } from '../../engine/size.ts';
import { type Bookkeeping, currentReceipts, hasBookkeeping, recordPublication } from '../bookkeeping.ts';
import { changedSlices, changesFor, isAlways } from '../changes.ts';
import { checkLoaded, proveChecks, runChecks } from '../checks/checking.ts';
import type { BrokenCheck, Check } from '../checks/checks.ts';
import { recordingOf } from '../checks/drift.ts';
import type { DifferingRows } from '../differing-rows.ts';
import { type Erasure, eraseRows } from '../erasing.ts';
import { alteredWords, lackingIn, readSchema, type Schema } from '../schema/schema.ts';
import { demandOwn, NO_SETTINGS, recordSettings, settingsDiffer, type WarehouseSettings } from '../settings.ts';
import { checkFiles } from '../slice-files.ts';
import { daySums, daySumsOf, emptying, loadAll, loadsOf, rejectSums, rejectSumsOf, rejectsIn } from '../slice-sql.ts';
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
import { NO_STATE, stateOf } from '../target-state.ts';
import { postgresBookkeeping } from './bookkeeping.ts';
import { checkServer } from './check.ts';
import { postgresChecks, withoutWriting } from './check-engine.ts';
import { differingRows } from './differing-rows.ts';
import { loadPipeline } from './load.ts';
import { takeLock } from './lock.ts';
import { migratePostgres, replaceDiffering } from './migrate.ts';
import { nameSlice, refusesRow } from './post-mortem.ts';
import { runQuery, runStream } from './query.ts';
import { type Client, Sessions } from './sessions.ts';

export interface PostgresTargetOptions {
  readonly url: string;
  /** Where the reader of the lake's files may spill. */
  readonly workDir: string;
  /** What DuckDB may use of the machine, of which a warehouse takes its part; absent: as the machine has it. */
  readonly engine?: EngineSize;
  readonly clock: Clock;
  /** All pipelines whose tables the warehouse has. */
  readonly pipelines: readonly Pipeline[];
  /** What views need to know; absent: nothing. */
  readonly settings?: WarehouseSettings;
}

type Loaded = Pick<PublishResult, 'slices' | 'rows' | 'warnings'>;

const NOTHING: Loaded = { slices: 0, rows: 0, warnings: [] };

/** A COPY of 100 million rows ends within this; what takes longer hangs. */
const LOAD_TIMEOUT_MS = 3_600_000;
const READ_TIMEOUT_MS = 600_000;

let opened = 0;

/** Nothing is connected before it is used. */
export function openPostgresTarget(options: PostgresTargetOptions): Target {
  return new PostgresTarget(options);
}

class PostgresTarget implements Target {
  readonly name = 'postgres';
  readonly dialect = 'postgres';
  private readonly sessions: Sessions;
  private readonly workDir: string;
  private readonly engine: EngineSize;
  private readonly clock: Clock;
  private readonly pipelines: readonly Pipeline[];
  private readonly settings: WarehouseSettings;

  constructor(options: PostgresTargetOptions) {
    const { url, workDir, engine = engineSize(), clock, pipelines, settings = NO_SETTINGS } = options;
    this.sessions = new Sessions(url);
    this.workDir = workDir;
    this.engine = warehouseSize(engine);
    this.clock = clock;
    this.pipelines = pipelines;
    this.settings = settings;
  }

  /** Each question is a transaction of its own: a long one would keep the server from cleaning up behind it. */
  reading<T>(work: (warehouse: Reading) => Promise<T>): Promise<T> {
    return work(this);
  }

  async exists(): Promise<boolean> {
    return this.answer(false, async () => true);
  }

  async receipts(): Promise<Receipts> {
    return this.answer<Receipts>(new Map(), (_, db) => currentReceipts(db));
  }

  async state(): Promise<TargetState> {
    return this.answer(NO_STATE, async (_, db) => {
      const schema = await this.schema();
      return stateOf(db, await lackingIn(db, schema), () => alteredWords(db, schema), this.settings);
    });
  }

  async lacking(): Promise<readonly string[]> {
    return this.answer<readonly string[]>([], async (_, db) => lackingIn(db, await this.schema()));
  }

  async altered(): Promise<readonly string[]> {
    return this.answer<readonly string[]>([], async (_, db) => alteredWords(db, await this.schema()));
  }

  async sums(pipeline: Pipeline, days?: readonly Day[]): Promise<ReadonlyMap<Day, SliceSums>> {
    return this.answer(new Map(), async (client) => daySumsOf((await client.query(daySums(pipeline, days))).rows));
  }

  async rejectSums(pipeline: Pipeline): Promise<ReadonlyMap<Day, RejectSums>> {
    const sql = rejectSums('postgres', rejectsIn(pipeline));
    return this.answer(new Map(), async (client) => rejectSumsOf((await client.query(sql)).rows));
  }

  async differing(slices: readonly LoadSlice[]): Promise<readonly DifferingRows[]> {
    if (!(await this.exists())) return [];
    const writing = { readOnly: false, statementTimeoutMs: LOAD_TIMEOUT_MS }; // temporary tables, which are rolled back
    return this.withEngine((engine, dir) =>
      this.sessions.transaction(writing, async (client) => {
        const found: DifferingRows[] = [];
        for (const load of loadsOf(slices)) found.push(...(await differingRows({ client, engine }, dir, load)));
        return found;
      }),
    );
  }

  async query(sql: string, limit: number): Promise<QueryResult> {
    return runQuery(this.sessions, sql, limit);
  }

  stream(sql: string, limit: number | null, read: ReadAnswer): Promise<boolean> {
    return runStream(this.sessions, sql, limit, read);
  }

  async publish(publication: Publication): Promise<PublishResult> {
    const startedMs = this.clock.now();
    const { changed, isDue } = await changesFor(publication, () => this.state());
    const done = isDue ? await this.replace(publication, changed) : NOTHING;
    return { ...done, tookMs: this.clock.now() - startedMs, copyMs: 0 };
  }

  /** The server's own matter: it checks its pages where they are read, if it was set up to. */
  async proveWhole(): Promise<void> {}

  async broken(checks: readonly Check[]): Promise<readonly BrokenCheck[]> {
    return this.answer<readonly BrokenCheck[]>([], (client) => runChecks(postgresChecks(client), checks, null));
  }

  async erase(erasure: Erasure): Promise<number> {
    const isDry = erasure.isDryRun;
    const work = async (client: Client) => {
      if (!isDry) await takeLock(client, this.clock);
      if (!(await hasBookkeeping(postgresBookkeeping(client)))) return 0;
      const engine = {
        rows: async (sql: string) => (await client.query(sql)).rows,
        run: async (sql: string) => (await client.query(sql)).rowCount ?? 0,
      };
      return eraseRows(engine, erasure, { jsonType: 'jsonb', facts: 'warehouse' });
    };
    const erased = await this.sessions.transaction({ readOnly: isDry, statementTimeoutMs: LOAD_TIMEOUT_MS }, work);
    // Also when nothing was found: what a load has replaced before may still lie in dead rows, and in statistics.
    if (!isDry) await this.vacuum(erasure);
    return erased;
  }

  async oldSnapshots(): Promise<null> {
    return null;
  }

  async tidy(): Promise<void> {}

  async check(): Promise<string> {
    return checkServer(this.sessions, await this.schema());
  }

  async close(): Promise<void> {
    await this.sessions.close();
  }

  private schema(): Promise<Schema> {
    return readSchema('postgres', this.pipelines);
  }

  private async vacuum({ tables }: Erasure): Promise<void> {
    const names = tables.map(({ schema, name }) => `${schema}.${quoteName(name)}`);
    const there = await this.answer<string[]>([], async (client) => {
      const found = await client.query<{ name: string }>(
        'SELECT name FROM unnest($1::text[]) AS name WHERE to_regclass(name) IS NOT NULL',
        [names],
      );
      return found.rows.map(({ name }) => name);
    });
    for (const name of there) await this.sessions.alone(`VACUUM (ANALYZE) ${name}`, LOAD_TIMEOUT_MS);
  }

  /** What `work` reads from the warehouse, or `absent` where it has no tables yet. */
  private async answer<T>(absent: T, work: (client: Client, db: Bookkeeping) => Promise<T>): Promise<T> {
    return this.sessions.transaction({ readOnly: true, statementTimeoutMs: READ_TIMEOUT_MS }, async (client) => {
      const db = postgresBookkeeping(client);
      return (await hasBookkeeping(db)) ? work(client, db) : absent;
    });
  }

  private replace(publication: Publication, slices: readonly LoadSlice[]): Promise<Loaded> {
    return this.withEngine(async (engine, dir) => {
      await checkFiles(engine, slices);
      await migratePostgres(this.sessions, this.pipelines, this.clock, publication.afresh ? 'leave' : 'refuse');
      return this.load(engine, dir, publication, slices);
    });
  }

  /** `dir`: where files may lie meanwhile. */
  private async withEngine<T>(work: (engine: Engine, dir: string) => Promise<T>): Promise<T> {
    opened += 1;
    const dir = path.join(this.workDir, `postgres-${process.pid}-${opened}`);
    const engine = await Engine.open({ tempDir: dir, ...this.engine });
    try {
      return await work(engine, dir);
    } finally {
      engine.close();
    }
  }

  private async load(
    engine: Engine,
    dir: string,
    publication: Publication,
    slices: readonly LoadSlice[],
  ): Promise<Loaded> {
    const writing = { readOnly: false, statementTimeoutMs: LOAD_TIMEOUT_MS };
    try {
      return await this.sessions.transaction(writing, async (client) => {
        await takeLock(client, this.clock);
        const db = postgresBookkeeping(client);
        const { afresh = false, watcher } = publication;
        const before = afresh ? new Map() : await currentReceipts(db);
        const changed = await changedSlices({ slices, afresh }, async () => before);
        if (changed.length === 0 && !isAlways(publication) && !(await settingsDiffer(db, this.settings)))
          return NOTHING;
        if (!afresh) await demandOwn(db, this.settings, this.name);
        const checks = postgresChecks(client);
        await withoutWriting(client, () => proveChecks(checks, publication.checks ?? []));
        const at = isoTime(this.clock.now());
        if (afresh) await replaceDiffering(client, this.pipelines, at);
        for (const statement of afresh ? emptying(this.pipelines, at) : []) await client.query(statement);
        watcher?.onStep('loading');
        const rows = await spanning(publication.tracer ?? noTracer, 'load', { slices: changed.length }, () =>
          loadAll(loadsOf(changed, watcher), (load) => loadPipeline({ client, engine, at }, dir, load)),
        );
        await recordPublication(db, publication, changed, at);
        watcher?.onStep('running the checks');
        const checked = await withoutWriting(client, () => checkLoaded(checks, publication, changed, before));
        await recordSettings(db, this.settings, at);
        for (const statement of recordingOf(checked, changed, at)) await client.query(statement);
        return { slices: changed.length, rows, warnings: checked.warnings };
      });
    } catch (error) {
      if (!(error instanceof EtlError) || !refusesRow(error)) throw error;
      const named = await this.sessions.transaction(writing, (client) =>
        nameSlice(client, engine, loadsOf(slices), error),
      );
      throw named ?? error;
    }
  }
}
