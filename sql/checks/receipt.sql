-- severity: warn
-- about: every row was brought by a fetch that the receipt of its day names
-- each: promotions, commissions
-- fix: make the warehouse afresh from the lake: partner-etl rebuild
SELECT fact.{day} AS slice_day, fact.fetch_id, {fact.required}
FROM {table} AS fact
WHERE {on_days:{day}} AND NOT EXISTS (
  SELECT 1 FROM etl.receipt AS receipt
  WHERE receipt.account = fact.account AND receipt.pipeline = '{pipeline}' AND receipt.superseded_at IS NULL
    AND receipt.slice_day = fact.{day} AND receipt.fetch_id = fact.fetch_id
)
