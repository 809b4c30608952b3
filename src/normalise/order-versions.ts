/**
 * Items of some days as they are observed now, and the versions that are known → the slices of versions that become other ones.
 *
 * A version is written when an item is new, differs from its newest version, or is gone. What is known of an item is its versions
 * and nothing else, so taking the same in again changes nothing. The versions of an item lie on the days on which it was reported
 * to be; other days are looked at for items that are new on their day or gone from it, and only where ranges of keys meet.
 */
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { Day } from '../core/days.ts';
import { FETCH_COLUMN, OBSERVED_FROM, OBSERVED_ON, type Pipeline, storedColumns } from '../core/pipeline.ts';
import { rowHashSql } from '../engine/content.ts';
import { type Engine, quoteName, quoteText, readParquet } from '../engine/duckdb.ts';
import type { ChangedSlice } from './changed-slices.ts';
import {
  asVersion,
  dropRows,
  type ItemHistory,
  instant,
  type KnownVersions,
  makeRows,
  writeVersions,
} from './version-slices.ts';

export interface ObservedDays {
  /** Days whose items are all there. */
  readonly days: readonly Day[];
  /** Files of items, in the order of days. */
  readonly files: readonly string[];
  /** Files of what the lake holds of those days until now. */
  readonly before: readonly string[];
  /** When the answer came, ISO 8601 UTC. */
  readonly at: string;
}

/** When an answer came. */
export interface Sight {
  /** ISO 8601 UTC, and the day of that instant in the service's time zone. */
  readonly at: string;
  readonly on: Day;
  /** Ends of runs that took these items in, which are when somebody could read what they said. Asked for where it matters. */
  readonly runEnds: () => Promise<RunEnds>;
}

export interface ObservedItems extends ObservedDays, Sight {
  /** Names the fetch of versions that say that an item is gone. */
  readonly fetchId: string;
  readonly outDir: string;
  /** Takes an old answer as it was taken then: of other days counts what was known by `at`, and only these days are written. */
  readonly isPast?: boolean;
}

/** ISO 8601 UTC: the last end not later than an instant, and the first one after it; null where none is known of near it. */
export interface RunEnds {
  readonly before: string | null;
  readonly after: string | null;
}

const NOW = 'item_now';
const KNOWN = 'item_known';
const STRANGER = 'item_stranger';
const CHANGE = 'item_change';
/** Of an answer of the past: items that were seen on another day on the same day of sight before the run had ended, and so are not gone. */
const SOON = 'item_soon';

/** Versions that are new, as whole slices. */
export async function takeVersions(
  engine: Engine,
  history: ItemHistory,
  known: KnownVersions,
  observed: ObservedItems,
): Promise<ChangedSlice[]> {
  try {
    if (await isFirstSight(engine, history, known, observed)) {
      await mkdir(observed.outDir, { recursive: true });
      const { items, versions } = history;
      await makeRows(engine, versions, `SELECT ${asVersion(items, observed)} FROM ${readParquet(observed.files)}`);
      return await writeVersions(engine, versions, observed.days, known, observed.outDir, true);
    }
    await readNow(engine, history, observed);
    await readKnown(engine, history, known, observed, observed.isPast ? observed : null);
    await findChanges(engine, history, observed);
    const found = await engine.rows(
      `SELECT DISTINCT unnest([_day, _leaves])::VARCHAR AS day FROM ${CHANGE} WHERE _day IS NOT NULL`,
    );
    const days = found
      .flatMap(({ day }) => (day === null ? [] : [String(day) as Day]))
      .filter((day) => observed.isPast !== true || observed.days.includes(day))
      .sort();
    if (days.length === 0) return [];
    await mkdir(observed.outDir, { recursive: true });
    const isSorted = await gatherRows(engine, history, known.files(days), observed);
    return await writeVersions(engine, history.versions, days, known, observed.outDir, isSorted);
  } finally {
    await drop(engine);
  }
}

/** A table of the items observed whose newest version is later than these: of them what was observed is out of date. */
export const OUTDATED = 'item_outdated';

