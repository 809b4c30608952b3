/**
 * Rows observed by look-ups or a file → slices of versions.
 *
 * In:  the observed rows of a pipeline and of its children, what could not even become a row, and what the lake holds already.
 * Out: for each day on which something new was seen the slice's whole content: what it held plus the new rows. Nothing new, no
 *      slice. Rows of a child are kept where the row that they belong to is new.
 *
 * A reject is set aside once: while the same stands in the lake already (same reason, same raw text) it is only counted.
 */
import { mkdir } from 'node:fs/promises';
import { OBSERVED_FROM, type Pipeline } from '../core/pipeline.ts';
import type { DriftRecord } from '../core/records.ts';
import type { Engine } from '../engine/duckdb.ts';
import { type ChangedSlice, changedSlices, collectRefused, type Incoming, type Taking } from './changed-slices.ts';
import { driftOf } from './drift.ts';
import { endWithParent, findEnded, mergedSlices } from './merged.ts';
import {
  type Comparison,
  type Complete,
  compare,
  dropTables,
  readKnown,
  readObserved,
  tableNames,
} from './observed.ts';

export interface Observed extends Incoming {
  /** What the rows were, where that is kept in a table of its own. */
  readonly history: Incoming | null;
  /** Set where these are all rows that there are, so that what is not among them is gone. */
  readonly complete?: Complete;
}

export interface ObserveInput extends Taking {
  readonly parent: Observed;
  readonly children: readonly Observed[];
  /** Called with the name of the table of all rows observed, while it is there. */
  readonly onObserved?: (table: string) => Promise<void>;
}

export interface Observations extends Comparison {
  /** Slices whose content is another than the lake's. */
  readonly slices: readonly ChangedSlice[];
  readonly drift: readonly DriftRecord[];
  /** Rows observed, the new ones and those that say what was known. */
  readonly rows: number;
  /** Rejects seen, also those that stand in the lake already. */
  readonly rejects: number;
}

export async function observe(engine: Engine, input: ObserveInput): Promise<Observations> {
  const { parent, children } = input;
  const all = [parent, ...children];
  await mkdir(input.outDir, { recursive: true });
  try {
    const { pipeline } = parent.observed;
    await readObserved(engine, parent.observed, input.timeZone);
    await readKnown(engine, pipeline, parent.current.knownFiles);
    const comparison = await compare(engine, pipeline, parent.complete !== undefined);
    await findEnded(engine, pipeline, parent.complete, comparison.isEachOnce);
    await input.onObserved?.(tableNames(pipeline).observed);
    for (const child of children) {
      await readObserved(engine, child.observed, input.timeZone);
      await freshOfChild(engine, child.observed.pipeline, pipeline);
      if (child.history) await endWithParent(engine, child.observed.pipeline, pipeline);
    }
    let rejects = 0;
    const drift: DriftRecord[] = [];
    const slices: ChangedSlice[] = [];
    for (const one of all) {
      rejects += await collectRefused(engine, one, one === parent ? input : { ...input, refusedFiles: [] });
      drift.push(
        ...(await driftOf(engine, one.observed.pipeline, input.fetchId, tableNames(one.observed.pipeline).observed)),
      );
      slices.push(
        ...(one.history
          ? await mergedSlices(engine, one, one.history, input)
          : await changedSlices(engine, one, input, { at: OBSERVED_FROM })),
      );
    }
    const { rows } = await engine.row(
      `SELECT count(*) AS rows FROM ${tableNames(pipeline).observed} WHERE _reject IS NULL`,
    );
    return { ...comparison, slices, drift, rows: Number(rows), rejects };
  } finally {
    for (const { observed } of all) await dropTables(engine, observed.pipeline);
  }
}

/** Rows of a child are new where the row that they belong to is; those that belong to none are always. */
async function freshOfChild(engine: Engine, child: Pipeline, parent: Pipeline): Promise<void> {
  const [own, its] = [tableNames(child), tableNames(parent)];
  await engine.run(
    `CREATE OR REPLACE TABLE ${own.fresh} AS SELECT t._item, true AS _new FROM ${own.observed} AS t
     WHERE t._p IS NULL OR t._p::BIGINT IN (SELECT _item FROM ${its.fresh} WHERE _new)`,
  );
}
