export type TargetName = 'duckdb' | 'postgres';
