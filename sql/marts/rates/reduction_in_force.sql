CREATE OR REPLACE VIEW warehouse.reduction_in_force AS
SELECT
  ean, 'file' AS source, maximum_price, cost_reduction, start_date, end_date,
  greatest(start_date, etl.utc_day(observed_from)) AS first_day,
  coalesce(least(end_date, etl.utc_day(observed_to) - 1), date '9999-12-31') AS last_day
FROM warehouse.reduction_line
WHERE is_present
UNION ALL
SELECT
  ean, 'rate', maximum_price, cost_reduction, start_date, end_date,
  greatest(start_date, etl.utc_day(observed_from)),
  coalesce(least(end_date, etl.utc_day(observed_to) - 1), date '9999-12-31')
FROM warehouse.fact_commission_reduction
WHERE condition = 'NEW' AND asked_price IS NULL;
