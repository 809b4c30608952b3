CREATE OR REPLACE VIEW warehouse.reduction_in_force AS
SELECT
  account, ean, 'file' AS source, maximum_price, cost_reduction, start_date, end_date,
  greatest(start_date, etl.utc_day(valid_from)) AS first_day,
  coalesce(least(end_date, etl.utc_day(valid_to) - 1), date '9999-12-31') AS last_day
FROM warehouse.fact_reduction_version
UNION ALL
SELECT
  account, ean, 'rate', maximum_price, cost_reduction, start_date, end_date,
  greatest(start_date, etl.utc_day(valid_from)),
  coalesce(least(end_date, etl.utc_day(valid_to) - 1), date '9999-12-31')
FROM warehouse.fact_commission_reduction_version
WHERE condition = 'NEW' AND asked_price IS NULL;
