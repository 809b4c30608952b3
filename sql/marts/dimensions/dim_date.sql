-- Holidays of a year follow from Easter Sunday, which J.-M. Oudin's rule puts `shift` days after 28 March, for any year of the
-- Gregorian calendar. Two holidays may fall on one day: then both are named.
CREATE OR REPLACE VIEW warehouse.dim_date AS
WITH span AS (
  SELECT min(first_day) AS first_day, max(last_day) AS last_day
  FROM (
    SELECT min(promotion_date) AS first_day, max(promotion_date) AS last_day FROM warehouse.fact_promotion_day
    UNION ALL
    SELECT min(order_date), max(order_date) FROM warehouse.fact_order_item
    UNION ALL
    SELECT min(order_date), max(order_date) FROM warehouse.fact_commission_day
  ) AS spans
),
days AS (
  SELECT etl.each_day(first_day, last_day) AS day FROM span
),
years AS (
  SELECT DISTINCT CAST(extract(year FROM day) AS integer) AS year FROM days
),
golden AS (
  SELECT year, year % 19 AS g, etl.quotient(year, 100) AS c FROM years
),
epact AS (
  SELECT year, g, c, (c - etl.quotient(c, 4) - etl.quotient(8 * c + 13, 25) + 19 * g + 15) % 30 AS h FROM golden
),
moon AS (
  SELECT year, c, h - etl.quotient(h, 28) * (1 - etl.quotient(29, h + 1) * etl.quotient(21 - g, 11)) AS i FROM epact
),
easter AS (
  SELECT year, make_date(year, 3, 28) + CAST(i - (year + etl.quotient(year, 4) + i + 2 - c + etl.quotient(c, 4)) % 7 AS integer) AS sunday FROM moon
),
holidays AS (
  SELECT country, name, sunday + days_after AS day
  FROM easter, (VALUES
    ('nl', 'Goede Vrijdag', -2),
    ('nl', 'Eerste paasdag', 0),
    ('nl', 'Tweede paasdag', 1),
    ('nl', 'Hemelvaartsdag', 39),
    ('nl', 'Eerste pinksterdag', 49),
    ('nl', 'Tweede pinksterdag', 50),
    ('be', 'Paasmaandag', 1),
    ('be', 'Onze-Lieve-Heer-Hemelvaart', 39),
    ('be', 'Pinkstermaandag', 50)
  ) AS movable(country, name, days_after)
  UNION ALL
  SELECT country, name, make_date(year, month, day_of_month)
  FROM years, (VALUES
    ('nl', 'Nieuwjaarsdag', 1, 1, 1),
    ('nl', 'Bevrijdingsdag', 5, 5, 1945),
    ('nl', 'Eerste kerstdag', 12, 25, 1),
    ('nl', 'Tweede kerstdag', 12, 26, 1),
    ('be', 'Nieuwjaar', 1, 1, 1),
    ('be', 'Dag van de Arbeid', 5, 1, 1948),
    ('be', 'Nationale feestdag', 7, 21, 1890),
    ('be', 'Onze-Lieve-Vrouw-Hemelvaart', 8, 15, 1),
    ('be', 'Allerheiligen', 11, 1, 1),
    ('be', 'Wapenstilstand', 11, 11, 1922),
    ('be', 'Kerstmis', 12, 25, 1)
  ) AS fixed(country, name, month, day_of_month, since)
  WHERE year >= since
  UNION ALL
  -- Never on a Sunday: then the day before it.
  SELECT 'nl', name, make_date(year, 4, day_of_month)
    - CASE WHEN extract(isodow FROM make_date(year, 4, day_of_month)) = 7 THEN 1 ELSE 0 END
  FROM years, (VALUES ('Koninginnedag', 30, 1949, 2013), ('Koningsdag', 27, 2014, 9999)) AS royal(name, day_of_month, since, until)
  WHERE year BETWEEN since AND until
),
named AS (
  SELECT
    day,
    string_agg(CASE WHEN country = 'nl' THEN name END, ', ' ORDER BY name) AS nl_holiday,
    string_agg(CASE WHEN country = 'be' THEN name END, ', ' ORDER BY name) AS be_holiday
  FROM holidays
  GROUP BY day
)
SELECT
  days.day,
  CAST(extract(year FROM days.day) AS integer) AS year,
  CAST(extract(quarter FROM days.day) AS integer) AS quarter,
  CAST(extract(month FROM days.day) AS integer) AS month,
  CAST(extract(day FROM days.day) AS integer) AS day_of_month,
  CAST(extract(isoyear FROM days.day) AS integer) AS iso_year,
  CAST(extract(week FROM days.day) AS integer) AS iso_week,
  CAST(extract(isodow FROM days.day) AS integer) AS iso_weekday,
  extract(isodow FROM days.day) >= 6 AS is_weekend,
  lpad(CAST(extract(isoyear FROM days.day) AS text), 4, '0') || '-W' || lpad(CAST(extract(week FROM days.day) AS text), 2, '0') AS iso_year_week,
  CAST(date_trunc('month', days.day) AS date) AS month_start,
  CAST(date_trunc('quarter', days.day) AS date) AS quarter_start,
  named.nl_holiday,
  named.be_holiday
FROM days LEFT JOIN named ON named.day = days.day;
