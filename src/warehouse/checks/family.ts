/**
 * One file for the same check of several pipelines: in the place of `-- pipeline: …` it says `-- each: promotions, orders`, and is one check
 * for each of them, called `<pipeline>_<file>`. What differs between them comes from their declarations:
 *   {pipeline}  its name               {day}     the column of its slice day
 *   {table}     its table, with schema
 *   {required}  the columns that no row is without; {fact.required} with a relation in front of each
 * A line with {column} stands once for every column that may be null.
 */
import type { Pipeline } from '../../core/pipeline.ts';
import { quoteName } from '../../engine/duckdb.ts';
import { factTable } from '../table-sql.ts';

export interface CheckText {
  readonly name: string;
  readonly text: string;
}

const EACH = /^--\s*each:\s*(\S.*?)\s*$/m;

/** The checks that a file is: itself, or one for each pipeline that it names; those that there are not are left for its reader to refuse. */
export function checksOfFile(name: string, text: string, pipelines: readonly Pipeline[]): CheckText[] {
  const [line, each] = EACH.exec(text) ?? [];
  if (line === undefined || each === undefined) return [{ name, text }];
  return each.split(/\s*,\s*/).map((wanted) => {
    const pipeline = pipelines.find((known) => known.name === wanted);
    const headed = text.replace(line, `-- pipeline: ${wanted}`);
    return { name: `${wanted.replaceAll('-', '_')}_${name}`, text: pipeline ? filledIn(headed, pipeline) : headed };
  });
}

function filledIn(text: string, pipeline: Pipeline): string {
  const optional = pipeline.columns.filter(({ required }) => !required).map(({ column }) => column);
  const required = pipeline.columns.filter((column) => column.required).map(({ column }) => column);
  return text
    .split('\n')
    .flatMap((line) =>
      line.includes('{column}') ? optional.map((column) => line.replaceAll('{column}', column)) : [line],
    )
    .join('\n')
    .replaceAll('{pipeline}', pipeline.name)
    .replaceAll('{table}', factTable(pipeline))
    .replaceAll('{day}', pipeline.day)
    .replaceAll(/\{(\w+\.)?required\}/g, (_, of?: string) => listed(required, of));
}

function listed(columns: readonly string[], relation = ''): string {
  return columns.map((column) => `${relation}${quoteName(column)}`).join(', ');
}
