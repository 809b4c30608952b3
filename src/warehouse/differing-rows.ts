/**
 * What of some slices' rows differs between a target and the lake: sums may be right while the rows are not, as when two orders have
 * swapped their commissions. An engine leaves the rows that only one side has in two temporary tables, as often as they are too many
 * there; the SQL over these is the same in both.
 */
import type { Day } from '../core/days.ts';
import { type Pipeline, storedColumns } from '../core/pipeline.ts';
import { quoteName, quoteText } from '../engine/duckdb.ts';
import { keyText, sameIn } from './table-sql.ts';

/** Rows of one day that differ, and one of them: `order_id 12, order_item_id 3 in commission`. */
export interface DifferingRows {
  readonly day: Day;
  readonly rows: number;
  readonly example: string;
}

/** Temporary tables with all stored columns. */
export const IN_LAKE = 'only_in_lake';
export const IN_TARGET = 'only_in_target';

/** A key may have texts of any length in it. */
const EXAMPLE_CHARS = 300;

/** Statements that make both tables, from the rows of either side. Rows that are there twice must be there twice on both. */
export function makingDiffering(pipeline: Pipeline, lake: string, target: string): string[] {
  const names = storedNames(pipeline).join(', ');
  const one = `SELECT ${names} FROM ${lake}`;
  const other = `SELECT ${names} FROM ${target}`;
  return [
    `CREATE TEMPORARY TABLE ${IN_LAKE} AS ${one} EXCEPT ALL ${other}`,
    `CREATE TEMPORARY TABLE ${IN_TARGET} AS ${other} EXCEPT ALL ${one}`,
  ];
}

/** Days on which rows differ, as `differingRowsOf` reads them. */
export function differingDays(pipeline: Pipeline): string {
  const day = quoteName(pipeline.day);
  const names = pipeline.key ?? pipeline.sort;
  const rows = (table: string) => `(SELECT *, ${keyText(names)} AS row_name FROM ${table})`;
  const same = `lake.${day} = target.${day} AND ${sameIn(pipeline, names, 'lake', 'target')}`;
  const columns = storedColumns(pipeline).map(({ column }) => {
    const name = quoteName(column);
    return `CASE WHEN lake.${name} IS DISTINCT FROM target.${name} THEN ${quoteText(column)} END`;
  });
  const differs = `' in ' || concat_ws(', ', ${columns.join(', ')})`;
  const examples = `
    SELECT lake.${day} AS day, lake.row_name || CASE WHEN target.${day} IS NULL THEN ' is missing' ELSE ${differs} END AS example
    FROM ${rows(IN_LAKE)} AS lake LEFT JOIN ${IN_TARGET} AS target ON ${same}
    UNION ALL SELECT target.${day}, target.row_name || ' is not in the lake'
    FROM ${rows(IN_TARGET)} AS target WHERE NOT EXISTS (SELECT 1 FROM ${IN_LAKE} AS lake WHERE ${same})`;
  const sides = `SELECT ${day} AS day, 1 AS in_lake, 0 AS in_target FROM ${IN_LAKE} UNION ALL SELECT ${day}, 0, 1 FROM ${IN_TARGET}`;
  return `SELECT CAST(day AS VARCHAR) AS day, CAST(rows AS VARCHAR) AS rows, example
    FROM (SELECT day, greatest(sum(in_lake), sum(in_target)) AS rows FROM (${sides}) AS sides GROUP BY day) AS counted
    JOIN (SELECT day, left(min(example), ${EXAMPLE_CHARS}) AS example FROM (${examples}) AS examples GROUP BY day) AS named USING (day)
    ORDER BY day`;
}

export function differingRowsOf(rows: readonly Readonly<Record<string, unknown>>[]): DifferingRows[] {
  return rows.map(({ day, rows: count, example }) => ({
    day: String(day) as Day,
    rows: Number(count),
    example: String(example),
  }));
}

function storedNames(pipeline: Pipeline): string[] {
  return storedColumns(pipeline).map(({ column }) => quoteName(column));
}
