/**
 * Nights against a service that misbehaves. After each the warehouse equals the sandbox's truth, or the difference is in
 * rejects and holds; and items = rows + rejects + duplicates holds for every answer that was taken.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { addDays } from '../../../src/core/days.ts';
import { listRejects } from '../../../src/run/status/explain.ts';
import { verify } from '../../../src/run/verify/verify.ts';
import type { Fault } from '../../../src/sandbox/sandbox.ts';
import { openWorld, TIMEOUTS, type World } from '../../support/nights.ts';

let world: World;
beforeEach(async () => {
  world = await openWorld();
});
afterEach(() => world.close());

/** Every hop agrees, and nothing of an answer is unaccounted for. */
async function expectSound(): Promise<void> {
  expect((await world.within(verify)).differences).toEqual([]);
  const counted = await world.within(async (context) => {
    const off: string[] = [];
    for (const pipeline of context.pipelines) {
      // An item that moved away was counted where it was told first.
      const entries = [...(await context.lake.slices(pipeline.name)).values()].filter((e) => !e.moved);
      const slices = entries.map((e) => e.held?.content ?? e.content);
      for await (const fetch of context.raw.fetches(pipeline.name)) {
        const of = slices.filter((s) => s.fetch_id === fetch.fetch_id);
        const whole = of.length > 0 && fetch.window_from === of[0]?.day && fetch.window_to === of.at(-1)?.day;
        const sum = of.reduce((n, s) => n + s.rows + s.rejects + s.duplicates, 0);
        if (whole && sum !== fetch.items) off.push(`${fetch.fetch_id}: ${fetch.items} items, ${sum} accounted for`);
      }
    }
    return off;
  });
  expect(counted).toEqual([]);
}

describe('what passes is tried again, and the night is whole', () => {
  const cases: readonly (readonly [string, Fault])[] = [
    ['401 in the middle of a run', { endpoint: 'orders', kind: 'status', status: 401 }],
    ['429 with Retry-After in seconds', { endpoint: 'orders', kind: 'status', status: 429, retryAfter: '4' }],
    ['429 without Retry-After', { endpoint: 'orders', kind: 'status', status: 429, times: 2 }],
    ['500 as HTML', { endpoint: 'promotions', kind: 'status', status: 500 }],
    ['503', { endpoint: 'commissions', kind: 'status', status: 503, times: 3 }],
    ['a page of HTML with status 200', { endpoint: 'orders', kind: 'html' }],
    ['a reset connection', { endpoint: 'orders', kind: 'reset' }],
    ['a body whose connection breaks half way', { endpoint: 'orders', kind: 'cut', bytes: 9_000 }],
    ['a body that ends in good order half way', { endpoint: 'orders', kind: 'truncate', bytes: 9_000 }],
    ['a gzip body with a wrong checksum', { endpoint: 'orders', kind: 'gzip-checksum' }],
  ];
  it.each(cases)('%s', async (_, fault) => {
    world.sandbox.addFault(fault);
    const { errors, exitCode } = await world.night();
    expect(errors).toEqual([]);
    expect(exitCode).toBe(0);
    expect(await world.differences(world.lookback())).toEqual([]);
    await expectSound();
  });

  it('a body that stalls is given up and asked for again', async () => {
    world.sandbox.addFault({ endpoint: 'orders', kind: 'stall', bytes: 9_000 });
    let isOver = false;
    const night = world.night().finally(() => {
      isOver = true;
    });
    // The guard of the body fires when the clock is moved past it; until then the sandbox says nothing more.
    while (!isOver) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      if (world.sandbox.stats.calls.orders === 1) await world.clock.advance(TIMEOUTS.bodyMs);
      if ((world.sandbox.stats.calls.orders ?? 0) > 1) break;
    }
    expect((await night).errors).toEqual([]);
    expect(await world.differences(world.lookback())).toEqual([]);
  });
});

describe('what does not pass costs its window, and the rest is loaded', () => {
  const cases: readonly (readonly [string, Fault, string])[] = [
    ['a list instead of an object', { endpoint: 'orders', kind: 'shape', shape: 'array', times: 99 }, 'not_an_object'],
    ['no items', { endpoint: 'orders', kind: 'shape', shape: 'no-items', times: 99 }, 'no_items'],
    ['items that are null', { endpoint: 'orders', kind: 'shape', shape: 'null-items', times: 99 }, 'no_items'],
    ['an empty body', { endpoint: 'orders', kind: 'shape', shape: 'empty', times: 99 }, 'not_json'],
    ['text after the end', { endpoint: 'orders', kind: 'shape', shape: 'trailing-text', times: 99 }, 'after_end'],
    ['a second document', { endpoint: 'orders', kind: 'shape', shape: 'second-document', times: 99 }, 'after_end'],
    ['a trailing comma', { endpoint: 'orders', kind: 'shape', shape: 'trailing-comma', times: 99 }, 'malformed'],
    ['a service that is down', { endpoint: 'orders', kind: 'status', status: 503, times: 99 }, 'http_503'],
    ['a request that it does not take', { endpoint: 'orders', kind: 'status', status: 400, times: 99 }, 'http_400'],
  ];
  it.each(cases)('%s', async (_, fault, code) => {
    world.sandbox.addFault(fault);
    const first = await world.night();
    expect(first.exitCode).toBe(1);
    expect(new Set(first.errors.map((e) => `${e.concern.pipeline} ${e.code}`))).toEqual(new Set([`orders ${code}`]));
    expect((await world.differences(world.lookback())).every((d) => d.startsWith('orders: missing'))).toBe(true);

    world.sandbox.clearFaults();
    expect((await world.night()).exitCode).toBe(0);
    expect(await world.differences(world.lookback())).toEqual([]);
    await expectSound();
  });
});

