-- severity: block
-- about: of each line of the reductions file exactly one version is current
-- pipeline: reductions
-- mend: make the warehouse afresh from the lake: partner-etl rebuild
SELECT thing.slice_day, thing.ean, thing.maximum_price, thing.cost_reduction, thing.start_date, thing.end_date,
  count(*) AS versions,
  sum(CASE WHEN seen.observed_to IS NULL THEN 1 ELSE 0 END) AS current_versions
FROM (
  SELECT ean, maximum_price, cost_reduction, start_date, end_date, max(observed_on) AS slice_day FROM warehouse.reduction_line
  WHERE {on_days:observed_on} GROUP BY ean, maximum_price, cost_reduction, start_date, end_date
) AS thing
-- The equalities tell nothing new, but they can be hashed: by its EAN alone a line meets every campaign that the EAN ever had.
JOIN warehouse.reduction_line AS seen
  ON seen.ean = thing.ean
  AND coalesce(seen.maximum_price, -1) = coalesce(thing.maximum_price, -1)
  AND coalesce(seen.cost_reduction, -1) = coalesce(thing.cost_reduction, -1)
  AND coalesce(seen.start_date, DATE '0001-01-01') = coalesce(thing.start_date, DATE '0001-01-01')
  AND coalesce(seen.end_date, DATE '0001-01-01') = coalesce(thing.end_date, DATE '0001-01-01')
  AND seen.maximum_price IS NOT DISTINCT FROM thing.maximum_price
  AND seen.cost_reduction IS NOT DISTINCT FROM thing.cost_reduction
  AND seen.start_date IS NOT DISTINCT FROM thing.start_date AND seen.end_date IS NOT DISTINCT FROM thing.end_date
GROUP BY thing.slice_day, thing.ean, thing.maximum_price, thing.cost_reduction, thing.start_date, thing.end_date
HAVING sum(CASE WHEN seen.observed_to IS NULL THEN 1 ELSE 0 END) <> 1
