/**
 * How costs grow, as exponents fitted to the least of several measurements: with the rows of a day, the history behind a night, and
 * the EANs that are asked about. 1 is linear; 0 is no growth.
 */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import pg from 'pg';
import { pipelines } from '../../../pipelines/index.ts';
import { systemClock } from '../../../src/core/clock.ts';
import type { Day } from '../../../src/core/days.ts';
import { Engine } from '../../../src/engine/duckdb.ts';
import { openDuckdbTarget } from '../../../src/warehouse/duckdb/target.ts';
import { openPostgresTarget } from '../../../src/warehouse/postgres/target.ts';
import type { LoadSlice, Target } from '../../../src/warehouse/target.ts';
import { startPostgres } from '../../support/postgres.ts';
import { exponentOf, type Point } from './fit.ts';
import { makeSlices } from './history.ts';
import { served } from './ingest.ts';
import { eanNights } from './lookups.ts';
import type { Night } from './night-child.ts';
import { type HistoryNights, nightsBehind } from './night-home.ts';
import { RANGE, writeAnswer } from './orders-answer.ts';
import type { Result } from './place.ts';
import { publication } from './publication.ts';

/** ×1, ×10, ×100. Of few rows a fixed cost would be most of the time, and hide how the rest grows. */
const ROWS = [10_000, 100_000, 1_000_000] as const;
/** In the warehouse, with those of the lookback: ×1 and ×10 in all. */
export const HISTORY_DAYS = [120, 1200] as const;
const EANS = [20_000, 200_000] as const;
/** The least of so many; what is short is also the noisiest. */
const ROWS_ROUNDS = [5, 3, 2] as const;
const EANS_ROUNDS = 2;

const ROWS_TARGET = 1.1;
const HISTORY_TARGET = 0.2;
const EANS_TARGET = 1.1;

export async function growth(dir: string): Promise<Result[]> {
  return [...(await rowsOfADay(dir)), ...(await history(dir)), ...(await eans(dir))];
}

async function rowsOfADay(dir: string): Promise<Result[]> {
  const grows = (what: string, points: readonly Point[]) =>
    grown({
      what,
      grows: "rows of one day's orders",
      points,
      limit: 'exponent 1: as the rows do',
      target: ROWS_TARGET,
    });
  const { duckdb, postgres } = await loads(dir);
  return [
    grows('fetch, normalise, lake', await ingests(dir)),
    grows('load into DuckDB', duckdb),
    grows('load into Postgres', postgres),
  ];
}

/** From the run's record to the lake's commit. */
async function ingests(dir: string): Promise<Point[]> {
  const points: Point[] = [];
  for (const [i, rows] of ROWS.entries()) {
    const file = path.join(dir, `one-day-${rows}.json`);
    await writeAnswer(file, rows, 1);
    const costs: number[] = [];
    for (let round = 0; round < ROWS_ROUNDS[i]!; round++) {
      const found = await served(dir, file, { isGzip: false, to: RANGE.from });
      if (found.rows !== rows) throw new Error(`${found.rows} of ${rows} rows arrived in the lake`);
      costs.push(found['lake-committed']! - found['run-recorded']!);
    }
    await rm(file);
    points.push({ size: rows, cost: Math.min(...costs) });
  }
  return points;
}

/** Replacing a day that is there already, in a warehouse that holds nothing else; DuckDB without the copy of its file. */
async function loads(dir: string): Promise<Record<'duckdb' | 'postgres', Point[]>> {
  const points = { duckdb: [] as Point[], postgres: [] as Point[] };
  const engine = await Engine.open({ tempDir: path.join(dir, 'growth', 'spill'), memoryMiB: 1024 });
  const server = await startPostgres();
  try {
    for (const [i, rows] of ROWS.entries()) {
      const folder = path.join(dir, 'growth', String(rows));
      const editions: LoadSlice[] = [];
      for (let edition = 0; edition <= ROWS_ROUNDS[i]!; edition++)
        editions.push(...(await makeSlices(engine, folder, [RANGE.from as Day], rows, edition)));
      const workDir = path.join(folder, 'work');
      const both = { workDir, clock: systemClock, pipelines };
      const duckdb = openDuckdbTarget({ ...both, file: path.join(folder, 'warehouse.duckdb') });
      points.duckdb.push({ size: rows, cost: await quickestLoad(duckdb, editions) });
      const postgres = openPostgresTarget({ ...both, url: await newDatabase(server.url, `rows_${rows}`) });
      points.postgres.push({ size: rows, cost: await quickestLoad(postgres, editions) });
      await rm(folder, { recursive: true });
    }
  } finally {
    engine.close();
    await server.stop();
  }
  return points;
}

