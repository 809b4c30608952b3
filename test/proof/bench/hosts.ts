/** Several accounts on one machine, each a process and an installation of its own; and several hosts of one installation under one budget. */
import { mkdir, rm } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { startPostgres } from '../../support/postgres.ts';
import { served } from './ingest.ts';
import { compress, writeAnswer } from './orders-answer.ts';
import { inProcess, type Result } from './place.ts';

const ROWS = 500_000;
const AT_ONCE = [1, 2, 4] as const;
const CALLS = 1000;
const PER_SECOND = 28;

interface Together {
  readonly processes: number;
  readonly rowsPerSecond: number;
  /** Of all of them. */
  readonly peakMiB: number;
}

export async function hosts(dir: string): Promise<Result[]> {
  const file = path.join(dir, 'answer.json');
  await writeAnswer(file, ROWS);
  await compress(file);
  const measured: Together[] = [];
  for (const processes of AT_ONCE) measured.push(await loadedBy(dir, file, processes));
  for (const made of [file, `${file}.gz`]) await rm(made);
  const rate = ({ rowsPerSecond }: Together) => Math.round(rowsPerSecond).toLocaleString('en-US');
  const [one, ...more] = measured;
  const together = more.map((some) => ({
    name: `${some.processes} accounts at once, ${ROWS.toLocaleString('en-US')} order items each, answer → raw → lake → DuckDB`,
    figure: `${rate(some)} rows/s together, ${some.peakMiB} MiB`,
    limit: `${rate(one!)} rows/s, ${one!.peakMiB} MiB: one`,
    target: `no fewer than one, on ${availableParallelism()} cores`,
    met: some.rowsPerSecond >= one!.rowsPerSecond,
    ratio: one!.rowsPerSecond / some.rowsPerSecond,
    raw: { tookMs: (some.processes * ROWS * 1000) / some.rowsPerSecond },
  }));
  return [...together, await oneBudget()];
}

/** Two hosts with one state in Postgres, that both want all of a budget. */
async function oneBudget(): Promise<Result> {
  const server = await startPostgres();
  try {
    const caller = () => inProcess<number[]>('hosts-caller.js', [server.url, String(CALLS / 2), String(PER_SECOND)]);
    const times = (await Promise.all([caller(), caller()])).flat().sort((a, b) => a - b);
    const tookMs = times.at(-1)! - times[0]!;
    const bestMs = Math.floor((CALLS - 1) / PER_SECOND) * 1000;
    const inASecond = (from: number) => times.filter((ms) => ms >= from && ms < from + 1000).length;
    const most = Math.max(...times.map(inASecond));
    return {
      name: `${CALLS.toLocaleString('en-US')} calls (100,000 EANs) of two hosts under one budget of ${PER_SECOND} a second`,
      figure: `${(tookMs / 1000).toFixed(1)} s, ${((bestMs / tookMs) * 100).toFixed(1)} % of what is allowed; ${most} in the busiest second`,
      limit: `${(bestMs / 1000).toFixed(1)} s`,
      target: `≥ 97 %, never more than ${PER_SECOND}`,
      met: bestMs / tookMs >= 0.97 && most <= PER_SECOND,
      ratio: tookMs / bestMs,
      raw: { tookMs },
    };
  } finally {
    await server.stop();
  }
}

async function loadedBy(dir: string, file: string, processes: number): Promise<Together> {
  const homes = Array.from({ length: processes }, (_, i) => path.join(dir, `account-${i}`));
  for (const home of homes) await mkdir(home);
  const loaded = await Promise.all(homes.map((home) => served(home, file, { isGzip: true })));
  for (const home of homes) await rm(home, { recursive: true });
  const longestMs = Math.max(...loaded.map(({ wallMs }) => wallMs!));
  return {
    processes,
    rowsPerSecond: (processes * ROWS * 1000) / longestMs,
    peakMiB: loaded.reduce((sum, { peakMiB }) => sum + peakMiB, 0),
  };
}