/** Makes table `item_outdated`; returns how many there are. Whoever called drops it. */
export async function findOutdated(
  engine: Engine,
  history: ItemHistory,
  known: KnownVersions,
  observed: ObservedDays,
): Promise<number> {
  try {
    await readNow(engine, history, observed);
    await readKnown(engine, history, known, observed, null);
    const key = keyOf(history);
    await engine.run(
      `CREATE OR REPLACE TEMP TABLE ${OUTDATED} AS
       SELECT DISTINCT ${key} FROM ${KNOWN} SEMI JOIN ${NOW} USING (${key}) WHERE _from > ${instant(observed.at)}`,
    );
    return Number((await engine.row(`SELECT count(*) AS n FROM ${OUTDATED}`)).n);
  } finally {
    await drop(engine);
  }
}

/** Whether nothing can be known of the items observed, so that each is a version as it is: it halves the cost of a first load. */
async function isFirstSight(
  engine: Engine,
  { items }: ItemHistory,
  known: KnownVersions,
  { days, files }: ObservedItems,
): Promise<boolean> {
  if (files.length === 0 || known.files(days).length > 0) return false;
  const first = quoteName(items.key?.[0] ?? '');
  const { low, high } = await engine.row(
    `SELECT min(${first}) AS low, max(${first}) AS high FROM ${readParquet(files)}`,
  );
  return low !== null && known.elsewhere(days, { min: String(low), max: String(high) }).length === 0;
}

/** Whether a day has items whose newest version of that day says something else, or of which it has none. */
export async function unfitting(
  engine: Engine,
  items: Pipeline,
  file: string | null | undefined,
  versionsFile: string | null,
): Promise<boolean> {
  if (!file) return false;
  const key = (items.key ?? []).map(quoteName).join(', ');
  const hashed = `SELECT *, ${rowHashSql(items)} AS _hash FROM ${readParquet([file])}`;
  const seen =
    versionsFile === null
      ? `SELECT * FROM (${hashed}) WHERE false`
      : `SELECT ${key}, arg_max(_hash, ${OBSERVED_FROM}) AS _hash, arg_max(is_present, ${OBSERVED_FROM}) AS _present
         FROM (SELECT *, ${rowHashSql(items)} AS _hash FROM ${readParquet([versionsFile])}) GROUP BY ${key}`;
  const present = versionsFile === null ? seen : `SELECT * FROM (${seen}) WHERE _present`;
  const { n } = await engine.row(`SELECT count(*) AS n FROM (${hashed}) ANTI JOIN (${present}) USING (${key}, _hash)`);
  return Number(n) > 0;
}

function keyOf({ items }: ItemHistory, alias = ''): string {
  return (items.key ?? []).map((column) => `${alias}${quoteName(column)}`).join(', ');
}

function sameKey({ items }: ItemHistory, one: string, other: string): string {
  return (items.key ?? []).map((column) => `${one}.${quoteName(column)} = ${other}.${quoteName(column)}`).join(' AND ');
}

/** Table `item_now`: the items observed, each with its day and the hash of what it says. */
async function readNow(engine: Engine, history: ItemHistory, { files }: ObservedDays): Promise<void> {
  const { items } = history;
  const names = (items.key ?? []).map((column) => `NULL::VARCHAR AS ${quoteName(column)}`).join(', ');
  const select = files.length
    ? `SELECT ${keyOf(history)}, ${quoteName(items.day)} AS _day, ${rowHashSql(items)} AS _hash FROM ${readParquet(files)}`
    : `SELECT ${names}, NULL::DATE AS _day, NULL::UHUGEINT AS _hash WHERE false`;
  await engine.run(`CREATE OR REPLACE TEMP TABLE ${NOW} AS ${select}`);
}

/**
 * Table `item_known`: the newest version of each item on these days, and for items that are new there or gone the newest one
 * on other days beside it; of those what was known then, where the answer is one of the past.
 */
