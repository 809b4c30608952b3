/**
 * Peak resident memory against the size of an answer, of a range, and of the warehouse, each size in processes of its own. It is
 * bounded whatever the size: from the second size on, where everything is in use that ever is, it may not grow.
 */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { addDays } from '../../../src/core/days.ts';
import { curveOf, exponentOf, type Point } from './fit.ts';
import { HISTORY_DAYS } from './growth.ts';
import { served } from './ingest.ts';
import type { Night } from './night-child.ts';
import { nightsBehind, openHome, ROWS_A_DAY, TODAY } from './night-home.ts';
import { writeAnswer, writeItems } from './orders-answer.ts';
import type { Result } from './place.ts';

const ANSWER_ROWS = [100_000, 300_000, 1_000_000, 3_000_000] as const;
const RANGE_DAYS = [30, 100, 300, 1000] as const;
/** In the warehouse; the first and the last are those whose growth is measured. */
const WAREHOUSE_DAYS = [HISTORY_DAYS[0], 400, HISTORY_DAYS[1]] as const;

const TARGET = 0.1;

export async function memory(dir: string): Promise<Result[]> {
  return [await ofAnswers(dir), ...(await ofRejects(dir)), ...(await ofRanges(dir)), ...(await ofWarehouses(dir))];
}

async function ofAnswers(dir: string): Promise<Result> {
  const points: Point[] = [];
  for (const rows of ANSWER_ROWS) {
    const file = path.join(dir, `answer-${rows}.json`);
    await writeAnswer(file, rows);
    const { peakMiB } = await served(dir, file, { isGzip: false });
    await rm(file);
    points.push({ size: rows, cost: peakMiB });
  }
  return curve('one answer, from the service to DuckDB', 'rows', points);
}

/** The smallest items that the splitter refuses, and the smallest that the typing refuses. */
const BAD_ITEMS = ['7', '{}'] as const;

const MOST_OF_REJECTS_MIB = 500;

async function ofRejects(dir: string): Promise<Result[]> {
  const results: Result[] = [];
  for (const item of BAD_ITEMS) {
    const points: Point[] = [];
    for (const rejects of ANSWER_ROWS) {
      const file = path.join(dir, `rejects-${rejects}.json`);
      await writeItems(file, rejects, () => item);
      const { peakMiB } = await served(dir, file, { isGzip: false });
      await rm(file);
      points.push({ size: rejects, cost: peakMiB });
    }
    const most = Math.max(...points.map(({ cost }) => cost));
    results.push({
      ...curve(`one answer of nothing but items ${item}, from the service to DuckDB`, 'rejects', points),
      target: `≤ ${MOST_OF_REJECTS_MIB} MiB`,
      met: most <= MOST_OF_REJECTS_MIB,
    });
  }
  return results;
}

async function ofRanges(dir: string): Promise<Result[]> {
  const takenIn: Point[] = [];
  const points: Point[] = [];
  for (const days of RANGE_DAYS) {
    const folder = path.join(dir, `range-${days}`);
    const home = await openHome(folder);
    const found = await home.backfill({ from: addDays(TODAY, -days), to: addDays(TODAY, -1) });
    home.close();
    await rm(folder, { recursive: true });
    takenIn.push({ size: days, cost: found.takenInPeakMiB! });
    points.push({ size: days, cost: found.peakMiB });
  }
  return [
    curve('a backfill of orders, 1,000 rows a day', 'days', points),
    curve('the same until it is published', 'days', takenIn),
  ];
}

async function ofWarehouses(dir: string): Promise<Result[]> {
  const first: Point[] = [];
  const next: Point[] = [];
  for (const days of WAREHOUSE_DAYS) {
    const found = await nightsBehind(dir, days, true);
    const peak = (nights: readonly Night[]) => Math.max(...nights.map(({ peakMiB }) => peakMiB));
    const size = days * ROWS_A_DAY;
    first.push({ size, cost: peak([found.first]) });
    next.push({ size, cost: peak([...found.again, ...found.next]) });
  }
  return [
    curve('a night on a warehouse, DuckDB and Postgres', 'rows', next),
    curve('the first load of a lake into DuckDB and Postgres', 'rows', first),
  ];
}

function curve(what: string, unit: string, points: readonly Point[]): Result {
  const exponent = exponentOf(points.slice(1));
  const first = points[0]!;
  const last = points.at(-1)!;
  const n = (value: number) => value.toLocaleString('en-US');
  return {
    name: `peak memory of ${what}`,
    figure: `${points.map(({ cost }) => `${n(cost)} MiB`).join(', ')}; exponent ${exponent.toFixed(2)} from the second on`,
    limit: `${n(first.cost)} MiB for ${n(first.size)} ${unit}; it must not grow with them to ${n(last.size)}`,
    ratio: last.cost / first.cost,
    target: `exponent ≤ ${TARGET} from the second size on`,
    met: exponent <= TARGET,
    raw: { exponent, ...Object.fromEntries(points.map(({ size, cost }) => [`${size} ${unit} peakMiB`, cost])) },
    below: curveOf(points, unit, 'MiB'),
  };
}
