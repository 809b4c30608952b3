/** Sub-IDs: read by the grammar of the settings, listed with their days, and with what they bring in. */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { commissions } from '../../../pipelines/commissions.ts';
import { orders } from '../../../pipelines/orders.ts';
import { promotions } from '../../../pipelines/promotions.ts';
import { type SubIdPart, subIdParts } from '../../../src/core/sub-id-grammar.ts';
import type { LoadSlice, Target } from '../../../src/warehouse/target.ts';
import { day, publicationOf, type RowText, SliceMaker } from '../../support/slices.ts';
import { leapingClock, type NewWarehouse, rowsOf, type Warehouse } from '../bench.ts';

const FIRST = day('2026-03-01');
const SECOND = day('2026-03-02');
const THIRD = day('2026-03-03');

type Read = Readonly<Record<string, string>> | string;

/** A grammar, sub-IDs, and of each its parts, or the name of the part that cannot be read. */
const READINGS: readonly (readonly [grammar: string, readings: readonly (readonly [subId: string, Read])[]])[] = [
  [
    '{site}|{placement}|{campaign}',
    [
      ['blog|top|spring', { site: 'blog', placement: 'top', campaign: 'spring' }],
      ['||', { site: '', placement: '', campaign: '' }],
      ['blog|🦆 é|"a\\b\'\n', { site: 'blog', placement: '🦆 é', campaign: '"a\\b\'\n' }],
      ['blog', 'site'],
      ['blog|top', 'placement'],
      ['a|b|c|d', 'campaign'],
      ['', 'site'],
    ],
  ],
  [
    'nl-{site}__{place}-x',
    [
      ['nl-my_site__top-x', { site: 'my_site', place: 'top' }],
      ['nl-__-x', { site: '', place: '' }],
      ['nl-a___b-x-x', { site: 'a', place: '_b-x' }],
      ['be-a__b-x', 'site'],
      ['nl-a__b__c-x', 'place'],
      ['nl-a__b-y', 'place'],
      ['nl-a__x', 'place'],
    ],
  ],
  [
    '{a}-{b}_{c}',
    [
      ['my_site-top_1_2', 'c'],
      ['my_site-top_1', { a: 'my_site', b: 'top', c: '1' }],
      ['x-y-z_w', 'b'],
    ],
  ],
  [
    "{a}.*(?i)[^']\\d$1{b}",
    [
      ["x.*(?i)[^']\\d$1y", { a: 'x', b: 'y' }],
      ['xx', 'a'],
    ],
  ],
  ['{all}', [['any\nthing', { all: 'any\nthing' }]]],
];

/** What the grammar's rule says, read anew. */
function readingOf(parts: readonly SubIdPart[], subId: string): Read {
  let rest = subId;
  const found: Record<string, string> = {};
  for (const { position, name, before, after, is_last } of parts) {
    if (position === 1 && !rest.startsWith(before)) return name;
    if (position === 1) rest = rest.slice(before.length);
    const end = is_last && rest.endsWith(after) ? rest.length - after.length : is_last ? -1 : rest.indexOf(after);
    const part = rest.slice(0, Math.max(end, 0));
    if (end < 0 || (position > 1 && part.includes(before))) return name;
    found[name] = part;
    rest = rest.slice(end + after.length);
  }
  return found;
}

interface Scene {
  readonly warehouse: Warehouse;
  readonly target: Target;
  readonly maker: SliceMaker;
  /** The settings change, and nothing else. */
  declare(grammar: string | null): Promise<unknown>;
}

function useScene(newWarehouse: NewWarehouse, slices: (maker: SliceMaker) => Promise<LoadSlice[]>): Scene {
  const scene = {} as { -readonly [K in keyof Scene]: Scene[K] };
  beforeAll(async () => {
    scene.warehouse = await newWarehouse('migrated');
    scene.target = scene.warehouse.open();
    scene.maker = await SliceMaker.open();
    scene.declare = (subIdGrammar) =>
      scene.warehouse.open(leapingClock(), { subIdGrammar }).publish(publicationOf('r2', []));
    await scene.target.publish(publicationOf('r1', await slices(scene.maker)));
  });
  afterAll(async () => {
    await scene.maker.close();
    await scene.warehouse.remove();
  });
  return scene;
}

const hostile = fc
  .sample(fc.array(fc.constantFrom('a', 'b', '|', '-', '_', '\\', "'", '"', '.', '🦆', 'é', '\n'), { maxLength: 9 }), {
    numRuns: 500,
    seed: 7,
  })
  .map((letters) => letters.join(''));

/** Every sub-ID that any claim is about. */
const SUB_IDS = [...new Set([...hostile, ...READINGS.flatMap(([, readings]) => readings.map(([subId]) => subId))])];

