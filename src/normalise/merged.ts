/**
 * What holds now, and what did before, of pipelines that are merged: one row a key.
 *
 * In:  the rows observed that say something new (`fresh`), and what the lake holds of their keys (`known`).
 * Out: the slices of what holds now, by the day on which a row began, without the rows that ended; and the slices of the history, by the day
 *      on which they did. The rows of a child begin and end with the row of its parent.
 */
import type { Day } from '../core/days.ts';
import {
  ENDED_BY,
  ENDED_ON,
  FETCH_COLUMN,
  type Pipeline,
  storedColumns,
  VALID_FROM,
  VALID_TO,
} from '../core/pipeline.ts';
import { type Engine, quoteName, quoteText, readParquet } from '../engine/duckdb.ts';
import { type ChangedSlice, changedSlices, type Incoming, type Taking, type Touched } from './changed-slices.ts';
import { type Complete, dropTables, mergeOf, sameKey, tableNames } from './observed.ts';
import { storedRows, typedRows } from './parquet.ts';

/**
 * Makes table `ended` of the rows known that hold no longer, and `passed` of the rows observed that held only until a later one of the same
 * answers, of which there is none where each key was observed once. `complete`: the rows observed are all there are, so what is not among
 * them is gone.
 */
export async function findEnded(
  engine: Engine,
  pipeline: Pipeline,
  complete: Complete | undefined,
  isEachOnce: boolean,
): Promise<void> {
  const { observed, known, fresh, ended, passed } = tableNames(pipeline);
  const merge = mergeOf(pipeline);
  const keys = merge.by.map(quoteName).join(', ');
  const isNew = `${fresh} AS f JOIN ${observed} AS t USING (_item) WHERE f._new`;
  await engine.run(
    `CREATE OR REPLACE TABLE ${passed} AS SELECT * FROM (
       SELECT _item, lead(t.${VALID_FROM}) OVER line AS ${VALID_TO}, lead(t.${FETCH_COLUMN}) OVER line AS _by FROM ${isNew}
       WINDOW line AS (PARTITION BY ${keys} ORDER BY t.${VALID_FROM}, _item)) WHERE ${VALID_TO} IS NOT NULL ${isEachOnce ? 'LIMIT 0' : ''}`,
  );
  const was = `${merge.by.map((name) => `k.${quoteName(name)}`).join(', ')}, k.${VALID_FROM}, k._day`;
  const next = `SELECT ${keys}, min(t.${VALID_FROM}) AS ${VALID_TO}, arg_min(t.${FETCH_COLUMN}, t.${VALID_FROM}) AS _by FROM ${isNew} GROUP BY ALL`;
  const gone = complete
    ? `UNION ALL SELECT ${was}, TIMESTAMPTZ ${quoteText(complete.at)}, ${quoteText(complete.fetchId)}, 'gone' FROM ${known} AS k
       ANTI JOIN (FROM ${observed} WHERE _reject IS NULL) AS t ON ${sameKey(merge, 't', 'k')}`
    : '';
  await engine.run(
    `CREATE OR REPLACE TABLE ${ended} AS SELECT ${was}, n.${VALID_TO}, n._by, 'changed' AS ${ENDED_BY}
     FROM ${known} AS k JOIN (${next}) AS n ON ${sameKey(merge, 'n', 'k')} ${gone}`,
  );
}

/** The same for rows that begin and end with those of their parent. */
export async function endWithParent(engine: Engine, child: Pipeline, parent: Pipeline): Promise<void> {
  const [own, its] = [tableNames(child), tableNames(parent)];
  await engine.run(`CREATE OR REPLACE TABLE ${own.ended} AS FROM ${its.ended}`);
  await engine.run(
    `CREATE OR REPLACE TABLE ${own.passed} AS SELECT t._item, p.${VALID_TO}, p._by
     FROM ${own.observed} AS t JOIN ${its.passed} AS p ON t._p::BIGINT = p._item`,
  );
}

/** The slices that change: those of what holds now, and those of what ended. */
export async function mergedSlices(
  engine: Engine,
  one: Incoming,
  history: Incoming,
  input: Taking,
): Promise<ChangedSlice[]> {
  const { pipeline } = one.observed;
  const { fresh, ended, passed } = tableNames(pipeline);
  const lived = await touchedDays(engine, `SELECT _day AS day, ${VALID_TO}, _by FROM ${ended}`);
  const alsoOn = [...lived.keys()].filter((day) => one.current.digest(day) !== null);
  const past = await endedSlices(engine, one, alsoOn, history, input);
  await engine.run(`UPDATE ${fresh} SET _new = false WHERE _item IN (SELECT _item FROM ${passed})`);
  const staying = `NOT EXISTS (FROM ${ended} AS e WHERE ${sameKey(mergeOf(pipeline), 'e', 'kept')} AND e.${VALID_FROM} = kept.${VALID_FROM})`;
  const now = await changedSlices(engine, one, input, { at: VALID_FROM, staying, alsoOn, touched: lived });
  return [...now, ...past];
}

