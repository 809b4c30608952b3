-- severity: block
-- about: of each line of the reductions file exactly one version is current
-- pipeline: reductions
-- fix: make the warehouse afresh from the lake: partner-etl rebuild
-- All versions of an EAN are read once. Joined line by line, Postgres takes its five columns for independent of each other, looks for
-- each line by the EAN alone, and meets every campaign that it ever had: 1,850,000 versions took more than the ten minutes of a check.
SELECT max(CASE WHEN {on_days:observed_on} THEN observed_on END) AS slice_day,
  account, ean, maximum_price, cost_reduction, start_date, end_date,
  count(*) AS versions,
  sum(CASE WHEN observed_to IS NULL THEN 1 ELSE 0 END) AS current_versions
FROM warehouse.reduction_line
WHERE ean IN (SELECT ean FROM warehouse.reduction_line WHERE {on_days:observed_on})
GROUP BY account, ean, maximum_price, cost_reduction, start_date, end_date
HAVING sum(CASE WHEN observed_to IS NULL THEN 1 ELSE 0 END) <> 1 AND max(CASE WHEN {on_days:observed_on} THEN 1 END) = 1