describe('items that are fixed are loaded, and told as drift', () => {
  const cases: readonly (readonly [string, Fault, string])[] = [
    ['an unknown field', { endpoint: 'orders', kind: 'unknown-field', field: 'voucher' }, 'unknown_field voucher'],
    [
      'a number as text',
      { endpoint: 'orders', kind: 'number-as-text', field: 'commission' },
      'number_as_text commission',
    ],
    [
      'more than six decimals',
      { endpoint: 'orders', kind: 'many-decimals', field: 'commission' },
      'rounded commission',
    ],
    ['NUL in a text', { endpoint: 'orders', kind: 'nul-escape', field: 'productTitle' }, 'nul_removed productTitle'],
  ];
  it.each(cases)('%s', async (_, fault, drift) => {
    world.sandbox.addFault(fault);
    const { exitCode, run } = await world.night();
    expect(exitCode).toBe(0);
    expect(await world.differences(world.lookback())).toEqual([]);
    const told = await world.within(
      async (context) => (await context.targets[0]!.query('SELECT kind, field FROM etl.drift', 10)).rows,
    );
    expect(told).toEqual([drift.split(' ')]);
    expect(run.summary?.rejects).toBe(0);
  });

  it('1e2 is a number like any other', async () => {
    world.sandbox.addFault({ endpoint: 'orders', kind: 'exponent-number', field: 'commission', item: 'all' });
    expect((await world.night()).exitCode).toBe(0);
    expect(await world.differences(world.lookback())).toEqual([]);
  });
});

describe('an item that cannot be loaded costs that item', () => {
  const cases: readonly (readonly [string, Fault, string])[] = [
    ['a missing key', { endpoint: 'orders', kind: 'missing-field', field: 'orderItemId' }, 'missing_field'],
    ['a row of another day', { endpoint: 'orders', kind: 'other-day', day: '2024-02-29' }, 'outside_window'],
    ['two rows of one key that differ', { endpoint: 'orders', kind: 'conflicting-duplicate' }, 'conflicting_key'],
    ['null', { endpoint: 'orders', kind: 'null-item' }, 'not_an_object'],
    ['a text', { endpoint: 'orders', kind: 'text-item' }, 'not_an_object'],
    ['invalid UTF-8', { endpoint: 'orders', kind: 'invalid-utf8' }, 'invalid_utf8'],
    ['a key twice', { endpoint: 'orders', kind: 'duplicate-key' }, 'duplicate_key'],
    ['a raw control character', { endpoint: 'orders', kind: 'raw-control' }, 'control_character'],
    ['five megabytes', { endpoint: 'orders', kind: 'huge-item' }, 'item_too_large'],
  ];
  it.each(cases)('%s', async (_, fault, reason) => {
    world.sandbox.addFault(fault);
    const { exitCode, run } = await world.night();
    expect(exitCode).toBe(3);
    expect(run.summary?.rejects).toBe(1);
    expect(await world.differences(world.lookback())).toEqual([]);
    const rejects = await world.within((context) => listRejects(context, 'orders', 10));
    expect(rejects.map((r) => r.reason)).toEqual([reason]);
    const told = await world.within(
      async (context) => (await context.targets[0]!.query('SELECT reason FROM etl.reject', 10)).rows,
    );
    expect(told).toEqual([[reason]]);
    await expectSound();
  });

  it('exact duplicates are dropped and counted', async () => {
    for (const endpoint of ['orders', 'promotions', 'commissions'] as const)
      world.sandbox.addFault({ endpoint, kind: 'duplicate', item: 3 });
    const { exitCode, run } = await world.night();
    expect(exitCode).toBe(0);
    expect(run.summary?.duplicates).toBe(3);
    expect(await world.differences(world.lookback())).toEqual([]);
    await expectSound();
  });

  it('a value that does not fit is a reject, and the next sound answer brings the row', async () => {
    world.sandbox.addFault({ endpoint: 'orders', kind: 'raw-value', field: 'commission', json: '"n/a"', item: 2 });
    expect((await world.night()).exitCode).toBe(3);
    expect(await world.differences(world.lookback())).toHaveLength(1);
    await expectSound();
    expect((await world.night()).exitCode).toBe(0);
    expect(await world.differences(world.lookback())).toEqual([]);
    expect(await world.within((context) => listRejects(context, 'orders', 10))).toEqual([]);
  });
});

