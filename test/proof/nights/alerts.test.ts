/** Alerts of real nights, into a webhook that is one. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, expect, it } from 'vitest';
import type { AlertSettings } from '../../../src/config/alerts.ts';
import { type Day, daysOf } from '../../../src/core/days.ts';
import { runRelease } from '../../../src/run/again.ts';
import { sendAlerts } from '../../../src/run/alerts/alerts.ts';
import type { AlertDocument } from '../../../src/run/alerts/message.ts';
import { alertsOf, openWebhook, remembered, sent, tell, type Webhook } from '../../support/alerts.ts';
import { openWorld, type World } from '../../support/nights.ts';
import { deliver, shipmentMessage, subscribe } from '../../support/states.ts';

let world: World;
let hook: Webhook;
let settings: AlertSettings;
afterEach(async () => {
  await hook.close();
  await world.close();
});

/** Small nights of orders alone. */
const ORDERS = { names: ['orders'] };
const HELD = '2026-03-19' as Day;
const passHours = (hours: number) => world.clock.set(world.clock.now() + hours * 3_600_000);

async function open(): Promise<void> {
  world = await openWorld({ ordersPerDay: 30, lookbackDays: 2, windowDays: 3 });
  hook = await openWebhook();
  settings = await alertsOf(world, { PARTNER_ETL_ALERT_URL: hook.url });
}

it('a held slice is told once by however many processes, after an endpoint was down, and resolved once when it was released', async () => {
  await open();
  await world.night(ORDERS);
  world.sandbox.change({ kind: 'empty-day', report: 'orders', day: HELD });
  passHours(2);
  expect((await world.night(ORDERS)).exitCode).toBe(3);
  hook.status = 503;
  await tell(world, settings);
  expect(world.log.at(-1)).toMatchObject({
    level: 'warn',
    message: 'webhook default: the message was not taken: it answered 503; it is tried again later',
    fields: { code: 'alert_undelivered' },
  });
  hook.status = 200;
  passHours(1);
  await tell(world, settings, { times: 3 });
  expect(sent(hook)).toEqual([`firing held/orders/${HELD}:new`]);
  const { causes, title } = JSON.parse(hook.bodies[0]!) as AlertDocument;
  expect(title).toBe('partner-etl');
  expect(causes[0]).toEqual({
    key: `held/orders/${HELD}`,
    kind: 'slice_held',
    what: expect.stringMatching(new RegExp(`^orders ${HELD} is held: 0 rows, \\d+ before \\(emptied\\)$`)),
    since: expect.stringMatching(/^2026-03-20T04:/),
    means: expect.any(String),
    look: `partner-etl explain orders ${HELD}`,
    fix: `if it is right after all: partner-etl release orders ${HELD}`,
    state: 'new',
    resolved_at: null,
  });
  await world.within((context) => runRelease(context, 'orders', HELD));
  await tell(world, settings, { times: 2 });
  await tell(world, settings);
  expect(sent(hook).slice(1)).toEqual([`resolved held/orders/${HELD}:resolved`]);
  const state = await remembered(world.home);
  expect(JSON.stringify(world.log) + state + hook.bodies.join()).not.toMatch(/very-secret-part|127\.0\.0\.1/);
});

it('a night that fails, drift, and a report that stays away are told with their fields and kinds, and without a row', async () => {
  await open();
  world.sandbox.addFault({ endpoint: 'orders', kind: 'unknown-field', field: 'voucher' });
  await world.night(ORDERS);
  await tell(world, settings);
  expect(sent(hook)).toEqual(['firing drift/orders/unknown_field/voucher:new']);
  const { orderId } = world.itemOn(HELD);
  expect(hook.bodies[0]).not.toContain(orderId);
  passHours(24);
  world.sandbox.addFault({ endpoint: 'orders', kind: 'status', status: 400, times: 99 });
  expect((await world.night(ORDERS)).exitCode).toBe(1);
  await tell(world, settings);
  passHours(15);
  await tell(world, settings);
  passHours(2);
  await tell(world, settings);
  const key = 'run/orders+orders-history';
  expect(sent(hook).slice(1)).toEqual([`firing ${key}:new`, 'firing late/orders:new']);
  expect(hook.bodies[1]).toContain('the run \\"run orders\\" failed (http_400)');
  world.sandbox.clearFaults();
  expect((await world.night(ORDERS)).exitCode).toBe(0);
  await tell(world, settings);
  expect(sent(hook).at(-1)).toBe(`resolved ${key}:resolved late/orders:resolved`);
});

