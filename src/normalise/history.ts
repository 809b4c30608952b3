/**
 * What slices held, and what they hold now → the rows of the history that this adds.
 *
 * A row has ended when its key is not there any more as it was: it says something else on its day (`changed`), lies on another day
 * (`moved`), or is in none of these slices (`gone`). A row that began at this very instant, or after it, was only read anew and leaves no
 * history. The rows of a history are known by their keys and their beginnings, so the same taken in again adds nothing.
 */
import { mkdir } from 'node:fs/promises';
import type { Day } from '../core/days.ts';
import { ENDED_BY, ENDED_ON, type Pipeline, VALID_FROM, VALID_TO } from '../core/pipeline.ts';
import type { SliceContent } from '../core/records.ts';
import { contentColumnsSql, contentOf, digestOf, hashSumsOf, NO_HASHES, rowHashSql } from '../engine/content.ts';
import { type Engine, quoteName, quoteText, readParquet } from '../engine/duckdb.ts';
import type { ChangedSlice } from './changed-slices.ts';
import { storedRows, typedRows, writeSlices } from './parquet.ts';

/** The pipeline of rows, and that of what they were. */
export interface HistoryPair {
  readonly rows: Pipeline;
  readonly history: Pipeline;
}

/** Slices that change. */
export interface Replaced {
  /** Files of what they held, and of what they hold now. */
  readonly before: readonly string[];
  readonly after: readonly string[];
  /** When the answer came, ISO 8601 UTC, and the day of that instant in the service's time zone. */
  readonly at: string;
  readonly on: Day;
  readonly fetchId: string;
  readonly outDir: string;
}

/** The slice of the history of the day on which rows end. */
export interface EndedSlice {
  readonly file: string | null;
  readonly digest: string | null;
}

const ENDED = 'ended';
const FOUND = 'found_again';
const ROWS = '"history rows"';

/**
 * The history's slice of that day with what ended now; null where nothing did. `unreadSince`: rows that ended as gone after it have been
 * read by nobody, null for all of the day. When such an item is found on another day, it moved.
 */
export async function endedRows(
  engine: Engine,
  { rows, history }: HistoryPair,
  replaced: Replaced,
  slice: EndedSlice,
  unreadSince: () => Promise<string | null>,
): Promise<ChangedSlice | null> {
  try {
    const ended = await findEnded(engine, rows, replaced);
    const { file } = slice;
    const search = async () => (file === null ? 0 : findAgain(engine, rows, replaced, file, unreadSince));
    // What adds nothing to a slice that is damaged does not wait until that is made again.
    const found = await (ended > 0 ? search() : search().catch(() => 0));
    if (ended + found === 0) return null;
    await makeRows(engine, { rows, history }, replaced, slice.file, { hasEnded: ended > 0, hasFound: found > 0 });
    return await writeSlice(engine, history, replaced, slice.digest);
  } finally {
    await engine.run(`DROP VIEW IF EXISTS ${ROWS}`);
    for (const table of [ENDED, FOUND]) await engine.run(`DROP TABLE IF EXISTS ${table}`);
  }
}

/** Table `ended`: key, beginning and reason of every row that is not there any more as it was. Returns how many. */
async function findEnded(engine: Engine, rows: Pipeline, { before, after, at }: Replaced): Promise<number> {
  if (before.length === 0) return 0;
  const key = keyOf(rows).map((name) => `was.${name}`);
  const day = quoteName(rows.day);
  const isSameDay = `now.${day} IS NOT DISTINCT FROM was.${day}`;
  const [reason, join, isAsWas] =
    after.length === 0
      ? [`'gone'`, '', 'false']
      : [
          `CASE WHEN now.${day} IS NULL THEN 'gone' WHEN ${isSameDay} THEN 'changed' ELSE 'moved' END`,
          `LEFT JOIN ${readParquet(after)} AS now ON ${sameKey(rows, 'was', 'now')}`,
          `${isSameDay} AND now.${VALID_FROM} IS NOT DISTINCT FROM was.${VALID_FROM}`,
        ];
  await engine.run(
    `CREATE OR REPLACE TEMP TABLE ${ENDED} AS SELECT ${key.join(', ')}, was.${VALID_FROM}, ${reason} AS ${ENDED_BY}
     FROM ${readParquet(before)} AS was ${join} WHERE was.${VALID_FROM} < ${instant(at)} AND NOT (${isAsWas})`,
  );
  return countOf(engine, ENDED);
}

/** Table `found_again`: rows that ended today as gone, unread, and whose items are on another day now. Returns how many. */
async function findAgain(
  engine: Engine,
  rows: Pipeline,
  { after, at }: Replaced,
  file: string,
  unreadSince: () => Promise<string | null>,
): Promise<number> {
  const gone = `(SELECT * FROM ${readParquet([file])} WHERE ${ENDED_BY} = 'gone' AND ${VALID_TO} <= ${instant(at)})`;
  if (after.length === 0 || (await countOf(engine, gone)) === 0) return 0;
  const since = await unreadSince();
  const day = quoteName(rows.day);
  await engine.run(
    `CREATE OR REPLACE TEMP TABLE ${FOUND} AS
     SELECT ${[...keyOf(rows), VALID_FROM].map((name) => `was.${name}`).join(', ')}
     FROM ${gone} AS was JOIN ${readParquet(after)} AS now ON ${sameKey(rows, 'was', 'now')}
     WHERE now.${day} <> was.${day} AND now.${VALID_FROM} = ${instant(at)} ${since === null ? '' : `AND was.${VALID_TO} > ${instant(since)}`}`,
  );
  return countOf(engine, FOUND);
}

