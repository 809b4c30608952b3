/** What analysts wait for: every mart for one month of three years, and a night of 45 changed days with its checks behind them. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import pg from 'pg';
import { pipelines } from '../../../pipelines/index.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { addDays, type Day, daysOf } from '../../../src/core/days.ts';
import { Engine } from '../../../src/engine/duckdb.ts';
import { readChecks } from '../../../src/warehouse/checks/checks.ts';
import { openDuckdbTarget } from '../../../src/warehouse/duckdb/target.ts';
import { openPostgresTarget } from '../../../src/warehouse/postgres/target.ts';
import type { LoadSlice, PublishResult, Target } from '../../../src/warehouse/target.ts';
import type { SqlDialect } from '../../../src/warehouse/target-name.ts';
import { startPostgres } from '../../support/postgres.ts';
import { packageRoot, type Result, timed } from './place.ts';
import { publication } from './publication.ts';
import { ThreeYears } from './three-years.ts';

const FROM = '2023-11-01' as Day;
const DAYS = 1096;
const ITEMS_A_DAY = 9130;
const LAST = addDays(FROM, DAYS - 1);
const NIGHT = daysOf({ from: addDays(LAST, -44), to: LAST });
/** The month that is asked for, somewhere in the middle, and the newest. */
const MONTHS = [
  { from: '2025-03-01', to: '2025-03-31' },
  { from: addDays(LAST, -30), to: LAST },
] as const;
const DAY_COLUMNS = ['day', 'order_date', 'order_week', 'changed_on', 'slice_day', 'received_on'];
const ROUNDS = 3;

interface Made {
  readonly years: readonly LoadSlice[];
  /** The night after three years, and after the days of the night alone. */
  readonly night: readonly LoadSlice[];
  readonly days: readonly LoadSlice[];
}

interface Mart {
  readonly name: string;
  /** The column that says the month; null: it shows what holds now. */
  readonly day: string | null;
}

/** How one engine is asked, past the target. */
interface Asking {
  marts(): Promise<Mart[]>;
  /** Computes every row and column, and throws them away; returns the plan. */
  run(select: string): Promise<string>;
}

let made: Promise<Made> | null = null;
/** The same slices for both engines, made once. */
const madeIn = (dir: string): Promise<Made> => {
  made ??= make(dir);
  return made;
};

export const analystsDuckdb = async (dir: string): Promise<Result[]> => duckdb(dir, await madeIn(dir));
export const analystsPostgres = async (dir: string): Promise<Result[]> => postgres(dir, await madeIn(dir));

async function make(dir: string): Promise<Made> {
  const engine = await Engine.open({ tempDir: path.join(dir, 'spill'), memoryMiB: 2048 });
  try {
    const maker = new ThreeYears(engine, path.join(dir, 'slices'), ITEMS_A_DAY);
    const lookups = await maker.lookups(FROM, DAYS);
    const period = { from: FROM, to: LAST };
    const years = [...(await maker.reports(daysOf(period), LAST)), ...(await maker.histories(daysOf(period), period))];
    const after = addDays(LAST, 1);
    const changed = await maker.histories([after], { from: NIGHT[0]!, to: LAST });
    return {
      years: [...lookups, ...years],
      night: [...(await maker.reports(NIGHT, after)), ...changed],
      days: years.filter(({ content }) => content.day >= NIGHT[0]!),
    };
  } finally {
    engine.close();
  }
}

async function duckdb(dir: string, made: Made): Promise<Result[]> {
  const open = (name: string) => {
    const folder = path.join(dir, name);
    return openDuckdbTarget({
      file: path.join(folder, 'warehouse.duckdb'),
      workDir: path.join(folder, 'work'),
      clock: systemClock,
      pipelines,
    });
  };
  const nights = await nightsOf('duckdb', made, open('night'), open('years'));
  const engine = await Engine.open({
    file: path.join(dir, 'years', 'warehouse.duckdb'),
    readOnly: true,
    tempDir: path.join(dir, 'spill'),
    memoryMiB: 4096,
  });
  const asking: Asking = {
    marts: async () => (await engine.rows(MARTS_OF("database_name = 'warehouse'"))) as unknown as Mart[],
    run: async (select) => String((await engine.row(`EXPLAIN ANALYZE ${select}`)).explain_value),
  };
  const found = await martsOf('DuckDB', 1000, asking);
  engine.close();
  return [nights, found];
}

