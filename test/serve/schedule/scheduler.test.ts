import { describe, expect, it } from 'vitest';
import { isoTime } from '../../../src/core/clock.ts';
import { EtlError } from '../../../src/core/errors.ts';
import { type RunEnd, Scheduler, type StartRun } from '../../../src/serve/schedule/scheduler.ts';
import type { State } from '../../../src/store/state.ts';
import { readSchedule, type ScheduleState, writeSchedule } from '../../../src/store/tables/scheduled.ts';
import { collectingLog } from '../receiver/scene.ts';
import { ended, MINUTE, REPORTS, schedulesOf, useScheduler } from './scene.ts';

const scene = useScheduler();
const scripted =
  (...ends: readonly RunEnd[]): StartRun =>
  () => ({ ended: Promise.resolve(ends[0]!), stop: () => undefined, kill: () => undefined });

describe('real nights', () => {
  it('everything that is due is one run, night after night, and the warehouse is that of the service', async () => {
    const begun = await scene.schedule({ runs: 2 });
    expect(begun.map(({ at }) => at)).toEqual(['2026-03-20T04:30', '2026-03-21T04:30']);
    expect(begun.map(({ names }) => names)).toEqual([REPORTS, REPORTS]);
    expect((await scene.records()).map(({ command, result }) => [command, result])).toEqual([
      [`run ${REPORTS.join(' ')}`, 'done'],
      [`run ${REPORTS.join(' ')}`, 'done'],
    ]);
    expect(await scene.world.differences(scene.world.lookback())).toEqual([]);
    expect((await readSchedule(scene.state.db))?.orders).toEqual({
      handled_until: '2026-03-21T04:30:00.000Z',
      last: {
        due_at: '2026-03-21T04:30:00.000Z',
        started_at: expect.stringMatching('^2026-03-21T04:30:0'),
        finished_at: expect.stringMatching('^2026-03-21T04:3'),
        result: 'done',
        run_id: (await scene.records()).at(-1)?.run_id,
        tries: 1,
      },
    });
  });
});

describe('whatever comes of a run', () => {
  it('one that failed is said, and the next one comes in its time', async () => {
    const begun = await scene.schedule({ runs: 2, start: scripted(ended('failed')) });
    expect(begun.map(({ at }) => at)).toEqual(['2026-03-20T04:30', '2026-03-21T04:30']);
    expect(scene.said('error')).toContain('a scheduled run has ended: failed');
  });

  it('one that dies is begun three times and then given up until it is due again', async () => {
    const begun = await scene.schedule({
      runs: 4,
      start: scripted({ kind: 'lost', how: 'its process was ended by SIGKILL' }),
    });
    expect(begun.map(({ at }) => at)).toEqual([
      '2026-03-20T04:30',
      '2026-03-20T04:31',
      '2026-03-20T04:33',
      '2026-03-21T04:30',
    ]);
    expect(scene.said('error')[2]).toMatch(/its process was ended by SIGKILL; given up after 3 tries/);
  });

  it('what is due while a run is at work is run when that has ended, once', async () => {
    const schedules = schedulesOf({ orders: '30 5 * * *', 'push-messages': '*/10 * * * *' });
    await writeSchedule(scene.state, {
      orders: { handled_until: '2026-03-20T04:00:00.000Z', last: null },
      'push-messages': { handled_until: '2026-03-20T04:20:00.000Z', last: null },
    });
    scene.world.clock.set(Date.parse('2026-03-20T04:29:30Z'));
    const start: StartRun = () => ({
      ended: scene.world.clock.sleep(35_000).then(async () => {
        scene.world.clock.set(scene.world.clock.now() + 45 * MINUTE);
        return ended('done');
      }),
      stop: () => undefined,
      kill: () => undefined,
    });
    const begun = await scene.schedule({ schedules, runs: 2, start });
    expect(begun.map(({ at, names }) => [at, names])).toEqual([
      ['2026-03-20T04:30', ['orders', 'push-messages']],
      ['2026-03-20T05:15', ['push-messages']],
    ]);
  });

  it('one that hangs is said a minute after it was asked to stop, and ended by force later', async () => {
    await scene.leftAt('2026-03-19T10:00:00.000Z');
    scene.world.clock.passUpTo(-1).set(Date.parse('2026-03-20T06:00:00Z'));
    const asked: string[] = [];
    let kill: () => void = () => undefined;
    const hanging: StartRun = () => ({
      ended: new Promise<RunEnd>((resolve) => {
        kill = () => resolve({ kind: 'lost', how: 'its process was ended by SIGKILL' });
      }),
      stop: ({ code }) => void asked.push(code),
      kill: () => kill(),
    });
    const working = scene.schedule({ runs: 1, runLimitMinutes: 30, start: hanging });
    await scene.world.clock.asleep((ms) => ms === 30 * MINUTE);
    await scene.world.clock.advance(30 * MINUTE);
    expect(asked).toEqual(['run_limit']);
    await scene.world.clock.advance(MINUTE);
    expect(scene.said('error').at(-1)).toMatch(/was asked to stop a minute ago and hangs$/);
    await scene.world.clock.advance(15 * MINUTE);
    expect((await working).map(({ end }) => end?.kind)).toEqual(['lost']);
  });
});

