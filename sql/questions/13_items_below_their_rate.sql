-- question: Which items earned less than their rate says?
-- reading: Orders of last month, the 25 with the biggest shortfall: what the rate of the day makes of the price, less the reduction in force, and less what was recorded.
-- reading: The rate is what the service asks of a seller; whether you are paid by it depends on your contract. So look at shortfall_by_report too.
-- reading: shortfall_by_report takes the percentage that the report itself names; there anything but 0.00 is worth a question.
-- reading: Only items are judged whose product and rate were known on the day of the order: mart.leakage_coverage tells how many.
-- reading: Over years of history write the days as literals (order_date >= DATE '2026-02-01'): with days that it must look up first, DuckDB computes every day.
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
  order_date,
  order_id,
  order_item_id,
  ean,
  quantity,
  CAST(unit_price AS decimal(38,2)) AS unit_price,
  CAST(rate_fixed_amount AS decimal(38,2)) AS rate_fixed_amount,
  CAST(rate_percentage AS decimal(38,2)) AS rate_percentage,
  CAST(reduction_cost_reduction AS decimal(38,2)) AS reduction,
  CAST(expected_commission AS decimal(38,2)) AS expected_commission,
  CAST(recorded_commission AS decimal(38,2)) AS recorded_commission,
  CAST(shortfall AS decimal(38,2)) AS shortfall,
  CAST(shortfall_by_report AS decimal(38,2)) AS shortfall_by_report
FROM mart.commission_leakage AS leakage
WHERE order_date >= (SELECT first_day FROM last_month) AND order_date <= (SELECT last_day FROM last_month)
ORDER BY leakage.shortfall DESC, order_date, order_id, order_item_id
LIMIT 25
