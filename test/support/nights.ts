/**
 * Nights against the sandbox: a home directory of its own, a clock that waits in no time, and the comparison of a warehouse
 * with the sandbox's truth. Every night opens the app afresh, as a new process would.
 */

import { constants } from 'node:fs';
import { copyFile, cp, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { stringify } from 'yaml';
import { pipelines } from '../../pipelines/index.ts';
import { openApp } from '../../src/app.ts';
import { type Config, loadConfig } from '../../src/config.ts';
import { addDays, type Day, type DayRange, dayAt } from '../../src/core/days.ts';
import type { Log } from '../../src/core/log.ts';
import type { Pipeline } from '../../src/core/pipeline.ts';
import { NO_PROGRESS } from '../../src/core/progress.ts';
import type { Tracer } from '../../src/core/tracer.ts';
import type { RunContext, Step } from '../../src/run/context.ts';
import { runNight } from '../../src/run/night.ts';
import type { RunOutcome } from '../../src/run/session.ts';
import type { SandboxOptions } from '../../src/sandbox/options.ts';
import type { ReportName } from '../../src/sandbox/report-name.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import type { Target } from '../../src/warehouse/target.ts';
import type { TargetName } from '../../src/warehouse/target-name.ts';
import { FakeClock } from './clock.ts';
import { warehouseTemplate } from './warehouse-template.ts';

/** The pipelines that are filled from reports. */
export const reports = pipelines.filter(({ source }) => source.isByRange);

export const packageRoot = path.resolve(import.meta.dirname, '..', '..');

/** Pauses up to this pass at once; timeouts are longer and fire only when a test advances the clock. */
const LONGEST_PAUSE_MS = 100_000;
export const TIMEOUTS = { connectMs: 110_000, headersMs: 120_000, bodyMs: 130_000, totalMs: 3_000_000 };

export interface NightOptions {
  readonly names?: readonly string[];
  readonly step?: (name: Step, about: string) => void | Promise<void>;
  readonly signal?: AbortSignal;
  readonly tracer?: Tracer;
}

export interface LogLine {
  readonly level: string;
  readonly message: string;
  readonly fields: Record<string, unknown> | undefined;
}

export interface World {
  readonly sandbox: Sandbox;
  readonly clock: FakeClock;
  readonly home: string;
  readonly env: Readonly<Record<string, string>>;
  readonly pipelines: readonly Pipeline[];
  readonly log: LogLine[];
  /** Today, by the clock; nights run at three in the morning. */
  today(): Day;
  /** Moves to another day, same hour. */
  passDays(days: number): void;
  night(options?: NightOptions): Promise<RunOutcome>;
  /** Opens the app for one command. */
  within<T>(work: (context: RunContext) => Promise<T>, options?: NightOptions): Promise<T>;
  /** What the warehouse says that the sandbox does not, and the other way round; empty when they agree. */
  differences(range: DayRange, target?: TargetName): Promise<string[]>;
  /** The days that nights cover by the lookback. */
  lookback(): DayRange;
  /** An item of the orders report of that day. */
  itemOn(day: Day): { readonly orderId: string; readonly orderItemId: string };
  /** Keeps home and clock as they are now; what it returns brings both back. What the sandbox was told to change stays. */
  keep(): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

export interface WorldOptions {
  /** What the name of the home directory begins with. */
  readonly homeName?: string;
  readonly ordersPerDay?: number;
  readonly seed?: number;
  readonly lookbackDays?: number;
  readonly windowDays?: number;
  readonly today?: Day;
  readonly postgresUrl?: string;
  readonly gzip?: boolean;
  /** Further settings, by section; look-ups, the reductions file and what push needs are off unless these turn them on. */
  readonly settings?: Settings;
  /** Further pipelines, besides those that come with the program. */
  readonly pipelines?: readonly Pipeline[];
  /** Laid over the environment: another service than the sandbox, for one. */
  readonly env?: Readonly<Record<string, string>>;
  /** Of the sandbox. */
  readonly sandbox?: Partial<SandboxOptions>;
}

export type Settings = Readonly<Record<string, unknown>>;

export async function openWorld(options: WorldOptions = {}): Promise<World> {
  const home = await mkdtemp(path.join(tmpdir(), options.homeName ?? 'etl-night-'));
  const kept = `${home}-kept`;
  const clock = new FakeClock(Date.parse(`${options.today ?? '2026-03-20'}T02:00:00Z`)).passUpTo(LONGEST_PAUSE_MS);
  const sandbox = await startSandbox({
    seed: options.seed ?? 1,
    ordersPerDay: options.ordersPerDay ?? 60,
    now: () => clock.now(),
    ...(options.gzip === undefined ? {} : { gzip: options.gzip }),
    ...options.sandbox,
  });
  const { lookbackDays = 6, windowDays = 4 } = options;
  const settings = path.join(home, 'settings.yaml');
  await writeFile(
    settings,
    stringify(settingsOf(lookbackDays, windowDays, options.settings ?? {}), { aliasDuplicateObjects: false }),
  );
  const env = {
    PARTNER_BASE_URL: sandbox.baseUrl,
    PARTNER_AUTH_URL: sandbox.authUrl,
    PARTNER_CLIENT_ID: sandbox.clientId,
    PARTNER_CLIENT_SECRET: sandbox.clientSecret,
    PARTNER_ETL_HOME: home,
    PARTNER_ETL_CONFIG: settings,
    ...(options.postgresUrl ? { PARTNER_ETL_POSTGRES_URL: options.postgresUrl } : {}),
    ...options.env,
  };
  const log: LogLine[] = [];
  const all = options.pipelines ? [...pipelines, ...options.pipelines] : pipelines;
  const config = rememberedConfig(settings, () => loadConfig({ env, cwd: home, packageRoot, pipelines: all }), env);
  const within = async <T>(work: (context: RunContext) => Promise<T>, night: NightOptions = {}): Promise<T> => {
    const app = await openApp({
      config: await config(),
      clock,
      random: () => 0.5,
      log: collecting(log),
      progress: NO_PROGRESS,
      signal: night.signal ?? new AbortController().signal,
      ...(night.step ? { step: night.step } : {}),
      ...(night.tracer ? { tracer: night.tracer } : {}),
    });
    try {
      return await work(app.context);
    } finally {
      await app.close();
    }
  };
  let nights = 0;
  const night = async (night: NightOptions = {}) => {
    nights += 1;
    if (nights === 1) await beginWarehouse(home);
    return within((context) => runNight(context, night.names ?? []), night);
  };
  const today = () => dayAt(clock.now(), 'Europe/Amsterdam');
  return {
    sandbox,
    clock,
    home,
    env,
    pipelines: all,
    log,
    today,
    passDays: (days) => clock.set(Date.parse(`${addDays(today(), days)}T02:00:00Z`)),
    night,
    within,
    differences: (range, target = 'duckdb') =>
      within(async (context) => {
        const found = await Promise.all(reports.map((p) => differencesOf(context, sandbox, p, range, target)));
        return found.flat();
      }),
    lookback: () => ({ from: addDays(today(), -lookbackDays), to: addDays(today(), -1) }),
    itemOn: (day) => {
      const [item] = sandbox.truth('orders', day, day);
      return { orderId: String(item?.orderId), orderItemId: String(item?.orderItemId) };
    },
    keep: async () => {
      await cp(home, kept, { recursive: true });
      const nowMs = clock.now();
      return async () => {
        for (const name of await readdir(home)) await rm(path.join(home, name), { recursive: true, force: true });
        await cp(kept, home, { recursive: true });
        clock.set(nowMs);
      };
    },
    close: async () => {
      await sandbox.close();
      for (const folder of [home, kept]) await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Reads the settings again only where file or environment are others: a night opens the app several times. */
function rememberedConfig(file: string, read: () => Promise<Config>, env: object): () => Promise<Config> {
  let known = '';
  let config: Promise<Config>;
  return async () => {
    const { mtimeNs, size } = await stat(file, { bigint: true });
    const now = `${mtimeNs} ${size} ${JSON.stringify(env)}`;
    if (now !== known) config = read();
    known = now;
    return config;
  };
}

/** Where a first night would make the tables, they are there, without rows: to make them takes as long as the rest of a small night. */
async function beginWarehouse(home: string): Promise<void> {
  const file = await warehouseTemplate();
  await copyFile(file, path.join(home, path.basename(file)), constants.COPYFILE_EXCL).catch((error) => {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  });
}

function settingsOf(lookbackDays: number, windowDays: number, { pipelines = {}, service = {}, ...more }: Settings) {
  const pipeline = { lookbackDays, windowDays };
  const off = { enabled: false };
  return {
    service: {
      timeouts: TIMEOUTS,
      retry: { tries: 4, baseMs: 100, longestMs: 1000 },
      ...(service as object),
    },
    pipelines: {
      promotions: { ...pipeline },
      orders: { ...pipeline },
      commissions: { ...pipeline },
      products: off,
      'commission-rates': off,
      reductions: off,
      'push-messages': off,
      subscriptions: off,
      'process-statuses': off,
      'push-links': off,
      ...(pipelines as object),
    },
    ...more,
  };
}

function collecting(lines: LogLine[]): Log {
  const at = (level: string) => (message: string, fields?: Record<string, unknown>) =>
    void lines.push({ level, message, fields });
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

async function differencesOf(
  context: RunContext,
  sandbox: Sandbox,
  pipeline: Pipeline,
  range: DayRange,
  name: TargetName,
): Promise<string[]> {
  const target = context.targets.find((t) => t.name === name);
  if (!target) throw new Error(`no target ${name}`);
  const held = await rowsOf(target, pipeline, range);
  const told = [...sandbox.truth(pipeline.name as ReportName, range.from, range.to)].map((item) =>
    canonical(pipeline, item),
  );
  return compare(pipeline.name, held, told);
}

async function rowsOf(target: Target, pipeline: Pipeline, { from, to }: DayRange): Promise<string[]> {
  const names = pipeline.columns.map((c) => `"${c.column}"`).join(', ');
  const { rows, truncated } = await target.query(
    `SELECT ${names} FROM warehouse.${pipeline.table} WHERE "${pipeline.day}" BETWEEN '${from}' AND '${to}'`,
    1_000_000,
  );
  if (truncated) throw new Error('too many rows to compare');
  return rows.map((row) => JSON.stringify(pipeline.columns.map((c, i) => spelled(c.kind, row[i] ?? null))));
}

function canonical(pipeline: Pipeline, item: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(pipeline.columns.map((c) => spelled(c.kind, item[c.field] ?? null)));
}

/** One spelling for a value from either side: amounts without trailing zeros, ratios as the shortest double, the rest as text. */
function spelled(kind: string, value: unknown): string | null {
  if (value === null) return null;
  const text = String(value);
  if (kind === 'ratio') return String(Number(text));
  if (kind === 'money' || kind === 'percentage') return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
  return text;
}

function compare(name: string, held: readonly string[], told: readonly string[]): string[] {
  const count = new Map<string, number>();
  for (const row of told) count.set(row, (count.get(row) ?? 0) + 1);
  for (const row of held) count.set(row, (count.get(row) ?? 0) - 1);
  return [...count]
    .flatMap(([row, n]) => (n === 0 ? [] : [`${name}: ${n > 0 ? 'missing' : 'too much'} ${row}`]))
    .sort();
}