/** The view that the slice is measured and written from: what it held, and what ended now. */
async function makeRows(
  engine: Engine,
  { rows, history }: HistoryPair,
  { before, at, on }: Replaced,
  file: string | null,
  { hasEnded, hasFound }: { hasEnded: boolean; hasFound: boolean },
): Promise<void> {
  const same = [...keyOf(rows), VALID_FROM].join(', ');
  const parts: string[] = [];
  if (hasEnded) {
    const known = file === null ? '' : `ANTI JOIN ${readParquet([file])} AS known USING (${same})`;
    parts.push(
      `SELECT was.*, ${instant(at)} AS ${VALID_TO}, ended.${ENDED_BY}, DATE ${quoteText(on)} AS ${ENDED_ON}
       FROM ${storedRows(rows, before)} AS was JOIN ${ENDED} AS ended USING (${same}) ${known}`,
    );
  }
  if (file !== null && hasFound)
    parts.push(
      `SELECT was.* REPLACE (CASE WHEN again.${VALID_FROM} IS NULL THEN was.${VALID_TO} ELSE ${instant(at)} END AS ${VALID_TO},
         CASE WHEN again.${VALID_FROM} IS NULL THEN was.${ENDED_BY} ELSE 'moved' END AS ${ENDED_BY})
       FROM ${readParquet([file])} AS was LEFT JOIN ${FOUND} AS again
         ON ${sameKey(rows, 'was', 'again')} AND was.${VALID_FROM} = again.${VALID_FROM}`,
    );
  else if (file !== null) parts.push(`SELECT * FROM ${readParquet([file])}`);
  await engine.run(
    `CREATE OR REPLACE VIEW ${ROWS} AS SELECT *, ${rowHashSql(history)} AS _hash, NULL AS _reject, false AS _duplicate, 0 AS _item
     FROM ${typedRows(history, parts)}`,
  );
}

async function writeSlice(
  engine: Engine,
  history: Pipeline,
  { at, on, fetchId, outDir }: Replaced,
  known: string | null,
): Promise<ChangedSlice | null> {
  const row = await engine.row(`SELECT ${contentColumnsSql(history)} FROM ${ROWS}`);
  const content: SliceContent = {
    ...contentOf(row),
    day: on,
    digest: digestOf(history, hashSumsOf(row, '_rows'), NO_HASHES),
    rejects: 0,
    duplicates: 0,
    version: history.version,
    fetch_id: fetchId,
    fetched_at: at,
  };
  if (content.digest === known) return null;
  await mkdir(outDir, { recursive: true });
  const files = await writeSlices(engine, { pipeline: history, outDir, fetchId: null }, ROWS, [content], false);
  return { pipeline: history, content, file: files.get(on) ?? null, rejectsFile: null };
}

/** A table of the items of a slice that are out of date: seen elsewhere since, or ended since. */
export const OUTDATED = 'item_outdated';

/**
 * Makes table `item_outdated` of the items of `file`, an answer of `at`, of which newer answers say other things; returns how many there
 * are. `others`: files of slices of other days, `since`: slices of the history from that instant on. Drop it afterwards.
 */
export async function findOutdated(
  engine: Engine,
  rows: Pipeline,
  { file, at, others, since }: { file: string; at: string; others: readonly string[]; since: readonly string[] },
): Promise<number> {
  const key = keyOf(rows).join(', ');
  const newer = [
    ...(others.length > 0 ? [`SELECT ${key} FROM ${readParquet(others)} WHERE ${VALID_FROM} > ${instant(at)}`] : []),
    ...(since.length > 0 ? [`SELECT ${key} FROM ${readParquet(since)} WHERE ${VALID_TO} > ${instant(at)}`] : []),
  ];
  if (newer.length === 0) return 0;
  await engine.run(
    `CREATE OR REPLACE TEMP TABLE ${OUTDATED} AS
     SELECT DISTINCT ${key} FROM ${readParquet([file])} SEMI JOIN (${newer.join(' UNION ALL ')}) USING (${key})`,
  );
  return countOf(engine, OUTDATED);
}

async function countOf(engine: Engine, rows: string): Promise<number> {
  return Number((await engine.row(`SELECT count(*) AS n FROM ${rows}`)).n);
}

const keyOf = ({ key }: Pipeline): string[] => (key ?? []).map(quoteName);

function sameKey(rows: Pipeline, one: string, other: string): string {
  return keyOf(rows)
    .map((name) => `${one}.${name} = ${other}.${name}`)
    .join(' AND ');
}

/** An instant, ISO 8601 UTC, as SQL. */
function instant(at: string): string {
  return `TIMESTAMPTZ ${quoteText(at)}`;
}
