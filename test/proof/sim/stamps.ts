/** What a place looks like, to see whether anything was written. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import type { Place } from './place.ts';
import { openPostgres, type Reader, stampOf } from './warehouse-reader.ts';

/** Changes whenever something is published. */
export async function fingerprint(reader: Reader): Promise<string> {
  const rows = await reader.ask(
    `SELECT CAST(count(*) AS VARCHAR) AS n, CAST(max(loaded_at) AS VARCHAR) AS last, CAST(sum(rows) AS VARCHAR) AS rows FROM etl.receipt`,
  );
  const facts = await reader.ask(
    `SELECT CAST(count(*) AS VARCHAR) AS n, CAST(sum(commission) AS VARCHAR) AS sum FROM warehouse.fact_order_item`,
  );
  const runs = await reader.ask('SELECT CAST(count(*) AS VARCHAR) AS n FROM etl.run');
  return JSON.stringify([rows, facts, runs]);
}

/** Stamps of the lake's files and of the warehouse. */
export async function stampsOf({ home, warehouse, postgresUrl }: Place): Promise<Map<string, string>> {
  const stamps = new Map<string, string>();
  const look = (file: string) => {
    if (statSync(file).isFile()) stamps.set(path.relative(home, file), stampOf(file));
  };
  for (const tree of ['lake', 'rejects', 'held'].filter((one) => existsSync(path.join(home, one))))
    for (const name of readdirSync(path.join(home, tree), { recursive: true, encoding: 'utf8' }))
      look(path.join(home, tree, name));
  if (existsSync(warehouse)) look(warehouse);
  const reader = postgresUrl === null ? null : await openPostgres(postgresUrl);
  if (reader) stamps.set('postgres', await fingerprint(reader));
  await reader?.close();
  return stamps;
}
