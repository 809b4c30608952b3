/** What a night costs: unchanged, and with one or ten years of history behind it. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { commissions } from '../../pipelines/commissions.ts';
import { pipelines } from '../../pipelines/index.ts';
import { promotions } from '../../pipelines/promotions.ts';
import { addDays, type Day, dayAt, daysOf } from '../../src/core/days.ts';
import { digestOf, NO_HASHES } from '../../src/engine/content.ts';
import { Engine } from '../../src/engine/duckdb.ts';
import { Lake, type SliceChange } from '../../src/lake/lake.ts';
import { makeSlices } from './history.ts';
import { inProcess, type Result } from './place.ts';

const NOW = Date.parse('2026-03-20T02:00:00Z');
const ITEMS_A_DAY = 1000;

interface Night extends Record<string, number> {
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly changed: number;
  readonly copyMs: number;
}

interface History {
  readonly unchanged: Night;
  readonly changed: Night;
}

export async function nights(dir: string): Promise<Result[]> {
  const one = await withHistory(path.join(dir, 'one'), 365);
  const ten = await withHistory(path.join(dir, 'ten'), 3650);
  const own = (night: Night) => night.wallMs - night.copyMs;
  const growth = own(ten.changed) / own(one.changed);
  return [
    {
      name: 'the same night again: 45 days of three pipelines, ten years (10 million order items) behind it',
      figure: `${ten.unchanged.wallMs} ms, the service's answers included (${ten.unchanged.cpuMs} ms of CPU); ${ten.unchanged.changed} slices changed`,
      limit: `with one year behind it: ${one.unchanged.wallMs} ms`,
      target: '< 2 s of our own time, nothing written',
      met: ten.unchanged.wallMs < 2000 && ten.unchanged.changed === 0,
      raw: { ten: ten.unchanged.wallMs, one: one.unchanged.wallMs },
    },
    {
      name: 'the next night, ten years of history against one',
      figure: `${own(ten.changed)} ms against ${own(one.changed)} ms: ${growth.toFixed(2)} times`,
      limit: `copying the DuckDB file: ${ten.changed.copyMs} against ${one.changed.copyMs} ms`,
      target: '≤ 1.2 times, the copy of the file apart',
      met: growth <= 1.2,
      raw: { ten: own(ten.changed), one: own(one.changed) },
    },
  ];
}

/** A home with so many days of history before the lookback; then a first night, the same again, and the next day's. */
async function withHistory(home: string, days: number): Promise<History> {
  await mkdir(home, { recursive: true });
  const today = dayAt(NOW, 'Europe/Amsterdam');
  await makeHistory(home, daysOf({ from: addDays(today, -45 - days), to: addDays(today, -46) }));
  const sandbox = fork(path.join(import.meta.dirname, 'sandbox-child.js'), [String(ITEMS_A_DAY), String(NOW)]);
  const [service] = (await once(sandbox, 'message')) as [
    Record<'baseUrl' | 'authUrl' | 'clientId' | 'clientSecret', string>,
  ];
  const settings = path.join(home, 'settings.yaml');
  // Budgets wide open: pacing is not our own time.
  const budget = '{ budget: { calls: 1000, perSeconds: 1, concurrency: 4 } }';
  await writeFile(
    settings,
    `service: { reports: { promotions: ${budget}, orders: ${budget}, commissions: ${budget} } }\n`,
  );
  const env = {
    PARTNER_BASE_URL: service.baseUrl,
    PARTNER_AUTH_URL: service.authUrl,
    PARTNER_CLIENT_ID: service.clientId,
    PARTNER_CLIENT_SECRET: service.clientSecret,
    PARTNER_ETL_HOME: home,
    PARTNER_ETL_CONFIG: settings,
  };
  const night = (now: number) => inProcess<Night>('night-child.js', [String(now)], env);
  try {
    await night(NOW);
    const again = [await night(NOW), await night(NOW), await night(NOW)];
    const next: Night[] = [];
    for (const later of [1, 2, 3]) {
      sandbox.send({ passDays: 1 });
      await once(sandbox, 'message');
      next.push(await night(NOW + later * 86_400_000));
    }
    const quickest = (found: Night[]) => found.reduce((a, b) => (a.wallMs - a.copyMs < b.wallMs - b.copyMs ? a : b));
    return { unchanged: quickest(again), changed: quickest(next) };
  } finally {
    sandbox.disconnect();
  }
}

export async function makeHistory(home: string, days: readonly Day[]): Promise<void> {
  const engine = await Engine.open({ tempDir: path.join(home, 'spill'), memoryMiB: 1024 });
  const slices = await makeSlices(engine, path.join(home, 'made'), days, Math.round(10_000_000 / 3650));
  engine.close();
  const changes: SliceChange[] = slices.map(({ pipeline, content, file }) => ({
    kind: 'replace',
    pipeline: pipeline.name,
    content,
    files: { file, rejectsFile: null },
  }));
  // The other two reports had nothing to say then: empty slices, so that nothing of the past is missing.
  for (const pipeline of pipelines.filter((p) => p === promotions || p === commissions))
    for (const { content } of slices)
      changes.push({
        kind: 'replace',
        pipeline: pipeline.name,
        content: {
          ...content,
          rows: 0,
          sums: {},
          key_min: null,
          key_max: null,
          digest: digestOf(pipeline, NO_HASHES, NO_HASHES),
        },
        files: { file: null, rejectsFile: null },
      });
  await new Lake(path.join(home, 'lake')).commit(changes);
}
