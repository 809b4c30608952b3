/**
 * Numbered changes of the bookkeeping: `sql/etl/NNNN_what.sql`, applied in order, each together with the row in `etl.migration`
 * that records it. A file that was applied is never changed: its sha256 is recorded and held against it. Tables of pipelines, views
 * and indexes do not come this way: see catalogue.ts.
 */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { EtlError } from '../../core/errors.ts';
import { packageRoot } from '../../disk/package-root.ts';
import type { SqlDialect } from '../target-name.ts';

export interface Migration {
  readonly number: number;
  /** Name of the file. */
  readonly name: string;
  /** Of the file's text, lower-case hex. */
  readonly sha256: string;
  readonly sql: string;
}

/** A row of `etl.migration`. */
export interface AppliedMigration {
  readonly number: number;
  readonly name: string;
  readonly sha256: string;
}

const FILE = /^(\d{4})_[a-z0-9_]+\.sql$/;

/** The migrations that this program brings, in order, in an engine's words. */
export async function readMigrations(engine: SqlDialect): Promise<Migration[]> {
  const folder = path.join(await packageRoot(), 'sql', 'etl');
  const names = (await readdir(folder)).filter((name) => FILE.test(name)).sort();
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(path.join(folder, name), 'utf8');
      const sha256 = createHash('sha256').update(text).digest('hex');
      return { number: Number(FILE.exec(name)?.[1]), name, sha256, sql: inWordsOf(engine, text) };
    }),
  );
}

/** JSON columns are jsonb in Postgres; DuckDB has no keys and no indexes. */
function inWordsOf(engine: SqlDialect, text: string): string {
  if (engine === 'postgres') return text.replaceAll(/^( +(?:ADD COLUMN )?\w+ +)JSON\b/gm, '$1jsonb');
  return text.replaceAll(/,\n {2}PRIMARY KEY \([^)]*\)/g, '').replaceAll(/^CREATE (?:UNIQUE )?INDEX [^;]*;\n/gm, '');
}

/**
 * Which migrations are still to be applied.
 * Errors: `failed/migration_changed` for an applied one whose file is another now; `failed/newer_schema` for one that this
 * program does not have.
 */
export function pendingMigrations(ours: readonly Migration[], applied: readonly AppliedMigration[]): Migration[] {
  const byNumber = new Map(ours.map((migration) => [migration.number, migration]));
  for (const there of applied) {
    const known = byNumber.get(there.number);
    if (!known)
      throw new EtlError(
        'failed',
        'newer_schema',
        `the warehouse has migration ${there.name}, which this program lacks`,
        {
          hint: 'a newer partner-etl has changed the tables: update this one',
        },
      );
    if (there.sha256 !== known.sha256)
      throw new EtlError('failed', 'migration_changed', `sql file ${known.name} is not the one that was applied`, {
        hint: 'restore the file as it was and put the change into a new, higher number',
      });
  }
  const done = new Set(applied.map((there) => there.number));
  return ours.filter((migration) => !done.has(migration.number));
}
