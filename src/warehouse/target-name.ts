/** In whose SQL a warehouse's tables, views, checks and questions are written. */
export type SqlDialect = 'duckdb' | 'postgres';

export type TargetName = SqlDialect | 'ducklake';

/** A DuckLake is read and written by DuckDB. */
export function dialectOf(target: TargetName): SqlDialect {
  return target === 'postgres' ? 'postgres' : 'duckdb';
}
