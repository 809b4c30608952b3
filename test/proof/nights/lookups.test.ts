/** Nights of commission look-ups against the sandbox: what is asked, what is stored, what comes into the warehouse. */
import { truncate } from 'node:fs/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { runRelease, runReplay } from '../../../src/run/again.ts';
import { explain, listRejects } from '../../../src/run/status/explain.ts';
import { statusOf } from '../../../src/run/status/status.ts';
import { verify } from '../../../src/run/verify/verify.ts';
import { listEans, openLookupWorld, rateDifferences, rowsOf } from '../../support/lookups.ts';
import { loseLake } from '../../support/lost-lake.ts';
import type { World } from '../../support/nights.ts';
import { forgetAskedKeys } from '../../support/state.ts';

let world: World;
let eans: readonly string[];
afterEach(() => world.close());

const rates = (options = {}) => world.night({ names: ['commission-rates'], ...options });
const versions = () => rowsOf(world, 'SELECT count(*) FROM warehouse.fact_commission_rate_version');
const UNKNOWN = '9999999999994';

async function open(count: number, options: Parameters<typeof openLookupWorld>[0] = {}): Promise<void> {
  world = await openLookupWorld({ rates: {}, ...options });
  eans = world.sandbox.eans(count);
  await listEans(world, eans);
}

describe('a night of look-ups', () => {
  it('asks in batches of 100 and holds what the service says, to the digit', async () => {
    await open(250);
    const night = await rates();
    expect(night.errors).toEqual([]);
    expect(night).toMatchObject({ exitCode: 0, run: { summary: { calls: 3, rows: 250, rejects: 0 } } });
    expect(await rateDifferences(world, eans)).toEqual([]);
    expect(await world.within(verify)).toMatchObject({ answers: 3, differences: [] });
  });

  it('run again asks nothing; the next night asks, and what is unchanged writes nothing', async () => {
    await open(150);
    await rates();
    expect((await rates()).run.summary).toMatchObject({ calls: 0, slices_changed: 0 });
    world.passDays(1);
    const before = await versions();
    const next = await rates();
    expect(next.run.summary?.calls).toBe(2);
    expect(await rateDifferences(world, eans)).toEqual([]);
    const changed = Number((await versions())[0]) - Number(before[0]);
    expect(changed).toBeLessThan(75);
  });

  it('closes the old version of what changed, and opens a new one', async () => {
    await open(3);
    await rates();
    world.sandbox.change({ kind: 'commission-rate', ean: eans[0]!, percentage: '21.5' });
    world.clock.set(world.clock.now() + 23 * 3_600_000);
    await rates();
    const found = await rowsOf(
      world,
      `SELECT percentage, observed_on, valid_to IS NULL FROM warehouse.fact_commission_rate_version WHERE ean = '${eans[0]}' ORDER BY valid_from`,
    );
    expect(found).toHaveLength(2);
    expect(found[0]).toMatch(/2026-03-20 false$/);
    expect(found[1]).toBe('21.500000 2026-03-21 true');
  });

  it('asks one EAN at several prices, apart from each other', async () => {
    await open(2);
    const [ean] = eans;
    await listEans(world, [ean!, `${ean},10`, `${ean},25.50`, `${ean},10.00`, `${eans[1]},,GOOD`]);
    await rates();
    const found = await rowsOf(
      world,
      'SELECT ean, condition, asked_price, unit_price, total_cost IS NULL FROM warehouse.fact_commission_rate_version ORDER BY ean, asked_price NULLS FIRST',
    );
    expect(found.toSorted()).toEqual(
      [
        `${ean} NEW - - true`,
        `${ean} NEW 10.000000 10.000000 false`,
        `${ean} NEW 25.500000 25.500000 false`,
        `${eans[1]} GOOD - - true`,
      ].toSorted(),
    );
    expect((await rates()).run.summary?.calls).toBe(0);
  });

  it('keeps boundaries of reductions in their own table and closes them when they vanish', async () => {
    await open(2);
    const [ean] = eans;
    const reduction = { maximumPrice: '30.25', costReduction: '1.10', startDate: '2026-03-01', endDate: '2026-04-01' };
    world.sandbox.change({
      kind: 'commission-reductions',
      ean: ean!,
      reductions: [reduction, { ...reduction, maximumPrice: '20' }],
    });
    await rates();
    const boundaries = () =>
      rowsOf(
        world,
        `SELECT position, maximum_price, cost_reduction, start_date, end_date, valid_to IS NULL FROM warehouse.fact_commission_reduction_version WHERE ean = '${ean}' ORDER BY valid_from, position`,
      );
    expect(await boundaries()).toEqual([
      '0 30.250000 1.100000 2026-03-01 2026-04-01 true',
      '1 20.000000 1.100000 2026-03-01 2026-04-01 true',
    ]);
    world.sandbox.change({ kind: 'commission-reductions', ean: ean!, reductions: [] });
    world.passDays(1);
    await rates();
    expect((await boundaries()).map((row) => row.split(' ').at(-1))).toEqual(['false', 'false']);
    expect(await rateDifferences(world, eans)).toEqual([]);
  });

  it('spends its budget of calls in the order of the list and tells what it left out', async () => {
    await open(450, { rates: { callsPerNight: 3 } });
    const night = await rates();
    expect(night.run.summary).toMatchObject({ calls: 3, rows: 300, left_out: 150 });
    expect(await rateDifferences(world, eans.slice(0, 300))).toEqual([]);
    expect((await rates()).run.summary).toMatchObject({ calls: 2, rows: 150, left_out: 0 });
  });
});

