/** Unchanged costs nothing: a night that brings nothing new leaves lake and warehouse untouched, to the last file. */
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { openWorld, type World } from '../support/nights.ts';

let world: World;
let before: Record<string, string>;
beforeAll(async () => {
  world = await openWorld();
  await world.night();
});
afterAll(() => world.close());
beforeEach(async () => {
  world.clock.set(world.clock.now() + 60_000);
  before = await marks();
});

/** When each file of lake and warehouse was last written, which file it is and how long. */
async function marks(): Promise<Record<string, string>> {
  const filesOf = async (tree: string) =>
    (await readdir(path.join(world.home, tree), { recursive: true })).map((name) => path.join(tree, name));
  const names = [...(await filesOf('lake')), 'warehouse.duckdb'].sort();
  const found = await Promise.all(
    names.map(async (name) => {
      const { mtimeNs, ino, size } = await stat(path.join(world.home, name), { bigint: true });
      return [name, `${ino} ${mtimeNs} ${size}`];
    }),
  );
  return Object.fromEntries(found);
}

it('the same answers again', async () => {
  const { run, exitCode, published } = await world.night();
  expect(exitCode).toBe(0);
  expect(run.summary).toMatchObject({ slices_changed: 0, slices_unchanged: 18, calls: 6 });
  expect(published.map(({ result }) => result)).toEqual([null]);
  expect(await marks()).toEqual(before);
});

it('the same content in other bytes', async () => {
  for (const endpoint of ['orders', 'commissions', 'promotions'] as const)
    world.sandbox.addFault({ endpoint, kind: 'exponent-number', field: 'commission', item: 'all', times: 2 });
  const { run } = await world.night();
  expect(run.summary).toMatchObject({ slices_changed: 0, slices_unchanged: 18 });
  expect(await marks()).toEqual(before);
});

it('only the changed slice is written', async () => {
  const day = world.lookback().to;
  const [item] = world.sandbox.truth('orders', day, day);
  const { orderId, orderItemId } = item as Record<string, string>;
  world.sandbox.change({
    kind: 'restate-item',
    orderId: orderId!,
    orderItemId: orderItemId!,
    values: { productTitle: 'Y' },
  });
  expect((await world.night()).run.summary).toMatchObject({ slices_changed: 1, slices_unchanged: 17 });
  const after = await marks();
  const touched = Object.keys({ ...before, ...after }).filter((name) => before[name] !== after[name]);
  expect(touched.filter((name) => name.endsWith('.parquet')).map((name) => path.basename(name).slice(0, 10))).toEqual([
    ...[day, day], // the items, as they were and as they are
    world.today(), // what the item was
  ]);
  expect(
    touched.filter((name) => name.startsWith('lake/') && !/^lake\/fact_order_item(_history)?(\/|$)/.test(name)),
  ).toEqual([]);
});
