-- severity: block
-- about: of each link of a push message exactly one version is current
-- pipeline: push-links
-- fix: make the warehouse afresh from the lake: partner-etl rebuild
SELECT thing.slice_day, thing.href, count(*) AS versions,
  sum(CASE WHEN seen.observed_to IS NULL THEN 1 ELSE 0 END) AS current_versions
FROM (
  SELECT href, max(observed_on) AS slice_day FROM warehouse.push_link
  WHERE {on_days:observed_on} GROUP BY href
) AS thing
JOIN warehouse.push_link AS seen ON seen.href = thing.href
GROUP BY thing.slice_day, thing.href
HAVING sum(CASE WHEN seen.observed_to IS NULL THEN 1 ELSE 0 END) <> 1
