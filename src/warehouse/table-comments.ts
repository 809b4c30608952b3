/**
 * Comments on fact tables and their columns: the pipelines' own words, kept up to date whenever tables are migrated.
 * `COMMENT ON` is spelled alike in both engines. The bookkeeping's comments stand in its migration.
 */
import { LOADED_COLUMN, OBSERVED_TO, type Pipeline, storedColumns } from '../core/pipeline.ts';
import { quoteName, quoteText } from '../engine/duckdb.ts';

/** The comment that a table (`column` null) or a column has. */
export interface TableComment {
  readonly table: string;
  readonly column: string | null;
  readonly comment: string | null;
}

/** What the declarations say of a pipeline's table, in the order of its columns. */
function declaredComments(pipeline: Pipeline): TableComment[] {
  const { table, versions } = pipeline;
  const observedTo = { table, column: OBSERVED_TO, comment: 'when the next version was first seen; null: holds now' };
  return [
    { table, column: null, comment: pipeline.about },
    ...storedColumns(pipeline).map(({ column, about }) => ({ table, column, comment: about })),
    { table, column: LOADED_COLUMN, comment: 'when the row was loaded into this warehouse' },
    ...(versions ? [observedTo] : []),
  ];
}

/** Statements that make the comments as declared; none when they are. */
export function commentsDue(pipelines: readonly Pipeline[], found: readonly TableComment[]): string[] {
  const name = (c: TableComment) => `${c.table}.${c.column ?? ''}`;
  const has = new Map(found.map((c) => [name(c), c.comment]));
  return pipelines
    .flatMap(declaredComments)
    .filter((c) => has.get(name(c)) !== c.comment)
    .map((c) => {
      const table = `warehouse.${quoteName(c.table)}`;
      const subject = c.column === null ? `TABLE ${table}` : `COLUMN ${table}.${quoteName(c.column)}`;
      return `COMMENT ON ${subject} IS ${c.comment === null ? 'NULL' : quoteText(c.comment)}`;
    });
}
