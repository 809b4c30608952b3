/** Scheduled runs that are real nights and do not go as they should. */
import { expect, it } from 'vitest';
import type { EtlError } from '../../../src/core/errors.ts';
import type { Step } from '../../../src/run/context.ts';
import { type RunEnd, Scheduler } from '../../../src/serve/schedule/scheduler.ts';
import type { Lock } from '../../../src/store/locks.ts';
import { fileLocks } from '../../../src/store/sqlite/locks.ts';
import { readSchedule } from '../../../src/store/tables/scheduled.ts';
import { collectingLog } from '../../serve/receiver/scene.ts';
import { ended, MINUTE, nightly, REPORTS, useScheduler } from '../../serve/schedule/scene.ts';

const scene = useScheduler();

it('seven nights that were missed are one run, and what was run by hand meanwhile does not count', async () => {
  await scene.leftAt('2026-03-12T10:00:00.000Z');
  await scene.world.night();
  scene.world.clock.set(scene.world.clock.now() + 60 * MINUTE);
  const begun = await scene.schedule({ runs: 2 });
  expect(begun.map(({ at }) => at)).toEqual(['2026-03-20T03:00', '2026-03-20T04:30']);
  expect(scene.said('info')[0]).toBe('a scheduled run begins, late');
  expect(await scene.records()).toHaveLength(3);
  expect(await scene.world.differences(scene.world.lookback())).toEqual([]);
});

it('one that outlasts its limit ends after the slice in hand, is said in log and record, and is not begun again', async () => {
  let passed = 0;
  const step = async (name: Step) => {
    if (name === 'lake-committed' && ++passed === 2) await scene.world.clock.advance(30 * MINUTE);
  };
  const begun = await scene.schedule({ runs: 2, runLimitMinutes: 30, step });
  expect(begun.map(({ at }) => at)).toEqual(['2026-03-20T04:30', '2026-03-21T04:30']);
  const [stopped, next] = await scene.records();
  const text = `the run of ${REPORTS.join(', ')} was stopped at its limit of 30 minutes`;
  expect(stopped).toMatchObject({
    result: 'interrupted',
    summary: { errors: [`${text} before everything was fetched`] },
  });
  expect(scene.said('error')[0]).toBe(`${text}; it ends after the slice in hand`);
  expect(next?.result).toBe('done');
  expect(await scene.world.differences(scene.world.lookback())).toEqual([]);
});

it('one that cannot begin since another run is at work is tried again until it can', async () => {
  const lock = (await fileLocks(scene.paths.locks, scene.world.clock).tryLock('run', 'backfill orders')) as Lock;
  let begunSoFar = 0;
  const begun = await scene.schedule({
    runs: 4,
    start: (names) => {
      begunSoFar += 1;
      const ready = begunSoFar === 4 ? lock.release() : Promise.resolve();
      const night = ready
        .then(() => scene.world.night({ names }))
        .then(
          ({ run }): RunEnd => ended(run.result as 'done', run.run_id),
          (error: EtlError): RunEnd => (error.kind === 'locked' ? { kind: 'locked' } : ended('failed')),
        );
      return { ended: night, stop: () => undefined, kill: () => undefined };
    },
  });
  expect(begun.map(({ end }) => end?.kind)).toEqual(['locked', 'locked', 'locked', 'ended']);
  expect(begun.map(({ at }) => at.slice(11))).toEqual(['04:30', '04:31', '04:33', '04:36']);
  expect(scene.said('warn')).toEqual(['a scheduled run waits, since another run holds the lock; it is tried again']);
  expect((await scene.records()).map(({ result }) => result)).toEqual(['done']);
  expect((await readSchedule(scene.state.db))?.orders?.last).toMatchObject({ result: 'done', tries: 1 });
});

it('one that is stopped because the scheduler ends is begun again when it is back', async () => {
  await scene.leftAt('2026-03-19T10:00:00.000Z');
  scene.world.clock.set(Date.parse('2026-03-20T06:00:00Z'));
  const end = new AbortController();
  const context = { state: scene.state, clock: scene.world.clock, log: collectingLog(scene.log) };
  const step = (name: Step) => {
    if (name === 'lake-committed') end.abort();
  };
  const scheduler = await Scheduler.open({
    schedules: nightly(),
    context,
    runLimitMinutes: 360,
    start: (names) => {
      const stop = new AbortController();
      const night = scene.world.night({ names, signal: stop.signal, step });
      return {
        ended: night.then(({ run }): RunEnd => ({ kind: 'ended', result: run.result!, runId: run.run_id })),
        stop: (reason) => stop.abort(reason),
        kill: () => undefined,
      };
    },
  });
  await scheduler.work(end.signal);
  expect((await readSchedule(scene.state.db))?.orders?.last).toMatchObject({
    result: 'interrupted',
    finished_at: null,
  });
  scene.world.clock.set(scene.world.clock.now() + MINUTE);
  const begun = await scene.schedule({ runs: 1 });
  expect(begun.map(({ at }) => at)).toEqual(['2026-03-20T06:01']);
  expect(await scene.world.differences(scene.world.lookback())).toEqual([]);
});
