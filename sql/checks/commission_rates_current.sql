-- severity: block
-- about: of each rate asked for exactly one version is current
-- pipeline: commission-rates
-- fix: make the warehouse afresh from the lake: partner-etl rebuild
SELECT thing.slice_day, thing.ean, thing.condition, thing.asked_price, count(*) AS versions,
  sum(CASE WHEN seen.observed_to IS NULL THEN 1 ELSE 0 END) AS current_versions
FROM (
  SELECT ean, condition, asked_price, max(observed_on) AS slice_day FROM warehouse.fact_commission_rate
  WHERE {on_days:observed_on} GROUP BY ean, condition, asked_price
) AS thing
JOIN warehouse.fact_commission_rate AS seen
  ON seen.ean = thing.ean AND seen.condition = thing.condition
  AND seen.asked_price IS NOT DISTINCT FROM thing.asked_price
GROUP BY thing.slice_day, thing.ean, thing.condition, thing.asked_price
HAVING sum(CASE WHEN seen.observed_to IS NULL THEN 1 ELSE 0 END) <> 1
