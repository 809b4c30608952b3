/** What the page says of nights that really were, and what it does about them. The tests build on each other: a night takes seconds. */
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { addDays, type Day } from '../../../src/core/days.ts';
import { EXIT } from '../../../src/core/errors.ts';
import { CachedTokenSource } from '../../../src/partner/token.ts';
import type { PageModel } from '../../../src/serve/page/model.ts';
import type { ProgramEnd, StartProgram } from '../../../src/serve/program-process.ts';
import { openSqliteState } from '../../../src/store/sqlite.ts';
import type { Target } from '../../../src/warehouse/target.ts';
import { openWorld, type World } from '../../support/nights.ts';
import { openPageScene, type PageScene } from './scene.ts';

let world: World;
/** Lost most of its items in the second night. */
let held: Day;
/** Has an item that could not be loaded. */
let rejected: Day;

beforeAll(async () => {
  world = await openWorld({ ordersPerDay: 30, lookbackDays: 4 });
  await world.night();
  world.passDays(1);
  held = addDays(world.today(), -4);
  world.sandbox.change({ kind: 'shrink-day', report: 'orders', day: held, items: 2 });
  world.sandbox.addFault({ endpoint: 'commissions', kind: 'unknown-field', field: 'voucher' });
  world.sandbox.addFault({ endpoint: 'orders', kind: 'raw-value', field: 'commission', json: '"n/a"', item: 2 });
  await world.night();
  const entries = await world.within(async (context) => [...(await context.lake.slices('orders')).values()]);
  rejected = entries.find(({ content }) => content.rejects > 0)!.content.day;
});
afterAll(() => world.close());

async function modelOf({ ask }: PageScene): Promise<PageModel> {
  const { status, text } = await ask('/api/page');
  expect(status).toBe(200);
  return JSON.parse(text) as PageModel;
}

function rowOf({ pipelines }: PageModel, name: string) {
  return pipelines.find(({ pipeline }) => pipeline === name)!;
}

function letterOn(model: PageModel, name: string, day: Day): string | undefined {
  const { from, cells } = rowOf(model, name);
  return cells[Math.round((Date.parse(day) - Date.parse(from)) / 86_400_000)];
}

it('days, holds, rejects and drift are said', async () => {
  const model = await modelOf(await openPageScene(world));
  expect(model.today).toBe(world.today());
  expect(letterOn(model, 'orders', held)).toBe('h');
  expect(rowOf(model, 'orders').counts).toMatchObject({ held: 1, missing: 0, failed: 0 });
  expect(model.holds).toEqual([expect.objectContaining({ pipeline: 'orders', slice_day: held, reason: 'shrunk' })]);
  expect(model.rejects).toEqual([
    { pipeline: 'orders', slice_day: rejected, reason: 'bad_number', detail: 'commission', count: 1 },
  ]);
  expect(model.drift).toEqual([
    expect.objectContaining({ pipeline: 'commissions', kind: 'unknown_field', field: 'voucher' }),
  ]);
  expect(rowOf(model, 'commissions').counts.drifted).toBeGreaterThan(0);
  expect(rowOf(model, 'commissions').cells).toMatch(/^[osd]{5}$/);
  expect(model.targets).toEqual([{ target: 'duckdb', slices_behind: 0, error: null }]);
});

it('money is the exact sum of the commissions report, and reconciliation tells what differs', async () => {
  const model = await modelOf(await openPageScene(world));
  const [{ rows } = { rows: [] }] = await world.within((context) =>
    Promise.all([
      context.targets[0]!.query(
        'SELECT order_date, sum(commission_original), sum(revenue_original_excl_vat) FROM warehouse.fact_commission_day GROUP BY 1 ORDER BY 1',
        99,
      ),
    ]),
  );
  expect(model.money.map(({ day, commission, revenue }) => [day, commission, revenue])).toEqual(rows);
  expect(model.reconciliation_error).toBeNull();
  const unequal = model.reconciliation!.filter((row) => row.class !== 'equal');
  expect(unequal).toEqual([expect.objectContaining({ day: rejected, groups: 1 })]);
  expect(Number(unequal[0]!.commission_difference)).toBeGreaterThan(0);
});

