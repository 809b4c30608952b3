-- severity: block
-- about: every boundary of a reduction stands inside a rate that was seen at the same instant
-- pipeline: commission-rates
-- fix: where verify finds the lake sound, make the warehouse afresh from it: partner-etl rebuild; else make both again from the raw store: partner-etl replay commission-rates --from D --to D
SELECT part.observed_on AS slice_day, part.ean, part.condition, part.asked_price, part.valid_from, part.position
FROM warehouse.fact_commission_reduction AS part
WHERE {on_days:observed_on} AND NOT EXISTS (
  SELECT 1 FROM warehouse.fact_commission_rate AS rate
  WHERE rate.account = part.account AND rate.ean = part.ean AND rate.condition = part.condition
    AND rate.asked_price IS NOT DISTINCT FROM part.asked_price AND rate.valid_from = part.valid_from
)
