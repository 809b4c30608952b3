/** A scheduler in an installation of its own, whose runs are real nights unless a test makes them up. */
import { afterEach, beforeEach } from 'vitest';
import { isoTime } from '../../../src/core/clock.ts';
import type { EtlError } from '../../../src/core/errors.ts';
import { homePaths } from '../../../src/core/home.ts';
import type { Step } from '../../../src/run/context.ts';
import type { Schedules } from '../../../src/serve/schedule/due.ts';
import { scheduleOf } from '../../../src/serve/schedule/schedule.ts';
import { type RunEnd, Scheduler, type StartRun } from '../../../src/serve/schedule/scheduler.ts';
import { openSqliteState } from '../../../src/store/sqlite/state.ts';
import type { State } from '../../../src/store/state.ts';
import { runsSince } from '../../../src/store/tables/runs.ts';
import { writeSchedule } from '../../../src/store/tables/scheduled.ts';
import { openWorld, type World } from '../../support/nights.ts';
import { collectingLog, type LogLine } from '../receiver/scene.ts';

export const REPORTS = ['promotions', 'orders', 'commissions'];
export const MINUTE = 60_000;

export const schedulesOf = (expressions: Readonly<Record<string, string>>): Schedules =>
  new Map(Object.entries(expressions).map(([name, text]) => [name, scheduleOf(text, 'Europe/Amsterdam')]));
export const nightly = () => schedulesOf(Object.fromEntries(REPORTS.map((name) => [name, '30 5 * * *'])));

export interface Begun {
  readonly names: readonly string[];
  readonly at: string;
  end?: RunEnd;
}

export interface Scheduling {
  readonly schedules?: Schedules;
  readonly runLimitMinutes?: number;
  /** In the place of a real night. */
  readonly start?: StartRun;
  readonly step?: (name: Step) => void | Promise<void>;
  /** After so many runs it is asked to end. */
  readonly runs: number;
}

export const ended = (result: 'done' | 'failed', runId = 'r1'): RunEnd => ({ kind: 'ended', result, runId });

/** Of the test that runs. */
export class SchedulerScene {
  world!: World;
  state!: State;
  log: LogLine[] = [];

  async open(): Promise<void> {
    this.log = [];
    this.world = await openWorld({ lookbackDays: 3, windowDays: 2, ordersPerDay: 10 });
    this.state = await openSqliteState(this.paths.database);
  }

  async close(): Promise<void> {
    await this.state.close();
    await this.world.close();
  }

  get paths() {
    return homePaths(this.world.home);
  }

  said(level: string): string[] {
    return this.log.filter((line) => line.level === level).map(({ message }) => message);
  }

  records() {
    return runsSince(this.state.db, null);
  }

  /** As a scheduler left it that was at work until then. */
  async leftAt(time: string): Promise<void> {
    const entry = { handled_until: time, last: null };
    await writeSchedule(this.state, Object.fromEntries(REPORTS.map((name) => [name, entry])));
  }

  /** A scheduler that works until so many runs have ended. */
  async schedule(options: Scheduling): Promise<Begun[]> {
    const { schedules = nightly(), runLimitMinutes = 360, start, step, runs } = options;
    const { world, state, log } = this;
    const begun: Begun[] = [];
    const end = new AbortController();
    const night: StartRun = (names) => {
      const stop = new AbortController();
      const ended = world.night({ names, signal: stop.signal, ...(step ? { step } : {}) }).then(
        ({ run }): RunEnd => ({ kind: 'ended', result: run.result!, runId: run.run_id }),
        (error: EtlError): RunEnd =>
          error.kind === 'locked' ? { kind: 'locked' } : { kind: 'ended', result: 'failed', runId: null },
      );
      return { ended, stop: (reason) => stop.abort(reason), kill: () => undefined };
    };
    // Only once the scheduler has recorded the last run: an end that is asked for while a run is at work is another matter.
    const write: State['write'] = async (work) => {
      const written = await state.write(work);
      if (begun.length >= runs && begun.at(-1)?.end) end.abort();
      return written;
    };
    const context = { state: { ...state, write }, clock: world.clock, log: collectingLog(log) };
    const scheduler = await Scheduler.open({
      schedules,
      context,
      runLimitMinutes,
      start: (names) => {
        const one: Begun = { names, at: isoTime(world.clock.now()).slice(0, 16) };
        begun.push(one);
        const run = (start ?? night)(names);
        const ended = run.ended.then((how) => {
          one.end = how;
          return how;
        });
        return { ...run, ended };
      },
    });
    await scheduler.work(end.signal);
    return begun;
  }
}

/** The hooks of a file whose every test has a scene of its own. */
export function useScheduler(): SchedulerScene {
  const scene = new SchedulerScene();
  beforeEach(() => scene.open());
  afterEach(() => scene.close());
  return scene;
}
