/** Several accounts on one machine: so many processes, each an installation of its own, load at the same time. */
import { mkdir, rm } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { served } from './ingest.ts';
import { compress, writeAnswer } from './orders-answer.ts';
import type { Result } from './place.ts';

const ROWS = 500_000;
const AT_ONCE = [1, 2, 4] as const;

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
  for (const processes of AT_ONCE) measured.push(await together(dir, file, processes));
  for (const made of [file, `${file}.gz`]) await rm(made);
  const rate = ({ rowsPerSecond }: Together) => Math.round(rowsPerSecond).toLocaleString('en-US');
  const [one, ...more] = measured;
  return more.map((some) => ({
    name: `${some.processes} accounts at once, ${ROWS.toLocaleString('en-US')} order items each, answer → raw → lake → DuckDB`,
    figure: `${rate(some)} rows/s together, ${some.peakMiB} MiB`,
    limit: `${rate(one!)} rows/s, ${one!.peakMiB} MiB: one`,
    target: `no fewer than one, on ${availableParallelism()} cores`,
    met: some.rowsPerSecond >= one!.rowsPerSecond,
    ratio: one!.rowsPerSecond / some.rowsPerSecond,
    raw: { tookMs: (some.processes * ROWS * 1000) / some.rowsPerSecond },
  }));
}

async function together(dir: string, file: string, processes: number): Promise<Together> {
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
