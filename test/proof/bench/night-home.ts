/** A home with days of history, the service that it asks, and nights in it by the real run, each as a process of its own. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { commissions } from '../../../pipelines/commissions.ts';
import { pipelines } from '../../../pipelines/index.ts';
import { promotions } from '../../../pipelines/promotions.ts';
import { addDays, type Day, type DayRange, dayAt, daysOf } from '../../../src/core/days.ts';
import { homePaths } from '../../../src/core/home.ts';
import { digestOf, NO_HASHES } from '../../../src/engine/content.ts';
import { Engine } from '../../../src/engine/duckdb.ts';
import { Lake, type SliceChange } from '../../../src/lake/lake.ts';
import { openSqliteState } from '../../../src/store/sqlite/state.ts';
import { startPostgres } from '../../support/postgres.ts';
import { makeSlices } from './history.ts';
import type { Night } from './night-child.ts';
import { inProcess } from './place.ts';
import type { Asked } from './sandbox-child.ts';

const NOW = Date.parse('2026-03-20T02:00:00Z');
export const TODAY = dayAt(NOW, 'Europe/Amsterdam');
export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;
/** Of the history, in one slice. */
export const ROWS_A_DAY = 2740;
const LOOKBACK_DAYS = 45;
const AGAIN_ROUNDS = 2;
const NEXT_ROUNDS = 3;

/** What the service is, as the environment of a run says it. */
export type ServiceEnv = Readonly<
  Record<'PARTNER_BASE_URL' | 'PARTNER_AUTH_URL' | 'PARTNER_CLIENT_ID' | 'PARTNER_CLIENT_SECRET', string>
>;

export interface NightHome {
  readonly service: ServiceEnv;
  /** Lets time pass; what the service was asked since the last time. */
  pass(ms: number): Promise<Asked>;
  night(): Promise<Night>;
  backfill(range: DayRange): Promise<Night>;
  close(): void;
}

export interface HomeOptions {
  readonly ordersPerDay?: number;
  readonly lookbackDays?: number;
  readonly postgresUrl?: string;
}

/** Starts a service for a home directory, which may hold a history. */
export async function openHome(home: string, options: HomeOptions = {}): Promise<NightHome> {
  const { ordersPerDay = 1000, lookbackDays = LOOKBACK_DAYS, postgresUrl } = options;
  await mkdir(home, { recursive: true });
  const sandbox = fork(path.join(import.meta.dirname, 'sandbox-child.js'), [String(ordersPerDay), String(NOW)]);
  const [told] = (await once(sandbox, 'message')) as [
    Record<'baseUrl' | 'authUrl' | 'clientId' | 'clientSecret', string>,
  ];
  const service: ServiceEnv = {
    PARTNER_BASE_URL: told.baseUrl,
    PARTNER_AUTH_URL: told.authUrl,
    PARTNER_CLIENT_ID: told.clientId,
    PARTNER_CLIENT_SECRET: told.clientSecret,
  };
  const settings = path.join(home, 'settings.yaml');
  const reports = ['promotions', 'orders', 'commissions'];
  const each = (value: string) => `{ ${reports.map((name) => `${name}: ${value}`).join(', ')} }`;
  // Budgets wide open: pacing is not our own time.
  const budget = each('{ budget: { calls: 1000, perSeconds: 1, concurrency: 4 } }');
  await writeFile(
    settings,
    `service: { reports: ${budget} }\npipelines: ${each(`{ lookbackDays: ${lookbackDays} }`)}\n`,
  );
  const env = {
    ...service,
    PARTNER_ETL_HOME: home,
    PARTNER_ETL_CONFIG: settings,
    ...(postgresUrl ? { PARTNER_ETL_POSTGRES_URL: postgresUrl } : {}),
  };
  let now = NOW;
  const run = (...words: string[]) => inProcess<Night>('night-child.js', [String(now), ...words], env);
  return {
    service,
    pass: async (ms) => {
      now += ms;
      sandbox.send({ passMs: ms });
      return ((await once(sandbox, 'message')) as [Asked])[0];
    },
    night: () => run(),
    backfill: ({ from, to }) => run(from, to),
    close: () => sandbox.disconnect(),
  };
}

export interface HistoryNights {
  /** Loads the history into the targets, and the days of the lookback. */
  readonly first: Night;
  /** The same again, and the nights of the next days. */
  readonly again: readonly Night[];
  readonly next: readonly Night[];
}

const known = new Map<string, Promise<HistoryNights>>();

/** Nights on a warehouse of so many days, the lookback among them, in DuckDB or in both targets; measured once in a run. */
export function nightsBehind(dir: string, days: number, withPostgres = false): Promise<HistoryNights> {
  const name = `history-${days}${withPostgres ? '-postgres' : ''}`;
  const found = known.get(name) ?? measure(path.join(dir, name), days, withPostgres);
  known.set(name, found);
  return found;
}

async function measure(folder: string, days: number, withPostgres: boolean): Promise<HistoryNights> {
  const postgres = withPostgres ? await startPostgres() : null;
  try {
    await makeHistory(folder, daysOf({ from: addDays(TODAY, -days), to: addDays(TODAY, -LOOKBACK_DAYS - 1) }));
    const home = await openHome(folder, postgres ? { postgresUrl: postgres.url } : {});
    try {
      const first = await home.night();
      const again: Night[] = [];
      for (let round = 0; round < AGAIN_ROUNDS; round++) again.push(await home.night());
      const next: Night[] = [];
      for (let round = 0; round < NEXT_ROUNDS; round++) {
        await home.pass(DAY_MS);
        next.push(await home.night());
      }
      return { first, again, next };
    } finally {
      home.close();
    }
  } finally {
    await postgres?.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

/** A lake with settled order items on these days. */
async function makeHistory(home: string, days: readonly Day[]): Promise<void> {
  const engine = await Engine.open({ tempDir: path.join(home, 'spill'), memoryMiB: 1024 });
  const slices = await makeSlices(engine, path.join(home, 'made'), days, ROWS_A_DAY);
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
  const { root, database } = homePaths(home);
  const state = await openSqliteState(database);
  await new Lake({ root, state, pipelines }).commit(changes);
  await state.close();
}
