/** Nights of catalogue look-ups against the sandbox. */
import { afterEach, describe, expect, it } from 'vitest';
import { estimatePlans } from '../../../src/run/estimate.ts';
import { chosenPipelines } from '../../../src/run/night.ts';
import { nightPlans } from '../../../src/run/plans.ts';
import { statusOf } from '../../../src/run/status/status.ts';
import { listEans, openLookupWorld, rowsOf } from '../../support/lookups.ts';
import type { World } from '../../support/nights.ts';

let world: World;
let eans: readonly string[];
afterEach(() => world.close());

const UNKNOWN = '9999999999994';
const NL = { country: 'NL', language: 'nl' };

async function open(count: number, products: Readonly<Record<string, unknown>> = {}): Promise<void> {
  world = await openLookupWorld({ products: { markets: [NL], ...products } });
  eans = world.sandbox.eans(count).filter((ean) => world.sandbox.truthOfProduct(ean, 'NL', 'nl') !== undefined);
  await listEans(world, eans);
}

const night = () => world.night({ names: ['products'] });
const asked = () => world.sandbox.stats.calls.product ?? 0;
const plan = () =>
  world.within(async (context) => {
    const pipelines = chosenPipelines(context, ['products']);
    return (await estimatePlans(context, await nightPlans(context, pipelines))).pipelines[0]?.lookups;
  });

describe('products', () => {
  it('come with their known fields as columns and the whole record in payload', async () => {
    await open(20);
    const outcome = await night();
    expect(outcome).toMatchObject({
      exitCode: 0,
      errors: [],
      run: { summary: { calls: eans.length, rows: eans.length } },
    });
    const held = await rowsOf(
      world,
      'SELECT ean, title, offer_price, rating, image_width FROM warehouse.dim_product_version WHERE valid_to IS NULL ORDER BY ean',
    );
    expect(held).toHaveLength(eans.length);
    const [product] = await rowsOf(
      world,
      `SELECT title, offer_price::VARCHAR, json_extract_string(payload, '$.bolProductId') = bol_product_id, json_type(specification_groups, '$[0].specifications[0].values')
       FROM warehouse.dim_product_version WHERE ean = '${eans[0]}'`,
    );
    const truth = world.sandbox.truthOfProduct(eans[0]!, 'NL', 'nl') as { title: string };
    expect(product).toContain(truth.title);
    expect(product).toMatch(/ true ARRAY$/);
  });

  it('have `values` as an array, however the service writes them', async () => {
    await open(60);
    await night();
    const types = await rowsOf(
      world,
      `SELECT DISTINCT json_type(specification_groups, '$[0].specifications[0].values'), json_type(payload, '$.specificationGroups[0].specifications[0].values') FROM warehouse.dim_product_version ORDER BY ALL`,
    );
    expect(types).toEqual(['ARRAY ARRAY', 'ARRAY VARCHAR']);
  });

  it('are asked for in each market; no offer, a bad country and a bad language are outcomes and no failures', async () => {
    await open(3, {
      markets: [
        NL,
        { country: 'BE', language: 'fr-BE' },
        { country: 'DE', language: 'nl' },
        { country: 'NL', language: 'de' },
      ],
    });
    world.sandbox.change({ kind: 'product-offered', ean: eans[0]!, country: 'BE', offered: false });
    for (const ean of eans.slice(1))
      world.sandbox.change({ kind: 'product-offered', ean, country: 'BE', offered: true });
    await listEans(world, [...eans, UNKNOWN]);
    expect(await night()).toMatchObject({ exitCode: 0, errors: [] });
    const outcomes = await rowsOf(
      world,
      'SELECT country_code, language, outcome, count(*), count(reason) FROM warehouse.dim_product_version GROUP BY ALL ORDER BY ALL',
    );
    const [all, some] = [eans.length + 1, eans.length - 1];
    expect(outcomes).toEqual([
      `BE fr-BE found ${some} 0`,
      'BE fr-BE not_found 2 2',
      `DE nl bad_request ${all} ${all}`,
      `NL de not_acceptable ${all} ${all}`,
      `NL nl found ${eans.length} 0`,
      'NL nl not_found 1 1',
    ]);
  });

  it('are versions: what changed is a new row, what did not is none', async () => {
    await open(10, { refreshDays: 1 });
    await night();
    world.sandbox.change({ kind: 'product', ean: eans[1]!, title: 'Nieuwe titel' });
    world.sandbox.change({ kind: 'product-offered', ean: eans[2]!, country: 'NL', offered: false });
    world.passDays(2);
    expect((await night()).run.summary).toMatchObject({ calls: eans.length, slices_changed: 3 });
    const history = await rowsOf(
      world,
      `SELECT ean, outcome, valid_to IS NULL FROM warehouse.dim_product_version WHERE ean IN ('${eans[1]}', '${eans[2]}') ORDER BY ean, valid_from`,
    );
    expect(history).toEqual(
      [eans[1], eans[2]]
        .toSorted()
        .flatMap((ean) => [`${ean} found false`, `${ean} ${ean === eans[1] ? 'found' : 'not_found'} true`]),
    );
    expect(await rowsOf(world, 'SELECT count(*) FROM warehouse.dim_product_version')).toEqual([
      String(eans.length + 2),
    ]);
  });
});

describe('what is refreshed', () => {
  it('is new EANs first, in the order of the list, then the oldest, within the budget of the night', async () => {
    await open(12, { callsPerNight: 5, refreshDays: 3 });
    const seen = async () =>
      (await rowsOf(world, 'SELECT ean FROM warehouse.dim_product_version ORDER BY valid_from')).length;
    const n = eans.length;
    expect(await plan()).toMatchObject({ listed: n, due: { new: n }, left_out: n - 5 });
    expect((await night()).run.summary).toMatchObject({ calls: 5, left_out: n - 5 });
    const first = await rowsOf(world, 'SELECT ean FROM warehouse.dim_product_version');
    expect(first.toSorted()).toEqual(eans.slice(0, 5).toSorted());
    await night();
    expect(await seen()).toBe(10);
    world.passDays(4);
    expect(await plan()).toMatchObject({ due: { new: n - 10, oldest: 10 } });
    await night();
    expect(await seen()).toBe(n);
    expect(asked()).toBe(15);
  });

  it('asks ever more rarely for an EAN that answered 404, until it is there', async () => {
    await open(0, { refreshDays: 400 });
    await listEans(world, [UNKNOWN]);
    const nights: number[] = [];
    const first = world.clock.now();
    for (const day of [0, 6, 7, 20, 21, 48, 49, 104, 105, 216, 217]) {
      world.clock.set(first + day * 86_400_000);
      const due = (await plan())?.due;
      if (!due?.new && !due?.missing) continue;
      await night();
      nights.push(day);
    }
    expect(nights).toEqual([0, 7, 21, 49, 105, 217]);
    expect(await rowsOf(world, 'SELECT count(*) FROM warehouse.dim_product_version')).toEqual(['1']);
    const status = await world.within(statusOf);
    expect(status.pipelines.find(({ pipeline }) => pipeline === 'products')?.lookups?.outcomes).toEqual({
      not_found: 1,
    });
  });

  it('run again asks nothing', async () => {
    await open(4);
    await night();
    const before = asked();
    expect((await night()).run.summary).toMatchObject({ calls: 0, slices_changed: 0 });
    expect(asked()).toBe(before);
  });
});
