-- severity: block
-- about: of each product in a country and language exactly one version is current
-- pipeline: products
-- fix: make the warehouse afresh from the lake: partner-etl rebuild
SELECT thing.slice_day, thing.ean, thing.country_code, thing.language, count(*) AS versions,
  sum(CASE WHEN seen.observed_to IS NULL THEN 1 ELSE 0 END) AS current_versions
FROM (
  SELECT ean, country_code, language, max(observed_on) AS slice_day FROM warehouse.dim_product
  WHERE {on_days:observed_on} GROUP BY ean, country_code, language
) AS thing
JOIN warehouse.dim_product AS seen
  ON seen.ean = thing.ean AND seen.country_code = thing.country_code AND seen.language = thing.language
GROUP BY thing.slice_day, thing.ean, thing.country_code, thing.language
HAVING sum(CASE WHEN seen.observed_to IS NULL THEN 1 ELSE 0 END) <> 1
