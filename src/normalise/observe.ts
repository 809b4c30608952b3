/**
 * Rows told by look-ups or a file → slices of versions.
 *
 * In:  the told rows of a pipeline and of its parts, what could not even become a row, and what the lake holds already.
 * Out: for each day on which something new was seen the slice's whole content: what it held plus the new rows. Nothing new, no
 *      slice. Rows of a part are kept where the row that they belong to is new.
 *
 * A reject is set aside once: while the same stands in the lake already (same reason, same raw text) it is only counted.
 */
import { mkdir } from 'node:fs/promises';
import { OBSERVED_FROM, type Pipeline } from '../core/pipeline.ts';
import type { DriftRecord } from '../core/records.ts';
import type { Engine } from '../engine/duckdb.ts';
import { driftOf } from './drift.ts';
import { addGone, type Comparison, compare, dropTables, readKnown, readTold, tableNames, type Whole } from './told.ts';
import { type ChangedSlice, changedSlices, collectRefused, type Taking, type ToldAndHeld } from './told-slices.ts';

export interface Observed extends ToldAndHeld {
  /** Set where what is told is the whole, so that what is not told is gone. */
  readonly whole?: Whole;
}

export interface ObserveInput extends Taking {
  readonly whole: Observed;
  readonly parts: readonly Observed[];
  /** Called with the name of the table of all rows told, while it is there. */
  readonly onTold?: (table: string) => Promise<void>;
}

export interface Observations extends Comparison {
  /** Slices whose content is another than the lake's. */
  readonly slices: readonly ChangedSlice[];
  readonly drift: readonly DriftRecord[];
  /** Rows told, the new ones and those that say what was known. */
  readonly rows: number;
  /** Rejects seen, also those that stand in the lake already. */
  readonly rejects: number;
}

export async function observe(engine: Engine, input: ObserveInput): Promise<Observations> {
  const { whole, parts } = input;
  const all = [whole, ...parts];
  await mkdir(input.outDir, { recursive: true });
  try {
    const { pipeline } = whole.told;
    await readTold(engine, whole.told, input.timeZone);
    await readKnown(engine, pipeline, whole.held.knownFiles);
    if (whole.whole) await addGone(engine, pipeline, whole.whole);
    const comparison = await compare(engine, pipeline, whole.whole !== undefined);
    await input.onTold?.(tableNames(pipeline).told);
    for (const part of parts) {
      await readTold(engine, part.told, input.timeZone);
      await freshOfPart(engine, part.told.pipeline, pipeline);
    }
    let rejects = 0;
    const drift: DriftRecord[] = [];
    const slices: ChangedSlice[] = [];
    for (const one of all) {
      rejects += await collectRefused(engine, one, one === whole ? input : { ...input, refusedFiles: [] });
      drift.push(...(await driftOf(engine, one.told.pipeline, input.fetchId, tableNames(one.told.pipeline).told)));
      slices.push(...(await changedSlices(engine, one, input, { at: OBSERVED_FROM })));
    }
    const { rows } = await engine.row(
      `SELECT count(*) AS rows FROM ${tableNames(pipeline).told} WHERE _reject IS NULL`,
    );
    return { ...comparison, slices, drift, rows: Number(rows), rejects };
  } finally {
    for (const { told } of all) await dropTables(engine, told.pipeline);
  }
}

/** Rows of a part are new where the row that they belong to is; those that belong to none are always. */
async function freshOfPart(engine: Engine, part: Pipeline, whole: Pipeline): Promise<void> {
  const [own, its] = [tableNames(part), tableNames(whole)];
  await engine.run(
    `CREATE OR REPLACE TABLE ${own.fresh} AS SELECT t._item, true AS _new FROM ${own.told} AS t
     WHERE t._p IS NULL OR t._p::BIGINT IN (SELECT _item FROM ${its.fresh} WHERE _new)`,
  );
}