describe('EANs that cannot be asked, or are refused', () => {
  it.each([
    ['named in the refusal', 'refuse', 2],
    ['not named', 'refuse-unnamed', 15],
  ] as const)('%s: they become rejects with the reason, the others are loaded', async (_, unknownEan, most) => {
    await open(99, { sandbox: { unknownEan } });
    await listEans(world, [...eans.slice(0, 40), UNKNOWN, ...eans.slice(40)]);
    const night = await rates();
    expect(night.errors).toEqual([]);
    expect(night).toMatchObject({ exitCode: 3, run: { summary: { rejects: 1 } } });
    expect(night.run.summary?.calls).toBeLessThanOrEqual(most);
    expect(await rateDifferences(world, [...eans, UNKNOWN])).toEqual([]);
    const rejects = await world.within((context) => listRejects(context, 'commission-rates', 10));
    expect(rejects).toMatchObject([{ reason: 'refused', raw: expect.stringContaining(UNKNOWN) }]);
    expect(rejects[0]?.detail).not.toBe('');
    world.passDays(1);
    const next = await rates();
    expect(next).toMatchObject({ exitCode: 3, run: { summary: { rejects: 1 } } });
    expect(await world.within((context) => listRejects(context, 'commission-rates', 10))).toEqual(rejects);
  });

  it('left out of the answer: they are recorded as not found', async () => {
    await open(10, { sandbox: { unknownEan: 'leave-out' } });
    await listEans(world, [...eans, UNKNOWN]);
    const night = await rates();
    expect(night).toMatchObject({ exitCode: 0, run: { summary: { calls: 1, rejects: 0 } } });
    expect(
      await rowsOf(world, `SELECT outcome FROM warehouse.fact_commission_rate_version WHERE ean = '${UNKNOWN}'`),
    ).toEqual(['not_found']);
  });

  it('with a wrong check digit: nothing is sent, and the list is told', async () => {
    await open(3);
    await listEans(world, [...eans, '8712345678900', '12', `${eans[0]},free`]);
    const night = await rates();
    expect(night).toMatchObject({ exitCode: 3, run: { summary: { calls: 1, rows: 3, rejects: 3 } } });
    const rejects = await world.within((context) => listRejects(context, 'commission-rates', 10));
    expect(rejects.map(({ reason, raw, item }) => [reason, raw, item])).toEqual([
      ['bad_ean', '8712345678900', 4],
      ['bad_ean', '12', 5],
      ['bad_price', `${eans[0]},free`, 6],
    ]);
    const again = await rates();
    expect(again).toMatchObject({ exitCode: 3, run: { summary: { calls: 0, rejects: 3, slices_changed: 0 } } });
  });

  it('all of them: the run gives up early and says what seems wrong', async () => {
    await open(250, { sandbox: { unknownEan: 'refuse-unnamed' } });
    for (const ean of eans) world.sandbox.change({ kind: 'ean-known', ean, known: false });
    const night = await rates();
    expect(night.exitCode).toBe(1);
    expect(night.errors[0]).toMatchObject({ code: 'everything_refused', hint: expect.stringContaining('settings') });
    expect(night.run.summary?.calls).toBeLessThan(120);
    for (const ean of eans) world.sandbox.change({ kind: 'ean-known', ean, known: true });
    expect(await rates()).toMatchObject({ exitCode: 0, run: { summary: { rejects: 0 } } });
    expect(await rateDifferences(world, eans)).toEqual([]);
  });
});

