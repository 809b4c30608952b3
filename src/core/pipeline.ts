/** What a pipeline is: one dataset, declared once. SQL, Parquet, table checks and dictionary are all made from it. */
import { type ColumnKind, snakeCase } from './columns.ts';
import { assert } from './errors.ts';
import { LIMITS } from './limits.ts';
import type { EanKeys, PipelineSource } from './source.ts';

/**
 * Where the value of a column comes from: a member of the record; a member of the key that was asked for; or the answer as a whole
 * (`observedOn`, `observedFrom`, `outcome`, `reason`, and in a child `position`).
 */
export type ColumnOrigin = 'record' | 'request' | 'answer';

/**
 * What a JSON column holds: `list`, an array as sent; `texts`, an array of texts, each once and sorted; `any`, whatever the member is;
 * `record`, the record as a whole.
 */
export type JsonForm = 'list' | 'texts' | 'any' | 'record';

/** A column whose value the service sends. */
export interface SourceColumn {
  /** Field id in the Parquet file: never reused, never changed. */
  readonly id: number;
  readonly column: string;
  /** The member's name in the service's JSON, or the way to it through objects: `image.url`. */
  readonly field: string;
  readonly kind: ColumnKind;
  /** A row without it is a reject. */
  readonly required: boolean;
  readonly about: string;
  readonly origin: ColumnOrigin;
  /** The member's names in other versions of the interface: the first that is there counts. */
  readonly otherNames: readonly string[];
  readonly json: JsonForm;
  /** The way, inside the elements of a list, to a member that is made an array where it is a single value; null for none. */
  readonly arrayAt: string | null;
  /** Where the value comes from, in words, where the field does not say it; null where it does. */
  readonly from: string | null;
  /** The values that the contract knows, where it knows all; any other is kept and counted as drift. */
  readonly known: readonly string[];
}

/** How the answers to a look-up or a list are read: which records they hold, and which key each of them is about. */
export interface Reading {
  /** Member of the answer that is the array of records; null: the answer is one record. */
  readonly records: string | null;
  /** How a record says which key it is about; null: it does not, and is about the only key that was asked for. */
  readonly match: RecordMatch | null;
  /** Members without which a record is no record, and the answer no answer. */
  readonly needs: readonly string[];
  /** Members of the key that a record must repeat, where it has them. */
  readonly repeats: readonly string[];
  /** What an answer of that status says of the keys; `*` for any other client error. */
  readonly outcomes: Readonly<Record<string, string>>;
  /** What is wrong with single keys of a refused batch is read from its text. */
  readonly isRefusedByKey: boolean;
  /** A value of another type than declared goes to `extra`, and the row is kept; else the row is a reject. */
  readonly isTolerant: boolean;
  /** An answer that is not JSON, or too large, is a reject; else it is no answer, and asked for again. */
  readonly mayBeAnything: boolean;
  /** Largest answer, in bytes decoded. */
  readonly mostBytes: number;
}

export interface RecordMatch {
  /** The member's name, and its names in other versions of the interface. */
  readonly members: readonly string[];
  /** Member of the key that it is compared with. */
  readonly to: string;
  /** Where a member of the key has this value, only the answer says what the key is called: the call has begun it. */
  readonly unnamedWhen?: { readonly member: string; readonly value: string };
  /** `ean`: one sent as a number has lost its leading zeros; `id`: any text that fits an address, without case. */
  readonly form: 'ean' | 'id';
}

/** Rules by which a column is made from another one; normalise knows their SQL. */
export type DerivedRule = 'status-group' | 'local-time' | 'utc-time';

export interface DerivedColumn {
  readonly id: number;
  readonly column: string;
  readonly kind: ColumnKind;
  readonly rule: DerivedRule;
  /** The column that it is made from. */
  readonly from: string;
  readonly about: string;
}

/**
 * How rows are written. `replace`: an answer replaces the days that were asked for. `merge`: one row a key, as it was seen last; what
 * it was before goes to its history. `append`: every row once.
 */
export type Disposition = 'replace' | 'merge' | 'append';

/** What `merge` has to know. */
export interface Merge {
  /** Columns by which rows are merged: the key, or for a child the key of its parent, with which its rows come and go. */
  readonly by: readonly string[];
  /** The pipeline whose rows these come and go with, for a child; else null. */
  readonly within: string | null;
  /** Columns that may differ though nothing has changed, besides those that say when and how it was seen. */
  readonly ignore: readonly string[];
  /** SQL over the columns: true where the service knows the key. When most keys are suddenly gone, the answers are held. */
  readonly presentWhen: string;
  /** SQL over the columns: true where the service refused the key, for the reason in column `reason`; null where it never does. */
  readonly refusedWhen: string | null;
}