async function readKnown(
  engine: Engine,
  history: ItemHistory,
  known: KnownVersions,
  { days, before }: ObservedDays,
  past: Sight | null,
): Promise<void> {
  const key = keyOf(history);
  const names = (history.items.key ?? []).map((column) => `${quoteName(column)} VARCHAR`).join(', ');
  await engine.run(
    `CREATE OR REPLACE TEMP TABLE ${KNOWN} (${names}, _from TIMESTAMPTZ, _on DATE, _day DATE, _present BOOLEAN, _hash UHUGEINT)`,
  );
  await engine.run(`CREATE OR REPLACE TEMP TABLE ${SOON} (${names})`);
  const files = known.files(days);
  if (files.length > 0) await engine.run(newest(history, `SELECT * FROM ${readParquet(files)}`));
  // An item that comes back to a day has a version there, and a newer one where it was in between.
  const fresh = before.length ? `ANTI JOIN ${readParquet(before)} USING (${key})` : '';
  const makeStrangers = (but: string) =>
    engine.run(
      `CREATE OR REPLACE TEMP TABLE ${STRANGER} AS
       SELECT ${key} FROM ${NOW} ${but}
       UNION ALL SELECT ${key} FROM ${NOW} ANTI JOIN ${KNOWN} USING (${key})
       UNION ALL SELECT ${key} FROM ${KNOWN} ANTI JOIN ${NOW} USING (${key}) WHERE _present`,
    );
  // A slice that is damaged is replaced by this very commit; with every item a stranger, more files are looked into.
  await (fresh === '' ? makeStrangers('') : makeStrangers(fresh).catch(() => makeStrangers('')));
  const first = quoteName(history.items.key?.[0] ?? '');
  const { low, high } = await engine.row(`SELECT min(${first}) AS low, max(${first}) AS high FROM ${STRANGER}`);
  const others = low === null ? [] : known.elsewhere(days, { min: String(low), max: String(high) });
  if (others.length === 0) return;
  const among = `SEMI JOIN ${STRANGER} USING (${key})`;
  // Keys first, and the rest only of the files that have them: most have none.
  const found = await engine.rows(`SELECT DISTINCT filename FROM ${readParquet(others, ['filename = true'])} ${among}`);
  const having = found.map(({ filename }) => String(filename));
  if (having.length === 0) return;
  const rows = `SELECT * FROM ${readParquet(having)} ${among}`;
  if (past === null) return void (await engine.run(newest(history, rows)));
  const { at, on } = past;
  await engine.run(newest(history, `SELECT * FROM (${rows}) WHERE ${OBSERVED_FROM} <= ${instant(at)}`));
  const { after } = await past.runEnds();
  const untilThen = after === null ? '' : `AND ${OBSERVED_FROM} < ${instant(after)}`;
  await engine.run(
    `INSERT INTO ${SOON} SELECT ${key} FROM (${rows})
     WHERE is_present AND ${OBSERVED_ON} = DATE ${quoteText(on)} AND ${OBSERVED_FROM} > ${instant(at)} ${untilThen}`,
  );
}

/** Adds the newest version of each item among `rows` to table `item_known`. */
function newest(history: ItemHistory, rows: string): string {
  const last = (what: string) => `arg_max(${what}, ${OBSERVED_FROM})`;
  return `INSERT INTO ${KNOWN} SELECT ${keyOf(history)}, max(${OBSERVED_FROM}), ${last(OBSERVED_ON)}, ${last(quoteName(history.items.day))},
      ${last('is_present')}, ${last('_hash')}
    FROM (SELECT *, ${rowHashSql(history.items)} AS _hash FROM (${rows})) GROUP BY ${keyOf(history)}`;
}

/**
 * Table `item_change`: items that get a version. `_leaves` and `_drops` are set where the newest version goes for it: one of the same
 * instant, which read the same answer in another way; and one that said "gone" on the same day of sight, when the item is on
 * another day now and no run has ended in between, since the answers of one night come one after the other. Once a run has ended,
 * somebody may have read that the item is gone.
 *
 * What was observed before the newest version of an item says nothing new of it.
 */
