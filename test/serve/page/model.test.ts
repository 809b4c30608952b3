/** What the page says of nights that really were, and what it does about them. The tests build on each other: a night takes seconds. */
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import type { Day } from '../../../src/core/days.ts';
import { CachedTokenSource } from '../../../src/partner/token/token.ts';
import type { PageModel } from '../../../src/serve/page/model.ts';
import { openSqliteState } from '../../../src/store/sqlite/state.ts';
import type { Target } from '../../../src/warehouse/target.ts';
import type { World } from '../../support/nights.ts';
import { modelOf, openHeldWorld } from './held-world.ts';
import { openPageScene } from './scene.ts';

let world: World;
let held: Day;
let rejected: Day;
/** What the page says of it before anything is done about it. */
let said: PageModel | undefined;
const model = async () => (said ??= await modelOf(await openPageScene(world)));
beforeAll(async () => {
  ({ world, held, rejected } = await openHeldWorld());
});
afterAll(() => world.close());

function rowOf({ pipelines }: PageModel, name: string) {
  return pipelines.find(({ pipeline }) => pipeline === name)!;
}

function letterOn(model: PageModel, name: string, day: Day): string | undefined {
  const { from, cells } = rowOf(model, name);
  return cells[Math.round((Date.parse(day) - Date.parse(from)) / 86_400_000)];
}

it('days, holds, rejects and drift are said', async () => {
  const told = await model();
  expect(told.today).toBe(world.today());
  expect(letterOn(told, 'orders', held)).toBe('h');
  expect(rowOf(told, 'orders').counts).toMatchObject({ held: 1, missing: 0, failed: 0 });
  expect(told.holds).toEqual([expect.objectContaining({ pipeline: 'orders', slice_day: held, reason: 'shrunk' })]);
  expect(told.rejects).toEqual([
    { pipeline: 'orders', slice_day: rejected, reason: 'bad_number', detail: 'commission', count: 1 },
  ]);
  expect(told.drift).toEqual([
    expect.objectContaining({ pipeline: 'commissions', kind: 'unknown_field', field: 'voucher' }),
  ]);
  expect(rowOf(told, 'commissions').counts.drifted).toBeGreaterThan(0);
  expect(rowOf(told, 'commissions').cells).toMatch(/^[osd]{5}$/);
  expect(told.targets).toEqual([{ target: 'duckdb', slices_behind: 0, error: null }]);
});

it('money is the exact sum of the commissions report, and reconciliation tells what differs', async () => {
  const told = await model();
  const [{ rows } = { rows: [] }] = await world.within((context) =>
    Promise.all([
      context.targets[0]!.query(
        'SELECT order_date, sum(commission_original), sum(revenue_original_excl_vat) FROM warehouse.fact_commission_day GROUP BY 1 ORDER BY 1',
        99,
      ),
    ]),
  );
  expect(told.money.map(({ day, commission, revenue }) => [day, commission, revenue])).toEqual(rows);
  expect(told.reconciliation_error).toBeNull();
  const unequal = told.reconciliation!.filter((row) => row.class !== 'equal');
  expect(unequal).toEqual([expect.objectContaining({ day: rejected, groups: 1 })]);
  expect(Number(unequal[0]!.commission_difference)).toBeGreaterThan(0);
});

it('runs are said with how long they took, and their calls against the budget', async () => {
  const { runs } = await model();
  expect(runs.map(({ command, result }) => [command, result])).toEqual([
    ['run', 'set_aside'],
    ['run', 'done'],
  ]);
  for (const { calls, summary, duration_ms } of runs) {
    expect(duration_ms).toBeGreaterThanOrEqual(0);
    expect(calls.map(({ endpoint }) => endpoint).sort()).toEqual([
      'report-commissions',
      'report-orders',
      'report-promotions',
    ]);
    expect(calls.reduce((sum, one) => sum + one.calls, 0)).toBe(summary!.calls);
    for (const { busiest, budget_calls, budget_seconds } of calls) {
      expect([budget_calls, budget_seconds]).toEqual([2, 1]);
      expect(busiest).toBeGreaterThan(0);
      expect(busiest).toBeLessThanOrEqual(2);
    }
  }
});

it('the token is said by its time and by the requests that are left before a ban, never itself', async () => {
  const scene = await openPageScene(world, { tokens: await tokensOf() });
  const { text } = await scene.ask('/api/page');
  const { tokens } = JSON.parse(text) as PageModel;
  expect(tokens).toEqual([
    {
      credentials: 'default',
      valid_until: expect.any(String),
      requests_last_hour: 1,
      most_per_hour: 30,
      blocked_until: null,
    },
  ]);
});

async function tokensOf() {
  const { clock } = world;
  const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
  return world.within(async ({ paths, partnerSettings }) => {
    const state = await openSqliteState(paths.database);
    onTestFinished(() => state.close());
    const source = new CachedTokenSource({
      settings: partnerSettings('reports'),
      state,
      clock,
      random: () => 0,
      log: log as never,
    });
    return new Map([['default', source]]);
  });
}

it('a warehouse that cannot be asked is said as such, and everything else is there', async () => {
  const away = await world.within(async (context) =>
    context.targets.map((target) => awayTarget(target, `no way to postgres with ${world.sandbox.clientSecret}`)),
  );
  const model = await modelOf(await openPageScene(world, { context: { targets: away } }));
  expect(model.targets).toEqual([
    expect.objectContaining({ slices_behind: null, error: 'no way to postgres with [redacted]' }),
  ]);
  expect([model.reconciliation, model.reconciliation_error]).toEqual([
    null,
    'duckdb: no way to postgres with [redacted]',
  ]);
  expect(letterOn(model, 'orders', held)).toBe('h');
  expect(rowOf(model, 'commissions').counts.drifted).toBeGreaterThan(0);
  expect(model.drift).toHaveLength(1);
});

function awayTarget({ name }: Target, message: string): Target {
  const fail = () => Promise.reject(new Error(message));
  return { name, exists: fail, receipts: fail, query: fail } as unknown as Target;
}

it('release applies what was held, and the page shows it at once', async () => {
  const scene = await openPageScene(world);
  const { cookie, csrf } = await scene.signIn();
  expect((await modelOf(scene)).holds).toHaveLength(1);
  await scene.post('/release', { csrf, pipeline: 'orders', day: held }, { cookie });
  expect((await scene.ask('/', { headers: { cookie } })).text).toContain(`release of orders ${held}`);
  const model = await modelOf(scene);
  expect(model.holds).toEqual([]);
  // Loaded in spite of a check that only warns.
  expect(letterOn(model, 'orders', held)).toBe('d');
  expect(model.drift.map(({ kind }) => kind)).toContain('check:reports_agree');
  expect(await world.differences({ from: held, to: held })).toEqual([]);

  await scene.post('/release', { csrf, pipeline: 'orders', day: held }, { cookie });
  expect((await scene.ask('/', { headers: { cookie } })).text).toContain('is not held');
});
