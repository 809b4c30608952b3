/** Sentences of the dictionary, taken apart: plain text, `code` in backticks, and names of tables and columns, which become links. */
import { type Docs, type DocTable, nameOf } from './model.ts';

export interface Piece {
  readonly text: string;
  readonly isCode: boolean;
  /** The anchor of the table or column that it names; null for anything else. */
  readonly anchor: string | null;
}

/** Of every table and every column: `schema.name` and `schema.name.column`. */
export function anchorsOf(tables: readonly DocTable[]): ReadonlySet<string> {
  return new Set(tables.flatMap((t) => [nameOf(t), ...t.columns.map((c) => `${nameOf(t)}.${c.name}`)]));
}

const NAMED = /`([^`]+)`|\b(?:warehouse|mart|etl)\.[a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*)?/g;

export function piecesOf(text: string, anchors: ReadonlySet<string>): Piece[] {
  const pieces: Piece[] = [];
  let end = 0;
  const add = (part: string, isCode: boolean) => {
    if (part !== '') pieces.push({ text: part, isCode, anchor: anchors.has(part) ? part : null });
  };
  for (const match of text.matchAll(NAMED)) {
    add(text.slice(end, match.index), false);
    add(match[1] ?? match[0], match[1] !== undefined || anchors.has(match[0]));
    end = match.index + match[0].length;
  }
  add(text.slice(end), false);
  return pieces;
}

/** What is said of a table besides its meaning, a sentence each. */
export function factsOf(table: DocTable): string[] {
  const named = (title: string, isIt: (column: DocTable['columns'][number]) => boolean) => {
    const columns = table.columns.filter(isIt).map(({ name }) => `\`${name}\``);
    return columns.length === 0 ? [] : [`${title}: ${columns.join(', ')}.`];
  };
  return [
    ...(table.grain === null ? [] : [`One row: ${table.grain}.`]),
    ...named('Key', ({ isKey }) => isKey),
    ...named('Slice day', ({ isDay }) => isDay),
    ...(table.returns === null ? [] : [`Gives ${table.returns}.`]),
    ...table.arguments.map(({ name, about }) => `Argument \`${name}\`: ${about}.`),
    ...(table.source === null ? [] : [`From: ${table.source}; pipeline \`${table.pipeline}\`.`]),
  ];
}

/** How a table is called in a heading: a function with its arguments. */
export function titleOf(table: DocTable): string {
  const args = table.arguments.map(({ name }) => name).join(', ');
  return table.kind === 'function' ? `${nameOf(table)}(${args})` : nameOf(table);
}

/** The words beside a column's name. */
export function badgesOf({ isKey, isDay, mayBeNull }: DocTable['columns'][number]): string[] {
  const badges = [isKey ? 'key' : '', isDay ? 'slice day' : '', mayBeNull === false ? 'required' : ''];
  return [...badges, mayBeNull === true ? 'may be null' : ''].filter((badge) => badge !== '');
}

/** A sentence for the head of the dictionary. */
export function summaryOf({ tables, questions }: Docs): string {
  const number = (count: number, what: string) => `${count} ${what}${count === 1 ? '' : 's'}`;
  const of = (kind: DocTable['kind']) => number(tables.filter((t) => t.kind === kind).length, kind);
  const columns = tables.reduce((sum, t) => sum + t.columns.length, 0);
  const things = `${of('table')}, ${of('view')} and ${of('function')} with ${number(columns, 'column')}`;
  const asked = questions.length === 0 ? '' : `; ${number(questions.length, 'question')} with SQL`;
  return `${things}${asked}. The names are the same in DuckDB and Postgres.`;
}

/** What is true of all tables; the head of the dictionary says it once. */
export const CONVENTIONS: readonly string[] = [
  'Schema warehouse holds facts and dimensions, mart views for analysts, etl what was run, fetched, loaded, set aside and kept back.',
  'A slice is a pipeline and a day; it is replaced whole. The slice day of a table is the column that says to which slice a row belongs.',
  'Columns of views and functions are not declared to be required; what can be null there follows from what they are made of.',
  'Types are given for DuckDB and, below them, for Postgres, where a view may give a narrower whole number, or a numeric without its size.',
];
