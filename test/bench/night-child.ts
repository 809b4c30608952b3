/** One night by the real run, as a process of its own: prints wall and CPU time and what was changed. Argument: now (ms). */
import { openApp } from '../../src/app.ts';
import { loadConfig } from '../../src/config.ts';
import { systemClock } from '../../src/core/clock.ts';
import { runNight } from '../../src/run/night.ts';
import { packageRoot, peakMiB, unwatched } from './place.ts';

const [now = '0'] = process.argv.slice(2);
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
