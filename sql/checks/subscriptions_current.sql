-- severity: block
-- about: of each subscription exactly one version is current
-- pipeline: subscriptions
-- fix: make the warehouse afresh from the lake: partner-etl rebuild
SELECT thing.slice_day, thing.id, count(*) AS versions,
  sum(CASE WHEN seen.observed_to IS NULL THEN 1 ELSE 0 END) AS current_versions
FROM (
  SELECT id, max(observed_on) AS slice_day FROM warehouse.subscription_version
  WHERE {on_days:observed_on} GROUP BY id
) AS thing
JOIN warehouse.subscription_version AS seen ON seen.id = thing.id
GROUP BY thing.slice_day, thing.id
HAVING sum(CASE WHEN seen.observed_to IS NULL THEN 1 ELSE 0 END) <> 1
