/** A night of answers that try to break out of SQL, of the home directory, of JSON and of a terminal. One suite for both targets. */
import { lstat, readdir } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runsSince } from '../../../src/store/tables/runs.ts';
import type { TargetName } from '../../../src/warehouse/target-name.ts';
import { typedIn } from '../../cli/typed.ts';
import { asciiJson } from '../../support/hostile-json.ts';
import { openLookupWorld, rowsOf } from '../../support/lookups.ts';
import type { World } from '../../support/nights.ts';

/** Texts as the service may send them, each in a field of its own and as the name of one. */
const TEXTS = [
  `'); DROP TABLE warehouse.fact_order_item; --`,
  `"; DELETE FROM etl.receipt; --`,
  `$$; COPY (SELECT 1) TO '/tmp/pwned'; $$`,
  '\\.\n1\t2\t3',
  '\\N',
  `{{constructor.constructor('return process')()}}`,
  `=cmd|' /C calc'!A0`,
  '<script>alert(1)</script>',
  '../../../../../etc/passwd',
  '__proto__',
  '\u001b]52;c;cm0gLXJmIH4=\u0007',
  '\u202eexe.fdp',
  '%s%n$(touch /tmp/pwned)`touch /tmp/pwned`',
  'x'.repeat(20_000),
];
const FIELDS = ['"); DROP TABLE etl.run; --', `a'b`, 'constructor', 'a.b', '../x', '\u001b[2J'];
const FILE_NAMES = ['../../../../tmp/pwned.csv', '/etc/cron.d/pwned', 'CON', 'x'.repeat(4000)];

export function hostileNight(name: TargetName, postgresUrl: () => string | undefined): void {
  let world: World;
  /** By the id of the item. */
  const sent = new Map<string, string>();
  beforeAll(async () => {
    const url = postgresUrl();
    world = await openLookupWorld({
      reductions: {},
      lookbackDays: 2,
      windowDays: 2,
      ...(url ? { postgresUrl: url } : {}),
    });
    const { from, to } = world.lookback();
    const items = [...world.sandbox.truth('orders', from, to)];
    const placements = [...world.sandbox.truth('promotions', from, to)];
    const placed = placements.flatMap((row, i) => (typeof row.subId === 'string' ? [i] : []));
    for (const [i, text] of TEXTS.entries()) {
      sent.set(String(items[i]!.orderItemId), text);
      world.sandbox.addFault({
        endpoint: 'orders',
        kind: 'raw-value',
        item: i,
        field: 'productTitle',
        json: asciiJson(text),
      });
      world.sandbox.addFault({
        endpoint: 'promotions',
        kind: 'raw-value',
        item: placed[i]!,
        field: 'subId',
        json: asciiJson(text),
      });
    }
    for (const [i, field] of FIELDS.entries())
      world.sandbox.addFault({
        endpoint: 'commissions',
        kind: 'unknown-field',
        item: i,
        field: JSON.stringify(field).slice(1, -1), // it is written as it is told
        json: JSON.stringify(TEXTS[i]),
      });
    world.sandbox.addFault({ endpoint: 'orders', kind: 'text-item', item: 0 });
    expect((await world.night({ names: ['promotions', 'orders', 'commissions'] })).errors).toEqual([]);
    for (const [i, fileName] of FILE_NAMES.entries()) {
      world.sandbox.addFault({ endpoint: 'reductions-latest', kind: 'announced-name', name: fileName });
      world.sandbox.addFault({ endpoint: 'reductions', kind: 'disposition', form: 'quoted', name: fileName });
      world.clock.set(world.clock.now() + 3_600_000);
      expect([i, (await world.night({ names: ['reductions'] })).errors]).toEqual([i, []]);
    }
  });
  afterAll(() => world.close());

  const typed = (...words: string[]) => typedIn(world, words);
  const parsed = async (sql: string) =>
    JSON.parse((await typed('sql', sql, '--target', name, '--json')).out) as Record<string, string>[];

  describe(`answers that attack, in ${name}`, () => {
    it('are rows like any other, each text as it was sent', async () => {
      const found = await parsed('SELECT order_item_id, product_title FROM warehouse.fact_order_item');
      const titles = new Map(found.map((row) => [row.order_item_id, row.product_title]));
      for (const [id, text] of sent) expect([id, titles.get(id)]).toEqual([id, text]);
      const subIds = await parsed('SELECT DISTINCT sub_id FROM warehouse.fact_promotion_day');
      expect(subIds.map(({ sub_id }) => sub_id)).toEqual(expect.arrayContaining(TEXTS));
      expect(await parsed(`SELECT field FROM etl.drift WHERE kind = 'unknown_field'`)).toHaveLength(FIELDS.length);
    });

    it('leave tables, receipts and sums as they should be', async () => {
      expect(await typed('verify')).toMatchObject({ code: 0, out: expect.stringContaining('no difference') });
      expect(Number((await rowsOf(world, 'SELECT count(*) FROM etl.run', name))[0])).toBe(1 + FILE_NAMES.length);
    });

    it('make no file but ours: names of the service are texts and never paths', async () => {
      const names = await readdir(world.home, { recursive: true });
      expect(names.filter((file) => /pwned|cron|CON\b|passwd|script|proto/.test(file))).toEqual([]);
      expect(
        names.filter((file) => !/^[\w./=-]+$/.test(file) || file.split('/').some((part) => part.length > 100)),
      ).toEqual([]);
      await expect(lstat('/tmp/pwned.csv')).rejects.toMatchObject({ code: 'ENOENT' });
      await expect(lstat('/tmp/pwned')).rejects.toMatchObject({ code: 'ENOENT' });
      const files = await parsed('SELECT file_name FROM warehouse.reductions_file');
      expect(files.map(({ file_name }) => file_name)).toContain('../../../../tmp/pwned.csv');
    });

    it('do nothing to whoever looks on: status, rejects, explain, the log and the records of runs', async () => {
      const { to } = world.lookback();
      for (const words of [['status'], ['rejects'], ['explain', 'commissions', to], ['explain', 'orders', to]]) {
        const { code, out, err } = await typed(...words);
        expect([words, code, err]).toEqual([words, 0, '']);
        expect(out).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/);
      }
      const runs = await world.within(({ state }) => runsSince(state.db, null));
      for (const run of runs) expect(run.summary).toBeTypeOf('object');
    });
  });
}
