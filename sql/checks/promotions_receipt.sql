-- severity: warn
-- about: every row was brought by a fetch that the receipt of its day names
-- pipeline: promotions
-- fix: make the warehouse afresh from the lake: partner-etl rebuild
SELECT fact.promotion_date AS slice_day, fact.fetch_id
FROM warehouse.fact_promotion_day AS fact
WHERE {on_days:promotion_date} AND NOT EXISTS (
  SELECT 1 FROM etl.receipt AS receipt
  WHERE receipt.pipeline = 'promotions' AND receipt.superseded_at IS NULL
    AND receipt.slice_day = fact.promotion_date AND receipt.fetch_id = fact.fetch_id
)
