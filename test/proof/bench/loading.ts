/** Parquet → DuckDB and Parquet → Postgres: 30 days replaced in a table of 10 million rows. */
import { createReadStream, createWriteStream } from 'node:fs';
import path from 'node:path';
import { pipeline as piped } from 'node:stream/promises';
import pg from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { pipelines } from '../../../pipelines/index.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { type Day, daysOf } from '../../../src/core/days.ts';
import { Engine } from '../../../src/engine/duckdb.ts';
import { openDuckdbTarget } from '../../../src/warehouse/duckdb/target.ts';
import { openPostgresTarget } from '../../../src/warehouse/postgres/target.ts';
import type { LoadSlice, Target } from '../../../src/warehouse/target.ts';
import { startPostgres } from '../../support/postgres.ts';
import { makeSlices } from './history.ts';
import { type Result, timed } from './place.ts';
import { publication } from './publication.ts';

const YEAR = daysOf({ from: '2025-01-01' as Day, to: '2025-12-31' as Day });
const MONTH = YEAR.slice(150, 180);
const ROWS_A_DAY = 27_400;

export async function loading(dir: string): Promise<Result[]> {
  const engine = await Engine.open({ tempDir: path.join(dir, 'spill'), memoryMiB: 1024 });
  const history = await makeSlices(engine, path.join(dir, 'history'), YEAR, ROWS_A_DAY);
  const editions: LoadSlice[][] = [];
  for (const edition of [1, 2, 3])
    editions.push(await makeSlices(engine, path.join(dir, 'month'), MONTH, ROWS_A_DAY, edition));
  engine.close();
  return [await duckdb(dir, history, editions), await postgres(dir, history, editions)];
}

const rowsOf = (slices: readonly LoadSlice[]) => slices.reduce((sum, s) => sum + s.content.rows, 0);
const n = (value: number) => Math.round(value).toLocaleString('en-US');

async function duckdb(dir: string, history: readonly LoadSlice[], editions: readonly LoadSlice[][]): Promise<Result> {
  const target = openDuckdbTarget({
    file: path.join(dir, 'warehouse.duckdb'),
    workDir: path.join(dir, 'work'),
    clock: systemClock,
    pipelines,
  });
  const { best, first } = await replaceAll(target, history, editions);
  const rows = rowsOf(editions[0]!);
  const perSecond = (rows / (best.tookMs - best.copyMs)) * 1000;
  return {
    name: `Parquet → DuckDB, 30 days (${n(rows)} rows) replaced in 10 million`,
    figure: `${n(perSecond)} rows/s in ${n(best.tookMs - best.copyMs)} ms; the file's copy takes ${n(best.copyMs)} ms on its own`,
    limit: `first load of the 10 million: ${n((rowsOf(history) / first) * 1000)} rows/s`,
    ratio: rowsOf(history) / first / (rows / (best.tookMs - best.copyMs)),
    target: '≥ 250,000 rows/s',
    met: perSecond >= 250_000,
    raw: { slices: best.slices, tookMs: best.tookMs, copyMs: best.copyMs, rows },
  };
}

async function postgres(dir: string, history: readonly LoadSlice[], editions: readonly LoadSlice[][]): Promise<Result> {
  const server = await startPostgres();
  try {
    const target = openPostgresTarget({
      url: server.url,
      workDir: path.join(dir, 'work'),
      clock: systemClock,
      pipelines,
    });
    const { best } = await replaceAll(target, history, editions);
    const limitMs = await copyAgain(server.url, path.join(dir, 'copy.txt'));
    const rows = rowsOf(editions[0]!);
    const share = limitMs / best.tookMs;
    return {
      name: `Parquet → Postgres with its key, 30 days (${n(rows)} rows) replaced in 10 million`,
      figure: `${n((rows / best.tookMs) * 1000)} rows/s in ${n(best.tookMs)} ms, ${share.toFixed(2)} of the limit`,
      ratio: best.tookMs / limitMs,
      limit: `${n((rows / limitMs) * 1000)} rows/s: the same delete and COPY of a ready file`,
      target: '≥ 0.7 of the limit',
      met: share >= 0.7,
      raw: { slices: best.slices, tookMs: best.tookMs, copyMs: best.copyMs, rows, limitMs },
    };
  } finally {
    await server.stop();
  }
}

/** Loads the history, then each edition of the month; the quickest of the replacements. */
async function replaceAll(target: Target, history: readonly LoadSlice[], editions: readonly LoadSlice[][]) {
  const { ms: first } = await timed(() => target.publish(publication(history)));
  const results = [];
  for (const edition of editions) results.push(await target.publish(publication(edition)));
  await target.close();
  const [best] = results.sort((a, b) => a.tookMs - a.copyMs - (b.tookMs - b.copyMs));
  return { best: best!, first };
}

/** The limit: what Postgres itself takes for the delete and the COPY of a ready file, best of three. */
async function copyAgain(url: string, file: string): Promise<number> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const within = `order_date BETWEEN '${MONTH[0]}' AND '${MONTH.at(-1)}'`;
  const select = `SELECT * FROM warehouse.fact_order_item WHERE ${within}`;
  await piped(client.query(copyTo(`COPY (${select}) TO STDOUT`)), createWriteStream(file));
  const times: number[] = [];
  for (let round = 0; round < 3; round++) {
    const { ms } = await timed(async () => {
      await client.query('BEGIN');
      await client.query(`DELETE FROM warehouse.fact_order_item WHERE ${within}`);
      await piped(
        createReadStream(file, { highWaterMark: 1 << 20 }),
        client.query(copyFrom('COPY warehouse.fact_order_item FROM STDIN')),
      );
      await client.query('COMMIT');
    });
    times.push(ms);
  }
  await client.end();
  return Math.min(...times);
}
