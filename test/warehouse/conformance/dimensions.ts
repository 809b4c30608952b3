import { describe, expect, test } from 'vitest';
import { promotions } from '../../../pipelines/promotions.ts';
import { day, publicationOf } from '../../support/slices.ts';
import { type NewWarehouse, rowsOf, useBench } from '../bench.ts';

export function dimensions(newWarehouse: NewWarehouse): void {
  const bench = useBench(newWarehouse);

  describe('dim_date', () => {
    const publishSpan = async (...days: readonly string[]) => {
      const slices = days.map((text) => bench.maker.make(promotions, day(text), [{ clicks: '1' }]));
      await bench.target.publish(publicationOf('r1', await Promise.all(slices)));
    };

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
}
