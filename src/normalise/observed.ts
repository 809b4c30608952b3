/**
 * What was observed, against what was known: of the rows that look-ups and files bring, those that say something new.
 *
 * A key (`merge.by`) is known by its newest row. Rows that were observed later stand in the order of time behind it, and a row
 * is kept when it differs from the one before it. So one pass takes in a single night, several nights that a crash left
 * behind, or a whole history in a replay; and to take an answer in twice changes nothing.
 */
import type { Day } from '../core/days.ts';
import { assert } from '../core/errors.ts';
import { FETCH_COLUMN, type Merge, OBSERVED_ON, type Pipeline, VALID_FROM } from '../core/pipeline.ts';
import { rowHashSql } from '../engine/content.ts';
import { type Engine, quoteFile, quoteName, quoteText, readParquet } from '../engine/duckdb.ts';
import { typedRows } from './parquet.ts';
import { lineColumns, typedSelect } from './typing.ts';

/** Rows as they were observed, every value as text under the names of the declaration's fields. */
export interface ObservedRows {
  readonly pipeline: Pipeline;
  /** A FROM item with the columns of `lineColumns` and those of CARRIED. */
  readonly source: string;
  readonly lines: number;
  /** Whether some number may have an exponent; where nothing is said, one may. */
  readonly hasExponents?: boolean;
}

/** Besides the fields: the fetch, the place in its answer, the record as text for a reject, and for a child the item of its parent. */
export const CARRIED = ['_f', '_n', '_raw', '_p'] as const;

/** Lines in a file as such a source. */
export function linesSource(pipeline: Pipeline, file: string, longestLineBytes: number): string {
  // maximum_object_size is allocated twice by each thread, hence what is needed and no more.
  const size = Math.max(longestLineBytes + 1024, 64 * 1024);
  return `read_json(${quoteFile(file)}, format = 'newline_delimited', records = true, compression = 'uncompressed',
    maximum_object_size = ${size}, columns = ${lineColumns(pipeline, CARRIED)})`;
}

/** Plain lines, which are fields with a delimiter between them and nothing else. */
export interface PlainFile {
  readonly file: string;
  readonly delimiter: string;
  /** Fields in their order; in front of them stands the line's number. */
  readonly fields: readonly string[];
}

/** Its rows, and after them those of `others`, which has all the columns that a source has. DuckDB reads such lines in a third of the time that JSON takes. */
export function withPlainLines(others: string, { file, delimiter, fields }: PlainFile): string {
  const names = ['_i', ...fields];
  const columns = names.map((name) => `${quoteText(name)}: 'VARCHAR'`).join(', ');
  // Without quotes in it the line is its fields again.
  const raw = fields.map((field) => `coalesce(${quoteName(field)}, '')`).join(`, ${quoteText(delimiter)}, `);
  return `(SELECT ${names.map(quoteName).join(', ')}, concat(${raw}) AS _raw FROM read_csv(${quoteFile(file)}, auto_detect = false,
      header = false, delim = ${quoteText(delimiter)}, quote = '', escape = '', new_line = '\\n', columns = {${columns}})
    UNION ALL BY NAME FROM ${others})`;
}

/** The same with values that all its rows share, by field. */
export function sharing(source: string, shared: Readonly<Record<string, string>>): string {
  const values = Object.entries(shared).map(([field, value]) => `${quoteText(value)} AS ${quoteName(field)}`);
  return `(SELECT * REPLACE (${values.join(', ')}) FROM ${source})`;
}

/** Names of the tables that belong to a pipeline while its rows are taken in. */
export function tableNames({ name }: Pipeline) {
  const at = (what: string) => quoteName(`${what} ${name}`);
  const [observed, known, fresh, refused] = [at('observed'), at('known'), at('fresh'), at('refused')];
  return { observed, known, fresh, refused, rows: at('rows'), ended: at('ended'), passed: at('passed') };
}

export async function dropTables(engine: Engine, pipeline: Pipeline): Promise<void> {
  const { rows, ...tables } = tableNames(pipeline);
  await engine.run(`DROP VIEW IF EXISTS ${rows}`);
  for (const table of Object.values(tables)) await engine.run(`DROP TABLE IF EXISTS ${table}`);
}

/** Makes table `observed`: the typed rows, with `_version`, the hash of what makes a difference. */
export async function readObserved(
  engine: Engine,
  { pipeline, source, lines, hasExponents = true }: ObservedRows,
  timeZone: string,
): Promise<void> {
  const { observed } = tableNames(pipeline);
  const rows = typedSelect(pipeline, source, null, timeZone, { hasExponents }, CARRIED);
  const fetched = quoteName(FETCH_COLUMN);
  // Without a line there is nothing that DuckDB could read columns from.
  const read = await engine.run(
    `CREATE OR REPLACE TABLE ${observed} AS SELECT * EXCLUDE (_f, _raw, _hash), CASE WHEN _reject IS NOT NULL THEN _raw END AS _raw, _f AS ${fetched}, ${versionHash(pipeline)} AS _version
     FROM (${rows}) ${lines === 0 ? 'LIMIT 0' : ''}`,
  );
  const { n } = await engine.row(`SELECT count(*) AS n FROM ${observed}`);
  assert(Number(n) === lines, `${pipeline.name}: ${lines} lines were written, ${n} read (${read})`);
}

