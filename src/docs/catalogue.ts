/**
 * What a warehouse holds, as a database shows it: an in-memory DuckDB in which everything is made. So the structure in the dictionary
 * is that of a warehouse, and nobody needs one to print it.
 */
import type { Clock } from '../core/clock.ts';
import type { Pipeline } from '../core/pipeline.ts';
import { Engine, quoteName } from '../engine/duckdb.ts';
import { migrateDuckdb } from '../warehouse/duckdb/migrate.ts';

export interface CatalogueColumn {
  readonly name: string;
  /** As DuckDB writes it. */
  readonly type: string;
  /** NOT NULL; what a view or a function gives is not declared to be. */
  readonly isRequired: boolean;
  readonly comment: string | null;
}

export interface CatalogueThing {
  readonly schema: string;
  readonly name: string;
  readonly kind: 'table' | 'view' | 'function';
  readonly comment: string | null;
  /** Of a function. */
  readonly parameters: readonly string[];
  /** In order; none for a function of one value. */
  readonly columns: readonly CatalogueColumn[];
}

/** Everything in the schemas warehouse, mart and etl, by schema, kind and name. `tempDir` is made only if it is needed. */
export async function readCatalogue(
  pipelines: readonly Pipeline[],
  clock: Clock,
  tempDir: string,
): Promise<CatalogueThing[]> {
  const engine = await Engine.open({ tempDir });
  try {
    // The name of the file warehouse.duckdb; see src/warehouse/schema/marts.ts.
    await engine.run(`ATTACH ':memory:' AS warehouse; USE warehouse`);
    await migrateDuckdb(engine, { pipelines, clock, afresh: true, target: 'duckdb' });
    return [...(await relationsIn(engine)), ...(await functionsIn(engine))];
  } finally {
    engine.close();
  }
}

async function relationsIn(engine: Engine): Promise<CatalogueThing[]> {
  const things = await engine.rows(
    `SELECT schema_name AS schema, table_name AS name, 'table' AS kind, comment FROM duckdb_tables()
     WHERE database_name = 'warehouse'
     UNION ALL
     SELECT schema_name, view_name, 'view', comment FROM duckdb_views() WHERE database_name = 'warehouse' AND NOT internal
     ORDER BY schema, kind, name`,
  );
  const columns = await engine.rows(
    `SELECT schema_name AS schema, table_name AS "table", column_name AS name, data_type AS type, NOT is_nullable AS required,
       comment
     FROM duckdb_columns() WHERE database_name = 'warehouse' AND NOT internal ORDER BY schema, "table", column_index`,
  );
  return things.map((thing) => ({
    schema: schemaName(thing.schema),
    name: String(thing.name),
    kind: thing.kind as 'table' | 'view',
    comment: thing.comment as string | null,
    parameters: [],
    columns: columns
      .filter((c) => c.schema === thing.schema && c.table === thing.name)
      .map((c) => ({
        name: String(c.name),
        type: String(c.type),
        isRequired: thing.kind === 'table' && c.required === true,
        comment: c.comment as string | null,
      })),
  }));
}

async function functionsIn(engine: Engine): Promise<CatalogueThing[]> {
  const found = await engine.rows(
    `SELECT schema_name AS schema, function_name AS name, function_type AS type, array_to_string(parameters, ',') AS parameters,
       comment
     FROM duckdb_functions() WHERE database_name = 'warehouse' AND NOT internal ORDER BY schema_name, function_name`,
  );
  const things: CatalogueThing[] = [];
  for (const { schema, name, type, parameters: words, comment } of found) {
    const parameters = String(words).split(',').filter(Boolean);
    const call = `${quoteName(String(schema))}.${quoteName(String(name))}(${parameters.map(() => 'NULL').join(', ')})`;
    const rows = type === 'table_macro' ? await engine.rows(`DESCRIBE SELECT * FROM ${call}`) : [];
    things.push({
      schema: schemaName(schema),
      name: String(name),
      kind: 'function',
      comment: comment as string | null,
      parameters,
      columns: rows.map((row) => ({
        name: String(row.column_name),
        type: String(row.column_type),
        isRequired: false,
        comment: null,
      })),
    });
  }
  return things;
}

function schemaName(schema: unknown): string {
  return schema === 'main' ? 'warehouse' : String(schema);
}