describe('a world that changes', () => {
  it('life goes on: orders are decided, become final, are paid; a month of nights ends settled', async () => {
    for (let night = 0; night < 12; night++) {
      expect((await world.night()).errors).toEqual([]);
      expect(await world.differences(world.lookback())).toEqual([]);
      world.passDays(1);
    }
    await expectSound();
  }, 120_000);

  it('a restated item is restated, and only its day is written', async () => {
    await world.night();
    const item = world.itemOn(world.lookback().from);
    world.sandbox.change({ kind: 'restate-item', ...item, values: { priceExclVat: '99.99', priceInclVat: '120.99' } });
    const { run } = await world.night();
    expect(run.summary).toMatchObject({ slices_changed: 3, slices_unchanged: 15 });
    expect(await world.differences(world.lookback())).toEqual([]);
  });

  it('an item that moves to another day of the window moves', async () => {
    await world.night();
    const item = world.itemOn(world.lookback().from);
    world.sandbox.change({ kind: 'move-item', ...item, toDay: addDays(world.lookback().from, 1) });
    expect((await world.night()).exitCode).toBe(0);
    expect(await world.differences(world.lookback())).toEqual([]);
    await expectSound();
  });

  it('an item that moves into the lookback from a day before it leaves that day, which is asked for again', async () => {
    await world.night();
    const from = world.lookback().from;
    const item = world.itemOn(from);
    world.passDays(4);
    const to = world.lookback().to;
    world.sandbox.change({ kind: 'move-item', ...item, toDay: to });
    expect((await world.night({ names: ['orders'] })).errors).toEqual([]);
    const held = await world.within(
      async (context) =>
        (
          await context.targets[0]!.query(
            `SELECT order_date FROM warehouse.fact_order_item WHERE order_item_id = '${item.orderItemId}'`,
            10,
          )
        ).rows,
    );
    expect(held).toEqual([[to]]);
    await expectSound();
    expect((await world.night()).errors).toEqual([]);
    expect(await world.differences(world.lookback())).toEqual([]);
    expect((await world.differences({ from, to: from })).filter((d) => d.startsWith('orders'))).toEqual([]);
    await expectSound();
  });

  it('an emptied day is held until it is released, and is empty then', async () => {
    await world.night();
    const day = world.lookback().from;
    world.sandbox.change({ kind: 'empty-day', report: 'orders', day });
    const held = await world.night();
    expect(held.exitCode).toBe(3);
    expect(held.run.summary?.slices_held).toBe(1);
    expect((await world.differences(world.lookback())).every((d) => d.startsWith('orders: too much'))).toBe(true);
    expect((await world.night()).run.summary).toMatchObject({ slices_held: 1, slices_changed: 0 });
    await expectSound();

    const { runRelease } = await import('../../../src/run/again.ts');
    expect((await world.within((context) => runRelease(context, 'orders', day))).exitCode).toBe(0);
    expect(await world.differences(world.lookback())).toEqual([]);
    expect((await world.night()).exitCode).toBe(0);
    await expectSound();
  });

  it('a day whose rows all become unloadable is held, and when they come back nothing ever happened', async () => {
    await world.night();
    const day = world.lookback().to;
    world.sandbox.addFault({
      endpoint: 'orders',
      kind: 'raw-value',
      field: 'orderId',
      json: 'null',
      item: 'all',
      times: 2,
    });
    expect((await world.night()).exitCode).toBe(3);
    expect(await world.differences({ from: day, to: day })).toEqual([]);
    expect((await world.night()).exitCode).toBe(0);
    expect(await world.differences(world.lookback())).toEqual([]);
    await expectSound();
  });
});

describe('credentials', () => {
  it('a token that is refused twice ends the run with 4; what came before is loaded', async () => {
    world.sandbox.addFault({ endpoint: 'orders', kind: 'status', status: 401, times: 99 });
    const { exitCode } = await world.night();
    expect(exitCode).toBe(4);
    expect(world.sandbox.stats.tokenRequests).toBe(2);
    const rows = await world.within(
      async (context) => (await context.targets[0]!.query('SELECT count(*) FROM warehouse.fact_promotion_day', 1)).rows,
    );
    expect(Number(rows[0]?.[0])).toBeGreaterThan(0);
  });

  it.each([
    [401, 'credentials_refused'],
    [404, 'address_banned'],
  ])('a token request answered with %i opens a circuit that outlives the process', async (status, code) => {
    world.sandbox.addFault({ endpoint: 'token', kind: 'status', status, times: 99 });
    const first = await world.night();
    expect(first.exitCode).toBe(4);
    expect(first.errors.map((e) => e.code)).toEqual([code]);
    expect(world.sandbox.stats.tokenRequests).toBe(1);
    for (let i = 0; i < 3; i++) expect((await world.night()).exitCode).toBe(4);
    expect(world.sandbox.stats.tokenRequests).toBe(1);

    world.sandbox.clearFaults();
    world.passDays(1);
    expect((await world.night()).exitCode).toBe(0);
  });

  it('one token serves all calls of a night and of the next process', async () => {
    await world.night();
    await world.night();
    expect(world.sandbox.stats.tokenRequests).toBe(1);
  });
});