async function postgres(dir: string, made: Made): Promise<Result[]> {
  const server = await startPostgres();
  const admin = new pg.Client({ connectionString: server.url });
  await admin.connect();
  const workDir = path.join(dir, 'work');
  await mkdir(workDir, { recursive: true });
  const open = (url: string) => openPostgresTarget({ url, workDir, clock: systemClock, pipelines });
  try {
    await admin.query('CREATE DATABASE night');
    await admin.query("SET work_mem = '64MB'"); // as docs/analysts.md advises, and partner-etl sql does
    const night = new URL(server.url);
    night.pathname = '/night';
    const nights = await nightsOf('postgres', made, open(night.href), open(server.url));
    const asking: Asking = {
      marts: async () => (await admin.query(MARTS_OF('true'))).rows,
      run: async (select) => {
        const { rows } = await admin.query(`EXPLAIN (ANALYZE, TIMING OFF, BUFFERS) ${select}`);
        return rows.map((row) => Object.values(row)[0]).join('\n');
      },
    };
    return [nights, await martsOf('Postgres', 3000, asking)];
  } finally {
    await admin.end();
    await server.stop();
  }
}

/** Every view of the schema, with its first column that is a day. */
const MARTS_OF = (where: string) => {
  const order = DAY_COLUMNS.map((name, place) => `WHEN '${name}' THEN ${place}`).join(' ');
  const catalogue =
    where === 'true'
      ? `SELECT table_name, column_name, ordinal_position FROM information_schema.columns WHERE table_schema = 'mart'`
      : `SELECT table_name, column_name, column_index FROM duckdb_columns() WHERE schema_name = 'mart' AND ${where}`;
  return `SELECT name, column_name AS day FROM (
      SELECT 'mart.' || table_name AS name,
        CASE WHEN CASE column_name ${order} END IS NOT NULL THEN column_name END AS column_name,
        row_number() OVER (PARTITION BY table_name ORDER BY coalesce(CASE column_name ${order} END, 99)) AS place
      FROM (${catalogue}) AS columns
    ) AS found WHERE place = 1 ORDER BY name`;
};

/** Loads a history and then the next night, with checks; the same night behind its own days alone is the limit. */
async function nightsOf(engine: SqlDialect, made: Made, short: Target, long: Target): Promise<Result> {
  const checks = await readChecks(engine, path.join(packageRoot, 'none'), pipelines);
  const publish = (target: Target, slices: readonly LoadSlice[]) => target.publish({ ...publication(slices), checks });
  const own = ({ tookMs, copyMs }: PublishResult) => tookMs - copyMs;
  await publish(short, made.days);
  const limit = await publish(short, made.night);
  const first = await publish(long, made.years);
  const night = await publish(long, made.night);
  await short.close();
  await long.close();
  const ratio = own(night) / own(limit);
  return {
    name: `${engine}: a night of 45 changed days (${n(night.rows)} rows), checks included, three years behind it`,
    figure: `${n(own(night))} ms; copying the file ${n(night.copyMs)} ms; first load: ${n(first.rows)} rows in ${n(first.tookMs / 1000)} s`,
    limit: `the same night with these 45 days alone behind it: ${n(own(limit))} ms`,
    ratio,
    target: '≤ 1.2 times',
    met: ratio <= 1.2,
    raw: { nightMs: own(night), limitMs: own(limit), copyMs: night.copyMs, firstMs: first.tookMs, rows: night.rows },
  };
}

async function martsOf(engine: string, targetMs: number, asking: Asking): Promise<Result> {
  const took: Record<string, number> = {};
  const plans: string[] = [];
  for (const { name, day } of await asking.marts()) {
    const of = (month: (typeof MONTHS)[number]) =>
      `SELECT * FROM ${name}${day === null ? '' : ` WHERE ${day} BETWEEN DATE '${month.from}' AND DATE '${month.to}'`}`;
    for (const [place, month] of (day === null ? MONTHS.slice(0, 1) : MONTHS).entries()) {
      const times: number[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        const { ms, value } = await timed(() => asking.run(of(month)));
        times.push(ms);
        if (round === 0 && place === 0) plans.push(`-- ${of(month)}\n${value}\n`);
      }
      took[place === 0 ? name : `${name} (newest month)`] = Math.min(...times);
    }
  }
  const file = path.join(packageRoot, 'dist-bench', `plans-${engine.toLowerCase()}.txt`);
  await writeFile(file, plans.join('\n'));
  const slowest = Object.entries(took).sort(([, a], [, b]) => b - a);
  const [, worst] = slowest[0]!;
  return {
    name: `${engine}: each of ${new Set(slowest.map(([name]) => name.split(' ')[0])).size} marts for one month of 10 million order items`,
    figure: slowest.map(([name, ms]) => `${name.replace('mart.', '')} ${n(ms)}`).join(', '),
    limit: `plans: ${path.relative(packageRoot, file)}`,
    target: `each < ${n(targetMs)} ms`,
    met: worst < targetMs,
    raw: Object.fromEntries(Object.entries(took).map(([name, ms]) => [`${name} ms`, ms])),
  };
}

const n = (value: number) => Math.round(value).toLocaleString('en-US');