/** The slices of the history with the rows that ended now. */
async function endedSlices(
  engine: Engine,
  { observed: { pipeline }, current }: Incoming,
  days: readonly Day[],
  history: Incoming,
  input: Taking,
): Promise<ChangedSlice[]> {
  const { observed, ended, passed } = tableNames(pipeline);
  const on = `timezone(${quoteText(input.timeZone)}, ${VALID_TO})::DATE`;
  const columns = storedColumns(pipeline).map(({ column }) => `t.${quoteName(column)}`);
  const files = days.flatMap((day) => current.slice(day).file ?? []);
  const selects = [
    `SELECT ${columns.join(', ')}, p.${VALID_TO}, 'changed' AS ${ENDED_BY}, ${on} AS ${ENDED_ON}
     FROM ${observed} AS t JOIN ${passed} AS p USING (_item) WHERE t._reject IS NULL`,
  ];
  if (files.length > 0)
    selects.push(
      `SELECT was.*, e.${VALID_TO}, e.${ENDED_BY}, ${on} AS ${ENDED_ON} FROM ${storedRows(pipeline, files)} AS was
       JOIN ${ended} AS e ON ${sameKey(mergeOf(pipeline), 'e', 'was')} AND e.${VALID_FROM} = was.${VALID_FROM}`,
    );
  const touched = await touchedDays(
    engine,
    `SELECT ${on} AS day, ${VALID_TO}, _by FROM (SELECT ${VALID_TO}, _by FROM ${ended} UNION ALL SELECT ${VALID_TO}, _by FROM ${passed})`,
  );
  return withRows(engine, history, selects, async (names) => {
    const key = { by: history.observed.pipeline.key ?? [] };
    const staying = `NOT EXISTS (FROM ${names.observed} AS e WHERE ${sameKey(key, 'e', 'kept')})`;
    return changedSlices(engine, history, input, { at: VALID_TO, staying, touched });
  });
}

/**
 * The slices of what held before a day as they were when it began: with the rows back that have ended since. `historyFiles`: the slices of
 * the history since that day.
 */
export async function slicesBefore(
  engine: Engine,
  one: Incoming,
  historyFiles: readonly string[],
  before: Day,
  input: Taking,
): Promise<ChangedSlice[]> {
  if (historyFiles.length === 0) return [];
  const { pipeline } = one.observed;
  const began = `${quoteName(pipeline.day)} < DATE ${quoteText(before)}`;
  const columns = storedColumns(pipeline).map(({ column }) => quoteName(column));
  const back = `SELECT ${columns.join(', ')} FROM ${readParquet(historyFiles, ['union_by_name = true'])} WHERE ${began}`;
  return withRows(engine, one, [back], () => changedSlices(engine, one, input, { at: VALID_FROM }));
}

/** Does the work while the tables of a pipeline hold these rows, all of them new; nothing where there is none. */
async function withRows(
  engine: Engine,
  { observed: { pipeline } }: Incoming,
  selects: readonly string[],
  work: (names: ReturnType<typeof tableNames>) => Promise<ChangedSlice[]>,
): Promise<ChangedSlice[]> {
  const names = tableNames(pipeline);
  try {
    await engine.run(
      `CREATE OR REPLACE TABLE ${names.observed} AS SELECT *, row_number() OVER () AS _item, NULL::VARCHAR AS _reject FROM ${typedRows(pipeline, selects)}`,
    );
    const { n } = await engine.row(`SELECT count(*) AS n FROM ${names.observed}`);
    if (Number(n) === 0) return [];
    await engine.run(`CREATE OR REPLACE TABLE ${names.fresh} AS SELECT _item, true AS _new FROM ${names.observed}`);
    await engine.run(
      `CREATE OR REPLACE TABLE ${names.refused} (fetch_id VARCHAR, _item BIGINT, slice_day DATE, reason VARCHAR, detail VARCHAR, raw VARCHAR)`,
    );
    return await work(names);
  } finally {
    await dropTables(engine, pipeline);
  }
}

/** The days that rows leave or come to, each with the newest answer that says so, and when that came. */
async function touchedDays(engine: Engine, ends: string): Promise<Map<Day, Touched>> {
  const rows = await engine.rows(
    `SELECT day::VARCHAR AS day, max(_by) AS fetch, strftime(max(${VALID_TO}), '%Y-%m-%dT%H:%M:%S.%gZ') AS at FROM (${ends}) GROUP BY day`,
  );
  return new Map(rows.map(({ day, fetch, at }) => [String(day) as Day, { fetchId: String(fetch), at: String(at) }]));
}
