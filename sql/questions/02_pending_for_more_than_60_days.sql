-- question: Which orders have been waiting for a decision for more than 60 days?
-- reading: A row is an ordered item that is neither approved nor rejected; the fifty with the highest commission.
-- reading: Days are counted from the order to the newest loaded day, and not to today.
-- reading: An item that is older than the lookback is asked for again only now and then, so it may have been decided in the meantime.
WITH newest AS (
  SELECT max(slice_day) AS day FROM etl.receipt WHERE pipeline = 'orders' AND superseded_at IS NULL
)
SELECT
  order_date,
  (SELECT day FROM newest) - order_date AS waiting_days,
  order_id,
  order_item_id,
  site_name,
  product_title,
  status,
  quantity,
  CAST(commission AS decimal(38,2)) AS commission
FROM warehouse.fact_order_item
WHERE order_date < (SELECT day FROM newest) - 60
  AND coalesce(status_group, 'unknown') <> 'rejected'
  AND coalesce(status_group, 'unknown') <> 'approved'
ORDER BY commission DESC NULLS LAST, order_date, order_id, order_item_id
LIMIT 50
