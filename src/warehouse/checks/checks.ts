/**
 * Checks: `sql/checks/<name>.sql`, and files of the same kind in the folder `checks/` under the home directory, where one that has
 * the name of one of ours takes its place. A check is one SELECT of the rows that break it; `slice_day` is the day of their slice,
 * the other columns are evidence. Where the engines need different SQL it is `<name>.duckdb.sql` and `<name>.postgres.sql`.
 *
 * In front of it stand comment lines that say how it is meant:
 *   -- severity: block    (the slices concerned are kept back) or warn (they are published, and it is reported)
 *   -- about: what holds where nothing is broken, in one sentence
 *   -- pipeline: whose slices it is about (one file for several: check-family.ts); where it only warns, others whose new slices call for it may follow behind commas
 *   -- fix: what a person does; D in it stands for the day
 * `{on_days:column}` in it becomes a condition on the days that are looked at, so that it costs those days and not the history;
 * `{on_days:column:14}` is true on the 14 days before each of them too. A column `field` names what is broken within a slice.
 */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { addDays, type Day } from '../../core/days.ts';
import { EtlError } from '../../core/errors.ts';
import type { Pipeline } from '../../core/pipeline.ts';
import { namesIn } from '../../disk/atomic.ts';
import { packageRoot } from '../../disk/package-root.ts';
import { headedSql } from '../headed-sql.ts';
import { onDays } from '../on-days.ts';
import type { SqlDialect, TargetName } from '../target-name.ts';
import { checksOfFile } from './family.ts';

export interface Check {
  readonly name: string;
  readonly severity: 'block' | 'warn';
  readonly about: string;
  /** Name of the pipeline whose slices it is about. */
  readonly pipeline: string;
  /** Pipelines besides it and its parts: a day on which one of them brings a slice is looked at too. */
  readonly also: readonly string[];
  readonly fix: string;
  /** Absolute path. */
  readonly file: string;
  /** The SELECT, with its `{on_days:…}`. */
  readonly sql: string;
}

/** What a check found on one day. */
export interface BrokenCheck {
  readonly check: string;
  readonly severity: Check['severity'];
  readonly pipeline: string;
  readonly about: string;
  readonly fix: string;
  /** null for rows that name none. */
  readonly day: Day | null;
  /** What is broken in the slice, where the check's rows tell it in a column `field`. */
  readonly field: string | null;
  /** How many rows break it. */
  readonly rows: number;
  /** One of them, as JSON; cut at EXAMPLE_CHARS. */
  readonly example: string;
}

const FILE = /^([a-z][a-z0-9_]*)(?:\.(duckdb|postgres))?\.sql$/;
const ON_DAYS = /\{on_days:([a-z_][a-z0-9_]*)(?::([1-9]\d{0,2}))?\}/g;

/**
 * The checks for an engine, by name. `own` is the folder with the user's; it need not be there.
 * Errors: `usage/check` for a file that is no check, with file and reason. Whether its SQL is right, only the engine can tell.
 */
