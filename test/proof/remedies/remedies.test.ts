/** Every command that a message names as the fix, tried: the damage, the message, the command as it stands there, the same rows as before. */
import { rm, truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { damage as damageState, lose } from '../../cli/commands/lost-state.ts';
import { TextWriter } from '../../cli/surroundings.ts';
import { typedIn } from '../../cli/typed.ts';
import type { World } from '../../support/nights.ts';
import { forgetFetches, withState } from '../../support/state.ts';
import { answersOf, cutSlice, expectRemedy, inWarehouse, openScene, type Remedy, rowsOf } from './scene.ts';

let world: World;
let sound: string;
let restore: () => Promise<void>;
beforeAll(async () => {
  world = await openScene();
  sound = await rowsOf(world);
  restore = await world.keep();
});
afterEach(() => restore());
afterAll(() => world.close());

const file = (one: World) => path.join(one.home, 'warehouse.duckdb');
const DAY = '\\d{4}-\\d{2}-\\d{2}';
const range = `--from ${DAY} --to ${DAY}`;
const REPLAY = new RegExp(`partner-etl replay \\S+ ${range}`, 'g');
const REFETCH = new RegExp(`partner-etl backfill \\S+ ${range} --refetch`, 'g');
const REBUILD = /partner-etl rebuild --target duckdb/g;
const RUN = /partner-etl run(?: [a-z-]+)?/g;

const SLICES: readonly Remedy[] = [
  ...['promotions', 'orders', 'commissions', 'products', 'commission-rates', 'commission-reductions', 'reductions'],
].map((name) => ({
  name: `a damaged slice of ${name}`,
  damage: (one: World) => cutSlice(one, name),
  ask: 'verify',
  prints: REPLAY,
}));

const OF_LAKE: readonly Remedy[] = [
  {
    name: 'a damaged file of the history',
    damage: (one) => cutSlice(one, 'orders-history'),
    ask: 'verify',
    prints: /partner-etl rebuild --history/g,
  },
];

const OF_RAW: readonly Remedy[] = [
  ...['promotions', 'orders', 'commissions'].flatMap((name) => [
    {
      name: `the damaged answers of ${name}`,
      damage: async (one: World) => {
        for (const answer of await answersOf(one, name)) await writeFile(answer, 'damaged');
      },
      ask: 'verify',
      prints: REFETCH,
    },
    {
      name: `a damaged answer of ${name} that is to be replayed`,
      damage: async (one: World) => {
        for (const answer of await answersOf(one, name)) await writeFile(answer, 'damaged');
      },
      ask: `replay ${name} --from FIRST --to LAST`,
      prints: REFETCH,
    },
    {
      name: `records of requests of ${name} that are gone`,
      damage: (one: World) => forgetFetches(one.home, name),
      ask: 'verify',
      prints: REFETCH,
    },
    {
      name: `${name} of which the raw store knows nothing to replay`,
      damage: (one: World) => forgetFetches(one.home, name),
      ask: `replay ${name} --from FIRST --to LAST`,
      prints: new RegExp(`partner-etl backfill \\S+ ${range}(?: --refetch)?`, 'g'),
    },
  ]),
  {
    name: 'a past that a catalogue has not',
    damage: async () => undefined,
    ask: 'backfill products --from FIRST --to LAST',
    prints: new RegExp(`partner-etl (?:run products|replay products(?: ${range})?)`, 'g'),
  },
];

const OF_WAREHOUSE: readonly Remedy[] = [
  { name: 'no warehouse, for verify', damage: (one) => rm(file(one)), ask: 'verify', prints: REBUILD },
  { name: 'no warehouse, for a question', damage: (one) => rm(file(one)), ask: 'ask 8', prints: RUN },
  { name: 'a warehouse that is cut off', damage: (one) => truncate(file(one), 5000), ask: 'ask 8', prints: REBUILD },
  {
    name: 'a table that is gone',
    damage: (one) => inWarehouse(one, 'DROP TABLE warehouse.fact_commission_day'),
    ask: 'verify',
    prints: REBUILD,
  },
  {
    name: 'a column of another type',
    damage: (one) =>
      inWarehouse(
        one,
        'ALTER TABLE warehouse.fact_promotion_day ALTER COLUMN clicks TYPE DOUBLE',
        `DELETE FROM etl.receipt WHERE pipeline = 'promotions'`,
      ),
    ask: 'run promotions',
    prints: REBUILD,
  },
  {
    name: 'rows of a day that the lake does not know, dropped',
    damage: (one) =>
      inWarehouse(
        one,
        `INSERT INTO warehouse.fact_promotion_day (account, promotion_date, fetch_id, loaded_at) VALUES ('default', '2001-01-01', 'x', now())`,
      ),
    ask: 'verify',
    prints: REBUILD,
  },
  {
    name: 'rows of a day that the lake does not know, brought into the lake',
    damage: (one) =>
      withState(one.home, (state) =>
        state.write(async (tx) => {
          await tx.deleteFrom('slice').where('pipeline', '=', 'promotions').execute();
        }),
      ),
    ask: 'verify',
    prints: new RegExp(`partner-etl backfill promotions ${range}(?= brings)`, 'g'),
  },
  ...[
    ['a view that is gone', 'DROP VIEW mart.daily_performance'],
    ['a view of another text', `CREATE OR REPLACE VIEW mart.ageing AS SELECT 'forged' AS age_bucket`],
    ['a function that is gone', 'DROP MACRO TABLE warehouse.orders_as_of'],
  ].map(([name, sql]) => ({ name: name!, damage: (one: World) => inWarehouse(one, sql!), ask: 'verify', prints: RUN })),
  {
    name: 'a reject that nobody set aside, in the warehouse alone',
    damage: (one) =>
      inWarehouse(
        one,
        `INSERT INTO etl.reject SELECT 'default', 'orders', min(order_date), 'f', 0, 'bad_day', '', '{}' FROM warehouse.fact_order_item`,
      ),
    ask: 'verify --deep',
    prints: REBUILD,
  },
  ...[
    ['a receipt that is gone', `DELETE FROM etl.receipt WHERE pipeline = 'orders'`],
    ['rows that are gone', 'DELETE FROM warehouse.fact_commission_reduction'],
    ['rates of another instant', 'UPDATE warehouse.fact_commission_rate SET valid_from = now()'],
    ['an item that is there twice', 'INSERT INTO warehouse.fact_order_item FROM warehouse.fact_order_item LIMIT 1'],
    ['rates that are gone', 'DELETE FROM warehouse.fact_commission_rate'],
    ['reductions that are gone', 'DELETE FROM warehouse.fact_reduction'],
    ['a history that is gone', 'DELETE FROM warehouse.fact_order_item_history'],
    ['lines of a file', 'UPDATE warehouse.reductions_file SET lines = lines + 1'],
  ].map(([name, sql]) => ({
    name: `${name}, in the warehouse alone`,
    damage: (one: World) => inWarehouse(one, sql!),
    ask: 'verify',
    prints: /partner-etl rebuild(?: --target duckdb)?/g,
  })),
];

const REBUILD_STATE = /partner-etl rebuild --state/g;

const OF_STATE: readonly Remedy[] = [
  ...['status', 'run', 'verify'].flatMap((ask): Remedy[] => [
    {
      name: `a state that is damaged, for ${ask}`,
      damage: damageState,
      ask,
      prints: REBUILD_STATE,
    },
    {
      name: `a state that is lost, for ${ask}`,
      damage: lose,
      ask,
      prints: REBUILD_STATE,
    },
  ]),
];

/** What the service says otherwise since stays so: these come last. */
const NEWS: readonly Remedy[] = [
  {
    name: 'a slice that lost an item to another day',
    damage: async (one) => {
      const { from, to } = one.lookback();
      one.sandbox.change({ kind: 'move-item', ...one.itemOn(from), toDay: to });
      one.clock.set(one.clock.now() + 60_000);
      await one.night();
      await cutSlice(one, 'orders', from);
    },
    ask: 'verify',
    prints: new RegExp(`${REFETCH.source}|${REPLAY.source}`, 'g'),
    isNews: true,
  },
  {
    name: 'a slice that a night has to compare with',
    damage: async (one) => {
      const { from, to } = one.lookback();
      await cutSlice(one, 'orders', to);
      one.sandbox.change({ kind: 'move-item', ...one.itemOn(to), toDay: from });
      one.clock.set(one.clock.now() + 60_000);
    },
    ask: 'run orders',
    prints: REPLAY,
    isNews: true,
  },
];

it.each([...SLICES, ...OF_LAKE, ...OF_RAW, ...OF_WAREHOUSE, ...OF_STATE, ...NEWS])('$name', (remedy) =>
  expectRemedy(world, remedy, sound),
);

it('days beside each other are one command, said once', async () => {
  const days = await world.within(async ({ lake }) => [...(await lake.slices('orders')).keys()]);
  for (const day of days) await cutSlice(world, 'orders', day);
  const { out } = await typedIn(world, ['verify'], { stdout: new TextWriter({ isTTY: true, columns: 100 }) });
  const { from, to } = world.lookback();
  expect(out.match(/^lake: orders /gm)).toHaveLength(days.length);
  expect(out.match(/fix: .*/g)).toEqual([`fix: partner-etl replay orders --from ${from} --to ${to}`]);
  await expectRemedy(
    world,
    { name: '', damage: async () => undefined, ask: 'verify', prints: REPLAY, isNews: true },
    sound,
  );
});
