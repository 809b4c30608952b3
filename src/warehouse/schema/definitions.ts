/**
 * What views, functions and indexes are, as the engine itself spells them out: noted when they are made, and compared later, so that it
 * is seen when somebody has dropped one or put another in its place.
 */
import { createHash } from 'node:crypto';
import { type RawBuilder, sql } from 'kysely';
import type { Bookkeeping } from '../bookkeeping.ts';
import type { SqlDialect } from '../target-name.ts';

/** Name with its schema → a hash of its definition. Functions of one name are one. */
export type Definitions = ReadonlyMap<string, string>;

/**
 * As DuckDB writes what it has read: the text of a view is another one before and after it was read back from the file (types, lambdas,
 * parentheses), and both are read alike.
 */
const OF_DUCKDB = sql<Defined>`(
  WITH views AS (
    SELECT schema_name || '.' || view_name AS name, regexp_replace(sql, '^CREATE VIEW [^(]*?(?:[(][^)]*[)] )?AS ', '', 'i') AS query
    FROM duckdb_views() WHERE database_name = 'warehouse' AND NOT internal
  ), functions AS (
    SELECT schema_name || '.' || function_name AS name, concat_ws('|', function_type, CAST(parameters AS VARCHAR)) AS head,
      CASE function_type WHEN 'table_macro' THEN macro_definition ELSE 'SELECT ' || macro_definition END AS query
    FROM duckdb_functions() WHERE database_name = 'warehouse' AND NOT internal
  )
  SELECT name, json_deserialize_sql(json_serialize_sql(query)) AS definition FROM views
  UNION ALL
  SELECT name, string_agg(concat_ws('|', head, json_deserialize_sql(json_serialize_sql(query))), ';' ORDER BY query)
  FROM functions GROUP BY 1)`;

const OF_POSTGRES = sql<Defined>`(
  SELECT nspname || '.' || relname AS name,
    CASE relkind WHEN 'v' THEN pg_get_viewdef(pg_class.oid) ELSE pg_get_indexdef(pg_class.oid) END AS definition
  FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
  WHERE nspname IN ('warehouse', 'mart', 'etl') AND relkind IN ('v', 'i')
  UNION ALL
  SELECT nspname || '.' || proname, string_agg(pg_get_functiondef(pg_proc.oid), ';' ORDER BY pg_proc.oid)
  FROM pg_proc JOIN pg_namespace ON pg_namespace.oid = pronamespace
  WHERE nspname IN ('warehouse', 'mart', 'etl') AND prokind = 'f' GROUP BY 1)`;

interface Defined {
  readonly name: string;
  readonly definition: string;
}

export async function definitionsIn(db: Bookkeeping, engine: SqlDialect): Promise<Definitions> {
  const found = engine === 'duckdb' ? await ask(db, OF_DUCKDB) : await ofPostgres(db);
  const hash = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 32);
  return new Map(found.map(({ name, definition }) => [name, hash(definition)]));
}

function ask(db: Bookkeeping, relation: RawBuilder<Defined>): Promise<Defined[]> {
  return db.selectFrom(relation.as('defined')).select(['name', 'definition']).execute();
}

/** In a transaction. Names are spelt with their schema where the search path does not have it, so the path is the same each time. */
async function ofPostgres(db: Bookkeeping): Promise<Defined[]> {
  const { rows } = await sql<{ path: string }>`SELECT current_setting('search_path') AS path`.execute(db);
  const follow = (path: string) => sql`SELECT set_config('search_path', ${path}, true)`.execute(db);
  await follow('pg_catalog');
  const found = await ask(db, OF_POSTGRES);
  await follow(rows[0]?.path ?? '');
  return found;
}
