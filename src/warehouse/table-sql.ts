/** SQL over the rows of a pipeline's table, alike in both engines. */
import { ACCOUNT } from '../core/account.ts';
import type { Day } from '../core/days.ts';
import { ACCOUNT_COLUMN, type Pipeline } from '../core/pipeline.ts';
import { quoteName, quoteText } from '../engine/duckdb.ts';
import { onDays } from './on-days.ts';

/** The pipeline's table with its schema. */
export function factTable(pipeline: Pipeline): string {
  return `warehouse.${quoteName(pipeline.table)}`;
}

/** A condition that is true on the rows of this account. */
export const OF_ACCOUNT = `${ACCOUNT_COLUMN} = ${quoteText(ACCOUNT)}`;

/** A condition that is true on the rows of the given slices of a pipeline. */
export function onSlices(pipeline: Pipeline, days: readonly Day[]): string {
  return `${OF_ACCOUNT} AND ${onDays(pipeline.day, days)}`;
}

/** SQL for a row's key as people read it: `order_id 12, order_item_id 3`; `null` for a part of it that is not there. */
export function keyText(key: readonly string[]): string {
  const texts = key.map(
    (column) => `${quoteText(`${column} `)} || coalesce(CAST(${quoteName(column)} AS VARCHAR), 'null')`,
  );
  return texts.join(` || ', ' || `);
}

/**
 * A condition that is true where two relations have the same values in these columns, nulls being equal. Columns that are never
 * null are compared by `=`, because Postgres finds rows by nothing else.
 */
export function sameIn(pipeline: Pipeline, columns: readonly string[], one: string, other: string): string {
  const required = new Set(pipeline.columns.filter((c) => c.required).map((c) => c.column));
  return columns
    .map((column) => {
      const name = quoteName(column);
      return `${one}.${name} ${required.has(column) ? '=' : 'IS NOT DISTINCT FROM'} ${other}.${name}`;
    })
    .join(' AND ');
}
