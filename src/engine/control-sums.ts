/**
 * Control sums as SQL text, one spelling for every hop: lines read by normalise, Parquet files of the lake, both warehouses.
 *
 * The text is the same in DuckDB and Postgres, and so is what it yields: `sum` of DECIMAL(18,6) or numeric(18,6) prints with
 * six decimals, `sum` of BIGINT as a whole number beyond 64 bits, and a column without any value as null.
 */
import { type ColumnKind, isSummed } from '../core/columns.ts';
import type { ControlSums } from '../core/records.ts';
import { quoteName } from './duckdb.ts';

/** Sums leave a statement under the column's name behind this, so that they are distinguished from whatever else it selects. */
const PREFIX = 'sum_';

export interface SumExpression {
  readonly column: string;
  /** An item of a select list, alias included; inside GROUP BY it is the group's sum. */
  readonly sql: string;
}

/** One select item for every column that is summed, in the order of `columns`. */
export function sumExpressions(
  columns: readonly { readonly column: string; readonly kind: ColumnKind }[],
): SumExpression[] {
  return columns
    .filter(({ kind }) => isSummed(kind))
    .map(({ column }) => ({
      column,
      sql: `CAST(sum(${quoteName(column)}) AS VARCHAR) AS ${quoteName(PREFIX + column)}`,
    }));
}

/** The control sums in a row of a statement made with `sumExpressions`; its other columns are passed over. */
export function sumsOf(row: Readonly<Record<string, unknown>>): ControlSums {
  const sums: Record<string, string | null> = {};
  for (const [name, value] of Object.entries(row))
    if (name.startsWith(PREFIX)) sums[name.slice(PREFIX.length)] = value === null ? null : String(value);
  return sums;
}

/** The columns whose sums differ, or that only one of the two has; empty when both say the same. */
export function differingSums(a: ControlSums, b: ControlSums): string[] {
  const columns = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...columns].filter((column) => a[column] !== b[column]);
}
