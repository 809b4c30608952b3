/**
 * One night of one pipeline by the real run, as a process of its own: prints wall and CPU time and peak memory, at the end and at
 * each step. Arguments: how far the clock is ahead of the machine's (ms), pipeline.
 */
import { openApp } from '../../../src/app.ts';
import { loadConfig } from '../../../src/config.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { runNight } from '../../../src/run/night.ts';
import { packageRoot, peakMiB, unwatched } from './place.ts';

/** What is printed; the rest are `<step> ms`, `<step> cpuMs` and `<step> peakMiB`. */
export interface Night extends Record<string, number> {
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly peakMiB: number;
  readonly calls: number;
  readonly rows: number;
  readonly changed: number;
}

const [aheadMs = '0', pipeline = ''] = process.argv.slice(2);
const started = performance.now();

/** Of a step that comes often the last one counts; there are thousands of answers, so memory is not looked at for each. */
const marks: Record<string, number> = {};
const spent = () => {
  const { user, system } = process.cpuUsage();
  return { ms: Math.round(performance.now() - started), cpuMs: Math.round((user + system) / 1000) };
};

const LOOK_MS = 20;
let lookedMs = 0;

const app = await openApp({
  config: await loadConfig({ env: process.env, cwd: process.cwd(), packageRoot }),
  clock: { now: () => Date.now() + Number(aheadMs), sleep: systemClock.sleep },
  ...unwatched,
  step: (name) => {
    // To look costs more than the step does.
    if (name === 'answer-received' && performance.now() - lookedMs < LOOK_MS) return;
    lookedMs = performance.now();
    const { ms, cpuMs } = spent();
    marks[`${name} ms`] = ms;
    marks[`${name} cpuMs`] = cpuMs;
    if (name !== 'answer-received') marks[`${name} peakMiB`] = peakMiB();
  },
});
const { run, errors, exitCode } = await runNight(app.context, [pipeline]);
await app.close();
if (exitCode !== 0) throw new Error(`exit code ${exitCode}: ${errors.map((e) => e.message).join('\n')}`);
const { ms: wallMs, cpuMs } = spent();
const { calls = 0, rows = 0, slices_changed: changed = 0 } = run.summary ?? {};
const night: Night = { ...marks, wallMs, cpuMs, peakMiB: peakMiB(), calls, rows, changed };
process.stdout.write(JSON.stringify(night));