it('a check that warns is told for each day once, with its own fix on that day, and without a row', async () => {
  await open();
  const mine = path.join(world.home, 'checks', 'mine.sql');
  await mkdir(path.dirname(mine));
  const header = ['severity: warn', 'about: nothing was sold', 'pipeline: orders', 'fix: fetch D again'];
  const select = 'SELECT order_date AS slice_day, order_id FROM warehouse.fact_order_item WHERE {on_days:order_date}';
  await writeFile(mine, `${header.map((line) => `-- ${line}\n`).join('')}${select}`);
  await world.night(ORDERS);
  await tell(world, settings);
  const { from, to } = world.lookback();
  const { causes } = JSON.parse(hook.bodies[0]!) as AlertDocument;
  const ofCheck = causes.filter(({ key }) => key.includes('check:mine'));
  expect(ofCheck.map(({ key }) => key)).toEqual(
    daysOf({ from, to }).map((day) => `drift/orders/check:mine/slice_day/${day}`),
  );
  expect(ofCheck[0]).toMatchObject({
    kind: 'drift_seen',
    what: `orders ${from}: the check mine found something`,
    means: 'a check that warns; the slice is published all the same',
    look: `partner-etl explain orders ${from}`,
    fix: `fetch ${from} again`,
  });
  expect(hook.bodies[0]).not.toContain(world.itemOn(HELD).orderId);
  passHours(24);
  await world.night(ORDERS);
  await tell(world, settings);
  const later = hook.bodies.slice(1).flatMap((body) => (JSON.parse(body) as AlertDocument).causes);
  expect(later.filter(({ key }) => key.includes('check:mine')).map(({ key }) => key)).toEqual([
    `drift/orders/check:mine/slice_day/${world.lookback().to}`,
  ]);
});

it('credentials that are refused are one cause with the run that they failed, until a token is granted', async () => {
  await open();
  world.sandbox.addFault({ endpoint: 'token', kind: 'status', status: 401, times: 99 });
  expect((await world.night(ORDERS)).exitCode).toBe(4);
  await tell(world, settings);
  await tell(world, settings);
  expect(sent(hook)).toEqual(['firing refused/credentials_refused:new']);
  world.sandbox.clearFaults();
  passHours(2);
  expect((await world.night(ORDERS)).exitCode).toBe(0);
  await tell(world, settings);
  expect(sent(hook).slice(1)).toEqual(['resolved refused/credentials_refused:resolved']);
});

it('a run that could not begin is told until one did, and a day that is only pretended says nothing', async () => {
  await open();
  const unstarted = [{ pipelines: ['orders'], at: '2026-03-20T02:00:00.000Z', code: 'check' }];
  await world.within((context) => sendAlerts({ ...context, today: HELD }, settings, unstarted));
  expect(hook.asked).toBe(0);
  await tell(world, settings, { unstarted });
  await tell(world, settings);
  expect(sent(hook)).toEqual(['firing run/orders:new']);
  expect(hook.bodies[0]).toContain('could not begin (check)');
  passHours(1);
  await world.night(ORDERS);
  await tell(world, settings);
  await tell(world, settings);
  expect(sent(hook).slice(1)).toEqual(['resolved run/orders:resolved']);
});

it('push messages that stay away are told while there is a subscription', async () => {
  await open();
  const list = () => world.night({ names: ['subscriptions'] });
  await list();
  world.passDays(30);
  await tell(world, settings);
  expect(hook.asked).toBe(0);
  await subscribe(world);
  await list();
  world.passDays(7);
  await tell(world, settings);
  expect(hook.asked).toBe(0);
  world.passDays(1);
  await tell(world, settings);
  expect(sent(hook)).toEqual(['firing push/missing:new']);
  expect(hook.bodies[0]).toContain('no push message ever came, for 8 days');
  await deliver(world, shipmentMessage('1', []));
  await tell(world, settings);
  expect(sent(hook)[1]).toBe('resolved push/missing:resolved');
});
