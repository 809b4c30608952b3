-- severity: warn
-- about: the three reports tell the same commission of a day, to 1 % and 10 euros
-- pipeline: orders, promotions, commissions
-- fix: SELECT * FROM mart.reconciliation WHERE day = 'D' AND class <> 'equal' says where they differ; fetch the three again when it stays
-- The sums of mart.reconciliation over a day. Those of whole reports stand in the receipts already.
WITH receipts AS (
  SELECT slice_day, pipeline, CAST(sums AS json) AS sums FROM etl.receipt WHERE superseded_at IS NULL AND {on_days:slice_day}
),
approved AS (
  SELECT order_date, sum(commission) AS commission FROM warehouse.fact_order_item
  WHERE {on_days:order_date} AND status_group = 'approved' GROUP BY order_date
),
reported AS (
  SELECT orders.slice_day,
    coalesce(CAST((promotions.sums ->> 'commission') AS DECIMAL(38,6)), 0) AS promotions_commission,
    coalesce(CAST((orders.sums ->> 'commission') AS DECIMAL(38,6)), 0) AS orders_commission,
    coalesce(CAST((commissions.sums ->> 'commission_original') AS DECIMAL(38,6)), 0) AS commissions_original,
    coalesce(approved.commission, 0) AS orders_approved,
    coalesce(CAST((commissions.sums ->> 'commission_approved') AS DECIMAL(38,6)), 0) AS commissions_approved
  FROM receipts AS orders
  JOIN receipts AS promotions ON promotions.slice_day = orders.slice_day AND promotions.pipeline = 'promotions'
  JOIN receipts AS commissions ON commissions.slice_day = orders.slice_day AND commissions.pipeline = 'commissions'
  LEFT JOIN approved ON approved.order_date = orders.slice_day
  WHERE orders.pipeline = 'orders'
),
differences AS (
  SELECT *,
    greatest(promotions_commission, orders_commission, commissions_original)
      - least(promotions_commission, orders_commission, commissions_original) AS difference,
    greatest(abs(promotions_commission), abs(orders_commission), abs(commissions_original)) AS most,
    abs(orders_approved - commissions_approved) AS approved_difference,
    greatest(abs(orders_approved), abs(commissions_approved)) AS most_approved
  FROM reported
)
SELECT slice_day, promotions_commission, orders_commission, commissions_original, orders_approved, commissions_approved
FROM differences
WHERE (difference > 10 AND difference > 0.01 * most) OR (approved_difference > 10 AND approved_difference > 0.01 * most_approved)