async function newDatabase(url: string, name: string): Promise<string> {
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  await admin.query(`CREATE DATABASE ${name}`);
  await admin.end();
  const made = new URL(url);
  made.pathname = `/${name}`;
  return made.href;
}

async function quickestLoad(target: Target, editions: readonly LoadSlice[]): Promise<number> {
  const costs: number[] = [];
  for (const edition of editions) {
    const { tookMs, copyMs } = await target.publish(publication([edition]));
    costs.push(tookMs - copyMs);
  }
  await target.close();
  return Math.min(...costs.slice(1)); // the first one makes the tables
}

async function history(dir: string): Promise<Result[]> {
  const nights: HistoryNights[] = [];
  for (const days of HISTORY_DAYS) nights.push(await nightsBehind(dir, days, true));
  const grows = (what: string, of: (found: HistoryNights) => readonly Night[], cost: (night: Night) => number) => {
    const points = nights.map((found, i) => ({ size: HISTORY_DAYS[i]!, cost: Math.min(...of(found).map(cost)) }));
    const limit = 'exponent 0: not at all';
    return grown({ what, grows: 'days in the warehouse', points, limit, target: HISTORY_TARGET });
  };
  return [
    grows(
      "a night, the copy of DuckDB's file apart",
      ({ next }) => next,
      (night) => night.wallMs - night.copyMs,
    ),
    grows(
      'its publication in DuckDB',
      ({ next }) => next,
      ({ duckdbMs }) => duckdbMs,
    ),
    grows(
      'its publication in Postgres',
      ({ next }) => next,
      ({ postgresMs }) => postgresMs,
    ),
    grows(
      'an unchanged night',
      ({ again }) => again,
      ({ wallMs }) => wallMs,
    ),
  ];
}

async function eans(dir: string): Promise<Result[]> {
  const found: Awaited<ReturnType<typeof eanNights>>[] = [];
  for (const count of EANS) found.push(await eanNights(path.join(dir, `eans-${count}`), count, EANS_ROUNDS));
  const grows = (what: string, costOf: (nights: (typeof found)[number]) => number) => {
    const points = found.map((nights, i) => ({ size: EANS[i]!, cost: costOf(nights) }));
    return grown({ what, grows: 'EANs', points, limit: 'exponent 1: as the EANs do', target: EANS_TARGET });
  };
  return [
    grows('planning look-ups, none of them due', ({ planMs }) => planMs),
    grows('asking them, at 2,000 calls a second allowed', ({ askMs }) => askMs),
    grows('the whole night, from the list to DuckDB', ({ nightMs }) => nightMs),
  ];
}

interface Grown {
  readonly what: string;
  /** What there is ever more of. */
  readonly grows: string;
  readonly points: readonly Point[];
  readonly limit: string;
  /** The exponent that is good enough. */
  readonly target: number;
}

function grown({ what, grows, points, limit, target }: Grown): Result {
  const exponent = exponentOf(points);
  const last = exponentOf(points.slice(-2));
  const costs = points.map(({ cost }) => `${Math.round(cost).toLocaleString('en-US')} ms`).join(', ');
  const sizes = points.map(({ size }) => size.toLocaleString('en-US')).join(', ');
  // What a fixed cost hides in the small sizes, the last step shows.
  const lastStep = points.length > 2 ? ` (${last.toFixed(2)} in the last step)` : '';
  return {
    name: `growth with ${sizes} ${grows}: ${what}`,
    figure: `exponent ${exponent.toFixed(2)}${lastStep}: ${costs}`,
    limit,
    target: `≤ ${target}`,
    met: exponent <= target,
    raw: { exponent, ...Object.fromEntries(points.map(({ size, cost }) => [`${size} ms`, cost])) },
  };
}