describe('when the service misbehaves', () => {
  it.each([
    ['429 with Retry-After', { kind: 'status', status: 429, retryAfter: '2' }],
    ['429 without it', { kind: 'status', status: 429 }],
    ['a page of HTML', { kind: 'html' }],
    ['a cut answer', { kind: 'cut', bytes: 500 }],
    ['a reset connection', { kind: 'reset' }],
    ['a token that is suddenly refused', { kind: 'revoke-tokens' }],
    ['an error of the server', { kind: 'status', status: 503 }],
  ] as const)('with %s, it is asked again and nothing is missing', async (_, fault) => {
    await open(500);
    world.sandbox.addFault({
      endpoint: 'commission-bulk',
      after: 2,
      times: fault.kind === 'revoke-tokens' ? 1 : 2,
      ...fault,
    });
    const night = await rates();
    expect(night.errors).toEqual([]);
    expect(night.run.summary).toMatchObject({ rows: 500 });
    expect(night.run.summary?.calls).toBeGreaterThan(5);
    expect(await rateDifferences(world, eans)).toEqual([]);
  });

  it('with a token that expires in the middle of 500 batches, few tokens are asked for', async () => {
    await open(1);
    eans = world.sandbox.eans(2500);
    await listEans(world, eans);
    world.sandbox.addFault({ endpoint: 'commission-bulk', after: 12, kind: 'revoke-tokens' });
    const night = await rates();
    expect(night.errors).toEqual([]);
    expect(night.run.summary).toMatchObject({ rows: 2500 });
    expect(world.sandbox.stats.tokenRequests).toBe(2);
    expect(world.sandbox.stats.overBudget).toEqual({});
  });

  it('with a record twice, of a stranger, or out of type, the rest is loaded and the counts add up', async () => {
    await open(100);
    world.sandbox.addFault({ endpoint: 'commission-bulk', kind: 'duplicate', item: 1 });
    world.sandbox.addFault({ endpoint: 'commission-bulk', kind: 'unasked', item: 3 });
    world.sandbox.addFault({
      endpoint: 'commission-bulk',
      kind: 'raw-value',
      field: 'percentage',
      json: '"much"',
      item: 7,
      as: 'instead',
    });
    world.sandbox.addFault({ endpoint: 'commission-bulk', kind: 'unknown-field', field: 'vatRate', item: 9 });
    const night = await rates();
    expect(night).toMatchObject({ exitCode: 3, run: { summary: { rejects: 2, duplicates: 1 } } });
    const rejects = await world.within((context) => listRejects(context, 'commission-rates', 10));
    expect(rejects.map(({ reason }) => reason).sort()).toEqual(['bad_number', 'not_asked']);
    expect(await rowsOf(world, 'SELECT kind, field FROM etl.drift')).toContain('unknown_field vatRate');
    const missing = await rateDifferences(world, eans);
    expect(missing.filter((row) => !row.includes(eans[7]!))).toEqual([]);
  });

  it('a collapse is held with what was known left as it is; a release applies it, and so does what the next night says', async () => {
    await open(60);
    await rates();
    world.passDays(1);
    world.sandbox.change({ kind: 'unknown-ean', as: 'leave-out' });
    const known = (is: boolean) => {
      for (const ean of eans) world.sandbox.change({ kind: 'ean-known', ean, known: is });
    };
    known(false);
    const night = await rates();
    expect(night).toMatchObject({ exitCode: 3, run: { summary: { slices_held: 1 } } });
    expect(
      await rowsOf(
        world,
        `SELECT count(*) FROM warehouse.fact_commission_rate_version WHERE valid_to IS NULL AND outcome = 'found'`,
      ),
    ).toEqual(['60']);
    const { holds } = await world.within(statusOf);
    expect(holds).toMatchObject([{ pipeline: 'commission-rates', reason: 'emptied', rows_before: 60 }]);
    const released = await world.within((context) => runRelease(context, 'commission-rates', holds[0]!.slice_day));
    expect(released.errors).toEqual([]);
    expect(
      await rowsOf(
        world,
        `SELECT count(*) FROM warehouse.fact_commission_rate_version WHERE valid_to IS NULL AND outcome = 'not_found'`,
      ),
    ).toEqual(['60']);
    known(true);
    world.passDays(1);
    expect(await rates()).toMatchObject({ exitCode: 0 });
    expect(await rateDifferences(world, eans)).toEqual([]);
    expect((await world.within(statusOf)).holds).toEqual([]);
  });
});

