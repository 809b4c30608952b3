/** Where the demo keeps its data, and how far its clock has come: a night that was pretended to be on another day goes on from there. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { overridingFile } from '../../config.ts';
import { type Clock, isoTime } from '../../core/clock.ts';
import { type Day, dayAt } from '../../core/days.ts';
import { EtlError } from '../../core/errors.ts';
import { homePaths } from '../../core/home.ts';
import { isThere, writeJson } from '../../disk/atomic.ts';
import { openSqliteState } from '../../store/sqlite/state.ts';
import { lastRuns } from '../../store/tables/runs.ts';
import type { CliContext } from '../context.ts';

/** Below the working directory, unless `demo --home` names another folder. */
export const DEMO_HOME = path.join('data', 'demo');

const shape = z.object({
  /** What the demo's clock showed when its last night ended. */
  at: z.iso.datetime(),
  /** Whether that was another day than ours. */
  is_pretended: z.boolean(),
});
export type DemoState = z.infer<typeof shape>;

const stateFile = (home: string) => path.join(home, 'demo.json');
export const demoSettings = (home: string) => path.join(home, 'settings.yaml');

/** null: no demo has come to its end there. */
export async function readDemo(home: string): Promise<DemoState | null> {
  try {
    return shape.parse(JSON.parse(await readFile(stateFile(home), 'utf8')));
  } catch {
    return null;
  }
}

export function writeDemo(home: string, nowMs: number, isPretended: boolean): Promise<void> {
  return writeJson(stateFile(home), { at: isoTime(nowMs), is_pretended: isPretended } satisfies DemoState);
}

/**
 * The demo's clock: ours, or ours moved to noon of `today`, and never before what it showed last, since runs are sorted by when they
 * were. Errors: `usage/past_demo`.
 */
export function demoClock(clock: Clock, today: Day | undefined, last: DemoState | null, timeZone: string): Clock {
  const lastMs = last === null ? Number.NEGATIVE_INFINITY : Date.parse(last.at);
  if (last !== null && today !== undefined && today < dayAt(lastMs, timeZone))
    throw new EtlError(
      'usage',
      'past_demo',
      `the demo has come to ${dayAt(lastMs, timeZone)}, and ${today} is before it`,
      {
        hint: 'go on with a later day, or begin afresh: delete the folder of the demo',
      },
    );
  const wantedMs = today === undefined ? clock.now() : Date.parse(`${today}T12:00:00Z`);
  const movedMs = Math.max(wantedMs, lastMs + 1000) - clock.now();
  if (movedMs <= 0 && today === undefined) return clock;
  return { now: () => clock.now() + movedMs, sleep: (ms, signal) => clock.sleep(ms, signal) };
}

/**
 * For a command that only reads: the installation, or the demo where there is neither settings nor credentials nor data, but one that
 * `npm start` has made. It says so in one line.
 */
export async function orDemo(cli: CliContext): Promise<CliContext> {
  const { env, cwd } = cli;
  const home = path.resolve(cwd, DEMO_HOME);
  if (Object.keys(env).some((name) => name.startsWith('PARTNER_'))) return cli;
  if ((await isThere(overridingFile(cli))) || (await hasRuns(path.join(cwd, 'data')))) return cli;
  const demo = await readDemo(home);
  if (demo === null) return cli;
  if (!cli.verbosity.quiet)
    cli.say(
      `There are neither settings nor credentials: this is the demo's data, ${DEMO_HOME} (partner-etl init begins your own).`,
    );
  const own = cli.withEnvironment({ ...env, PARTNER_ETL_HOME: home, PARTNER_ETL_CONFIG: demoSettings(home) });
  const { timeZone } = await own.config();
  const today = dayAt(Date.parse(demo.at), timeZone);
  if (!demo.is_pretended) return own;
  return own.withEnvironment({ ...own.env, PARTNER_ETL_TODAY: today });
}

async function hasRuns(home: string): Promise<boolean> {
  const { database } = homePaths(home);
  if (!(await isThere(database))) return false;
  const state = await openSqliteState(database);
  try {
    return (await lastRuns(state.db, 1)).length > 0;
  } finally {
    await state.close();
  }
}
