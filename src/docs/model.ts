/**
 * The dictionary as data: everything in the warehouse with structure, meaning, source and traps. What is written of it, as a page or
 * as Markdown, is made from this alone.
 */
import { type ColumnKind, DUCKDB_TYPE, POSTGRES_TYPE } from '../core/columns.ts';
import { assert } from '../core/errors.ts';
import { ACCOUNT_COLUMN, type Disposition, LOADED_COLUMN, type Pipeline, storedColumns } from '../core/pipeline.ts';
import type { Dictionary } from '../warehouse/dictionary/dictionary.ts';
import type { DictionaryEntry } from '../warehouse/dictionary/entry.ts';
import type { CatalogueThing } from './catalogue.ts';
import { columnSources } from './column-sources.ts';
import type { DocQuestion } from './questions.ts';
import type { RelationGroup, Trap } from './relations.ts';

export interface DocColumn {
  readonly name: string;
  readonly about: string;
  readonly duckdbType: string;
  readonly postgresType: string;
  /** null where neither engine declares it: what a view or a function gives. */
  readonly mayBeNull: boolean | null;
  readonly isKey: boolean;
  readonly isDay: boolean;
  /** Of a fact; null elsewhere. */
  readonly source: string | null;
  readonly traps: readonly string[];
}

export interface DocTable {
  readonly schema: string;
  readonly name: string;
  readonly kind: 'table' | 'view' | 'function';
  readonly about: string;
  /** What one row is; null where that is said by `about`. */
  readonly grain: string | null;
  /** The report, answer or message that the rows come from. */
  readonly source: string | null;
  /** The pipeline that fills it, as commands name it. */
  readonly pipeline: string | null;
  readonly arguments: readonly { readonly name: string; readonly about: string }[];
  /** What a function of one value gives. */
  readonly returns: string | null;
  readonly traps: readonly string[];
  readonly columns: readonly DocColumn[];
}

export interface Docs {
  readonly tables: readonly DocTable[];
  readonly traps: readonly Trap[];
  readonly groups: readonly RelationGroup[];
  readonly questions: readonly DocQuestion[];
}

export interface DocsParts {
  readonly catalogue: readonly CatalogueThing[];
  readonly pipelines: readonly Pipeline[];
  readonly dictionary: Dictionary;
  readonly groups: readonly RelationGroup[];
  readonly traps: readonly Trap[];
  readonly questions: readonly DocQuestion[];
}

/** In the order of reading: the warehouse as pipelines declare it, its views, the marts, the bookkeeping. */
export const SCHEMAS: readonly string[] = ['warehouse', 'mart', 'etl'];

export function makeDocs(parts: DocsParts): Docs {
  const { catalogue, pipelines, dictionary, groups, questions } = parts;
  const place = new Map(pipelines.map(({ table }, i) => [`warehouse.${table}`, i]));
  const placeOf = (thing: CatalogueThing) => [
    SCHEMAS.indexOf(thing.schema),
    ['table', 'view', 'function'].indexOf(thing.kind),
    place.get(nameOf(thing)) ?? pipelines.length,
  ];
  const ordered = [...catalogue].sort((a, b) => compare(placeOf(a), placeOf(b)) || (a.name < b.name ? -1 : 1));
  const tables = ordered.map((thing) => {
    const pipeline = pipelines[place.get(nameOf(thing)) ?? -1];
    if (pipeline) return factTable(thing, pipeline, parts.traps);
    const entry = dictionary.get(nameOf(thing));
    return entry ? describedTable(thing, entry, parts) : commentedTable(thing, parts.traps);
  });
  const ofViews = tables.flatMap((t) =>
    (dictionary.get(nameOf(t))?.traps ?? []).map((trap) => ({ trap, on: [nameOf(t)] })),
  );
  return { tables, groups, questions, traps: [...parts.traps, ...ofViews] };
}

/** `schema.name`. */
export function nameOf({ schema, name }: { readonly schema: string; readonly name: string }): string {
  return `${schema}.${name}`;
}

function compare(a: readonly number[], b: readonly number[]): number {
  return a.map((value, i) => value - b[i]!).find((difference) => difference !== 0) ?? 0;
}

function trapsOn(traps: readonly Trap[], name: string): string[] {
  return traps.filter(({ on }) => on.includes(name)).map(({ trap }) => trap);
}

const NO_EXTRAS = { arguments: [], returns: null, source: null, pipeline: null };

