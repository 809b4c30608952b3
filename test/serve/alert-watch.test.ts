import { afterEach, beforeEach, expect, it } from 'vitest';
import { neverBegun, watchForAlerts } from '../../src/serve/alert-watch.ts';
import { type ScheduleState, writeSchedule } from '../../src/store/tables/scheduled.ts';
import { alertsOf, openWebhook, sent, type Webhook } from '../support/alerts.ts';
import { openWorld, type World } from '../support/nights.ts';

const AT = '2026-03-20T01:30:00.000Z';
const GONE_MS = Date.parse('2026-03-20T02:00:00Z');
const entry = (last: Partial<NonNullable<ScheduleState[string]['last']>>): ScheduleState[string] => ({
  handled_until: AT,
  last: { due_at: AT, started_at: AT, finished_at: AT, result: 'failed', run_id: null, tries: 1, ...last },
});
const lost = { finished_at: null, result: null } as const;

it.each<[string, ScheduleState, readonly string[]]>([
  [
    'that ended as failed without a record, all its pipelines together',
    { a: entry({}), b: entry({}) },
    ['a+b not_begun'],
  ],
  ['not of those that have a record', { a: entry({ run_id: 'r1' }) }, []],
  ['not of those with nothing to do', { a: entry({ result: 'nothing_due' }) }, []],
  ['not of one that is tried again', { a: entry({ ...lost, tries: 1 }) }, []],
  ['that was given up', { a: entry({ ...lost, tries: 3 }) }, ['a lost']],
  ['not of one that may be at work', { a: entry({ ...lost, tries: 3, started_at: '2026-03-20T02:01:00.000Z' }) }, []],
])('the schedule knows of a run %s', (_, state, expected) => {
  expect(neverBegun(state, GONE_MS).map(({ pipelines, code }) => `${pipelines.join('+')} ${code}`)).toEqual(expected);
});

let world: World;
let hook: Webhook;
beforeEach(async () => {
  world = await openWorld();
  hook = await openWebhook();
});
afterEach(async () => {
  await hook.close();
  await world.close();
});

it('it looks every five minutes, in the day that it is by then, until it is over', async () => {
  const stop = new AbortController();
  const { clock } = world;
  clock.passUpTo(-1);
  const alerts = await alertsOf(world, { PARTNER_ETL_ALERT_URL: hook.url });
  const watching = world.within((context) => watchForAlerts(context, alerts, 360), { signal: stop.signal });
  await clock.asleep((ms) => ms === 300_000);
  expect(hook.asked).toBe(0);
  await world.within(({ state }) => writeSchedule(state, { orders: entry({}) }));
  const later = clock.asleep((ms) => ms === 300_000);
  await clock.advance(299_999);
  await later;
  expect(hook.asked).toBe(0);
  clock.set(clock.now() + 86_400_000);
  await clock.advance(1);
  await clock.asleep((ms) => ms === 300_000);
  expect(sent(hook)).toEqual(['firing run/orders:new']);
  stop.abort();
  await watching;
});
