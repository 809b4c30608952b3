/** An empty warehouse with all its tables: most seeds begin with a copy, because making it takes as long as a night. */
import { existsSync } from 'node:fs';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { packageRoot } from './crew.ts';
import { openPlace } from './place.ts';
import { Processes } from './processes.ts';
import { type Scenario, scenarioOf } from './scenario.ts';

const NOTHING: Scenario = { ...scenarioOf(1), reports: ['orders'], hasLookups: false, hasPushes: false };
const BOOKKEEPING = ['receipt', 'run', 'fetch', 'reject', 'hold', 'drift_by_fetch'];

export interface Template {
  readonly file: string;
  remove(): Promise<void>;
}

export async function makeTemplate(): Promise<Template> {
  const folder = await mkdtemp(path.join(tmpdir(), 'etl-sim-template-'));
  const file = path.join(folder, 'warehouse.duckdb');
  const processes = new Processes(null);
  const place = await openPlace(NOTHING, { serverUrl: null, isOfHosts: false, template: null });
  try {
    const { env, clockFile, warehouse } = place;
    const work = [{ kind: 'night', names: [] }] as const;
    const made = await processes.order({
      work,
      env,
      packageRoot,
      clockFile,
      writer: 'q',
      seed: 1,
      part: 'template',
      aim: null,
      notes: null,
    });
    if (!existsSync(warehouse)) throw new Error(`no empty warehouse was made: ${JSON.stringify(made)}`);
    await copyFile(warehouse, file);
    await empty(file);
  } finally {
    await processes.close();
    await place.close();
  }
  return { file, remove: () => rm(folder, { recursive: true, force: true }) };
}

async function empty(file: string): Promise<void> {
  const instance = await DuckDBInstance.create(file, { threads: '1' });
  const connection = await instance.connect();
  const shown = await connection.runAndReadAll('SHOW ALL TABLES');
  const tables = shown.getRowObjects() as unknown as { schema: string; name: string }[];
  for (const { schema, name } of tables)
    if ((schema === 'main' && /^(fact_|order_item)/.test(name)) || (schema === 'etl' && BOOKKEEPING.includes(name)))
      await connection.run(`DELETE FROM ${schema}.${name}`).catch(() => undefined); // a view
  await connection.run('CHECKPOINT');
  connection.closeSync();
  instance.closeSync();
}