/** What tells two rows of one key apart. */
function versionHash(pipeline: Pipeline): string {
  const { by = [], ignore = [] } = pipeline.merge ?? {};
  return rowHashSql(pipeline, [OBSERVED_ON, VALID_FROM, ...by, ...ignore]);
}

/** Makes table `known`: the newest row of every key, from the lake's files; of all keys, also those not observed now. */
export async function readKnown(engine: Engine, pipeline: Pipeline, files: readonly string[]): Promise<void> {
  const { known } = tableNames(pipeline);
  const merge = mergeOf(pipeline);
  const keys = merge.by.map(quoteName).join(', ');
  const select = `${keys}, ${VALID_FROM}, ${versionHash(pipeline)} AS _version, coalesce(${merge.presentWhen}, false) AS _present`;
  if (files.length === 0) {
    await engine.run(
      `CREATE OR REPLACE TABLE ${known} AS SELECT ${select}, NULL::DATE AS _day FROM ${typedRows(pipeline, [])}`,
    );
    return;
  }
  await engine.run(
    `CREATE OR REPLACE TABLE ${known} AS SELECT ${select}, ${quoteName(pipeline.day)} AS _day FROM ${readParquet(files, ['union_by_name = true'])}`,
  );
}

/** That rows are all there are: what is not among them is gone. */
export interface Complete {
  readonly day: Day;
  /** ISO 8601. */
  readonly at: string;
  readonly fetchId: string;
}

export interface Comparison {
  /** Rows observed that say something new. */
  readonly fresh: number;
  /** Rows observed twice at the same instant, of which one is enough. */
  readonly duplicates: number;
  /** Keys observed that were there before, and how many of them still are; where the rows are all there are, all that were and all that are. */
  readonly present: number;
  readonly stillPresent: number;
  /** Whether no key was observed twice. */
  readonly isEachOnce: boolean;
}

/** Makes table `fresh`: the rows of `observed` that are newer than what is known, and whether they differ from what was known before them. */
export async function compare(engine: Engine, pipeline: Pipeline, isComplete: boolean): Promise<Comparison> {
  const { observed, known, fresh } = tableNames(pipeline);
  const merge = mergeOf(pipeline);
  const keys = merge.by.map(quoteName).join(', ');
  const newer = `FROM ${observed} AS t LEFT JOIN ${known} AS k ON ${sameKey(merge, 't', 'k')}
    WHERE t._reject IS NULL AND (k.${VALID_FROM} IS NULL OR t.${VALID_FROM} > k.${VALID_FROM})`;
  const present = `coalesce(${merge.presentWhen}, false) AS _present, k._present AS _was`;
  const { n, keys: distinct } = await engine.row(
    `SELECT count(*) AS n, count(DISTINCT hash(${keys})) AS keys FROM ${observed} WHERE _reject IS NULL`,
  );
  const isEachOnce = n === distinct;
  const rows = isEachOnce
    ? `SELECT t._item, ${present}, t._version IS DISTINCT FROM k._version AS _new, true AS _last ${newer}`
    : severalTimes(merge, `SELECT t.*, ${present}, k._version AS _known ${newer}`);
  await engine.run(`CREATE OR REPLACE TABLE ${fresh} AS ${rows}`);
  const counts = await engine.row(
    `SELECT count(*) FILTER (_new) AS fresh, count(*) AS n, count(*) FILTER (_last AND _was) AS present,
       count(*) FILTER (_last AND _was AND _present) AS still, count(*) FILTER (_last AND _present) AS are FROM ${fresh}`,
  );
  const { sound } = isEachOnce ? { sound: counts.n } : await engine.row(`SELECT count(*) AS sound ${newer}`);
  const { were } = await engine.row(`SELECT count(*) FILTER (_present) AS were FROM ${known}`);
  return {
    fresh: Number(counts.fresh),
    duplicates: Number(sound) - Number(counts.n),
    present: Number(isComplete ? were : counts.present),
    stillPresent: Number(isComplete ? counts.are : counts.still),
    isEachOnce,
  };
}

/** Where a key is observed more than once, each row is compared with the one before it. Of two of one instant the last counts. */
function severalTimes({ by }: Merge, later: string): string {
  const keys = by.map(quoteName).join(', ');
  return `SELECT _item, _present, _was, _version IS DISTINCT FROM coalesce(lag(_version) OVER line, _known) AS _new,
      lead(_item) OVER line IS NULL AS _last
    FROM (FROM (${later}) QUALIFY row_number() OVER (PARTITION BY ${keys}, ${VALID_FROM} ORDER BY _item DESC) = 1)
    WINDOW line AS (PARTITION BY ${keys} ORDER BY ${VALID_FROM}, _item)`;
}

/** Whether two relations' rows have the same key; nulls are equal. */
export function sameKey({ by }: Pick<Merge, 'by'>, a: string, b: string): string {
  return by
    .map(quoteName)
    .map((column) => `${a}.${column} IS NOT DISTINCT FROM ${b}.${column}`)
    .join(' AND ');
}

export function mergeOf({ name, merge }: Pipeline): Merge {
  assert(merge, `the rows of ${name} are not merged`);
  return merge;
}