export interface Pipeline {
  readonly name: string;
  /** Raised when the same answer would give other rows, so that slices of an older version are made again. */
  readonly version: number;
  readonly about: string;
  /** The report, answer or message that its rows come from. */
  readonly answer: string;
  readonly source: PipelineSource;
  /** When it runs unless the settings say otherwise, five fields in the service's zone; a child, which comes with its parent, has none. */
  readonly schedule?: string;
  /** How its answers are read; absent where that is not by records: reports, files, messages, and children. */
  readonly reading?: Reading;
  /** Table in schema `warehouse`. */
  readonly table: string;
  readonly columns: readonly SourceColumn[];
  readonly derived: readonly DerivedColumn[];
  /** Columns that name a row, or null where rows have no natural key. Only in merged rows may one but the first be null. */
  readonly key: readonly string[] | null;
  readonly write: Disposition;
  /** null unless rows are merged. */
  readonly merge: Merge | null;
  /** What a row was before it changed, moved to another day or went is kept, in a table beside this one. Only of rows with a key. */
  readonly keepsHistory: boolean;
  /** Its rows are what those of its parent were. */
  readonly isHistory?: boolean;
  /** The column that says to which slice a row belongs. */
  readonly day: string;
  /** Order of rows inside a slice's file. */
  readonly sort: readonly string[];
  /** DuckDB SQL over the columns: true where nothing in the row can change any more. */
  readonly settledWhen: string;
}

/** What a file under pipelines/ has to say; what it leaves out is usual. */
export interface Declaration
  extends Omit<Pipeline, 'derived' | 'merge' | 'keepsHistory' | 'day' | 'sort' | 'settledWhen'> {
  readonly derived?: readonly DerivedColumn[];
  /** Merged by the key, everything else is compared, and every row is there, unless it says otherwise. */
  readonly merge?: Partial<Merge> | null;
  /** Of merged rows it always is. */
  readonly keepsHistory?: boolean;
  /** Of merged rows: the day on which they were first seen so. */
  readonly day?: string;
  /** The key. */
  readonly sort?: readonly string[];
  /** Nothing changes any more once the lookback has passed. */
  readonly settledWhen?: string;
}

/** Every table of a warehouse has it; in the lake a file's path says it. */
export const ACCOUNT_COLUMN = 'account';

/** Every pipeline's table ends with these. */
export const EXTRA_COLUMN = 'extra';
export const FETCH_COLUMN = 'fetch_id';
export const LOADED_COLUMN = 'loaded_at';

/** The slice day of merged rows: that of VALID_FROM. */
export const OBSERVED_ON = 'observed_on';
/** When the answer was complete, of rows that are kept as they came. */
export const OBSERVED_FROM = 'observed_from';

/** Since when a row is as it is: a column of rows whose history is kept. */
export const VALID_FROM = 'valid_from';
/** In the history: until when the row was so, the day of that instant in the service's zone, and why it ended. */
export const VALID_TO = 'valid_to';
export const ENDED_ON = 'ended_on';
export const ENDED_BY = 'ended_by';
/** The row says something else since; lies on another day; is no longer in the report. */
export type EndedBy = 'changed' | 'moved' | 'gone';

export interface ColumnOptions
  extends Partial<Pick<SourceColumn, 'required' | 'origin' | 'otherNames' | 'json' | 'known'>> {
  /** The column's name where it is not the field's name in snake case. */
  readonly column?: string;
  readonly arrayAt?: string;
  readonly from?: string;
}

/** Shorthand for the declarations under pipelines/. */
export function column(
  id: number,
  field: string,
  kind: ColumnKind,
  about: string,
  options: ColumnOptions = {},
): SourceColumn {
  const { column: name = snakeCase(field.replaceAll('.', '_')), ...given } = options;
  const usual = {
    required: false,
    origin: 'record',
    otherNames: [],
    json: 'list',
    known: [],
    arrayAt: null,
    from: null,
  } as const;
  return { id, field, kind, about, column: name, ...usual, ...given };
}

/** Shorthand for the declarations: what is not given is as usual. */
export function reading(given: Partial<Reading>): Reading {
  const usual: Reading = {
    records: null,
    match: null,
    needs: [],
    repeats: [],
    outcomes: {},
    isRefusedByKey: false,
    isTolerant: false,
    mayBeAnything: false,
    mostBytes: LIMITS.lookupAnswerBytes,
  };
  return { ...usual, ...given };
}

/** Field ids of the columns that every table has; far above those that pipelines give. */
export const EXTRA_FIELD_ID = 1001;
export const FETCH_FIELD_ID = 1002;
export const VALID_FROM_FIELD_ID = 1003;

export interface StoredColumn {
  readonly id: number;
  readonly column: string;
  readonly kind: ColumnKind;
  readonly about: string;
}