const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`;

export function subIds(newWarehouse: NewWarehouse): void {
  describe('warehouse.dim_sub_id', () => {
    const scene = useScene(newWarehouse, async (maker) => [
      await maker.make(promotions, FIRST, [...SUB_IDS.map((sub_id) => ({ sub_id })), { sub_id: null }]),
      await maker.make(promotions, SECOND, [{ sub_id: 'p' }, { sub_id: 'all' }]),
      await maker.make(orders, FIRST, [{ order_id: 'o', order_item_id: '1', sub_id: 'all' }]),
      await maker.make(orders, SECOND, [{ order_id: 'o', order_item_id: '2', sub_id: 'o' }]),
      await maker.make(commissions, SECOND, [{ sub_id: 'c' }]),
      await maker.make(commissions, THIRD, [{ sub_id: 'c' }, { sub_id: 'all' }]),
    ]);
    const ask = (sql: string) => rowsOf(scene.target, sql);
    const readings = async () => {
      const rows = await ask('SELECT sub_id, is_parsed, parts, unread_part FROM warehouse.dim_sub_id');
      return new Map(
        rows.map(([subId, isParsed, parts, unread]) => [subId, isParsed === true ? JSON.parse(String(parts)) : unread]),
      );
    };

    test('lists every sub-ID of any report once, with its days', async () => {
      const list = `'p', 'o', 'c', 'all'`;
      expect(
        await ask(`SELECT sub_id, first_day, last_day FROM warehouse.dim_sub_id WHERE sub_id IN (${list}) ORDER BY 1`),
      ).toEqual([
        ['all', FIRST, THIRD],
        ['c', SECOND, THIRD],
        ['o', SECOND, SECOND],
        ['p', SECOND, SECOND],
      ]);
      const counts = 'SELECT count(*), count(DISTINCT sub_id), count(first_day) FROM warehouse.dim_sub_id';
      const there = String(new Set([...SUB_IDS, 'p', 'o', 'c', 'all']).size);
      expect(await ask(counts)).toEqual([[there, there, there]]);
    });

    test.each(READINGS)('reads sub-IDs by %s', async (grammar, expected) => {
      await scene.declare(grammar);
      const found = await readings();
      expect(new Map(expected.map(([subId]) => [subId, found.get(subId)]))).toEqual(new Map(expected));
    });

    test.each([
      ...['{a}|{b}', '{a}-{b}_{c}', '\\{a}\'"{b}', '{a}🦆{b}é', 'a{b}--{c}.', '{a}_{b}_{c}_{d}'],
      '{a}|{b}|{c}|{d}|{e}|{f}|{g}|{h}|{i}|{j}',
    ])('reads whatever sub-IDs there are by the same rule in every engine: %s', async (grammar) => {
      await scene.declare(grammar);
      const parts = subIdParts(grammar) ?? [];
      const found = await readings();
      expect(new Map(SUB_IDS.map((subId) => [subId, found.get(subId)]))).toEqual(
        new Map(SUB_IDS.map((subId) => [subId, readingOf(parts, subId)])),
      );
    });

    test('says what the functions say', async () => {
      await scene.declare('{a}|{b}');
      const subId = quoted('é|"b');
      const said = `SELECT warehouse.sub_id_parts(${subId}) ->> 'b', warehouse.sub_id_unread_part(${subId}),
        warehouse.sub_id_parts('a'), warehouse.sub_id_unread_part('a'), warehouse.sub_id_parts(NULL), warehouse.sub_id_unread_part(NULL)`;
      expect(await ask(said)).toEqual([['"b', null, null, 'a', null, null]]);
      const differ = `SELECT count(*), count(parts) > 0, count(unread_part) > 0 FROM warehouse.dim_sub_id
        WHERE (parts ->> 'b') IS NOT DISTINCT FROM (warehouse.sub_id_parts(sub_id) ->> 'b')
        AND unread_part IS NOT DISTINCT FROM warehouse.sub_id_unread_part(sub_id)`;
      const [[all] = []] = await ask('SELECT count(*) FROM warehouse.dim_sub_id');
      expect(await ask(differ)).toEqual([[all, true, true]]);
      await scene.declare(null);
      expect(await ask(said)).toEqual([[null, null, null, null, null, null]]);
    });

    test('takes another grammar, or none, without a slice, and writes nothing when it is the same', async () => {
      const said = `SELECT is_parsed, parts->>'x' FROM warehouse.dim_sub_id WHERE sub_id = 'blog|top'`;
      const withGrammar = (subIdGrammar: string | null) => scene.warehouse.open(leapingClock(), { subIdGrammar });
      await scene.declare(null);
      expect(await ask(said)).toEqual([[null, null]]);
      expect((await withGrammar('{x}|{y}').state()).isOutdated).toBe(true);
      expect(await scene.declare('{x}|{y}')).toMatchObject({ slices: 0, rows: 0 });
      expect(await ask(said)).toEqual([[true, 'blog']]);
      const before = await scene.warehouse.fingerprint();
      expect((await withGrammar('{x}|{y}').state()).isOutdated).toBe(false);
      await scene.declare('{x}|{y}');
      expect(await scene.warehouse.fingerprint()).toBe(before);
      await scene.declare('{y}-{x}');
      expect(await ask(said)).toEqual([[false, null]]);
      await scene.declare(null);
      expect(await ask(said)).toEqual([[null, null]]);
      expect(await ask('SELECT name FROM etl.setting')).toEqual([]);
    });
  });

  describe('what sub-IDs bring in', () => {
    const shown = (sub_id: string | null, more: RowText = {}): RowText => ({
      ...{ site_code: '1', sub_id, clicks: '40', impressions: '1000', orders: '2', commission: '0.5' },
      ...more,
    });
    const item = (id: string, sub_id: string | null, status_group: string, more: RowText = {}): RowText => ({
      ...{ order_id: 'o', order_item_id: id, site_code: '1', sub_id, quantity: '2', price_excl_vat: '5' },
      ...{ commission: '0.75', status_group, ...more },
    });
    const scene = useScene(newWarehouse, async (maker) => [
      await maker.make(promotions, FIRST, [
        shown('a|b'),
        shown('a|b', { name: 'other' }),
        shown('a|b', { site_code: '2', clicks: '0' }),
        shown('lost'),
        shown(null),
      ]),
      await maker.make(orders, FIRST, [
        item('1', 'a|b', 'approved', { approved_for_payment: 'true' }),
        item('2', 'a|b', 'approved'),
        item('3', 'a|b', 'rejected', { name: 'other' }),
        item('4', 'a|b', 'open'),
        item('5', 'only|here', 'open', { commission: null, quantity: null }),
        item('6', null, 'approved'),
      ]),
      await maker.make(promotions, SECOND, [shown('lost', { orders: null })]),
      await maker.make(orders, SECOND, [item('7', 'lost', 'open'), item('8', 'gone', 'open')]),
      await maker.make(commissions, THIRD, [{ sub_id: 'gone' }, { sub_id: 'a|b' }]),
    ]);
    beforeAll(() => scene.declare('{x}|{y}'));
    const ask = (sql: string) => rowsOf(scene.target, sql);

    test('mart.sub_id_unparsed tells what could not be parsed, day by day, and what hangs on it', async () => {
      const figures = 'day, sub_id, unread_part, clicks, orders, commission, items, items_commission';
      expect(await ask(`SELECT ${figures} FROM mart.sub_id_unparsed ORDER BY day, sub_id`)).toEqual([
        [FIRST, 'lost', 'x', '40', '2', '0.500000', '0', '0.000000'],
        [SECOND, 'gone', 'x', '0', '0', '0.000000', '1', '0.750000'],
        [SECOND, 'lost', 'x', '40', '0', '0.500000', '1', '0.750000'],
        [THIRD, 'gone', 'x', '0', '0', '0.000000', '0', '0.000000'],
      ]);
    });

    test('mart.sub_id_profit has clicks of the promotions report and money of order items side by side', async () => {
      const figures = `site_code, sub_id, parts->>'y', clicks, impressions, orders, items, approved_items, rejected_items, quantity,
        revenue_excl_vat, commission, approved_commission, open_commission, lost_commission, paid_commission`;
      expect(await ask(`SELECT ${figures} FROM mart.sub_id_profit WHERE day = DATE '${FIRST}' ORDER BY 2, 1`)).toEqual(
        [
          ['1', 'a|b', 'b', '80 2000 4', '4 2 1 8', '40 3 1.5 0.75 0.75 0.75'],
          ['2', 'a|b', 'b', '0 1000 2', '0 0 0 0', '0 0 0 0 0 0'],
          ['1', 'lost', null, '40 1000 2', '0 0 0 0', '0 0 0 0 0 0'],
          ['1', 'only|here', 'here', '0 0 0', '1 0 0 0', '0 0 0 0 0 0'],
          ['1', null, null, '40 1000 2', '1 1 0 2', '10 0.75 0.75 0 0 0'],
        ].map(([site, subId, part, seen, counts, money]) => [
          ...[site, subId, part, ...String(seen).split(' '), ...String(counts).split(' ')],
          ...String(money)
            .split(' ')
            .map((text) => Number(text).toFixed(6)),
        ]),
      );
    });

    test('its ratios are of the sums beside them, and null over nothing', async () => {
      const ratios = ['epc', 'safe_epc', 'conversion', 'aov', 'approval_rate', 'reversal_rate'];
      const texts = ratios.map((name) => `CAST(${name} AS varchar)`).join(', ');
      const of = (subId: string) =>
        ask(
          `SELECT ${texts} FROM mart.sub_id_profit WHERE day = DATE '${FIRST}' AND site_code = '1' AND sub_id = '${subId}'`,
        );
      const [all] = await of('a|b');
      expect(all?.map((text) => Number(Number(text).toFixed(9)))).toEqual([
        0.0375, 0.01875, 0.05, 10, 0.666666667, 0.333333333,
      ]);
      expect(await of('only|here')).toEqual([[null, null, null, null, null, null]]);
    });
  });
}
