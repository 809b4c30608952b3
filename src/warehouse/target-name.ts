/** In whose SQL a warehouse's tables, views, checks and questions are written. */
export type SqlDialect = 'duckdb' | 'postgres';

export type TargetName = SqlDialect | 'ducklake';
