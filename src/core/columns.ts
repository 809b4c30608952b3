/** How a declared column is called and typed; the rules behind the types are DESIGN.md §9. */

/**
 * | kind       | holds                                             | DuckDB / Parquet   | Postgres           |
 * | text       | text as it is                                     | VARCHAR            | text               |
 * | day        | yyyy-MM-dd, or the day part of a timestamp        | DATE               | date               |
 * | money      | an exact amount                                   | DECIMAL(18,6)      | numeric(18,6)      |
 * | percentage | an exact percentage                               | DECIMAL(18,6)      | numeric(18,6)      |
 * | ratio      | a ratio that the service derives; never summed    | DOUBLE             | double precision   |
 * | count      | a whole number                                    | BIGINT             | bigint             |
 * | boolean    | true or false                                     | BOOLEAN            | boolean            |
 * | local-time | the service's clock on the wall                   | TIMESTAMP          | timestamp          |
 * | utc-time   | an instant                                        | TIMESTAMPTZ        | timestamptz        |
 * | json       | unknown fields, numbers with every digit          | VARCHAR (JSON)     | jsonb              |
 */
export type ColumnKind =
  | 'text'
  | 'day'
  | 'money'
  | 'percentage'
  | 'ratio'
  | 'count'
  | 'boolean'
  | 'local-time'
  | 'utc-time'
  | 'json';

export const DUCKDB_TYPE: Readonly<Record<ColumnKind, string>> = {
  text: 'VARCHAR',
  day: 'DATE',
  money: 'DECIMAL(18,6)',
  percentage: 'DECIMAL(18,6)',
  ratio: 'DOUBLE',
  count: 'BIGINT',
  boolean: 'BOOLEAN',
  'local-time': 'TIMESTAMP',
  'utc-time': 'TIMESTAMP WITH TIME ZONE',
  json: 'JSON',
};

export const POSTGRES_TYPE: Readonly<Record<ColumnKind, string>> = {
  text: 'text',
  day: 'date',
  money: 'numeric(18,6)',
  percentage: 'numeric(18,6)',
  ratio: 'double precision',
  count: 'bigint',
  boolean: 'boolean',
  'local-time': 'timestamp without time zone',
  'utc-time': 'timestamp with time zone',
  json: 'jsonb',
};

/** `priceExclVat` → `price_excl_vat`. */
export function snakeCase(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Columns whose exact sum is a control sum of a slice. Ratios are never summed. */
export function isSummed(kind: ColumnKind): boolean {
  return kind === 'money' || kind === 'percentage' || kind === 'count';
}
