/**
 * Views and functions (`sql/marts`, and those of version-views.ts) and the secondary indexes of Postgres (`sql/indexes.postgres.sql`): texts that are carried out as a
 * whole whenever one of them, or a table, changed. sql/marts/README.md has the rules of their text.
 */
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { assert } from '../../core/errors.ts';
import type { Pipeline } from '../../core/pipeline.ts';
import { packageRoot } from '../../disk/package-root.ts';
import type { SqlDialect } from '../target-name.ts';
import { versionViews } from './version-views.ts';

/** What a text makes, as it is dropped. */
export interface Thing {
  readonly kind: 'VIEW' | 'FUNCTION' | 'MACRO' | 'MACRO TABLE' | 'INDEX';
  /** With its schema. */
  readonly name: string;
}

export interface Mart {
  /** Of the file. */
  readonly name: string;
  readonly sql: string;
  readonly things: readonly Thing[];
}

const FILE = /^[a-z0-9_]+(?:\.(duckdb|postgres))?\.sql$/;
const MADE = /^CREATE OR REPLACE (VIEW|FUNCTION|MACRO) ([a-z_]+\.[a-z_0-9]+)(?:\([^)]*\) AS (TABLE)\b)?/gm;
const FUNCTION = /^CREATE OR REPLACE FUNCTION (\S+)\(([^)]*)\)\s+RETURNS (SETOF )?[^$]*\$\$\s*([^$]*?)\s*\$\$/gm;
const INDEX = /^CREATE INDEX IF NOT EXISTS (\w+) ON warehouse\.(\w+)\s*\((\w+)[^;]*;/gm;

/** The views and functions of an engine, each behind those that it reads. */
export async function readMarts(engine: SqlDialect, pipelines: readonly Pipeline[]): Promise<Mart[]> {
  const folder = path.join(await packageRoot(), 'sql', 'marts');
  const names = (await readdir(folder, { recursive: true })).sort();
  const ours = names.filter((name) => {
    const [, only] = FILE.exec(path.basename(name)) ?? ['', 'none'];
    return only === undefined || only === engine;
  });
  const marts = ours.map(async (name): Promise<Mart> => {
    const sql = inWordsOf(engine, await readFile(path.join(folder, name), 'utf8'));
    const things = [...sql.matchAll(MADE)].map(([, kind, thing, table]) => ({
      kind: (table ? `${kind} TABLE` : kind) as Thing['kind'],
      name: String(thing),
    }));
    assert(things.length > 0, `sql/marts/${name} makes nothing`);
    return { name, sql, things };
  });
  const made = versionViews(pipelines).map(({ name, sql }): Mart => {
    const things: Thing[] = [{ kind: 'VIEW', name: inWordsOf(engine, `warehouse.${name}`) }];
    return { name: `${name}.sql`, sql: inWordsOf(engine, sql), things };
  });
  return inOrder([...(await Promise.all(marts)), ...made]);
}

/** DuckDB calls a database after its file, warehouse.duckdb: there the schema `warehouse` is the schema main of that. */
function inWordsOf(engine: SqlDialect, text: string): string {
  if (engine === 'postgres') return text;
  return text
    .replaceAll(FUNCTION, asMacro)
    .replaceAll(/\bwarehouse\./g, 'main.')
    .replaceAll(/\bjsonb\b/g, 'json')
    .replaceAll(/ COLLATE "\w+"/g, '');
}

/** What Postgres has as a function in SQL. Arguments of a macro have no types, or it would refuse the text of a date: its text casts them. */
function asMacro(_: string, name: string, args: string, rows: string | undefined, body: string): string {
  const names = args.split(', ').map((arg) => arg.replace(/ .*/, ''));
  return `CREATE OR REPLACE MACRO ${name}(${names.join(', ')}) AS ${rows ? `TABLE ${body}` : `(${body})`}`;
}

function inOrder(marts: readonly Mart[]): Mart[] {
  const made = new Map(marts.flatMap((mart) => mart.things.map(({ name }) => [name, mart] as const)));
  const done = new Set<Mart>();
  const visit = (mart: Mart, behind: readonly Mart[]) => {
    assert(!behind.includes(mart), `${mart.name} reads itself, by way of ${behind.map(({ name }) => name).join(', ')}`);
    if (done.has(mart)) return;
    const code = mart.sql.replaceAll(/--.*$/gm, '');
    for (const [name] of code.matchAll(/\b[a-z_]+\.[a-z_0-9]+\b/g)) {
      const read = made.get(name);
      if (read !== undefined && read !== mart) visit(read, [...behind, mart]);
    }
    done.add(mart);
  };
  for (const mart of marts) visit(mart, []);
  return [...done];
}

export interface Indexes {
  readonly sql: string;
  readonly things: readonly Thing[];
  /** `table.column` of every index that holds all rows of a table in the order of a column. */
  readonly first: ReadonlySet<string>;
}

/** The secondary indexes of Postgres. */
export async function readIndexes(): Promise<Indexes> {
  const sql = await readFile(path.join(await packageRoot(), 'sql', 'indexes.postgres.sql'), 'utf8');
  const found = [...sql.matchAll(INDEX)];
  const whole = found.filter(([statement]) => !/\bWHERE\b/.test(statement));
  return {
    sql,
    things: found.map(([, name]) => ({ kind: 'INDEX', name: `warehouse.${name}` })),
    first: new Set(whole.map(([, , table, column]) => `${table}.${column}`)),
  };
}