/** The columns of the lake's files, in order: what was sent, what was derived, `extra`, `fetch_id`, and `valid_from` where history is kept. */
export function storedColumns(pipeline: Pipeline): StoredColumn[] {
  return [
    ...pipeline.columns,
    ...pipeline.derived,
    {
      id: EXTRA_FIELD_ID,
      column: EXTRA_COLUMN,
      kind: 'json',
      about: 'fields that the contract does not know, else null',
    },
    { id: FETCH_FIELD_ID, column: FETCH_COLUMN, kind: 'text', about: 'the fetch whose answer brought this content' },
    ...(isStamped(pipeline)
      ? [
          {
            id: VALID_FROM_FIELD_ID,
            column: VALID_FROM,
            kind: 'utc-time',
            about: 'when the row was first seen as it is',
          } as const,
        ]
      : []),
  ];
}

/** Whether rows get their beginning when their slice is written, because an answer replaces whole days; it is no part of what they say then. */
export function isStamped({ keepsHistory, write }: Pipeline): boolean {
  return keepsHistory && write === 'replace';
}

/** The pipeline of what the rows of this one were; null where no history is kept. */
export function historyOf(pipelines: readonly Pipeline[], pipeline: Pipeline): Pipeline | null {
  return (pipeline.keepsHistory && pipelines.find(({ name }) => name === historyName(pipeline))) || null;
}

export function historyName({ name }: Pipeline): string {
  return `${name}-history`;
}

/** Adds what is usual; refuses a declaration that contradicts itself. */
export function declarePipeline(declaration: Declaration): Pipeline {
  const pipeline = completed(declaration);
  const names = new Set(storedColumns(pipeline).map((c) => c.column));
  const ids = new Set(storedColumns(pipeline).map((c) => c.id));
  const count = storedColumns(pipeline).length;
  assert(names.size === count, `${pipeline.name}: two columns have one name`);
  assert(ids.size === count, `${pipeline.name}: two columns have one field id`);
  for (const used of [pipeline.day, ...pipeline.sort, ...(pipeline.key ?? []), ...pipeline.derived.map((d) => d.from)])
    assert(names.has(used), `${pipeline.name}: no column is called ${used}`);
  const { key, merge, isHistory } = pipeline;
  const required = pipeline.columns.filter((c) => c.required).map((c) => c.column);
  for (const needed of [pipeline.day, ...(merge || isHistory ? [VALID_FROM, ...(key ?? []).slice(0, 1)] : (key ?? []))])
    assert(required.includes(needed), `${pipeline.name}: ${needed} must be required`);
  assert(!pipeline.keepsHistory || key, `${pipeline.name}: rows without a key have no history`);
  for (const used of merge?.by ?? []) assert(names.has(used), `${pipeline.name}: no column is called ${used}`);
  return pipeline;
}

function completed(declaration: Declaration): Pipeline {
  const { name, key, write, source } = declaration;
  const isMerged = write === 'merge';
  assert(!isMerged || key, `${name}: rows without a key cannot be merged`);
  assert(isMerged || !declaration.merge, `${name}: rows that are not merged are not merged by anything`);
  const day = declaration.day ?? (isMerged ? OBSERVED_ON : null);
  assert(day, `${name}: no column is named that says to which slice a row belongs`);
  const usual = {
    by: key ?? [],
    within: source.kind === 'child' ? source.of : null,
    ignore: [],
    presentWhen: 'true',
    refusedWhen: null,
  };
  return {
    ...declaration,
    derived: declaration.derived ?? [],
    merge: isMerged ? { ...usual, ...declaration.merge } : null,
    keepsHistory: isMerged || declaration.keepsHistory === true,
    day,
    sort: declaration.sort ?? key ?? [],
    settledWhen: declaration.settledWhen ?? 'true',
  };
}

/** Whether it is a pipeline that people name, and not a child of one. */
export function isNamed(pipeline: Pipeline): boolean {
  return pipeline.source.kind !== 'child';
}

/** As people name it: a child goes by the name of its parent. */
export function parentName({ name, source }: Pipeline): string {
  return source.kind === 'child' ? source.of : name;
}

/** The pipelines whose rows come with the answers of this one. */
export function childrenOf(pipelines: readonly Pipeline[], parent: Pipeline): Pipeline[] {
  return pipelines.filter(({ source }) => source.kind === 'child' && source.of === parent.name);
}

/** Those of them whose rows stand in the answers, and are not made of the rows of others. */
export function partsOf(pipelines: readonly Pipeline[], parent: Pipeline): Pipeline[] {
  return childrenOf(pipelines, parent).filter(({ isHistory }) => !isHistory);
}

/** How the answers of the pipeline are read; a mistake of ours for one that has none. */
export function readingOf({ name, reading }: Pipeline): Reading {
  assert(reading, `the answers of ${name} are not declared`);
  return reading;
}

/** How the keys of a look-up by the EANs of the settings' list are asked for; null for any other pipeline. */
export function eanKeysIn({ source }: Pipeline): EanKeys | null {
  return source.kind === 'keys' && typeof source.keys === 'object' ? source.keys : null;
}

/** The same; a mistake of ours for any other pipeline. */
export function eanKeysOf(pipeline: Pipeline): EanKeys {
  const keys = eanKeysIn(pipeline);
  assert(keys, `${pipeline.name} is no look-up by EAN`);
  return keys;
}
