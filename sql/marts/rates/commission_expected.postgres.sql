-- Every sold item once, judged or not, so that a condition on the day reaches the facts in all that is made of it. The service's own
-- total, where the very price was asked for, is taken as it is. Reductions are joined all at once and the greatest kept: looked for item
-- by item they take four times as long. Those of the file are joined from the two tables that they lie in: of a view over both the planner
-- knows no statistics, and each process sorts all of them (4.0 s a month instead of 1.8). A line is an array, so that the greatest of three
-- is one word: amount, 1 for a rate's own, price limit.
CREATE OR REPLACE VIEW mart.commission_expected AS
WITH rate AS NOT MATERIALIZED (
  SELECT
    *,
    etl.utc_day(valid_from) AS first_day,
    coalesce(etl.utc_day(valid_to) - 1, date '9999-12-31') AS last_day
  FROM warehouse.fact_commission_rate_version
  WHERE condition = 'NEW' AND outcome = 'found'
),
rated AS (
  SELECT DISTINCT ON (item.order_date, item.order_id COLLATE "C", item.order_item_id COLLATE "C", item.account)
    item.account, item.order_date, item.order_id, item.order_item_id, item.site_code, item.sub_id, item.product_id, product_ean.ean,
    item.quantity, item.price_incl_vat AS unit_price,
    CASE WHEN asked.ean IS NULL THEN plain.fixed_amount ELSE asked.fixed_amount END AS fixed_amount,
    CASE WHEN asked.ean IS NULL THEN plain.percentage ELSE asked.percentage END AS percentage,
    CASE WHEN asked.ean IS NULL THEN plain.valid_from ELSE asked.valid_from END AS valid_from,
    CASE WHEN asked.ean IS NULL THEN plain.valid_to ELSE asked.valid_to END AS valid_to,
    asked.asked_price, asked.total_cost,
    asked.total_cost_without_reduction - asked.total_cost AS reduced_by,
    coalesce(item.commission, 0) AS commission,
    item.commission_percentage,
    item.price_excl_vat * item.quantity AS revenue_excl_vat,
    greatest(
      CASE WHEN present.ean IS NOT NULL THEN ARRAY[present.cost_reduction, 0, coalesce(present.maximum_price, 'Infinity')] END,
      CASE WHEN past.ean IS NOT NULL THEN ARRAY[past.cost_reduction, 0, coalesce(past.maximum_price, 'Infinity')] END,
      CASE WHEN own.ean IS NOT NULL THEN ARRAY[own.cost_reduction, 1, coalesce(own.maximum_price, 'Infinity')] END
    ) AS line
  FROM warehouse.fact_order_item AS item
  LEFT JOIN warehouse.product_ean AS product_ean
    ON product_ean.account = item.account AND product_ean.product_id = item.product_id
  LEFT JOIN rate AS asked
    ON asked.account = item.account AND asked.ean = product_ean.ean AND asked.asked_price = item.price_incl_vat
    AND asked.first_day <= item.order_date AND asked.last_day >= item.order_date AND asked.total_cost IS NOT NULL
  LEFT JOIN rate AS plain
    ON plain.account = item.account AND plain.ean = product_ean.ean AND plain.asked_price IS NULL
    AND plain.first_day <= item.order_date AND plain.last_day >= item.order_date
  LEFT JOIN warehouse.fact_reduction AS present
    ON present.account = item.account AND present.ean = product_ean.ean
    AND coalesce(present.start_date, date '0001-01-01') <= item.order_date AND coalesce(present.end_date, date '9999-12-31') >= item.order_date
    AND etl.utc_day(present.valid_from) <= item.order_date
    AND (present.maximum_price IS NULL OR present.maximum_price >= item.price_incl_vat) AND present.cost_reduction > 0
  LEFT JOIN warehouse.fact_reduction_history AS past
    ON past.account = item.account AND past.ean = product_ean.ean
    AND coalesce(past.start_date, date '0001-01-01') <= item.order_date AND coalesce(past.end_date, date '9999-12-31') >= item.order_date
    AND etl.utc_day(past.valid_from) <= item.order_date AND etl.utc_day(past.valid_to) > item.order_date
    AND (past.maximum_price IS NULL OR past.maximum_price >= item.price_incl_vat) AND past.cost_reduction > 0
  LEFT JOIN warehouse.reduction_in_force AS own
    ON own.source = 'rate' AND own.account = item.account AND own.ean = product_ean.ean
    AND own.first_day <= item.order_date AND own.last_day >= item.order_date
    AND (own.maximum_price IS NULL OR own.maximum_price >= item.price_incl_vat) AND own.cost_reduction > 0
  WHERE coalesce(item.status_group, 'unknown') <> 'rejected' AND coalesce(item.quantity, 1) > 0
  ORDER BY item.order_date, item.order_id COLLATE "C", item.order_item_id COLLATE "C", item.account, line DESC NULLS LAST
),
reduced AS (
  SELECT
    *,
    CAST(line[1] AS numeric(18,6)) AS cost_reduction,
    CASE line[2] WHEN 1 THEN 'rate' WHEN 0 THEN 'file' END AS source,
    CAST(nullif(line[3], 'Infinity') AS numeric(18,6)) AS maximum_price
  FROM rated
),
expected AS (
  SELECT
    *,
    CAST(quantity * CASE
      WHEN total_cost IS NOT NULL THEN total_cost
      WHEN unit_price IS NOT NULL AND (fixed_amount IS NOT NULL OR percentage IS NOT NULL) THEN greatest(
        round(coalesce(fixed_amount, 0) + coalesce(percentage, 0) * unit_price * 0.01, 2) - coalesce(cost_reduction, 0), 0)
    END AS numeric(38,6)) AS expected_commission,
    CAST(round(revenue_excl_vat * commission_percentage * 0.01, 2) AS numeric(38,6)) AS expected_by_report
  FROM reduced
)
SELECT
  account, order_date, order_id, order_item_id, site_code, sub_id, product_id, ean, quantity, unit_price,
  fixed_amount AS rate_fixed_amount,
  percentage AS rate_percentage,
  valid_from AS rate_valid_from,
  valid_to AS rate_valid_to,
  asked_price,
  CASE WHEN total_cost IS NULL THEN maximum_price END AS reduction_maximum_price,
  CASE WHEN total_cost IS NULL THEN cost_reduction ELSE reduced_by END AS reduction_cost_reduction,
  CASE WHEN total_cost IS NULL THEN source WHEN reduced_by > 0 THEN 'total' END AS reduction_source,
  expected_commission,
  commission AS recorded_commission,
  expected_commission - commission AS shortfall,
  commission_percentage AS reported_percentage,
  expected_by_report,
  expected_by_report - commission AS shortfall_by_report
FROM expected;
