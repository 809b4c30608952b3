/**
 * kill -9 in nights of messages, subscriptions, process statuses and links: the next run ends in the warehouse of an undisturbed
 * one, and asks for no process and follows no link twice.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { verify } from '../../../src/run/verify/verify.ts';
import { rowsOf } from '../../support/lookups.ts';
import type { World } from '../../support/nights.ts';
import {
  deliver,
  deliverPushes,
  HOOK,
  HOUR,
  MINUTE,
  nightOf,
  openStateWorld,
  PUSHED,
  pass,
  processMessage,
  startSubscription,
  subscribe,
} from '../../support/states.ts';
import { flawsIn, historyOf } from '../../support/versions.ts';
import { nightKilledAt } from './killed-night.ts';

const START_MS = Date.parse('2026-03-20T02:00:00Z');
/** Processes and links of a day that are asked for. */
const CALLS = { processes: 3, links: 2 };

/** The one that is killed, and one of the same days and changes that never is; with how many pushes of each were delivered. */
const worlds: { readonly world: World; pushes: number }[] = [];
let days = 0;

beforeAll(async () => {
  for (let i = 0; i < 2; i++) {
    const world = await openStateWorld();
    await subscribe(world);
    expect((await nightOf(world)()).errors).toEqual([]);
    worlds.push({ world, pushes: world.sandbox.pushes().length });
  }
});
afterAll(async () => {
  for (const { world } of worlds) await world.close();
});

/** Another day in both: a process whose end is seen by a command, others that are left alone, and shipments that move on. */
async function nextDay(): Promise<void> {
  days += 1;
  for (const one of worlds) {
    const { world } = one;
    world.clock.set(START_MS + days * 25 * HOUR);
    await subscribe(world, `${HOOK}/${days}`, ['SHIPMENT']);
    for (const name of ['a', 'b']) await startSubscription(world, `${HOOK}/${days}/${name}`, ['SHIPMENT']);
    for (const id of ['S-1', 'S-2']) world.sandbox.change({ kind: 'shipment', shipmentId: id });
    pass(world, HOUR);
    one.pushes = await deliverPushes(world, one.pushes);
    await deliver(world, processMessage(`unknown-${days}`));
    pass(world, MINUTE);
    world.sandbox.stats.reset();
  }
}

const messages = (world: World) =>
  rowsOf(world, 'SELECT resource, resource_id, type, deliveries FROM warehouse.fact_push_message ORDER BY ALL');

/** Without what differs from sandbox to sandbox. */
async function history(world: World): Promise<unknown> {
  const text = JSON.stringify(await historyOf(world, { isTimeless: true }));
  return JSON.parse(text.replaceAll(world.sandbox.baseUrl, 'base:'));
}

it.each([
  'answer-received subscriptions',
  'normalised subscriptions',
  'answer-received process-statuses',
  'normalised process-statuses',
  'lake-committed process-statuses',
  'answer-received push-links',
  'lake-committed push-links',
  'publishing',
])('killed at "%s", the next run goes on where it was', async (step) => {
  await nextDay();
  const [{ world }, { world: undisturbed }] = [worlds[0]!, worlds[1]!];
  expect(await nightKilledAt(world, { step, names: PUSHED })).toBe('SIGKILL');
  pass(world, MINUTE);
  for (const one of [world, undisturbed]) expect((await nightOf(one)()).errors).toEqual([]);
  expect(await history(world)).toEqual(await history(undisturbed));
  expect(await messages(world)).toEqual(await messages(undisturbed));
  expect(await flawsIn(world)).toEqual([]);
  expect((await world.within(verify)).differences).toEqual([]);
  const { calls } = undisturbed.sandbox.stats;
  expect([calls['process-status'], calls.shipment]).toEqual([CALLS.processes, CALLS.links]);
  // Answers that were received and not yet recorded when it died are all that may be asked for again.
  const more = { process: world.sandbox.stats.calls['process-status'], link: world.sandbox.stats.calls.shipment };
  const underWay = step.startsWith('answer-received') ? 3 : 0;
  expect(more.process).toBeLessThanOrEqual(CALLS.processes + underWay);
  expect(more.link).toBeLessThanOrEqual(CALLS.links + underWay);
});
