/** Where a text stands in a home directory, whatever it is packed in: the proof that something was erased. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { Engine, quoteName, quoteText } from '../../src/engine/duckdb.ts';
import type { World } from './nights.ts';
import { filesUnder } from './retention.ts';

const NOT_SEARCHED = /^(?:settings\.yaml|locks\/)/;

/** Every file that holds one of the texts, plainly, behind JSON escapes, in base64, or in what is packed in it. */
export async function tracesOf(world: World, texts: readonly string[]): Promise<string[]> {
  const patterns = texts.map(spelledAnyhow);
  const found = new Set<string>();
  const names = (await filesUnder(world, '.')).filter((file) => !NOT_SEARCHED.test(file));
  for (const name of names) {
    const bytes = await readFile(path.join(world.home, name));
    const isTable = /\.(?:parquet|duckdb)$/.test(name);
    if (isTable && texts.some((text) => bytes.includes(text))) found.add(name);
    const parts = isTable ? [] : unpacked(bytes).map((part) => part.toString('utf8'));
    if (parts.some((part) => patterns.some((pattern) => pattern.test(part)))) found.add(name);
  }
  for (const name of await tablesHolding(world, names, texts)) found.add(name);
  return [...found].sort();
}

/** Tables are compressed: their rows are asked. */
async function tablesHolding(world: World, names: readonly string[], texts: readonly string[]): Promise<Set<string>> {
  const engine = await Engine.open({ tempDir: path.join(world.home, 'work', 'traces') });
  const holding = new Set<string>();
  try {
    for (const name of names.filter((one) => one.endsWith('.parquet'))) {
      const file = quoteText(path.join(world.home, name));
      for (const relation of [`read_parquet(${file})`, `parquet_metadata(${file})`])
        if (await holds(engine, relation, texts)) holding.add(name);
    }
    for (const name of names.filter((one) => one.endsWith('.duckdb')))
      if (await warehouseHolds(engine, path.join(world.home, name), texts)) holding.add(name);
  } finally {
    engine.close();
  }
  return holding;
}

async function holds(engine: Engine, relation: string, texts: readonly string[]): Promise<boolean> {
  const found = texts.map((text) => `strpos(row_text, ${quoteText(text)}) > 0`).join(' OR ');
  const { n } = await engine.row(
    `SELECT count(*) AS n FROM (SELECT r::VARCHAR AS row_text FROM ${relation} AS r) WHERE ${found}`,
  );
  return Number(n) > 0;
}

/** A pattern for a text each of whose characters may stand as it is or as an escape of JSON. */
function spelledAnyhow(text: string): RegExp {
  const signs = [...text].map((sign) => {
    const escaped = [...Array(sign.length).keys()].map(
      (i) => `\\\\u${sign.charCodeAt(i).toString(16).padStart(4, '0')}`,
    );
    return `(?:${sign.replace(/[^\w]/g, '\\$&')}|${escaped.join('')})`;
  });
  return new RegExp(signs.join(''), 'i');
}

/** The bytes, and what they hold: a gzip body, a body in base64. */
function unpacked(bytes: Buffer): Buffer[] {
  const found = [bytes];
  const zipped = (from: number) => bytes.indexOf('\u001f\u008b', from, 'latin1');
  for (let at = zipped(0); at >= 0; at = zipped(at + 1)) found.push(...attempt(() => gunzipSync(bytes.subarray(at))));
  for (const [, packed = ''] of bytes.toString('latin1').matchAll(/"bodyBase64": ?"([A-Za-z0-9+/=]+)"/g))
    found.push(Buffer.from(packed, 'base64'));
  return found;
}

function attempt(unpack: () => Buffer): Buffer[] {
  try {
    return [unpack()];
  } catch {
    return [];
  }
}

async function warehouseHolds(engine: Engine, file: string, texts: readonly string[]): Promise<boolean> {
  await engine.run(`ATTACH ${quoteText(file)} AS looked_at (READ_ONLY)`);
  try {
    const tables = await engine.rows(
      `SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = 'looked_at'`,
    );
    for (const { schema_name: schema, table_name: table } of tables)
      if (await holds(engine, `looked_at.${quoteName(String(schema))}.${quoteName(String(table))}`, texts)) return true;
    return false;
  } finally {
    await engine.run('DETACH looked_at');
  }
}
