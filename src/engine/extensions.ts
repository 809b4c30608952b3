/**
 * DuckDB's own extensions, which are not in its npm package: from DuckDB's server, where this machine reaches it, or from a folder, whose files are
 * signed by DuckDB and refused by it if they are of another version.
 */
import { access } from 'node:fs/promises';
import path from 'node:path';
import { version } from '@duckdb/node-api';
import { EtlError } from '../core/errors.ts';
import { type Engine, quoteText } from './duckdb.ts';

export type Extension = 'delta' | 'ducklake' | 'httpfs' | 'postgres_scanner';

/** `folder`: the setting `engine.extensions`; null: DuckDB fetches what it does not have yet. Errors: `usage/extension`, naming it. */
export async function loadExtensions(
  engine: Engine,
  names: readonly Extension[],
  folder: string | null,
): Promise<void> {
  for (const name of names)
    if (folder === null) await fetchExtension(engine, name);
    else await loadFile(engine, name, path.join(folder, `${name}.duckdb_extension`));
}

async function fetchExtension(engine: Engine, name: Extension): Promise<void> {
  try {
    await engine.run(`INSTALL ${name}`);
    await engine.run(`LOAD ${name}`);
  } catch (cause) {
    const why = `DuckDB ${version()} cannot get its extension ${name}: ${firstLine(cause)}`;
    throw refusal(why, cause, 'let this machine reach extensions.duckdb.org, or put the file into a folder');
  }
}

async function loadFile(engine: Engine, name: Extension, file: string): Promise<void> {
  try {
    await access(file);
  } catch (cause) {
    throw refusal(`there is no ${file}`, cause, `put DuckDB's extension ${name} there`);
  }
  try {
    await engine.run(`LOAD ${quoteText(file)}`);
  } catch (cause) {
    throw refusal(
      `DuckDB ${version()} refuses ${file}: ${firstLine(cause)}`,
      cause,
      'put the file for this version there',
    );
  }
}

function refusal(why: string, cause: unknown, remedy: string): EtlError {
  const release = version().replace(/^v/, '');
  return new EtlError('usage', 'extension', why, {
    cause,
    hint: `${remedy} (PyPI has it: duckdb-extension-… ${release}), which engine.extensions names: see docs/scaling.md`,
  });
}

function firstLine(cause: unknown): string {
  return (cause instanceof Error ? cause.message : String(cause)).split('\n')[0]!;
}