async function findChanges(
  engine: Engine,
  history: ItemHistory,
  { days, at, on, runEnds }: ObservedItems,
): Promise<void> {
  const list = days.map((day) => `DATE ${quoteText(day)}`).join(', ');
  const last = (what: string) => `arg_max(${what}, _from) AS ${what}`;
  const isGoneToday = `NOT _present AND _on = DATE ${quoteText(on)}`;
  const { n } = await engine.row(`SELECT count(*) AS n FROM ${KNOWN} WHERE ${isGoneToday}`);
  const before = Number(n) === 0 ? null : (await runEnds()).before;
  const isUnread = before === null ? '' : `AND k._from > ${instant(before)}`;
  const goes = `k._from = ${instant(at)} OR (NOT k._present AND k._on = DATE ${quoteText(on)} AND k._day <> n._day ${isUnread})`;
  await engine.run(
    `CREATE OR REPLACE TEMP TABLE ${CHANGE} AS
     WITH latest AS (
       SELECT ${keyOf(history)}, max(_from) AS _from, ${['_on', '_day', '_present', '_hash'].map(last).join(', ')}
       FROM ${KNOWN} GROUP BY ${keyOf(history)})
     SELECT ${keyOf(history, 'n.')}, true AS _present, n._day,
       CASE WHEN ${goes} THEN k._day END AS _leaves, CASE WHEN ${goes} THEN k._from END AS _drops
     FROM ${NOW} AS n LEFT JOIN latest AS k ON ${sameKey(history, 'n', 'k')}
     WHERE k._from IS NULL OR (k._from <= ${instant(at)} AND (NOT k._present OR k._hash <> n._hash))
     UNION ALL
     SELECT ${keyOf(history, 'k.')}, false, k._day, NULL, CASE WHEN k._from = ${instant(at)} THEN k._from END
     FROM latest AS k ANTI JOIN ${NOW} AS n ON ${sameKey(history, 'n', 'k')} ANTI JOIN ${SOON} AS s ON ${sameKey(history, 's', 'k')}
     WHERE k._present AND k._day IN (${list}) AND k._from <= ${instant(at)}`,
  );
}

/** Makes the rows of the slices that change: what they held, and what is new. Returns whether they stand in the files' order. */
async function gatherRows(
  engine: Engine,
  history: ItemHistory,
  keptFiles: readonly string[],
  observed: ObservedItems,
): Promise<boolean> {
  const { items, versions } = history;
  const { same, gone, lines } = await engine.row(
    `SELECT count(*) FILTER (_present) AS same, count(*) FILTER (NOT _present) AS gone, (SELECT count(*) FROM ${NOW}) AS lines FROM ${CHANGE}`,
  );
  const rows = `SELECT ${asVersion(items, observed)} FROM ${readParquet(observed.files)}`;
  if (keptFiles.length === 0 && gone === 0n && same === lines) {
    // The first load of these days: the files as they are, in their order, and nothing in between.
    await makeRows(engine, versions, rows);
    return true;
  }
  const parts: string[] = [];
  if (keptFiles.length > 0)
    parts.push(
      `SELECT v.* FROM ${readParquet(keptFiles)} AS v ANTI JOIN ${CHANGE} AS c
         ON ${sameKey(history, 'v', 'c')} AND v.${OBSERVED_FROM} = c._drops`,
    );
  const changed = `(SELECT ${keyOf(history)} FROM ${CHANGE} WHERE _present)`;
  if (observed.files.length > 0) parts.push(`${rows} SEMI JOIN ${changed} USING (${keyOf(history)})`);
  parts.push(
    `SELECT ${keyOf(history)}, _day AS ${quoteName(items.day)}, DATE ${quoteText(observed.on)} AS ${OBSERVED_ON},
       ${instant(observed.at)} AS ${OBSERVED_FROM}, false AS is_present, ${quoteText(observed.fetchId)} AS ${FETCH_COLUMN}
     FROM ${CHANGE} WHERE NOT _present`,
  );
  const columns = storedColumns(versions).map(({ column }) => quoteName(column));
  const file = path.join(observed.outDir, 'item-versions.parquet');
  await engine.run(
    `COPY (SELECT ${columns.join(', ')} FROM (${parts.join(' UNION ALL BY NAME ')}))
     TO ${quoteText(file)} (FORMAT parquet, COMPRESSION lz4, ROW_GROUP_SIZE 40000)`,
  );
  await makeRows(engine, versions, `SELECT * FROM ${readParquet([file])}`);
  return false;
}

async function drop(engine: Engine): Promise<void> {
  await dropRows(engine);
  for (const table of [NOW, KNOWN, SOON, STRANGER, CHANGE]) await engine.run(`DROP TABLE IF EXISTS ${table}`);
}
