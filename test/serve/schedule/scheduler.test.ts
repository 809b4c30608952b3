import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isoTime } from '../../../src/core/clock.ts';
import { EtlError } from '../../../src/core/errors.ts';
import { homePaths } from '../../../src/core/home.ts';
import type { Step } from '../../../src/run/context.ts';
import type { Schedules } from '../../../src/serve/schedule/due.ts';
import { scheduleOf } from '../../../src/serve/schedule/schedule.ts';
import { type RunEnd, Scheduler, type StartRun } from '../../../src/serve/schedule/scheduler.ts';
import { fileLocks } from '../../../src/store/file-locks.ts';
import type { Lock } from '../../../src/store/locks.ts';
import { runsSince } from '../../../src/store/runs.ts';
import { readSchedule, type ScheduleState, writeSchedule } from '../../../src/store/scheduled.ts';
import { openSqliteState } from '../../../src/store/sqlite.ts';
import type { State } from '../../../src/store/state.ts';
import { openWorld, type World } from '../../support/nights.ts';
import { collectingLog, type LogLine } from '../receiver/scene.ts';

const REPORTS = ['promotions', 'orders', 'commissions'];
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

let world: World;
let log: LogLine[];
let state: State;
beforeEach(async () => {
  log = [];
  world = await openWorld({ lookbackDays: 3, windowDays: 2, ordersPerDay: 30 });
  state = await openSqliteState(paths().database);
});
afterEach(async () => {
  await state.close();
  await world.close();
});

const schedulesOf = (expressions: Readonly<Record<string, string>>): Schedules =>
  new Map(Object.entries(expressions).map(([name, text]) => [name, scheduleOf(text, 'Europe/Amsterdam')]));
const nightly = () => schedulesOf(Object.fromEntries(REPORTS.map((name) => [name, '30 5 * * *'])));

interface Begun {
  readonly names: readonly string[];
  readonly at: string;
  end?: RunEnd;
}

interface Scene {
  readonly schedules?: Schedules;
  readonly runLimitMinutes?: number;
  /** In the place of a real night. */
  readonly start?: StartRun;
  readonly step?: (name: Step) => void | Promise<void>;
  /** After so many runs it is asked to end. */
  readonly runs: number;
}

const paths = () => homePaths(world.home);