function factTable(thing: CatalogueThing, pipeline: Pipeline, traps: readonly Trap[]): DocTable {
  const sources = columnSources(pipeline);
  const kinds = new Map<string, ColumnKind>(storedColumns(pipeline).map((c) => [c.column, c.kind]));
  kinds.set(ACCOUNT_COLUMN, 'text');
  kinds.set(LOADED_COLUMN, 'utc-time');
  const columns = thing.columns.map((c): DocColumn => {
    const kind = kinds.get(c.name);
    const source = sources.get(c.name);
    assert(kind && source && c.comment !== null, `${thing.name}.${c.name} is not declared by ${pipeline.name}`);
    return {
      name: c.name,
      about: c.comment,
      duckdbType: DUCKDB_TYPE[kind],
      postgresType: POSTGRES_TYPE[kind],
      mayBeNull: !c.isRequired,
      isKey: pipeline.key?.includes(c.name) ?? false,
      isDay: pipeline.day === c.name,
      source,
      traps: trapsOn(traps, `${nameOf(thing)}.${c.name}`),
    };
  });
  const { schema, name, kind } = thing;
  const described = {
    about: pipeline.about,
    grain: grainOf(pipeline),
    source: pipeline.answer,
    pipeline: pipeline.name,
  };
  return { ...NO_EXTRAS, schema, name, kind, ...described, traps: trapsOn(traps, nameOf(thing)), columns };
}

const WRITTEN: Readonly<Record<Disposition, string>> = {
  replace: 'days are replaced whole',
  merge: 'rows are merged by key',
  append: 'rows are only added',
};

function grainOf({ key, source, write }: Pipeline): string {
  const unnamed = `${source.isByRange ? 'a row of the report' : 'what was received'}; it has no natural key`;
  return `${key === null ? unnamed : `each combination of ${key.join(', ')}`}; ${WRITTEN[write]}`;
}

function describedTable(
  thing: CatalogueThing,
  entry: DictionaryEntry,
  { traps, catalogue, pipelines }: DocsParts,
): DocTable {
  const { schema, name, kind } = thing;
  const lender = entry.rowsOf === null ? null : catalogue.find((one) => nameOf(one) === entry.rowsOf);
  const declared = pipelines.find(({ table }) => entry.rowsOf === `warehouse.${table}`);
  const sources = declared ? columnSources(declared) : new Map<string, string>();
  const meanings = new Map([
    ...(lender?.columns ?? []).map((c) => [c.name, c.comment ?? ''] as const),
    ...entry.columns.map((c) => [c.name, c.about] as const),
  ]);
  const columns = thing.columns.map((c) => ({
    ...plainColumn(c, meanings.get(c.name) ?? ''),
    mayBeNull: null,
    source: sources.get(c.name) ?? null,
    traps: trapsOn(traps, `${entry.rowsOf ?? nameOf(thing)}.${c.name}`),
  }));
  const { about, grain, returns, arguments: args } = entry;
  const here = [...entry.traps, ...trapsOn(traps, nameOf(thing))];
  return { ...NO_EXTRAS, schema, name, kind, about, grain, returns, arguments: args ?? [], traps: here, columns };
}

/** A table of the bookkeeping, or what the dictionary does not have yet: as its comments say. */
function commentedTable(thing: CatalogueThing, traps: readonly Trap[]): DocTable {
  const { schema, name, kind, comment } = thing;
  const columns = thing.columns.map((c) => ({
    ...plainColumn(c, c.comment ?? ''),
    mayBeNull: kind === 'table' ? !c.isRequired : null,
    traps: trapsOn(traps, `${nameOf(thing)}.${c.name}`),
  }));
  const args = thing.parameters.map((parameter) => ({ name: parameter, about: '' }));
  const described = { about: comment ?? '', grain: null, arguments: args, traps: trapsOn(traps, nameOf(thing)) };
  return { ...NO_EXTRAS, schema, name, kind, ...described, columns };
}

function plainColumn({ name, type }: CatalogueThing['columns'][number], about: string) {
  const types = { duckdbType: type, postgresType: postgresTypeOf(type) };
  return { name, about, ...types, isKey: false, isDay: false, source: null };
}

const NAMES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    Object.keys(DUCKDB_TYPE).map((kind) => [DUCKDB_TYPE[kind as ColumnKind], POSTGRES_TYPE[kind as ColumnKind]]),
  ),
  INTEGER: 'integer',
  HUGEINT: 'numeric(38,0)',
};

/** What Postgres calls the type of the same column. */
export function postgresTypeOf(duckdbType: string): string {
  return NAMES[duckdbType] ?? duckdbType.toLowerCase().replace(/^decimal/, 'numeric');
}
