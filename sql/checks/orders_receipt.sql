-- severity: warn
-- about: every row was brought by a fetch that the receipt of its day names
-- pipeline: orders
-- fix: make the warehouse afresh from the lake: partner-etl rebuild
SELECT fact.order_date AS slice_day, fact.fetch_id, fact.order_id, fact.order_item_id
FROM warehouse.fact_order_item AS fact
WHERE {on_days:order_date} AND NOT EXISTS (
  SELECT 1 FROM etl.receipt AS receipt
  WHERE receipt.pipeline = 'orders' AND receipt.superseded_at IS NULL
    AND receipt.slice_day = fact.order_date AND receipt.fetch_id = fact.fetch_id
)