export async function readChecks(engine: SqlDialect, own: string, pipelines: readonly Pipeline[]): Promise<Check[]> {
  const shipped = path.join(await packageRoot(), 'sql', 'checks');
  const checks = new Map<string, Check>();
  for (const folder of [shipped, own])
    for (const check of await checksIn(folder, engine, pipelines)) checks.set(check.name, check);
  return [...checks.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The file for this engine alone comes behind the one for both, and so takes its place. */
async function checksIn(folder: string, engine: SqlDialect, pipelines: readonly Pipeline[]): Promise<Check[]> {
  const names = (await namesIn(folder)).filter((name) => name.endsWith('.sql')).sort();
  const named = pipelines.map((pipeline) => pipeline.name);
  const checks: Check[] = [];
  for (const forOne of [false, true])
    for (const name of names) {
      const file = path.join(folder, name);
      const [, check, only] = FILE.exec(name) ?? [];
      if (check === undefined)
        throw noCheck(file, 'its name is not of small letters, digits and _, with .sql, .duckdb.sql or .postgres.sql');
      if (forOne === (only !== undefined) && (only ?? engine) === engine)
        for (const one of checksOfFile(check, await readFile(file, 'utf8'), pipelines))
          checks.push(parseCheck(one.name, file, one.text, named));
    }
  return checks;
}

/** Errors: `usage/check` where the header lacks something or says what cannot be. */
export function parseCheck(name: string, file: string, text: string, pipelines: readonly string[]): Check {
  const { header, sql } = headedSql(text, ['severity', 'about', 'pipeline', 'fix']);
  const lines = new Map(header.map(({ key, value }) => [key, value]));
  const said = (key: string): string => {
    const value = lines.get(key);
    if (value === undefined) throw noCheck(file, `it has no line "-- ${key}: …" in front of the SELECT`);
    return value;
  };
  const severity = said('severity');
  if (severity !== 'block' && severity !== 'warn')
    throw noCheck(file, `its severity is "${severity}" and not block or warn`);
  const [pipeline = '', ...also] = said('pipeline').split(/\s*,\s*/);
  for (const named of [pipeline, ...also])
    if (!pipelines.includes(named)) throw noCheck(file, `there is no pipeline "${named}"`);
  if (severity === 'block' && also.length > 0)
    throw noCheck(file, 'one that blocks holds the slices of one pipeline, and it names several');
  if (sql === '') throw noCheck(file, 'there is no SELECT in it');
  return { name, severity, about: said('about'), pipeline, also, fix: said('fix'), file, sql };
}

/** A file that is no check; `reason` is a sentence without its end. */
export function noCheck(file: string, reason: string, cause?: unknown): EtlError {
  return new EtlError('usage', 'check', `${file} is no check: ${reason}`, {
    cause,
    concern: { file },
    hint: 'fix the file or take it out of the folder; docs/checks.md says what a check is',
  });
}

/** Of a check that is one and yet did not come to its end: `failed/check_timeout`, or `failed/check_unfinished` with what it lacked. */
export function unfinished(target: TargetName, { name, file }: Check, cause: unknown, lack: string | null): EtlError {
  const [code, what] =
    lack === null ? ['check_timeout', 'took longer than it may'] : ['check_unfinished', `was not finished: ${lack}`];
  return new EtlError('failed', code, `check ${name} ${what}`, {
    cause,
    concern: { target, file },
    hint: 'limit it to the days looked at: {on_days:column}',
  });
}

/** The SELECT for these days; null: for all. */
export function sqlOn({ sql }: Check, days: readonly Day[] | null): string {
  return sql.replace(ON_DAYS, (_, column: string, before = '0') =>
    days === null ? 'true' : `(${onDays(column, withDaysBefore(days, Number(before)))})`,
  );
}

function withDaysBefore(days: readonly Day[], count: number): Day[] {
  const all = days.flatMap((day) => Array.from({ length: count + 1 }, (_, i) => addDays(day, -i)));
  return [...new Set(all)];
}

/** What was found, in one sentence without its end. */
export function brokenText({ check, about, field, rows, example }: BrokenCheck): string {
  const where = field === null ? '' : `, ${field}`;
  return `check ${check} (${about})${where}: ${rows.toLocaleString('en-US')} ${rows === 1 ? 'row breaks' : 'rows break'} it, such as ${example}`;
}

/** The fix of a check for one day: D stands for it. */
export function fixOn(fix: string, day: Day | null): string {
  return day === null ? fix : fix.replaceAll(/\bD\b/g, day);
}

/** Checks that block a publication; what was found of each is in `broken`, each with a day. Nothing was published. */
export class BlockedByChecks extends EtlError {
  readonly broken: readonly BrokenCheck[];

  constructor(broken: readonly BrokenCheck[], concern: EtlError['concern'] = {}) {
    super('failed', 'check', broken.map(brokenText).join('; '), {
      concern,
      hint: broken[0] ? fixOn(broken[0].fix, broken[0].day) : '',
    });
    this.broken = broken;
  }

  override about(concern: EtlError['concern']): BlockedByChecks {
    return new BlockedByChecks(this.broken, { ...concern, ...this.concern });
  }
}
