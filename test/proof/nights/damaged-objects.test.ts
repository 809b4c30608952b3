/** Objects of gathered answers and rows of fetches that are damaged or gone: what verify says of them, and which replay is refused. */
import { readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest';
import { runReplay } from '../../../src/run/again.ts';
import { verify } from '../../../src/run/verify/verify.ts';
import { listEans, openLookupWorld, rowsOf } from '../../support/lookups.ts';
import type { World } from '../../support/nights.ts';
import { forgetFetches } from '../../support/state.ts';
import { openStateWorld, subscribe } from '../../support/states.ts';

const RATES = 'raw/commission-rates/gathered/2026-03';

let world: World;
beforeEach(async () => {
  world = await openLookupWorld({ rates: {} });
  await listEans(world, world.sandbox.eans(3));
  await rates();
});
afterEach(() => world.close());

const rates = () => world.night({ names: ['commission-rates'] });
const newestIn = async (folder: string, { home } = world) =>
  path.join(folder, (await readdir(path.join(home, folder))).sort().at(-1)!);
const known = () => rowsOf(world, 'SELECT * EXCLUDE (loaded_at) FROM warehouse.fact_commission_rate ORDER BY ALL');
const replay = () => {
  world.clock.set(world.clock.now() + 60_000);
  return world.within((context) => runReplay(context, 'commission-rates', { from: world.today(), to: world.today() }));
};

it('an object that no slice stands on, and where it comes back from; a replay does without it', async () => {
  const today = world.today();
  world.passDays(1);
  await rates();
  const object = await newestIn(RATES);
  await truncate(path.join(world.home, object), 30);
  const { differences, warnings } = await world.within(verify);
  expect(differences).toEqual([]);
  const command = 'partner-etl replay commission-rates --from 2026-03-21 --to 2026-03-21';
  expect(warnings).toMatchObject([
    { hop: 'raw', day: '2026-03-21', fix: `restore ${object} from a backup, then ${command}` },
  ]);
  expect(warnings[0]?.problem).toContain(object);
  const before = await known();
  const range = { from: today, to: world.today() };
  world.clock.set(world.clock.now() + 60_000);
  expect((await world.within((context) => runReplay(context, 'commission-rates', range))).errors).toEqual([]);
  expect(await known()).toEqual(before);
});

it.each([
  ['is cut off', (file: string) => truncate(file, 30)],
  ['is gone', (file: string) => rm(file)],
])(
  'an object on which slices stand %s: verify names it, and a replay that would lose its rows is refused',
  async (_, damage) => {
    const object = await newestIn(RATES);
    const file = path.join(world.home, object);
    const bytes = await readFile(file);
    await damage(file);
    const { differences, warnings } = await world.within(verify);
    expect(differences).toMatchObject([
      {
        problem: expect.stringMatching(new RegExp(`${object} does not hold the answer of fetch \\w+$`)),
        fix: `restore ${object} from a backup; the rows themselves are in the lake`,
      },
    ]);
    expect(warnings).toEqual([]);

    const before = await known();
    const refused = await replay();
    expect(refused).toMatchObject({ exitCode: 1, run: { summary: { slices_changed: 0 } } });
    expect(refused.errors).toMatchObject([
      { code: 'missing_answer', hint: expect.stringContaining(`restore ${file} from a backup; nothing was changed`) },
    ]);
    expect(await known()).toEqual(before);
    await writeFile(file, bytes);
    expect((await replay()).errors).toEqual([]);
    expect(await known()).toEqual(before);
  },
);

it('the row of a fetch that is gone is the same', async () => {
  const ids = await rowsOf(world, 'SELECT DISTINCT fetch_id FROM warehouse.fact_commission_rate');
  world.passDays(1);
  await rates();
  await forgetFetches(world.home, 'commission-rates', ids[0]);
  expect((await world.within(verify)).differences).toMatchObject([
    {
      problem: `the record of fetch ${ids[0]} is missing`,
      fix: 'restore state.db from a backup; the rows themselves are in the lake',
    },
  ]);
  const range = { from: '2026-03-20' as never, to: world.today() };
  const refused = await world.within((context) => runReplay(context, 'commission-rates', range));
  expect(refused.errors).toMatchObject([{ code: 'missing_answer', hint: expect.stringContaining('state.db') }]);
});

it('a list that said nothing new, and where it comes back from', async () => {
  const lists = await openStateWorld();
  onTestFinished(() => lists.close());
  const night = () => lists.night({ names: ['subscriptions'] });
  await subscribe(lists);
  await night();
  lists.passDays(1);
  expect((await night()).run.summary).toMatchObject({ calls: 1, slices_changed: 0 });
  const object = await newestIn('raw/subscriptions/gathered/2026-03', lists);
  const bytes = await readFile(path.join(lists.home, object));
  const damaged = Buffer.from(bytes);
  damaged[damaged.length - 12]! ^= 1;
  await writeFile(path.join(lists.home, object), damaged);
  expect(await lists.within(verify)).toMatchObject({
    differences: [],
    warnings: [
      {
        hop: 'raw',
        day: '2026-03-21',
        problem: expect.stringContaining(object),
        fix: `restore ${object} from a backup, then partner-etl replay subscriptions --from 2026-03-21 --to 2026-03-21`,
      },
    ],
  });
  await writeFile(path.join(lists.home, object), bytes);
  expect(await lists.within(verify)).toMatchObject({ differences: [], warnings: [] });
});
