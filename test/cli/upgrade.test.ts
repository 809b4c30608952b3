/** A home directory that the first version made, taken up by today's program. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { firstSettings, openFirstWorld } from '../support/first-home.ts';
import type { World } from '../support/nights.ts';
import { typedIn } from './typed.ts';

let world: World;
beforeAll(async () => {
  world = await openFirstWorld();
});
afterAll(() => world.close());

const typed = (...words: string[]) => typedIn(world, words);
const rows = async (sql: string): Promise<unknown[]> =>
  JSON.parse((await typed('sql', sql, '--json')).out) as unknown[];

const ITEMS =
  'SELECT order_date::VARCHAR AS day, count(*) AS items FROM warehouse.fact_order_item GROUP BY 1 ORDER BY 1';
const FIRST_ITEMS = [
  { day: '2026-03-16', items: '54' },
  { day: '2026-03-17', items: '40' },
  { day: '2026-03-18', items: '56' },
  { day: '2026-03-19', items: '45' },
  { day: '2026-03-20', items: '45' },
];

describe('before the first run of the new program', () => {
  it('its settings are taken', async () => {
    const file = path.join(world.home, 'first-settings.yaml');
    await writeFile(file, await firstSettings());
    const { code, err } = await typedIn(world, ['plan', 'orders'], { env: { PARTNER_ETL_CONFIG: file } });
    expect({ code, err }).toEqual({ code: 0, err: '' });
  });

  it('status, explain and rejects tell what it knew: days, hold, drift, runs, reject', async () => {
    const { code, out } = await typed('status');
    expect(code).toBe(0);
    expect(out).toMatch(/^orders +2026-03-16 oohoo· 2026-03-21$/m);
    expect(out).toMatch(/^promotions +2026-03-16 █████· 2026-03-21$/m);
    expect(out).toMatch(/orders +2026-03-18 +shrunk +56 rows before, 5 now/);
    expect(out).toMatch(/orders +unknown_field +voucher +2026-03-20T02:00/);
    expect(out).toMatch(/r01km71xt8000s8pnjx +run +2026-03-21T02:00:00.000Z +set_aside +842 +3/);
    expect(out).toContain('duckdb: holds everything that the lake holds');
    expect((await typed('explain', 'orders', '2026-03-18')).out).toContain('f01km71xt8082tsgbgn');
    expect((await typed('rejects')).out).toMatch(/orders +2026-03-16 +0 +missing_field +orderItemId/);
  });

  it('the warehouse can be queried', async () => {
    expect(await rows(ITEMS)).toEqual(FIRST_ITEMS);
  });

  it('verify proves vault, lake and warehouse, and says that checks wait for newer tables', async () => {
    const { code, out } = await typed('verify');
    expect(out).toContain('no difference');
    expect(out).toMatch(
      /^warning: duckdb: .*older partner-etl \(0004_lookups.sql is still to be applied\).*no check was run/m,
    );
    expect(code).toBe(0);
  });
});

describe('the first run', () => {
  it('migrates, loads, and ends the hold', async () => {
    const { code, err } = await typed('run');
    expect({ code, err: err.split('\n').filter((line) => /error|warn/i.test(line)) }).toEqual({ code: 0, err: [] });
    expect(await rows('SELECT number FROM etl.migration ORDER BY number')).toContainEqual({ number: '11' });
    expect(await world.differences(world.lookback())).toEqual([]);
    expect(await rows('SELECT pipeline FROM etl.hold')).toEqual([]);
  });

  it('keeps what the lookback no longer covers, and the history: receipts, runs, fetches, rejects, drift', async () => {
    expect((await rows(ITEMS)).slice(0, 2)).toEqual(FIRST_ITEMS.slice(0, 2));
    const count = async (what: string) => (await rows(`SELECT count(*) AS n FROM ${what}`))[0];
    expect(await count(`etl.receipt WHERE superseded_at IS NOT NULL AND slice_day = '2026-03-18'`)).toEqual({ n: '1' });
    expect(await count(`etl.run WHERE started_at < '2026-03-22'`)).toEqual({ n: '2' });
    expect(await count(`etl.fetch WHERE started_at < '2026-03-22'`)).toEqual({ n: '6' });
    expect(await count(`etl.reject WHERE reason = 'missing_field'`)).toEqual({ n: '1' });
    expect(await count(`etl.drift WHERE field = 'voucher'`)).toEqual({ n: '1' });
  });

  it('begins the history of order items with what was known: one version each, from the fetch of then', async () => {
    const sql = `SELECT observed_from::DATE::VARCHAR AS seen, count(*) AS n, count(observed_to) AS ended
      FROM warehouse.order_item_version WHERE order_date <= '2026-03-20' GROUP BY 1 ORDER BY 1`;
    expect(await rows(sql)).toEqual([
      { seen: '2026-03-20', n: '195', ended: '0' },
      { seen: '2026-03-21', n: '45', ended: '0' },
    ]);
  });

  it('leaves nothing that verify finds, and a second run changes nothing', async () => {
    expect(await typed('verify')).toMatchObject({ code: 0, out: expect.not.stringContaining('warning') });
    expect((await typed('run')).out).toContain('0 slices changed');
  });
});

describe('from there on', () => {
  it.each([['replay', 'orders', '--from', '2026-03-16', '--to', '2026-03-17'], ['rebuild']])(
    '%s works on what the first version wrote',
    async (...words) => {
      expect((await typed(...words)).code).toBeOneOf([0, 3]); // 3: the reject is told
      expect((await typed('verify')).code).toBe(0);
      expect((await rows(ITEMS)).slice(0, 2)).toEqual(FIRST_ITEMS.slice(0, 2));
    },
  );
});
