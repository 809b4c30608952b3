/** A DuckDB warehouse without rows, to be copied: its migrations and comments take longer than most tests. */
import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pipelines } from '../../pipelines/index.ts';
import { systemClock } from '../../src/core/clock.ts';
import { Engine } from '../../src/engine/duckdb.ts';
import { migrateDuckdb } from '../../src/warehouse/duckdb/migrate.ts';

let template: Promise<string> | null = null;

/** Its file; made by the first test of a process that needs it. */
export function warehouseTemplate(): Promise<string> {
  template ??= makeTemplate();
  return template;
}

async function makeTemplate(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'partner-etl-template-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const file = path.join(folder, 'warehouse.duckdb');
  const engine = await Engine.open({ file, tempDir: path.join(folder, 'spill') });
  try {
    await migrateDuckdb(engine, { pipelines, clock: systemClock, afresh: true, target: 'duckdb' });
  } finally {
    engine.close();
  }
  return file;
}
