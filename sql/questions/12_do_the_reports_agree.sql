-- question: Do the three reports tell the same of last month, and where they do not, why?
-- reading: A group is a day, site, tool, name and sub-ID; each is compared with the orders report and named by the gravest difference.
-- reading: timing will go away by itself: the reports were fetched at different moments; vanished are items that are gone from the orders report alone.
-- reading: missing_sub_id is booked under another sub-ID; rate and vat agree but for the commission, or for revenue with VAT; not_loaded lacks a report.
-- reading: unexplained is what to ask the service about: mart.reconciliation_difference shows the groups and figures.
-- reading: The differences are that report's commission less the one of the orders report; approved and open are the commissions report's.
-- reading: Over years of history write the days as literals (day >= DATE '2026-02-01'): with days that it must look up first, DuckDB computes every day.
WITH newest AS (
  SELECT max(slice_day) AS day FROM etl.receipt WHERE pipeline = 'orders' AND superseded_at IS NULL
),
last_month AS (
  SELECT
    CAST(date_trunc('month', day) - INTERVAL '1 month' AS date) AS first_day,
    CAST(date_trunc('month', day) - INTERVAL '1 day' AS date) AS last_day
  FROM newest
)
SELECT
  class,
  count(*) AS groups,
  count(DISTINCT day) AS days,
  CAST(sum(orders_commission) AS decimal(38,2)) AS orders_commission,
  CAST(sum(commission_promotions_orders) AS decimal(38,2)) AS promotions_difference,
  CAST(sum(commission_commissions_orders) AS decimal(38,2)) AS commissions_difference,
  CAST(sum(approved_difference) AS decimal(38,2)) AS approved_difference,
  CAST(sum(open_difference) AS decimal(38,2)) AS open_difference
FROM mart.reconciliation
WHERE day >= (SELECT first_day FROM last_month) AND day <= (SELECT last_day FROM last_month)
GROUP BY class
ORDER BY CASE class
  WHEN 'not_loaded' THEN 1 WHEN 'unexplained' THEN 2 WHEN 'rate' THEN 3 WHEN 'vat' THEN 4
  WHEN 'missing_sub_id' THEN 5 WHEN 'vanished' THEN 6 WHEN 'timing' THEN 7 ELSE 8 END
