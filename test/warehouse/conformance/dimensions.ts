import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { promotions } from '../../../pipelines/promotions.ts';
import { type SubIdPart, subIdParts } from '../../../src/core/sub-id-grammar.ts';
import { day, publicationOf } from '../../support/slices.ts';
import { leapingClock, type NewWarehouse, rowsOf, useBench } from '../bench.ts';

const DAY = day('2026-03-01');

/** Easter Sundays, the earliest and the latest possible, leap years, and the two kinds of exception to the moon's rule. */
const EASTER = [
  ...['1943-04-25', '1954-04-18', '1981-04-19', '2000-04-23', '2008-03-23', '2013-03-31', '2016-03-27', '2019-04-21'],
  ...['2024-03-31', '2025-04-20', '2026-04-05', '2027-03-28', '2038-04-25', '2049-04-18', '2076-04-19', '2079-04-23'],
];

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

export function dimensions(newWarehouse: NewWarehouse): void {
  const bench = useBench(newWarehouse);
  const withGrammar = (subIdGrammar: string | null) => bench.warehouse.open(leapingClock(), { subIdGrammar });
  const publishSubIds = async (subIds: readonly string[]) => {
    const rows = subIds.map((sub_id) => ({ sub_id, clicks: '3', orders: '1', commission: '0.5' }));
    await bench.target.publish(publicationOf('r1', [await bench.maker.make(promotions, DAY, rows)]));
  };
  /** The settings change, and nothing else. */
  const declare = (grammar: string | null) => withGrammar(grammar).publish(publicationOf('r2', []));
  const readings = async () => {
    const rows = await rowsOf(bench.target, 'SELECT sub_id, is_parsed, parts, unread_part FROM warehouse.dim_sub_id');
    return new Map(
      rows.map(([subId, isParsed, parts, unread]) => [subId, isParsed === true ? JSON.parse(String(parts)) : unread]),
    );
  };

  describe('dim_date', () => {
    const publishSpan = async (...days: readonly string[]) => {
      const slices = days.map((text) => bench.maker.make(promotions, day(text), [{ clicks: '1' }]));
      await bench.target.publish(publicationOf('r1', await Promise.all(slices)));
    };

    test('knows Easter of any year, and what hangs on it', async () => {
      await publishSpan('1940-01-01', '2080-12-31');
      const list = EASTER.map((text) => `DATE '${text}'`).join(', ');
      const found = await rowsOf(
        bench.target,
        `SELECT day FROM warehouse.dim_date WHERE nl_holiday LIKE '%Eerste paasdag%' AND day IN (${list}) ORDER BY 1`,
      );
      expect(found.flat()).toEqual(EASTER);
      const counts = await rowsOf(
        bench.target,
        `SELECT count(*), count(DISTINCT year) FROM warehouse.dim_date WHERE nl_holiday LIKE '%Hemelvaartsdag%' AND be_holiday LIKE '%Onze-Lieve-Heer-Hemelvaart%' AND iso_weekday = 4`,
      );
      expect(counts).toEqual([['141', '141']]);
    });

    test('names the holidays of both countries', async () => {
      await publishSpan('2026-01-01', '2026-12-31');
      const of = (country: string) =>
        rowsOf(
          bench.target,
          `SELECT concat(day, ' ', ${country}_holiday) FROM warehouse.dim_date WHERE ${country}_holiday IS NOT NULL ORDER BY day`,
        );
      expect((await of('nl')).flat()).toEqual([
        ...['2026-01-01 Nieuwjaarsdag', '2026-04-03 Goede Vrijdag', '2026-04-05 Eerste paasdag'],
        ...['2026-04-06 Tweede paasdag', '2026-04-27 Koningsdag', '2026-05-05 Bevrijdingsdag'],
        ...['2026-05-14 Hemelvaartsdag', '2026-05-24 Eerste pinksterdag', '2026-05-25 Tweede pinksterdag'],
        ...['2026-12-25 Eerste kerstdag', '2026-12-26 Tweede kerstdag'],
      ]);
      expect((await of('be')).flat()).toEqual([
        ...['2026-01-01 Nieuwjaar', '2026-04-06 Paasmaandag', '2026-05-01 Dag van de Arbeid'],
        ...['2026-05-14 Onze-Lieve-Heer-Hemelvaart', '2026-05-25 Pinkstermaandag', '2026-07-21 Nationale feestdag'],
        ...['2026-08-15 Onze-Lieve-Vrouw-Hemelvaart', '2026-11-01 Allerheiligen', '2026-11-11 Wapenstilstand'],
        '2026-12-25 Kerstmis',
      ]);
    });

    test("moves King's and Queen's Day off a Sunday, and names two holidays on one day", async () => {
      await publishSpan('2006-01-01', '2025-12-31');
      const found = await rowsOf(
        bench.target,
        `SELECT concat(day, ' ', nl_holiday) FROM warehouse.dim_date
         WHERE nl_holiday LIKE '%Kon%' AND year IN (2006, 2008, 2013, 2014, 2024, 2025) OR day = DATE '2016-05-05' ORDER BY day`,
      );
      expect(found.flat()).toEqual([
        ...['2006-04-29 Koninginnedag', '2008-04-30 Koninginnedag', '2013-04-30 Koninginnedag'],
        ...['2014-04-26 Koningsdag', '2016-05-05 Bevrijdingsdag, Hemelvaartsdag', '2024-04-27 Koningsdag'],
        '2025-04-26 Koningsdag',
      ]);
    });

    test('writes the week with its year, and where month and quarter begin', async () => {
      await publishSpan('2024-12-29', '2026-02-28');
      const found = await rowsOf(
        bench.target,
        `SELECT day, iso_week, iso_year_week, month_start, quarter_start FROM warehouse.dim_date
         WHERE day IN (DATE '2024-12-29', DATE '2024-12-30', DATE '2026-02-28') ORDER BY 1`,
      );
      expect(found).toEqual([
        ['2024-12-29', '52', '2024-W52', '2024-12-01', '2024-10-01'],
        ['2024-12-30', '1', '2025-W01', '2024-12-01', '2024-10-01'],
        ['2026-02-28', '9', '2026-W09', '2026-02-01', '2026-01-01'],
      ]);
    });
  });

  describe('dim_sub_id', () => {
    test.each(READINGS)('reads sub-IDs by %s', async (grammar, expected) => {
      await publishSubIds(expected.map(([subId]) => subId));
      await declare(grammar);
      expect(await readings()).toEqual(new Map(expected));
    });

    test('reads whatever sub-IDs there are by the same rule in every engine', async () => {
      const hostile = fc.array(fc.constantFrom('a', 'b', '|', '-', '_', '\\', "'", '"', '.', '🦆', 'é', '\n'), {
        maxLength: 9,
      });
      const subIds = [...new Set(fc.sample(hostile, { numRuns: 500, seed: 7 }).map((letters) => letters.join('')))];
      await publishSubIds(subIds);
      for (const grammar of ['{a}|{b}', '{a}-{b}_{c}', '\\{a}\'"{b}', '{a}🦆{b}é', 'a{b}--{c}.', '{a}_{b}_{c}_{d}']) {
        await declare(grammar);
        const parts = subIdParts(grammar) ?? [];
        expect(await readings()).toEqual(new Map(subIds.map((subId) => [subId, readingOf(parts, subId)])));
      }
    });

    test('takes another grammar, or none, without a slice, and writes nothing when it is the same', async () => {
      await publishSubIds(['a|b']);
      const said = `SELECT is_parsed, parts->>'x' FROM warehouse.dim_sub_id`;
      expect(await rowsOf(bench.target, said)).toEqual([[null, null]]);
      expect(await withGrammar('{x}|{y}').settingsDiffer()).toBe(true);
      expect(await declare('{x}|{y}')).toMatchObject({ slices: 0, rows: 0 });
      expect(await rowsOf(bench.target, said)).toEqual([[true, 'a']]);
      const before = await bench.warehouse.fingerprint();
      expect(await withGrammar('{x}|{y}').settingsDiffer()).toBe(false);
      await declare('{x}|{y}');
      expect(await bench.warehouse.fingerprint()).toBe(before);
      await declare('{y}-{x}');
      expect(await rowsOf(bench.target, said)).toEqual([[false, null]]);
      await declare(null);
      expect(await rowsOf(bench.target, said)).toEqual([[null, null]]);
      expect(await rowsOf(bench.target, 'SELECT name FROM etl.setting')).toEqual([]);
    });

    test('tells what could not be parsed, and what hangs on it', async () => {
      await publishSubIds(['a|b', 'nothing', 'a|b|c']);
      await declare('{x}|{y}');
      const unparsed = `SELECT sub_id, unread_part, first_day, clicks, orders, commission FROM mart.sub_id_unparsed ORDER BY 1`;
      expect(await rowsOf(bench.target, unparsed)).toEqual([
        ['a|b|c', 'y', DAY, '3', '1', '0.500000'],
        ['nothing', 'x', DAY, '3', '1', '0.500000'],
      ]);
    });
  });
}
