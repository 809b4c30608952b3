/**
 * Comments on what a warehouse holds and on its columns: tables' are the pipelines' own words, those of views and functions come
 * from the dictionary. They are kept up to date by every publication. The bookkeeping's comments stand in its migrations.
 */
import { ACCOUNT_COLUMN, LOADED_COLUMN, type Pipeline, storedColumns } from '../../core/pipeline.ts';
import { quoteName, quoteText } from '../../engine/duckdb.ts';
import { commentOf, type Dictionary } from '../dictionary/dictionary.ts';
import type { FoundThing } from './found.ts';

type Declared = Pick<FoundThing, 'schema' | 'name' | 'column' | 'comment'>;
type Commented = Declared & Pick<FoundThing, 'kind'>;

/** Every comment that is declared, tables first. */
export function declaredComments(pipelines: readonly Pipeline[], dictionary: Dictionary): Declared[] {
  return [...pipelines.flatMap(tableComments), ...dictionaryComments(dictionary)];
}

/** What the declarations say of a pipeline's table, in the order of its columns. */
function tableComments(pipeline: Pipeline): Declared[] {
  const { table: name } = pipeline;
  const schema = 'warehouse';
  return [
    { column: null, comment: pipeline.about },
    { column: ACCOUNT_COLUMN, comment: 'the partner account that the row belongs to' },
    ...storedColumns(pipeline).map(({ column, about }) => ({ column, comment: about })),
    { column: LOADED_COLUMN, comment: 'when the row was loaded into this warehouse' },
  ].map((c) => ({ schema, name, ...c }));
}

/** The columns that a function gives have no comments: neither engine keeps any. */
function dictionaryComments(dictionary: Dictionary): Declared[] {
  return [...dictionary.values()].flatMap((entry) => {
    const { schema, name } = entry;
    const columns = entry.arguments === null ? entry.columns : [];
    return [
      { schema, name, column: null, comment: commentOf(entry) },
      ...columns.map(({ name: column, about }) => ({ schema, name, column, comment: about })),
    ];
  });
}

/** Statements that make the comments as declared; none when they are. What is not among the found is left alone. */
export function commentsDue(declared: readonly Declared[], found: readonly Commented[]): string[] {
  const key = (c: Declared) => `${c.schema}.${c.name}.${c.column ?? ''}`;
  const there = new Map(found.map((c) => [key(c), c]));
  return declared.flatMap((c) => {
    const thing = there.get(key(c));
    return thing === undefined || thing.comment === c.comment ? [] : [statement({ ...thing, comment: c.comment })];
  });
}

/** `COMMENT ON` is spelled alike in both engines, but for functions, which DuckDB calls macros. */
export function statement({ kind, schema, name, column, comment }: Commented): string {
  const thing = `${schema}.${quoteName(name)}`;
  const subject = column === null ? `${kind} ${thing}` : `COLUMN ${thing}.${quoteName(column)}`;
  return `COMMENT ON ${subject} IS ${comment === null ? 'NULL' : quoteText(comment)}`;
}