it('runs are said with how long they took, and their calls against the budget', async () => {
  const { runs } = await modelOf(await openPageScene(world));
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

it('who asks at once shares one reading, and an unchanged installation is not read again', async () => {
  const asked: string[] = [];
  const counting = await world.within(async (context) =>
    context.targets.map((target) => countingTarget(target, asked)),
  );
  const { ask } = await openPageScene(world, { context: { targets: counting } });
  await Promise.all([ask('/api/page'), ask('/'), ask('/api/page'), ask('/')]);
  const once = asked.length;
  expect(asked.filter((sql) => sql.includes('mart.reconciliation'))).toHaveLength(1);
  await world.clock.advance(10_000);
  await ask('/');
  expect(asked.length).toBe(once);
});

/** The same warehouse; tells what it is asked. */
function countingTarget(target: Target, asked: string[]): Target {
  return new Proxy(target, {
    get(whole, name) {
      const value = Reflect.get(whole, name, whole) as unknown;
      if (typeof value !== 'function') return value;
      return (...given: unknown[]) => {
        asked.push(`${String(name)} ${String(given[0])}`);
        return Reflect.apply(value, whole, given) as unknown;
      };
    },
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

it('what goes on, and what came of it, is said on the page; another thing is not begun meanwhile', async () => {
  let end: (how: ProgramEnd) => void = () => undefined;
  const begun: string[] = [];
  const start: StartProgram = (words) => {
    begun.push(words.join(' '));
    const ended = new Promise<ProgramEnd>((resolve) => {
      end = resolve;
    });
    return { ended, stop: () => end({ kind: 'lost', how: 'it was asked to stop' }), kill: () => undefined };
  };
  const { ask, post, signIn } = await openPageScene(world, { start });
  const { cookie, csrf } = await signIn();
  const release = post('/release', { csrf, pipeline: 'orders', day: held }, { cookie });
  await world.clock.asleep((ms) => ms === 5_000);
  await world.clock.advance(5_000);
  expect((await release).headers.location).toBe('/');
  expect((await ask('/', { headers: { cookie } })).text).toContain(`release of orders ${held} is under way`);
  await post('/retry', { csrf, pipeline: 'orders' }, { cookie });
  expect((await ask('/', { headers: { cookie } })).text).toContain('Not begun');
  expect(begun).toEqual([`release orders ${held} --json`]);

  end({ kind: 'ended', exitCode: EXIT.locked, document: null, said: [] });
  expect((await ask('/', { headers: { cookie } })).text).toContain('another run is at work and holds the lock');
  expect((await ask('/', { headers: { cookie } })).text).not.toContain('another run is at work');
});

it('the page says of which state it was made, and /api/page names another one as soon as a reload would show something else', async () => {
  let end: (how: ProgramEnd) => void = () => undefined;
  const start: StartProgram = () => ({
    ended: new Promise<ProgramEnd>((resolve) => {
      end = resolve;
    }),
    stop: () => end({ kind: 'lost', how: 'it was asked to stop' }),
    kill: () => undefined,
  });
  const { ask, post, signIn } = await openPageScene(world, { start });
  const { cookie, csrf } = await signIn();
  const drawn = async (headers = { cookie }) => /data-version="(\w+)"/.exec((await ask('/', { headers })).text)?.[1];
  const known = async (headers = { cookie }) => (await ask('/api/page', { headers })).headers.etag;
  const before = await drawn();
  expect(await known()).toBe(`"${before}"`);
  const release = post('/release', { csrf, pipeline: 'orders', day: held }, { cookie });
  await world.clock.asleep((ms) => ms === 5_000);
  await world.clock.advance(5_000);
  await release;
  const meanwhile = await drawn();
  expect(meanwhile).not.toBe(before);
  expect(await known()).toBe(`"${meanwhile}"`);
  end({ kind: 'ended', exitCode: EXIT.locked, document: null, said: [] });
  await expect.poll(() => known()).not.toBe(`"${meanwhile}"`);
  expect(await drawn()).toBe(before); // the outcome is said, and nothing else has changed
  expect(await known()).toBe(`"${before}"`);
  await post('/logout', { csrf }, { cookie });
  expect(await known()).not.toBe(`"${before}"`); // its buttons are gone
});

it('a release that is under way is asked to stop when serve ends, and waited for', async () => {
  const heard: string[] = [];
  let end: (how: ProgramEnd) => void = () => undefined;
  const start: StartProgram = () => ({
    ended: new Promise<ProgramEnd>((resolve) => {
      end = resolve;
    }),
    stop: ({ code }) => {
      heard.push(code);
      end({ kind: 'ended', exitCode: 0, document: null, said: [] });
    },
    kill: () => undefined,
  });
  const { page, post, signIn } = await openPageScene(world, { start });
  const { cookie, csrf } = await signIn();
  const release = post('/release', { csrf, pipeline: 'orders', day: held }, { cookie });
  await world.clock.asleep((ms) => ms === 5_000);
  await page.close();
  expect(heard).toEqual(['interrupted']);
  expect((await release).status).toBe(303);
});

it('retry tries again what was rejected, of one pipeline or of all', async () => {
  const { ask, post, signIn, begun } = await openPageScene(world);
  const { cookie, csrf } = await signIn();
  expect((await post('/retry', { csrf }, { cookie })).headers.location).toBe('/');
  expect(begun).toEqual(['rejects orders --retry --json']);
  expect((await ask('/', { headers: { cookie } })).text).toContain('retry of the rejects of orders');
  const { runs } = await modelOf({ ask } as PageScene);
  expect(runs[0]).toMatchObject({ command: 'rejects orders --retry' });
});

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
