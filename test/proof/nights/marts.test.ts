/** What analysts ask of a night: the three reports tell one story, and where one of them does not, it is found. */
import { readFile, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { addDays, type Day } from '../../../src/core/days.ts';
import { openWorld, type World } from '../../support/nights.ts';

let world: World;
beforeAll(async () => {
  world = await openWorld();
  const night = await world.night();
  expect(night.errors).toEqual([]);
});
afterAll(() => world.close());
beforeEach(() => world.clock.set(world.clock.now() + 60_000));

const ask = (sql: string) => world.within(async ({ targets }) => (await targets[0]!.query(sql, 10_000)).rows);
const CLASSES = 'SELECT class, count(*) > 0 FROM mart.reconciliation GROUP BY class ORDER BY class';
const yesterday = (): Day => addDays(world.today(), -1);

/** As the operator does who edits the settings. */
async function declareGrammar(grammar: string | null): Promise<void> {
  const file = String(world.env.PARTNER_ETL_CONFIG);
  await writeFile(file, stringify({ ...parse(await readFile(file, 'utf8')), subIds: { grammar } }));
}

it('items that are restated, moved or gone leave them equal', async () => {
  const [restated, moved, gone] = [1, 2, 3].map((ago) => world.itemOn(addDays(world.today(), -ago)));
  world.sandbox.change({ kind: 'restate-item', ...restated!, values: { priceExclVat: '99.95', quantity: 3 } });
  world.sandbox.change({ kind: 'move-item', ...moved!, toDay: yesterday() });
  world.sandbox.change({ kind: 'vanish-item', ...gone! });
  const night = await world.night();
  expect(night.errors).toEqual([]);
  expect(night.run.summary?.slices_changed).toBeGreaterThan(5);
  expect(await ask(CLASSES)).toEqual([['equal', true]]);
});

it('a grammar of sub-IDs takes effect with the next night, over the whole history, and costs nothing after it', async () => {
  const parsed = 'SELECT DISTINCT is_parsed FROM warehouse.dim_sub_id ORDER BY 1';
  expect(await ask(parsed)).toEqual([[null]]);
  await declareGrammar('{channel}_{number}');
  const night = await world.night();
  expect(night.published).toMatchObject([{ target: 'duckdb', result: { slices: 0, rows: 0 }, errors: [] }]);
  expect(
    await ask(`SELECT sub_id, parts->>'channel', parts->>'number', unread_part FROM warehouse.dim_sub_id ORDER BY 1`),
  ).toEqual([
    ['ig/story?ref=é', null, null, 'channel'],
    ['nieuwsbrief_12', 'nieuwsbrief', '12', null],
  ]);
  expect(await ask('SELECT sub_id, sum(clicks) > 0, count(*) > 1 FROM mart.sub_id_unparsed GROUP BY sub_id')).toEqual([
    ['ig/story?ref=é', true, true],
  ]);
  world.clock.set(world.clock.now() + 60_000);
  expect((await world.night()).published).toMatchObject([{ result: null }]);
  await declareGrammar(null);
  world.clock.set(world.clock.now() + 60_000);
  await world.night();
  expect(await ask(parsed)).toEqual([[null]]);
});
