/** One night by the real run, as a process of its own: prints wall and CPU time and what was changed. Argument: now (ms). */
import path from 'node:path';
import { openApp } from '../../src/app.ts';
import { loadConfig } from '../../src/config.ts';
import { systemClock } from '../../src/core/clock.ts';
import { runNight } from '../../src/run/night.ts';
import { peakMiB } from './place.ts';

const [now = '0'] = process.argv.slice(2);
const ahead = Number(now) - Date.now();
const nothing = () => {};
const started = performance.now();
const marks: Record<string, number> = {};
const app = await openApp({
  config: await loadConfig({
    env: process.env,
    cwd: process.cwd(),
    packageRoot: path.resolve(import.meta.dirname, '..', '..', '..'),
  }),
  clock: { now: () => Date.now() + ahead, sleep: systemClock.sleep },
  random: Math.random,
  log: { debug: nothing, info: nothing, warn: nothing, error: nothing },
  progress: { begin: nothing, window: nothing, end: nothing, note: nothing },
  signal: new AbortController().signal,
  step: (name) => {
    marks[name] = Math.round(performance.now() - started);
  },
});
const { run, published, errors } = await runNight(app.context, []);
await app.close();
if (errors.length > 0) throw new Error(errors.map((e) => e.message).join('\n'));
const { user, system } = process.cpuUsage();
process.stdout.write(
  JSON.stringify({
    wallMs: Math.round(performance.now() - started),
    cpuMs: Math.round((user + system) / 1000),
    changed: run.summary?.slices_changed,
    copyMs: published.reduce((sum, p) => sum + (p.result?.copyMs ?? 0), 0),
    peakMiB: peakMiB(),
    ...marks,
  }),
);