/** A scheduler that works until so many runs have ended. */
async function schedule({ schedules = nightly(), runLimitMinutes = 360, start, step, runs }: Scene): Promise<Begun[]> {
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

const ended = (result: 'done' | 'failed', runId = 'r1'): RunEnd => ({ kind: 'ended', result, runId });
const scripted =
  (...ends: readonly RunEnd[]): StartRun =>
  () => ({ ended: Promise.resolve(ends[0]!), stop: () => undefined, kill: () => undefined });
const said = (level: string) => log.filter((line) => line.level === level).map(({ message }) => message);

const records = () => runsSince(state.db, null);

/** As a scheduler left it that was at work until then. */
async function leftAt(time: string): Promise<void> {
  const entry = { handled_until: time, last: null };
  await writeSchedule(state, Object.fromEntries(REPORTS.map((name) => [name, entry])));
}

describe('real nights', () => {
  it('everything that is due is one run, night after night, and the warehouse is that of the service', async () => {
    const begun = await schedule({ runs: 2 });
    expect(begun.map(({ at }) => at)).toEqual(['2026-03-20T04:30', '2026-03-21T04:30']);
    expect(begun.map(({ names }) => names)).toEqual([REPORTS, REPORTS]);
    expect((await records()).map(({ command, result }) => [command, result])).toEqual([
      [`run ${REPORTS.join(' ')}`, 'done'],
      [`run ${REPORTS.join(' ')}`, 'done'],
    ]);
    expect(await world.differences(world.lookback())).toEqual([]);
    expect((await readSchedule(state.db))?.orders).toEqual({
      handled_until: '2026-03-21T04:30:00.000Z',
      last: {
        due_at: '2026-03-21T04:30:00.000Z',
        started_at: expect.stringMatching('^2026-03-21T04:30:0'),
        finished_at: expect.stringMatching('^2026-03-21T04:3'),
        result: 'done',
        run_id: (await records()).at(-1)?.run_id,
        tries: 1,
      },
    });
  });

  it('seven nights that were missed are one run, and what was run by hand meanwhile does not count', async () => {
    await leftAt('2026-03-12T10:00:00.000Z');
    await world.night();
    world.clock.set(world.clock.now() + HOUR);
    const begun = await schedule({ runs: 2 });
    expect(begun.map(({ at }) => at)).toEqual(['2026-03-20T03:00', '2026-03-20T04:30']);
    expect(said('info')[0]).toBe('a scheduled run begins, late');
    expect(await records()).toHaveLength(3);
    expect(await world.differences(world.lookback())).toEqual([]);
  });

  it('one that outlasts its limit ends after the slice in hand, is said in log and record, and is not begun again', async () => {
    let passed = 0;
    const step = async (name: Step) => {
      if (name === 'lake-committed' && ++passed === 2) await world.clock.advance(30 * MINUTE);
    };
    const begun = await schedule({ runs: 2, runLimitMinutes: 30, step });
    expect(begun.map(({ at }) => at)).toEqual(['2026-03-20T04:30', '2026-03-21T04:30']);
    const [stopped, next] = await records();
    const text = `the run of ${REPORTS.join(', ')} was stopped at its limit of 30 minutes`;
    expect(stopped).toMatchObject({
      result: 'interrupted',
      summary: { errors: [`${text} before everything was fetched`] },
    });
    expect(said('error')[0]).toBe(`${text}; it ends after the slice in hand`);
    expect(next?.result).toBe('done');
    expect(await world.differences(world.lookback())).toEqual([]);
  });

  it('one that cannot begin since another run is at work is tried again until it can', async () => {
    const lock = (await fileLocks(paths().locks, world.clock).tryLock('run', 'backfill orders')) as Lock;
    let begunSoFar = 0;
    const begun = await schedule({
      runs: 4,
      start: (names) => {
        begunSoFar += 1;
        const ready = begunSoFar === 4 ? lock.release() : Promise.resolve();
        const night = ready
          .then(() => world.night({ names }))
          .then(
            ({ run }): RunEnd => ended(run.result as 'done', run.run_id),
            (error: EtlError): RunEnd => (error.kind === 'locked' ? { kind: 'locked' } : ended('failed')),
          );
        return { ended: night, stop: () => undefined, kill: () => undefined };
      },
    });
    expect(begun.map(({ end }) => end?.kind)).toEqual(['locked', 'locked', 'locked', 'ended']);
    expect(begun.map(({ at }) => at.slice(11))).toEqual(['04:30', '04:31', '04:33', '04:36']);
    expect(said('warn')).toEqual(['a scheduled run waits, since another run holds the lock; it is tried again']);
    expect((await records()).map(({ result }) => result)).toEqual(['done']);
    expect((await readSchedule(state.db))?.orders?.last).toMatchObject({ result: 'done', tries: 1 });
  });

  it('one that is stopped because the scheduler ends is begun again when it is back', async () => {
    await leftAt('2026-03-19T10:00:00.000Z');
    world.clock.set(Date.parse('2026-03-20T06:00:00Z'));
    const end = new AbortController();
    const context = { state, clock: world.clock, log: collectingLog(log) };
    const step = (name: Step) => {
      if (name === 'lake-committed') end.abort();
    };
    const scheduler = await Scheduler.open({
      schedules: nightly(),
      context,
      runLimitMinutes: 360,
      start: (names) => {
        const stop = new AbortController();
        const night = world.night({ names, signal: stop.signal, step });
        return {
          ended: night.then(({ run }): RunEnd => ({ kind: 'ended', result: run.result!, runId: run.run_id })),
          stop: (reason) => stop.abort(reason),
          kill: () => undefined,
        };
      },
    });
    await scheduler.work(end.signal);
    expect((await readSchedule(state.db))?.orders?.last).toMatchObject({ result: 'interrupted', finished_at: null });
    world.clock.set(world.clock.now() + MINUTE);
    const begun = await schedule({ runs: 1 });
    expect(begun.map(({ at }) => at)).toEqual(['2026-03-20T06:01']);
    expect(await world.differences(world.lookback())).toEqual([]);
  });
});

describe('whatever comes of a run', () => {
  it('one that failed is said, and the next one comes in its time', async () => {
    const begun = await schedule({ runs: 2, start: scripted(ended('failed')) });
    expect(begun.map(({ at }) => at)).toEqual(['2026-03-20T04:30', '2026-03-21T04:30']);
    expect(said('error')).toContain('a scheduled run has ended: failed');
  });

  it('one that dies is begun three times and then given up until it is due again', async () => {
    const begun = await schedule({
      runs: 4,
      start: scripted({ kind: 'lost', how: 'its process was ended by SIGKILL' }),
    });
    expect(begun.map(({ at }) => at)).toEqual([
      '2026-03-20T04:30',
      '2026-03-20T04:31',
      '2026-03-20T04:33',
      '2026-03-21T04:30',
    ]);
    expect(said('error')[2]).toMatch(/its process was ended by SIGKILL; given up after 3 tries/);
  });

  it('what is due while a run is at work is run when that has ended, once', async () => {
    const schedules = schedulesOf({ orders: '30 5 * * *', 'push-messages': '*/10 * * * *' });
    await writeSchedule(state, {
      orders: { handled_until: '2026-03-20T04:00:00.000Z', last: null },
      'push-messages': { handled_until: '2026-03-20T04:20:00.000Z', last: null },
    });
    world.clock.set(Date.parse('2026-03-20T04:29:30Z'));
    const start: StartRun = () => ({
      ended: world.clock.sleep(35_000).then(async () => {
        world.clock.set(world.clock.now() + 45 * MINUTE);
        return ended('done');
      }),
      stop: () => undefined,
      kill: () => undefined,
    });
    const begun = await schedule({ schedules, runs: 2, start });
    expect(begun.map(({ at, names }) => [at, names])).toEqual([
      ['2026-03-20T04:30', ['orders', 'push-messages']],
      ['2026-03-20T05:15', ['push-messages']],
    ]);
  });

  it('one that hangs is said a minute after it was asked to stop, and ended by force later', async () => {
    await leftAt('2026-03-19T10:00:00.000Z');
    world.clock.passUpTo(-1).set(Date.parse('2026-03-20T06:00:00Z'));
    const asked: string[] = [];
    let kill: () => void = () => undefined;
    const hanging: StartRun = () => ({
      ended: new Promise<RunEnd>((resolve) => {
        kill = () => resolve({ kind: 'lost', how: 'its process was ended by SIGKILL' });
      }),
      stop: ({ code }) => void asked.push(code),
      kill: () => kill(),
    });
    const working = schedule({ runs: 1, runLimitMinutes: 30, start: hanging });
    await world.clock.asleep((ms) => ms === 30 * MINUTE);
    await world.clock.advance(30 * MINUTE);
    expect(asked).toEqual(['run_limit']);
    await world.clock.advance(MINUTE);
    expect(said('error').at(-1)).toMatch(/was asked to stop a minute ago and hangs$/);
    await world.clock.advance(15 * MINUTE);
    expect((await working).map(({ end }) => end?.kind)).toEqual(['lost']);
  });
});

describe('what is not as it should be', () => {
  it('a pipeline that was never seen is due from now on, not at once', async () => {
    world.clock.set(Date.parse('2026-03-20T12:00:00Z'));
    expect((await schedule({ runs: 1, start: scripted(ended('done')) })).map(({ at }) => at)).toEqual([
      '2026-03-21T04:30',
    ]);
  });

  it.each<[string, string, string]>([
    ['an hour ahead: nothing is run twice', '2026-03-20T04:30:00.000Z', '2026-03-21T04:30'],
    ['years ahead: it does not stand still for years', '2031-01-01T00:00:00.000Z', '2026-03-20T04:30'],
  ])('a clock that was %s', async (_, handledUntil, expected) => {
    await leftAt(handledUntil);
    world.clock.set(Date.parse('2026-03-20T03:45:00Z'));
    expect((await schedule({ runs: 1, start: scripted(ended('done')) })).map(({ at }) => at)).toEqual([expected]);
  });

  it('a record that cannot be written is said, and nothing is begun before it can', async () => {
    let isFull = false;
    const write: State['write'] = (work) => (isFull ? Promise.reject(new Error('disk full')) : state.write(work));
    const before: ScheduleState = { orders: { handled_until: '2026-03-19T10:00:00.000Z', last: null } };
    await writeSchedule(state, before);
    const schedules = schedulesOf({ orders: '30 5 * * *' });
    world.clock.set(Date.parse('2026-03-20T06:00:00Z'));
    const end = new AbortController();
    const begun: string[] = [];
    const lines = collectingLog(log);
    let failures = 0;
    const context = {
      state: { ...state, write },
      clock: world.clock,
      log: {
        ...lines,
        error: (message: string) => {
          lines.error(message);
          failures += 1;
        },
      },
    };
    const scheduler = await Scheduler.open({
      schedules,
      context,
      runLimitMinutes: 360,
      start: () => {
        begun.push(isoTime(world.clock.now()).slice(11, 16));
        return { ended: Promise.resolve(ended('done')), stop: () => undefined, kill: () => undefined };
      },
    });
    isFull = true;
    world.clock.passUpTo(-1);
    const working = scheduler.work(end.signal);
    await world.clock.asleep((ms) => ms === MINUTE);
    expect([begun, failures]).toEqual([[], 1]);
    isFull = false;
    world.clock.passUpTo(100_000);
    await world.clock.advance(MINUTE);
    await world.clock.asleep((ms) => ms === MINUTE);
    end.abort(new EtlError('failed', 'interrupted', 'enough'));
    await working;
    expect(begun).toEqual(['06:01']);
  });
});
