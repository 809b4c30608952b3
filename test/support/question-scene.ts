/**
 * The scene that the questions of analysts are answered on: three months of a partner in both warehouses, first loaded in one go and
 * then looked at again in four nights, between which orders were decided, paid, restated, moved and gone, rates and reductions changed,
 * one day was held and one is missing. Beside it stands what the sandbox held to be true at each night.
 */
import { addDays, type Day, daysOf } from '../../src/core/days.ts';
import type { TruthRow } from '../../src/sandbox/sandbox.ts';
import { listEans } from './lookups.ts';
import { openWorld, type World } from './nights.ts';
import { changesBefore, type Offers } from './question-changes.ts';
import { FIRST, HELD, NEWEST, NIGHTS } from './question-days.ts';
import { type Item, itemOf } from './question-truth.ts';

/** What a night saw. */
export interface Sight {
  readonly night: Day;
  /** Every order item by its day. */
  readonly orders: ReadonlyMap<Day, readonly Item[]>;
  readonly rates: ReadonlyMap<string, Rate>;
  /** Lines of the reductions file. */
  readonly reductions: readonly string[];
}

export type Rate = NonNullable<ReturnType<World['sandbox']['truthOfCommission']>>;

export interface Scene {
  readonly world: World;
  readonly sights: readonly Sight[];
  /** What is loaded of the other reports. */
  readonly promotions: ReadonlyMap<Day, readonly TruthRow[]>;
  readonly commissions: ReadonlyMap<Day, readonly TruthRow[]>;
  /** What EANs were asked about, with their products. */
  readonly eans: Offers;
}

export async function playScene(postgresUrl: string): Promise<Scene> {
  const report = { lookbackDays: 90, windowDays: 31, startDay: FIRST };
  const world = await openWorld({
    ordersPerDay: 30,
    today: NIGHTS[0]!,
    sandbox: { firstDay: FIRST, seriesLength: 20 },
    settings: {
      pipelines: {
        ...{ promotions: report, orders: report, commissions: report },
        products: { enabled: true },
        'commission-rates': { enabled: true },
        reductions: { enabled: true },
      },
      eans: { file: 'eans.csv', query: null },
    },
  });
  const eans = soldEans(world);
  await listEans(world, [...eans.keys()]);
  const scene = { world, eans, sights: [] as Sight[], promotions: new Map(), commissions: new Map() };
  for (const night of NIGHTS) {
    world.clock.set(Date.parse(`${night}T02:00:00Z`));
    for (const change of changesBefore(night, world, eans)) world.sandbox.change(change);
    // Postgres comes last and takes everything from the lake, which costs less than to load it in every night.
    if (night === NIGHTS.at(-1)) Object.assign(world.env, { PARTNER_ETL_POSTGRES_URL: postgresUrl });
    await look(scene, night);
  }
  return scene;
}

/** EANs of what will be sold in February, as far as it is known and offered: every third product of them. */
function soldEans(world: World): Map<string, { productId: string; title: string; price: string }> {
  const now = world.clock.now();
  world.clock.set(Date.parse('2026-03-13T02:00:00Z'));
  const sold = new Set(
    [...world.sandbox.truth('orders', '2026-02-01' as Day, NEWEST)].map((item) => String(item.productId)),
  );
  world.clock.set(now);
  const found = new Map<string, { productId: string; title: string; price: string }>();
  for (const ean of world.sandbox.eans()) {
    const told = world.sandbox.truthOfProduct(ean, 'NL', 'nl') as Told | undefined;
    if (!told || !sold.has(told.bolProductId)) continue;
    if (found.size < 80) found.set(ean, { productId: told.bolProductId, title: told.title, price: told.offer.price });
  }
  return found;
}

interface Told {
  readonly bolProductId: string;
  readonly title: string;
  readonly offer: { readonly price: string };
}

async function look(
  scene: {
    world: World;
    eans: Scene['eans'];
    sights: Sight[];
    promotions: Map<Day, TruthRow[]>;
    commissions: Map<Day, TruthRow[]>;
  },
  night: Day,
): Promise<void> {
  const { world, eans, sights } = scene;
  const isLast = night === NIGHTS.at(-1);
  // The commissions are not asked for in the last night, so their newest day is missing.
  const names = [
    'promotions',
    'orders',
    'products',
    'commission-rates',
    'reductions',
    ...(isLast ? [] : ['commissions']),
  ];
  const { errors } = await world.night({ names });
  if (errors.length > 0) throw new Error(`the night of ${night}: ${errors.map(({ message }) => message).join('; ')}`);
  const days = daysOf({ from: FIRST, to: addDays(night, -1) });
  const told = (name: 'promotions' | 'orders' | 'commissions', day: Day) => [...world.sandbox.truth(name, day, day)];
  for (const day of days) {
    if (!(isLast && day === HELD)) scene.promotions.set(day, told('promotions', day));
    if (!isLast) scene.commissions.set(day, told('commissions', day));
  }
  const rates = [...eans.keys()].map((ean) => [ean, world.sandbox.truthOfCommission(ean, 'NEW', null)] as const);
  sights.push({
    night,
    orders: new Map(days.map((day) => [day, told('orders', day).map(itemOf)])),
    rates: new Map(rates.flatMap(([ean, rate]) => (rate ? [[ean, rate] as const] : []))),
    reductions: world.sandbox.reductionsFile().text.trim().split('\n').slice(1),
  });
}
