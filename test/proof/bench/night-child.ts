/**
 * One night of the three reports by the real run, or a backfill of orders, as a process of its own: prints wall and CPU time, what
 * was changed and written, and its peak memory. Arguments: now (ms); from, to for a backfill.
 */
import { readFileSync } from 'node:fs';
import { openApp } from '../../../src/app.ts';
import { loadConfig } from '../../../src/config.ts';
import { systemClock } from '../../../src/core/clock.ts';
import type { Day } from '../../../src/core/days.ts';
import { runBackfill, runNight } from '../../../src/run/night.ts';
import { packageRoot, peakMiB, unwatched } from './place.ts';

/** What is printed; further numbers are `<step> ms`, when the step was taken last, and `takenInPeakMiB`, before publishing. */
export interface Night extends Record<string, number> {
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly changed: number;
  readonly unchanged: number;
  readonly calls: number;
  /** Of the DuckDB file. */
  readonly copyMs: number;
  /** What publishing took, the copy apart; 0 where there was nothing to publish. */
  readonly duckdbMs: number;
  readonly postgresMs: number;
  readonly peakMiB: number;
  /** What the process made dirty of files, whatever became of them, in pages; 0 where the system does not tell. */
  readonly dirtiedBytes: number;
}

const REPORTS = ['promotions', 'orders', 'commissions'];

const [now = '0', from, to] = process.argv.slice(2);
const ahead = Number(now) - Date.now();
const started = performance.now();
const marks: Record<string, number> = {};
const app = await openApp({
  config: await loadConfig({
    env: process.env,
    cwd: process.cwd(),
    packageRoot,
  }),
  clock: { now: () => Date.now() + ahead, sleep: systemClock.sleep },
  ...unwatched,
  step: (name) => {
    marks[`${name} ms`] = Math.round(performance.now() - started);
    if (name === 'publishing') marks.takenInPeakMiB = peakMiB();
  },
});
const { run, published, errors } =
  from && to
    ? await runBackfill(app.context, ['orders'], { from: from as Day, to: to as Day }, false)
    : await runNight(app.context, REPORTS);
await app.close();
if (errors.length > 0) throw new Error(errors.map((e) => e.message).join('\n'));
const { user, system } = process.cpuUsage();
const { slices_changed: changed = 0, slices_unchanged = 0, calls = 0 } = run.summary ?? {};
const results = Object.fromEntries(published.map(({ target, result }) => [target, result]));
const ownMs = (target: string) => (results[target]?.tookMs ?? 0) - (results[target]?.copyMs ?? 0);
const night: Night = {
  ...marks,
  wallMs: Math.round(performance.now() - started),
  cpuMs: Math.round((user + system) / 1000),
  changed,
  unchanged: slices_unchanged,
  calls,
  copyMs: results.duckdb?.copyMs ?? 0,
  duckdbMs: ownMs('duckdb'),
  postgresMs: ownMs('postgres'),
  peakMiB: peakMiB(),
  dirtiedBytes: dirtiedBytes(),
};
process.stdout.write(JSON.stringify(night));

function dirtiedBytes(): number {
  try {
    return Number(/^write_bytes: (\d+)/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1]);
  } catch {
    return 0;
  }
}
