/** prune as it is typed. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { typedIn } from '../../cli/typed.ts';
import { openWorld, type World } from '../../support/nights.ts';
import { setRetention } from '../../support/retention.ts';

let world: World;
beforeAll(async () => {
  world = await openWorld({ ordersPerDay: 12, lookbackDays: 4, windowDays: 3 });
  for (let night = 0; night < 5; night++) {
    if (night > 0) world.passDays(1);
    await world.night();
  }
  world.clock.set(world.clock.now() + 60_000);
});
afterAll(() => world.close());

const typed = (...words: string[]) => typedIn(world, words);

it('without settings it says what to set', async () => {
  expect(await typed('prune')).toMatchObject({ code: 2, err: expect.stringContaining('retention.rawDays') });
});

it('a dry run says what would go and why the rest stays, and deletes nothing; then it goes', async () => {
  await setRetention(world, { rawDays: 1 });
  const dry = await typed('prune', '--dry-run');
  expect(dry.code).toBe(0);
  expect(dry.out).toMatch(/answers of orders +\d+ +\d+\.\d +goes/);
  expect(dry.out).toMatch(/answers of orders +\d+ +\d+\.\d +stays: the only source of a slice/);
  const [before, done] = [
    JSON.parse((await typed('prune', '--dry-run', '--json')).out),
    await typed('prune', '--json'),
  ];
  expect(done.code).toBe(0);
  expect(JSON.parse(done.out)).toEqual(before);
  expect(JSON.parse((await typed('prune', '--dry-run', '--json')).out).deleted).toEqual([]);
});

it('explain and verify say pruned, and not damaged', async () => {
  const pruned = await typed('explain', 'orders', '2026-03-19');
  expect(pruned.out).toMatch(/answer pruned on 2026-03-24, by retention/);
  expect(await typed('verify')).toMatchObject({ code: 0, out: expect.stringContaining('no difference') });
});
