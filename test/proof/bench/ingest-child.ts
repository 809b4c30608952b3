/** One answer from loopback to Parquet by the real run; prints times and peak memory. Arguments: port, home, days a window, last day. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { openApp } from '../../../src/app.ts';
import { loadConfig } from '../../../src/config.ts';
import { systemClock } from '../../../src/core/clock.ts';
import type { Day } from '../../../src/core/days.ts';
import { runBackfill } from '../../../src/run/night.ts';
import { RANGE } from './orders-answer.ts';
import { packageRoot, peakMiB, unwatched } from './place.ts';

const [port = '', home = '', windowDays = '31', to = RANGE.to] = process.argv.slice(2);
mkdirSync(home, { recursive: true });
const settings = path.join(home, 'settings.yaml');
writeFileSync(settings, `pipelines: { orders: { windowDays: ${windowDays} } }\n`);
const env = {
  PARTNER_BASE_URL: `http://127.0.0.1:${port}`,
  PARTNER_AUTH_URL: `http://127.0.0.1:${port}`,
  PARTNER_CLIENT_ID: 'bench',
  PARTNER_CLIENT_SECRET: 'bench-secret',
  PARTNER_ETL_HOME: home,
  PARTNER_ETL_CONFIG: settings,
};
const marks: Record<string, number> = {};
const started = performance.now();
const app = await openApp({
  config: await loadConfig({ env, cwd: home, packageRoot }),
  clock: systemClock,
  ...unwatched,
  step: (name) => {
    marks[name] = Math.round(performance.now() - started);
    if (name === 'lake-committed') marks.ingestPeakMiB = peakMiB();
  },
});
const outcome = await runBackfill(app.context, ['orders'], { from: RANGE.from as Day, to: to as Day }, false);
await app.close();
const wallMs = Math.round(performance.now() - started);
if (outcome.errors.length > 0) throw new Error(outcome.errors.map((e) => e.message).join('\n'));
process.stdout.write(JSON.stringify({ ...marks, wallMs, rows: outcome.run.summary?.rows, peakMiB: peakMiB() }));
