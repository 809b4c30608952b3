import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { Engine } from '../../src/engine/duckdb.ts';
import { defaultQuery, FOUND, PREPARATION } from './eans-query.ts';

test('on DuckDB the EANs are what was sold lately, most valuable first', async () => {
  const tempDir = await mkdtemp(path.join(tmpdir(), 'partner-etl-eans-'));
  onTestFinished(() => rm(tempDir, { recursive: true, force: true }));
  const engine = await Engine.open({ tempDir });
  onTestFinished(() => engine.close());
  const query = await defaultQuery();
  for (const sql of PREPARATION.slice(0, 3)) await engine.run(sql);
  expect(await engine.rows(query)).toEqual([]);
  for (const sql of PREPARATION.slice(3)) await engine.run(sql);
  expect((await engine.rows(query)).map(({ ean }) => ean)).toEqual(FOUND);
});
