/** What a DuckDB warehouse says of itself, asked of one opening. */
import type { Clock } from '../../core/clock.ts';
import type { Day } from '../../core/days.ts';
import type { Pipeline } from '../../core/pipeline.ts';
import type { Engine } from '../../engine/duckdb.ts';
import { type Bookkeeping, currentReceipts, hasBookkeeping } from '../bookkeeping.ts';
import { runChecks } from '../checks/checking.ts';
import type { BrokenCheck, Check } from '../checks/checks.ts';
import type { DifferingRows } from '../differing-rows.ts';
import { alteredWords, lackingIn, readSchema, type Schema } from '../schema/schema.ts';
import type { WarehouseSettings } from '../settings.ts';
import { daySums, daySumsOf, loadsOf, rejectSums, rejectSumsOf, rejectsIn } from '../slice-sql.ts';
import type { LoadSlice, Reading, Receipts, RejectSums, SliceSums, TargetState } from '../target.ts';
import { NO_STATE, stateOf } from '../target-state.ts';
import { duckdbChecks } from './check-engine.ts';
import { confine } from './confine.ts';
import { duckdbBookkeeping } from './dialect.ts';
import { differingRows } from './differing-rows.ts';
import { proving } from './prove.ts';
import type { DuckdbStore } from './store.ts';

export interface DuckdbReadingOptions {
  readonly warehouse: DuckdbStore;
  /** What is open; null where there is none yet. */
  readonly engine: Engine | null;
  readonly clock: Clock;
  /** All pipelines whose tables the warehouse has. */
  readonly pipelines: readonly Pipeline[];
  readonly settings: WarehouseSettings;
}

export class DuckdbReading implements Reading {
  private readonly options: DuckdbReadingOptions;

  constructor(options: DuckdbReadingOptions) {
    this.options = options;
  }

  exists(): Promise<boolean> {
    return this.ask(false, (_, db) => hasBookkeeping(db));
  }

  receipts(): Promise<Receipts> {
    return this.ask<Receipts>(new Map(), (_, db) => currentReceipts(db));
  }

  state(): Promise<TargetState> {
    return this.ask(NO_STATE, async (_, db) =>
      stateOf(
        db,
        await lackingIn(db, await this.schema()),
        async () => alteredWords(db, await this.schema()),
        this.options.settings,
      ),
    );
  }

  lacking(): Promise<readonly string[]> {
    return this.ask<readonly string[]>([], async (_, db) => lackingIn(db, await this.schema()));
  }

  altered(): Promise<readonly string[]> {
    return this.ask<readonly string[]>([], async (_, db) => alteredWords(db, await this.schema()));
  }

  sums(pipeline: Pipeline, days?: readonly Day[]): Promise<ReadonlyMap<Day, SliceSums>> {
    return this.ask(new Map(), async (engine) => daySumsOf(await engine.rows(daySums(pipeline, days))));
  }

  differing(slices: readonly LoadSlice[]): Promise<readonly DifferingRows[]> {
    return this.ask<readonly DifferingRows[]>([], async (engine) => {
      const found: DifferingRows[] = [];
      for (const load of loadsOf(slices)) found.push(...(await differingRows(engine, load)));
      return found;
    });
  }

  rejectSums(pipeline: Pipeline): Promise<ReadonlyMap<Day, RejectSums>> {
    return this.ask(new Map(), async (engine) =>
      rejectSumsOf(await engine.rows(rejectSums('duckdb', rejectsIn(pipeline)))),
    );
  }

  broken(checks: readonly Check[]): Promise<readonly BrokenCheck[]> {
    return this.ask<readonly BrokenCheck[]>([], async (engine) => {
      await confine(engine);
      return runChecks(duckdbChecks(engine, this.options.clock, this.options.warehouse.name), checks, null);
    });
  }

  proveWhole(): Promise<void> {
    return this.ask(undefined, (engine) => this.options.warehouse.prove(engine));
  }

  private schema(): Promise<Schema> {
    return readSchema('duckdb', this.options.pipelines);
  }

  /** `absent`: what a warehouse that does not exist yet says. */
  private async ask<T>(absent: T, work: (engine: Engine, db: Bookkeeping) => Promise<T>): Promise<T> {
    const { engine, warehouse } = this.options;
    if (engine === null) return absent;
    return proving(warehouse, engine, () => work(engine, duckdbBookkeeping(engine.connection)));
  }
}
