/** What receipts say, recomputed from the raw store by a script that knows nothing of the program but its files. */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addDays } from '../../../src/core/days.ts';
import type { ItemFaultKind } from '../../../src/sandbox/faults/item-faults.ts';
import { openSqliteState } from '../../../src/store/sqlite/state.ts';
import { listEans, openLookupWorld } from '../../support/lookups.ts';
import { packageRoot, type World } from '../../support/nights.ts';
import { type Database, freshDatabase } from '../../support/postgres-database.ts';

interface Checked {
  readonly pipeline: string;
  readonly day: string;
  readonly place: string;
  readonly rows: number;
  readonly isSame: boolean;
}

const SCRIPT = path.join(packageRoot, 'test', 'proof', 'eyes', 'recompute.mjs');
const FAULTS: readonly ItemFaultKind[] = [
  ...([
    'number-as-text',
    'exponent-number',
    'many-decimals',
    'nul-escape',
    'lone-surrogate',
    'missing-field',
    'duplicate',
  ] as const),
  ...([
    'conflicting-duplicate',
    'null-item',
    'text-item',
    'invalid-utf8',
    'duplicate-key',
    'raw-control',
    'unknown-field',
  ] as const),
];

/** As a person does it. */
function recompute(home: string): Promise<{ code: number; checked: Checked[] }> {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, PARTNER_ETL_POSTGRES_URL: database.url };
    const options = { env, maxBuffer: 64 * 1024 * 1024 };
    execFile(process.execPath, [SCRIPT, home, '--json'], options, (error, stdout, stderr) => {
      if (stdout === '') reject(new Error(stderr, { cause: error }));
      else resolve({ code: error ? Number(error.code) : 0, checked: JSON.parse(stdout) as Checked[] });
    });
  });
}

const PLACES = ['lake', 'duckdb', 'postgres'];
const PIPELINES = [
  ...['promotions', 'orders', 'commissions'],
  ...['reductions', 'commission-rates', 'commission-reductions', 'products'],
];

/** The service knows no product of it. */
const UNKNOWN = '9999999999994';
const REDUCTION = { maximumPrice: '30.25', costReduction: '1.10', startDate: '2026-03-01', endDate: '2026-12-31' };

let database: Database;
let world: World;

/** Rates and products change, vanish and come back. */
function lookupsChange([one, other, gone]: readonly string[], isBack: boolean): void {
  const { sandbox } = world;
  sandbox.change({ kind: 'commission-rate', ean: one!, percentage: isBack ? '7' : '21.5' });
  const reductions = isBack ? [] : [REDUCTION, { ...REDUCTION, maximumPrice: '20' }];
  sandbox.change({ kind: 'commission-reductions', ean: other!, reductions });
  sandbox.change({ kind: 'ean-known', ean: gone!, known: isBack });
  sandbox.change({ kind: 'product', ean: one!, title: `Titel ${isBack} 'één" \\ ☕`, price: '12.5' });
  sandbox.change({ kind: 'product-offered', ean: other!, country: 'NL', offered: isBack });
}

beforeAll(async () => {
  database = await freshDatabase();
  world = await openLookupWorld({
    rates: {},
    products: { refreshDays: 1 },
    reductions: {},
    postgresUrl: database.url,
    ordersPerDay: 30,
    lookbackDays: 4,
    windowDays: 2,
    sandbox: { seriesLength: 40 },
  });
  for (const endpoint of ['orders', 'commissions', 'promotions'] as const)
    for (const [item, kind] of FAULTS.entries()) world.sandbox.addFault({ endpoint, kind, item } as never);
  world.sandbox.addFault({
    endpoint: 'orders',
    kind: 'raw-value',
    item: 20,
    field: 'commission',
    json: '5.684341886080802E-14',
  });
  world.sandbox.addFault({
    endpoint: 'commissions',
    kind: 'raw-value',
    item: 3,
    field: 'siteName',
    json: '"a\\u001fb"',
  });
  const eans = world.sandbox.eans(6);
  await listEans(world, [...eans, `${eans[0]},19.95`, `${eans[1]},8`, UNKNOWN]);
  world.sandbox.change({ kind: 'commission-reductions', ean: eans[0]!, reductions: [REDUCTION] });
  expect((await world.night()).errors).toEqual([]);
  const { from } = world.lookback();
  world.passDays(1);
  lookupsChange(eans, false);
  world.sandbox.change({
    kind: 'restate-item',
    ...world.itemOn(addDays(from, 1)),
    values: { commission: '12.34' },
  });
  world.sandbox.change({ kind: 'move-item', ...world.itemOn(addDays(from, 2)), toDay: addDays(from, 3) });
  world.sandbox.change({ kind: 'vanish-item', ...world.itemOn(addDays(from, 3)) });
  expect((await world.night()).errors).toEqual([]);
  world.passDays(1);
  lookupsChange(eans, true);
  expect((await world.night()).errors).toEqual([]);
});
afterAll(async () => {
  await world.close();
  await database.drop();
});

describe('the control sums of lake and warehouse', () => {
  it('are those of the raw store, after nights of damaged items and restatements', async () => {
    const { code, checked } = await recompute(world.home);
    expect(checked.filter(({ isSame }) => !isSame)).toEqual([]);
    expect(code).toBe(0);
    for (const pipeline of PIPELINES)
      for (const place of PLACES)
        expect(checked.some((one) => one.pipeline === pipeline && one.place === place && one.rows > 0)).toBe(true);
  });

  it('are told to differ when the state says another sum', async () => {
    const state = await openSqliteState(path.join(world.home, 'state.db'));
    const setSums = (sums: string) =>
      state.write((tx) => tx.updateTable('slice').set({ sums }).where('digest', '=', digest).execute());
    const rows = await state.db
      .selectFrom('slice')
      .select(['digest', 'sums'])
      .where('pipeline', '=', 'orders')
      .execute();
    const { digest, sums: told } = rows.find(({ sums }) => /"commission":"\d/.test(sums))!;
    await setSums(
      told.replace(/("commission":"\d*)(\d)(\.)/, (_, a, digit, b) => `${a}${(Number(digit) + 1) % 10}${b}`),
    );
    const { code, checked } = await recompute(world.home);
    await setSums(told);
    await state.close();
    expect([code, checked.filter(({ isSame }) => !isSame).map(({ place }) => place)]).toEqual([1, ['lake']]);
  });
});
