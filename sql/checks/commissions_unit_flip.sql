-- severity: warn
-- about: percentages are in the unit that they were in, by what commission and revenue imply
-- pipeline: commissions
-- fix: ask the service whether the percentage comes as a fraction now (0.05 for 5), or an amount in cents
-- What a row's percentage would give is about its commission, a hundredth of it (the percentage is a fraction) or a hundred
-- times it. A day is what more than half of its rows are, which is where their median lies, and is compared with the 14 days before it.
WITH counted AS (
  SELECT order_date AS day, count(*) AS row_count,
    count(CASE WHEN unit BETWEEN 0.3 AND 3 THEN 1 END) AS hundredth,
    count(CASE WHEN unit BETWEEN 30 AND 300 THEN 1 END) AS alike,
    count(CASE WHEN unit BETWEEN 3000 AND 30000 THEN 1 END) AS hundredfold
  FROM (
    SELECT order_date, abs(CAST(revenue_original_excl_vat AS DOUBLE PRECISION) * CAST(commission_percentage AS DOUBLE PRECISION) / CAST(commission_original AS DOUBLE PRECISION)) AS unit
    FROM warehouse.fact_commission_day
    WHERE {on_days:order_date:14} AND commission_original <> 0 AND commission_percentage <> 0
    OFFSET 0 -- else Postgres works the division out for each comparison
  ) AS implying
  GROUP BY order_date
),
usual AS (
  SELECT today.day, sum(before.row_count) AS row_count, sum(before.hundredth) AS hundredth, sum(before.alike) AS alike,
    sum(before.hundredfold) AS hundredfold
  FROM counted AS today JOIN counted AS before ON before.day BETWEEN today.day - 14 AND today.day - 1
  GROUP BY today.day
),
judged AS (
  SELECT counted.day, counted.row_count,
    CASE WHEN counted.hundredth * 2 > counted.row_count THEN 0.01 WHEN counted.alike * 2 > counted.row_count THEN 1
      WHEN counted.hundredfold * 2 > counted.row_count THEN 100 END AS unit,
    CASE WHEN usual.day IS NULL THEN 1 WHEN usual.hundredth * 2 > usual.row_count THEN 0.01
      WHEN usual.alike * 2 > usual.row_count THEN 1 WHEN usual.hundredfold * 2 > usual.row_count THEN 100 END AS usual_unit
  FROM counted LEFT JOIN usual ON usual.day = counted.day
)
SELECT day AS slice_day, 'commission_percentage' AS field, row_count, unit, usual_unit
FROM judged
WHERE row_count >= 5 AND unit <> usual_unit
