/** What the data commands say of look-ups and of the reductions file, as they are typed. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { typedIn } from '../../cli/typed.ts';
import { listEans, openLookupWorld } from '../../support/lookups.ts';
import type { World } from '../../support/nights.ts';

const BAD = '8712345678900';
let world: World;
let eans: readonly string[];
beforeAll(async () => {
  world = await openLookupWorld({
    rates: { callsPerNight: 2 },
    products: { callsPerNight: 5 },
    reductions: {},
    sandbox: { seriesLength: 50 },
  });
  eans = world.sandbox.eans(250);
  await listEans(world, [...eans, BAD]);
});
afterAll(() => world.close());

const typed = (...words: string[]) => typedIn(world, words);
const lines = (text: string) => text.split('\n').map((line) => line.replaceAll(/ {2,}/g, ' | ').trim());
const NAMES = ['products', 'commission-rates', 'reductions'];

describe('before the first night', () => {
  it('plan counts what is due, what the budget leaves out, and what of the list cannot be asked', async () => {
    const { code, out } = await typed('plan', ...NAMES);
    expect(code).toBe(0);
    expect(lines(out)).toEqual(
      expect.arrayContaining([
        'products: 5 calls for 250 new of 250 listed',
        'products: 245 are left out by the budget of the night (callsPerNight)',
        'commission-rates: 2 calls for 250 new of 250 listed',
        'commission-rates: 50 are left out by the budget of the night (callsPerNight)',
        'commission-rates: 1 of the list cannot be asked; run sets them aside',
        'reductions: asks for the name of the newest file, and for the file when it is another one; none was loaded yet',
      ]),
    );
    expect(out).toContain('8 calls, 0 slices');
  });

  it('a past range is refused, and so is a part by its own name', async () => {
    const range = ['--from', '2026-03-01', '--to', '2026-03-02'];
    for (const command of ['backfill', 'plan']) {
      const { code, err } = await typed(command, 'commission-rates', ...range);
      expect(code).toBe(2);
      expect(err).toMatch(/commission-rates has no past to fetch.*\n.*partner-etl run commission-rates/);
    }
    const part = await typed('run', 'commission-reductions');
    expect(part).toMatchObject({ code: 2, err: expect.stringMatching(/comes with commission-rates/) });
    expect((await typed('replay', 'products', ...range)).err).toContain('the raw store holds no answer of products');
  });
});

describe('after a night', () => {
  it('run tells what was left out and what was rejected', async () => {
    const { code, out } = await typed('run', ...NAMES);
    expect(code).toBe(3);
    expect(out).toContain('295 look-ups were left out by the budget of the night');
    expect(out).toContain('2 rows were rejected');
  });

  it('status shows when it was last asked and what came of it', async () => {
    const { out } = await typed('status');
    expect(out).toMatch(/^commission-rates: 200 found; last asked 2026-03-20T/m);
    expect(out).toMatch(/^products: .*\d found.*; last asked 2026-03-20T/m);
    expect(out).toMatch(/^reductions: last asked 2026-03-20T/m);
    expect(lines(out)).toContainEqual(expect.stringMatching(/^commission-rates \| 2026-03-20 \| 0 d \| 200 \| 1 \|/));
    expect(out).not.toContain('commission-reductions');
    const { pipelines } = JSON.parse((await typed('status', '--json')).out);
    expect(pipelines.find((p: { pipeline: string }) => p.pipeline === 'commission-rates')).toMatchObject({
      newest: '2026-03-20',
      lookups: { outcomes: { found: 200 } },
    });
  });

  it('explain shows the day, its fetches and its rejects', async () => {
    const { out } = await typed('explain', 'commission-rates', '2026-03-20');
    expect(out).toMatch(/^commission-rates 2026-03-20: 200 rows, 1 rejects/);
    expect(out).toContain(BAD);
    const files = await typed('explain', 'reductions', '2026-03-20');
    expect(files.out).toContain(world.sandbox.reductionsFile().name);
  });

  it('rejects lists what could not be asked', async () => {
    const { code, out } = await typed('rejects', 'commission-rates');
    expect(code).toBe(0);
    expect(out).toContain('bad_ean');
    expect(out).toContain('should be');
  });

  it('plan says when the name of the file was asked last, and what is left of the list', async () => {
    const { out } = await typed('plan', ...NAMES);
    expect(lines(out)).toEqual(
      expect.arrayContaining([
        expect.stringMatching(
          /^reductions: asks nothing: the name was asked at 2026-03-20T.*; the last one loaded is Verlaging/,
        ),
        'commission-rates: 1 call for 50 new of 250 listed',
      ]),
    );
  });

  it('replay, rebuild and verify know them', async () => {
    for (const name of NAMES)
      expect(await typed('replay', name, '--from', '2026-03-20', '--to', '2026-03-20')).toMatchObject({
        err: expect.not.stringContaining('error'),
      });
    expect((await typed('rebuild')).code).not.toBe(1);
    expect(await typed('verify')).toMatchObject({ code: 0 });
    const current = await typed('sql', `SELECT count(*) AS n FROM warehouse.fact_commission_rate`, '--format', 'csv');
    expect(current.out.split(/\r?\n/)).toEqual(['n', '200', '']);
  });
});
