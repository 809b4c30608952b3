-- severity: block
-- about: of each process status exactly one version is current
-- pipeline: process-statuses
-- fix: make the warehouse afresh from the lake: partner-etl rebuild
SELECT thing.slice_day, thing.process_status_id, count(*) AS versions,
  sum(CASE WHEN seen.observed_to IS NULL THEN 1 ELSE 0 END) AS current_versions
FROM (
  SELECT process_status_id, max(observed_on) AS slice_day FROM warehouse.process_status_version
  WHERE {on_days:observed_on} GROUP BY process_status_id
) AS thing
JOIN warehouse.process_status_version AS seen ON seen.process_status_id = thing.process_status_id
GROUP BY thing.slice_day, thing.process_status_id
HAVING sum(CASE WHEN seen.observed_to IS NULL THEN 1 ELSE 0 END) <> 1
