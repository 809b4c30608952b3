/** Versions of items as rows and as slices: what an item's row becomes, how slices are measured and written, and the first ones of a history. */
import { mkdir } from 'node:fs/promises';
import { DUCKDB_TYPE } from '../core/columns.ts';
import type { Day } from '../core/days.ts';
import { FETCH_COLUMN, OBSERVED_FROM, OBSERVED_ON, type Pipeline, storedColumns } from '../core/pipeline.ts';
import type { SliceContent } from '../core/records.ts';
import { contentColumnsSql, contentOf, digestOf, hashSumsOf, NO_HASHES, rowHashSql } from '../engine/content.ts';
import { type Engine, quoteName, quoteText, readParquet } from '../engine/duckdb.ts';
import type { ChangedSlice } from './changed-slices.ts';
import { writeSlices } from './parquet.ts';

/** The pipeline of items, and that of their versions. */
export interface ItemHistory {
  readonly items: Pipeline;
  readonly versions: Pipeline;
}

export interface KeyRange {
  readonly min: string;
  readonly max: string;
}

/** What the lake holds of the versions. */
export interface KnownVersions {
  /** Files of the slices of these days. */
  readonly files: (days: readonly Day[]) => readonly string[];
  /** Files of the slices of all other days that may have keys in the range. */
  readonly elsewhere: (days: readonly Day[], range: KeyRange) => readonly string[];
  readonly digest: (day: Day) => string | null;
}

const ROWS = '"item versions"';

export interface Seed {
  readonly file: string;
  readonly at: string;
  readonly on: Day;
}

/** The first versions of slices that are older than their history: what they hold was known from their own fetch on. */
export async function seedVersions(
  engine: Engine,
  { items, versions }: ItemHistory,
  known: KnownVersions,
  seeds: ReadonlyMap<Day, Seed>,
  outDir: string,
): Promise<ChangedSlice[]> {
  await mkdir(outDir, { recursive: true });
  const parts = [...seeds.values()].map((seed) => `SELECT ${asVersion(items, seed)} FROM ${readParquet([seed.file])}`);
  try {
    await makeRows(engine, versions, parts.join(' UNION ALL BY NAME '));
    return await writeVersions(engine, versions, [...seeds.keys()], known, outDir, true);
  } finally {
    await dropRows(engine);
  }
}

/** Select items that make an item's row a version that was first seen at an instant. */
export function asVersion(items: Pipeline, { at, on }: Pick<Seed, 'at' | 'on'>): string {
  const columns = storedColumns(items).map(({ column }) => quoteName(column));
  return `${columns.join(', ')}, DATE ${quoteText(on)} AS ${OBSERVED_ON}, ${instant(at)} AS ${OBSERVED_FROM}, true AS is_present`;
}

/** An instant, ISO 8601 UTC, as SQL. */
export function instant(at: string): string {
  return `TIMESTAMPTZ ${quoteText(at)}`;
}

/** The view that slices are measured and written from; files of another version of the declaration may have other types. */
export async function makeRows(engine: Engine, versions: Pipeline, rows: string): Promise<void> {
  const typed = storedColumns(versions).map(
    ({ column, kind }) => `TRY_CAST(${quoteName(column)} AS ${DUCKDB_TYPE[kind]}) AS ${quoteName(column)}`,
  );
  await engine.run(
    `CREATE OR REPLACE VIEW ${ROWS} AS SELECT *, ${rowHashSql(versions)} AS _hash, NULL AS _reject, false AS _duplicate, 0 AS _item
     FROM (SELECT ${typed.join(', ')} FROM (${rows}))`,
  );
}

/** Writes the slices of `days` among the rows made whose digest is not the one that is known. */
export async function writeVersions(
  engine: Engine,
  versions: Pipeline,
  days: readonly Day[],
  known: KnownVersions,
  outDir: string,
  isSorted: boolean,
): Promise<ChangedSlice[]> {
  const day = quoteName(versions.day);
  const rows = await engine.rows(
    `SELECT ${day}::VARCHAR AS _slice, max(${FETCH_COLUMN}) AS _fetch, strftime(max(${OBSERVED_FROM}), '%Y-%m-%dT%H:%M:%S.%gZ') AS _at,
       ${contentColumnsSql(versions)} FROM ${ROWS} GROUP BY ${day} ORDER BY ${day}`,
  );
  const contents = rows
    .map(
      (row): SliceContent => ({
        ...contentOf(row),
        day: String(row._slice) as Day,
        digest: digestOf(versions, hashSumsOf(row, '_rows'), NO_HASHES),
        rejects: 0,
        duplicates: 0,
        version: versions.version,
        fetch_id: String(row._fetch),
        fetched_at: String(row._at),
      }),
    )
    .filter((content) => days.includes(content.day) && known.digest(content.day) !== content.digest);
  const files = await writeSlices(engine, { pipeline: versions, outDir, fetchId: null }, ROWS, contents, isSorted);
  return contents.map((content) => ({
    pipeline: versions,
    content,
    file: files.get(content.day) ?? null,
    rejectsFile: null,
  }));
}

/** Drops the view of the rows. */
export async function dropRows(engine: Engine): Promise<void> {
  await engine.run(`DROP VIEW IF EXISTS ${ROWS}`);
}