describe('a night that is cut off', () => {
  it('goes on where it was: what was answered is not asked again, and its answers count', async () => {
    await open(3000);
    const stop = new AbortController();
    let answers = 0;
    const night = await rates({
      signal: stop.signal,
      step: (name: string) => {
        if (name === 'answer-received' && ++answers === 4) stop.abort();
      },
    });
    expect(night.run.result).toBe('interrupted');
    // A call that was under way when the night was stopped has no answer, whatever the service had begun.
    const answered = world.log.filter(({ message, fields }) => message === 'fetched' && fields?.status === 200).length;
    expect(answered).toBeGreaterThanOrEqual(4);
    expect(answered).toBeLessThan(25);
    const next = await rates();
    expect(next.errors).toEqual([]);
    expect(answered + (next.run.summary?.calls ?? 0)).toBe(30);
    expect(await rateDifferences(world, eans)).toEqual([]);
  });
});

describe('replay', () => {
  it('makes the same slices from stored answers, without a call, also where state and lake were lost', async () => {
    await open(120);
    await rates();
    const first = world.today();
    for (let i = 0; i < 3; i++) {
      world.passDays(1);
      world.sandbox.change({ kind: 'commission-rate', ean: eans[i]!, fixedAmount: `7.0${i}` });
      await rates();
    }
    const table =
      'SELECT ean, fixed_amount, percentage, valid_from, valid_to FROM warehouse.fact_commission_rate_version ORDER BY ean, valid_from';
    const before = await rowsOf(world, table);
    expect(before.length).toBeGreaterThanOrEqual(123);
    const calls = { ...world.sandbox.stats.calls };
    const range = { from: first, to: world.today() };
    const same = await world.within((context) => runReplay(context, 'commission-rates', range));
    expect(same).toMatchObject({ exitCode: 0, run: { summary: { slices_changed: 0 } } });
    await loseLake(world.home, 'commission-rates', 'commission-reductions');
    await forgetAskedKeys(world.home);
    const again = await world.within((context) => runReplay(context, 'commission-rates', range));
    expect(again.errors).toEqual([]);
    expect(await rowsOf(world, table)).toEqual(before);
    expect(world.sandbox.stats.calls).toEqual(calls);
    expect(await world.within(verify)).toMatchObject({ differences: [] });
    expect((await world.within((context) => explain(context, 'commission-rates', first))).fetch_count).toBe(2);
  });

  it('sets aside what nights did, once, also where the file of these rejects is damaged', async () => {
    await open(3);
    await listEans(world, [...eans, UNKNOWN]);
    const first = world.today();
    const told = () => world.within((context) => listRejects(context, 'commission-rates', 10));
    await rates();
    world.passDays(1);
    world.sandbox.change({ kind: 'commission-rate', ean: eans[0]!, fixedAmount: '7.00' });
    await rates();
    const before = await told();
    expect(before).toEqual([expect.objectContaining({ reason: 'refused', item: 0 })]);
    const file = await world.within(async ({ lake }) =>
      lake.rejectsFile((await lake.slices('commission-rates')).get(first)!),
    );
    const replay = () =>
      world.within((context) => runReplay(context, 'commission-rates', { from: first, to: world.today() }));
    expect(await replay()).toMatchObject({ errors: [], run: { summary: { slices_changed: 0 } } });
    await truncate(file!, 500);
    expect(await replay()).toMatchObject({ errors: [], run: { summary: { slices_changed: 1 } } });
    expect(await told()).toEqual(before);
    expect(await world.within(verify)).toMatchObject({ differences: [], warnings: [] });
  });
});
