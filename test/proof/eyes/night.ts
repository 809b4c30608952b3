/** Nights against any service at an address: a home of their own, real time, and what came of them by SQL. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { stringify } from 'yaml';
import { openApp } from '../../../src/app.ts';
import { loadConfig } from '../../../src/config.ts';
import { NO_PROGRESS } from '../../../src/core/progress.ts';
import { findPackage } from '../../../src/disk/package-root.ts';
import type { RunContext } from '../../../src/run/context.ts';
import { runNight } from '../../../src/run/night.ts';
import type { RunOutcome } from '../../../src/run/session.ts';
import type { TargetName } from '../../../src/warehouse/target-name.ts';
import { FakeClock } from '../../support/clock.ts';
import { TIMEOUTS } from '../../support/nights.ts';
import { CLIENT_ID, CLIENT_SECRET } from './service.ts';

export interface Nights {
  readonly home: string;
  night(...names: string[]): Promise<RunOutcome>;
  within<T>(work: (context: RunContext) => Promise<T>): Promise<T>;
  /** Rows of a query, values as text. */
  rows(sql: string, target?: TargetName): Promise<(string | null)[][]>;
  close(): Promise<void>;
}

export interface NightsOptions {
  readonly url: string;
  /** `yyyy-mm-dd`, three in the morning. */
  readonly today: string;
  readonly lookbackDays: number;
  readonly postgresUrl?: string;
  /** Lines of the list of EANs. */
  readonly eans?: readonly string[];
}

export async function openNights({ url, today, lookbackDays, postgresUrl, eans = [] }: NightsOptions): Promise<Nights> {
  const home = await mkdtemp(path.join(tmpdir(), 'etl-eyes-'));
  const settings = path.join(home, 'settings.yaml');
  await writeFile(path.join(home, 'eans.csv'), eans.map((line) => `${line}\n`).join(''));
  const orders = { lookbackDays, windowDays: lookbackDays };
  const service = { timeouts: TIMEOUTS, retry: { tries: 1, baseMs: 1, longestMs: 1 } };
  const told = {
    service,
    pipelines: { orders },
    eans: { file: 'eans.csv', query: null },
    guards: { shrink: { keepRatio: 0 } },
  };
  await writeFile(settings, stringify(told));
  const env = {
    PARTNER_BASE_URL: url,
    PARTNER_AUTH_URL: url,
    PARTNER_CLIENT_ID: CLIENT_ID,
    PARTNER_CLIENT_SECRET: CLIENT_SECRET,
    PARTNER_ETL_HOME: home,
    PARTNER_ETL_CONFIG: settings,
    ...(postgresUrl ? { PARTNER_ETL_POSTGRES_URL: postgresUrl } : {}),
  };
  const { root: packageRoot } = await findPackage(import.meta.dirname);
  const clock = new FakeClock(Date.parse(`${today}T02:00:00Z`)).passUpTo(100_000);
  const nothing = () => undefined;
  const within = async <T>(work: (context: RunContext) => Promise<T>): Promise<T> => {
    const app = await openApp({
      config: await loadConfig({ env, cwd: home, packageRoot }),
      clock,
      random: () => 0.5,
      log: { debug: nothing, info: nothing, warn: nothing, error: nothing },
      progress: NO_PROGRESS,
      signal: new AbortController().signal,
    });
    try {
      return await work(app.context);
    } finally {
      await app.close();
    }
  };
  return {
    home,
    within,
    night: (...names) => {
      clock.set(clock.now() + 3_600_000);
      return within((context) => runNight(context, names));
    },
    rows: (sql, name = 'duckdb') =>
      within(async ({ targets }) => {
        const target = targets.find((one) => one.name === name)!;
        const { rows } = await target.query(sql, 1_000_000);
        return rows.map((row) => row.map((value) => (value === null || value === undefined ? null : String(value))));
      }),
    close: () => rm(home, { recursive: true, force: true }),
  };
}
