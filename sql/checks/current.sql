-- severity: block
-- about: of each thing that {pipeline} are about exactly one version is current
-- each: commission-rates, process-statuses, products, push-links, subscriptions
-- fix: make the warehouse afresh from the lake: partner-etl rebuild
-- The reductions have a check of their own: their things are too many to be looked for one by one.
SELECT slice_day, {things}, count(*) AS versions, sum(CASE WHEN observed_to IS NULL THEN 1 ELSE 0 END) AS current_versions
FROM (
  SELECT thing.slice_day, {thing.things}, seen.observed_to
  FROM (SELECT {things}, max({day}) AS slice_day FROM {table} WHERE {on_days:{day}} GROUP BY {things}) AS thing
  JOIN {table} AS seen ON {same}
) AS versions
GROUP BY slice_day, {things}
HAVING sum(CASE WHEN observed_to IS NULL THEN 1 ELSE 0 END) <> 1
