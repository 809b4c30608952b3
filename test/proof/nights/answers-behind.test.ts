/** Slices that stand on an answer which the raw store has lost: asked for again they stand on the new one, also where it says the same. */
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { addDays, type Day } from '../../../src/core/days.ts';
import type { FetchRecord } from '../../../src/core/records.ts';
import { runBackfill } from '../../../src/run/night.ts';
import { verify } from '../../../src/run/verify/verify.ts';
import { openWorld, type World } from '../../support/nights.ts';
import { forgetFetches } from '../../support/state.ts';

let world: World;
let first: Day;
beforeAll(async () => {
  world = await openWorld();
  first = world.lookback().from;
  await world.night();
});
afterAll(() => world.close());

const at = (...names: string[]) => path.join(world.home, ...names);
const differences = async () => (await world.within(verify)).differences;
const range = () => ({ from: first, to: addDays(first, 3) });

async function refetch() {
  world.clock.set(world.clock.now() + 60_000);
  return (await world.within((context) => runBackfill(context, ['orders'], range(), true))).run.summary;
}

/** What the lake says of the first day, and the fetch that it stands on. */
async function stoodOn() {
  return world.within(async ({ lake, raw }) => {
    const content = (await lake.slices('orders')).get(first)!.content;
    let record: FetchRecord | null = null;
    for await (const fetch of raw.fetches('orders')) if (fetch.fetch_id === content.fetch_id) record = fetch;
    return { content, record: record! };
  });
}

/** So that the answer for the window is another one than before, and the first day in it the same. */
function restate(day: Day, commission: string): void {
  const [item] = world.sandbox.truth('orders', day, day);
  const name = { orderId: String(item?.orderId), orderItemId: String(item?.orderItemId) };
  world.sandbox.change({ kind: 'restate-item', ...name, values: { commission } });
}

it.each<[string, string, (record: FetchRecord) => Promise<void>]>([
  ['damaged answer', '7.77', (record) => writeFile(at(record.raw_path!), 'damaged')],
  ['answer that is gone', '8.88', (record) => rm(at(record.raw_path!))],
  ['fetch whose record is gone', '9.99', (record) => forgetFetches(world.home, 'orders', record.fetch_id)],
])('a %s', async (_, commission, damage) => {
  const before = await stoodOn();
  await damage(before.record);
  restate(addDays(first, 1), commission);
  expect((await differences()).map(({ hop, fix }) => [hop, fix.includes('--refetch')])).toEqual([['raw', true]]);

  // The day that is another one, and those that are only written again.
  expect(await refetch()).toMatchObject({ slices_changed: 4, slices_unchanged: 0 });
  expect(await differences()).toEqual([]);
  const now = await stoodOn();
  expect(now.content).toMatchObject({ digest: before.content.digest, rows: before.content.rows });
  expect(now.content.fetch_id).not.toBe(before.content.fetch_id);
  expect((await world.differences(range())).filter((line) => line.startsWith('orders'))).toEqual([]);
  expect(await refetch()).toMatchObject({ slices_changed: 0, slices_unchanged: 4 });
});

it('under a slice whose newer answer is held comes back from a backup, since the newer one is held again', async () => {
  const last = addDays(first, 3);
  const stood = await world.within(async ({ lake }) => (await lake.slices('orders')).get(last)!.content.fetch_id);
  world.sandbox.change({ kind: 'empty-day', report: 'orders', day: last });
  expect((await refetch())?.slices_held).toBe(1);
  let file = '';
  await world.within(async ({ raw }) => {
    for await (const fetch of raw.fetches('orders')) if (fetch.fetch_id === stood) file = fetch.raw_path!;
  });
  await writeFile(at(file), 'damaged');
  expect(await refetch()).toMatchObject({ slices_held: 1 });
  const [difference, ...others] = await differences();
  expect([difference?.fix, others]).toEqual([`restore ${file} from a backup; the rows themselves are in the lake`, []]);
});
