import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { Engine } from '../../src/engine/duckdb.ts';
import { engineSize, warehouseSize } from '../../src/engine/size.ts';

const OPEN = { memoryMiB: null, threads: null };
const GiB = 1024;

test.each([
  ['a small machine', 2, 4 * GiB, 512],
  ['one with less than eight times the least', 2, GiB, 512],
  ['a large one', 64, 256 * GiB, 8 * GiB],
  ['many cores and little memory', 64, 16 * GiB, 2 * GiB],
])('without settings, %s: every core, and memory for each', (_, cores, memoryMiB, expected) => {
  expect(engineSize(OPEN, { cores, memoryMiB })).toEqual({ threads: cores, memoryMiB: expected });
});

test('a setting counts, whatever the machine has; fewer threads need less memory', () => {
  const machine = { cores: 64, memoryMiB: 256 * GiB };
  expect(engineSize({ memoryMiB: 300, threads: 3 }, machine)).toEqual({ threads: 3, memoryMiB: 300 });
  expect(engineSize({ memoryMiB: null, threads: 8 }, machine)).toEqual({ threads: 8, memoryMiB: GiB });
});

test('DuckDB takes both, a warehouse half of the memory', async () => {
  const tempDir = await mkdtemp(path.join(tmpdir(), 'size-'));
  const engine = await Engine.open({ tempDir, ...warehouseSize({ memoryMiB: 600, threads: 3 }) });
  const settings = `SELECT current_setting('threads') AS threads, current_setting('memory_limit') AS memory`;
  expect(await engine.row(settings)).toEqual({ threads: 3n, memory: '300.0 MiB' });
  engine.close();
  await rm(tempDir, { recursive: true, force: true });
});
