/** etl.fetch: every request and every answer of the inbox once, also those that no run made. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { FetchRecord } from '../../../src/core/records.ts';
import { rowsOf } from '../../support/lookups.ts';
import type { World } from '../../support/nights.ts';
import {
  deliver,
  HOUR,
  MINUTE,
  nightOf,
  openStateWorld,
  pass,
  processMessage,
  startSubscription,
  subscribe,
} from '../../support/states.ts';

let world: World;
beforeEach(async () => {
  world = await openStateWorld({ today: '2026-03-31' as never });
});
afterEach(() => world.close());

const inRawStore = () =>
  world.within(async ({ raw, pipelines }) => {
    const fetches: FetchRecord[] = [];
    for (const { name } of pipelines) for await (const fetch of raw.fetches(name)) fetches.push(fetch);
    return fetches.map(({ fetch_id: id }) => id).sort();
  });
const inWarehouse = () => rowsOf(world, 'SELECT fetch_id FROM etl.fetch ORDER BY 1');

test('fetches of commands before, between and after nights are all there once, also over the end of a month', async () => {
  const night = nightOf(world);
  await subscribe(world);
  pass(world, MINUTE);
  await night();
  expect(await inWarehouse()).toEqual(await inRawStore());
  pass(world, MINUTE); // ids of one millisecond have no order
  const started = await startSubscription(world, 'https://other.example/push');
  await deliver(world, processMessage(started));
  pass(world, 24 * HOUR);
  await night();
  expect(await inWarehouse()).toEqual(await inRawStore());
  pass(world, MINUTE);
  await startSubscription(world, 'https://third.example/push');
  pass(world, HOUR);
  await night();
  const held = await inWarehouse();
  expect(held).toEqual(await inRawStore());
  expect(held.length).toBeGreaterThan(8);
});
