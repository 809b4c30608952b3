import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { Engine, quoteText } from '../../src/engine/duckdb.ts';

test('what was read from files is not held in memory: a run reads as many as its range has days', async () => {
  const dir = await mkdtemp(path.join(tmpdir(), 'etl-engine-'));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  const engine = await Engine.open({ tempDir: path.join(dir, 'spill') });
  onTestFinished(() => engine.close());
  const file = quoteText(path.join(dir, 'rows.parquet'));
  await engine.run(`COPY (SELECT i, md5(i::VARCHAR) AS text FROM range(20000) t(i)) TO ${file} (FORMAT parquet)`);
  expect(await engine.row(`SELECT count(DISTINCT text) AS texts FROM read_parquet(${file})`)).toEqual({
    texts: 20_000n,
  });
  const held = `SELECT memory_usage_bytes FROM duckdb_memory() WHERE tag = 'EXTERNAL_FILE_CACHE'`;
  expect(await engine.row(held)).toEqual({ memory_usage_bytes: 0n });
});

test('a text comes over with every character, a byte order mark at its beginning as well', async () => {
  const dir = await mkdtemp(path.join(tmpdir(), 'etl-engine-'));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  const engine = await Engine.open({ tempDir: path.join(dir, 'spill') });
  onTestFinished(() => engine.close());
  const [short, long] = ['\ufeffa', '\ufeffan id that is longer than twelve bytes'];
  expect(await engine.row(`SELECT ${quoteText(short)} AS short, ${quoteText(long)} AS long`)).toEqual({ short, long });
});
