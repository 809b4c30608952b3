/** erase as it is typed. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openWorld, type World } from '../../support/nights.ts';
import { typedIn } from '../typed.ts';

let world: World;
let order: string;
beforeAll(async () => {
  world = await openWorld({ ordersPerDay: 4, lookbackDays: 2, windowDays: 2 });
  await world.night();
  world.clock.set(world.clock.now() + 60_000);
  ({ orderId: order } = world.itemOn(world.lookback().from));
});
afterAll(() => world.close());

const typed = (...words: string[]) => typedIn(world, words);

it('says what to name when nothing is, and takes no empty value', async () => {
  for (const words of [
    ['erase', '--yes'],
    ['erase', '--yes', '--sub-id', ''],
  ])
    expect(await typed(...words)).toMatchObject({ code: 2, err: expect.stringContaining('erase --sub-id TEXT') });
});

it('erases nothing that nobody has agreed to', async () => {
  const { code, err } = await typed('erase', '--order-id', order);
  expect(code).toBe(2);
  expect(err).toContain('add --yes');
  expect(err).not.toContain(order);
});

it('a dry run counts; then it goes, and neither output nor record name what it was', async () => {
  const dry = await typed('erase', '--order-id', order, '--dry-run');
  expect(dry.out).toMatch(/raw +1 +answers/);
  expect(dry.out).toMatch(/lake +\d+ +values in 1 slice\b/);
  const done = await typed('erase', '--order-id', order, '--yes', '--json');
  expect(done.code).toBe(0);
  expect(JSON.parse(done.out)).toMatchObject({
    is_complete: true,
    asked: { orders: 1 },
    found: { slices: 1 },
    errors: [],
  });
  expect(done.out + done.err + JSON.stringify(world.log)).not.toContain(order);
  expect(await typed('verify')).toMatchObject({ code: 0 });
});