describe('what is not as it should be', () => {
  it('a pipeline that was never seen is due from now on, not at once', async () => {
    scene.world.clock.set(Date.parse('2026-03-20T12:00:00Z'));
    expect((await scene.schedule({ runs: 1, start: scripted(ended('done')) })).map(({ at }) => at)).toEqual([
      '2026-03-21T04:30',
    ]);
  });

  it.each<[string, string, string]>([
    ['an hour ahead: nothing is run twice', '2026-03-20T04:30:00.000Z', '2026-03-21T04:30'],
    ['years ahead: it does not stand still for years', '2031-01-01T00:00:00.000Z', '2026-03-20T04:30'],
  ])('a clock that was %s', async (_, handledUntil, expected) => {
    await scene.leftAt(handledUntil);
    scene.world.clock.set(Date.parse('2026-03-20T03:45:00Z'));
    expect((await scene.schedule({ runs: 1, start: scripted(ended('done')) })).map(({ at }) => at)).toEqual([expected]);
  });

  it('a record that cannot be written is said, and nothing is begun before it can', async () => {
    let isFull = false;
    const write: State['write'] = (work) => (isFull ? Promise.reject(new Error('disk full')) : scene.state.write(work));
    const before: ScheduleState = { orders: { handled_until: '2026-03-19T10:00:00.000Z', last: null } };
    await writeSchedule(scene.state, before);
    const schedules = schedulesOf({ orders: '30 5 * * *' });
    scene.world.clock.set(Date.parse('2026-03-20T06:00:00Z'));
    const end = new AbortController();
    const begun: string[] = [];
    const lines = collectingLog(scene.log);
    let failures = 0;
    const context = {
      state: { ...scene.state, write },
      clock: scene.world.clock,
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
        begun.push(isoTime(scene.world.clock.now()).slice(11, 16));
        return { ended: Promise.resolve(ended('done')), stop: () => undefined, kill: () => undefined };
      },
    });
    isFull = true;
    scene.world.clock.passUpTo(-1);
    const working = scheduler.work(end.signal);
    await scene.world.clock.asleep((ms) => ms === MINUTE);
    expect([begun, failures]).toEqual([[], 1]);
    isFull = false;
    scene.world.clock.passUpTo(100_000);
    await scene.world.clock.advance(MINUTE);
    await scene.world.clock.asleep((ms) => ms === MINUTE);
    end.abort(new EtlError('failed', 'interrupted', 'enough'));
    await working;
    expect(begun).toEqual(['06:01']);
  });
});
