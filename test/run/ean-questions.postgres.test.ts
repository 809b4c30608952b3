/** The list of EANs that is made from what was sold, in both warehouses. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { commissionRates } from '../../pipelines/commission-rates.ts';
import { loadConfig } from '../../src/config.ts';
import type { ListedEan } from '../../src/extract/ean-list.ts';
import { eanQuestions } from '../../src/run/keys/ean-questions.ts';
import { listEans, openLookupWorld } from '../support/lookups.ts';
import { packageRoot, type World } from '../support/nights.ts';
import { freshDatabase } from '../support/postgres-database.ts';

let world: World;
let query: string;
let database: Awaited<ReturnType<typeof freshDatabase>>;

beforeAll(async () => {
  database = await freshDatabase();
  world = await openLookupWorld({ products: { callsPerNight: 400 }, postgresUrl: database.url, ordersPerDay: 60 });
  const { eans } = await loadConfig({ env: {}, cwd: world.home, packageRoot });
  query = eans.query ?? '';
  await listEans(world, world.sandbox.eans(400));
  expect((await world.night({ names: ['orders', 'products'] })).errors).toEqual([]);
});
afterAll(async () => {
  await world.close();
  await database.drop();
});

/** What the list is, asked of one warehouse alone. */
const questions = (name: string, sql = query) =>
  world.within(async (context) => {
    const targets = context.targets.filter((target) => target.name === name);
    const questions: ListedEan[] = [];
    const take = async (some: readonly ListedEan[]) => void questions.push(...some);
    const { rejects } = await eanQuestions(
      { ...context, targets, eans: { file: null, query: sql } },
      commissionRates,
      take,
    );
    return { questions, rejects };
  });

describe('the default list', () => {
  it('is what was sold lately and is in the catalogue, most valuable first, in DuckDB as in Postgres', async () => {
    const list = await questions('duckdb');
    expect(list.questions.length).toBeGreaterThan(10);
    expect(list.rejects).toEqual([]);
    expect((await questions('postgres')).questions).toEqual(list.questions);
    const [first] = await world.within(async ({ targets }) => {
      const { rows } = await targets[0]!.query(
        `SELECT p.ean FROM warehouse.fact_order_item AS o JOIN warehouse.dim_product AS p ON p.bol_product_id = o.product_id
         GROUP BY p.ean ORDER BY sum(o.price_excl_vat) DESC LIMIT 1`,
        1,
      );
      return rows[0] ?? [];
    });
    expect(list.questions[0]).toEqual({ ean: first, condition: 'NEW', price: null });
  });

  it('takes price and condition from columns of these names, and refuses what is no EAN', async () => {
    const ean = world.sandbox.eans(1)[0];
    const list = await questions(
      'duckdb',
      `SELECT '${ean}' AS EAN, 12.50 AS price, 'good' AS condition UNION ALL SELECT 'x', 1, 'NEW'`,
    );
    expect(list.questions).toEqual([{ ean, condition: 'GOOD', price: '12.5' }]);
    expect(list.rejects).toMatchObject([{ from: 'query', reason: 'bad_ean' }]);
  });

  it.each([
    ['SELECT 1 AS one', /no column ean/],
    ['SELECT nonsense', /nonsense/],
  ])('says what is wrong with %j', async (sql, message) => {
    await expect(questions('postgres', sql)).rejects.toMatchObject({
      kind: 'usage',
      code: 'ean_query',
      message: expect.stringMatching(message),
      hint: expect.stringContaining('eans.query'),
    });
  });
});
