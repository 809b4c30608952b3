-- Subscriptions, one row each: as they were listed last.
CREATE OR REPLACE VIEW warehouse.subscription AS
WITH listed AS (
  SELECT id, url, resources, extra, row_number() OVER (PARTITION BY id ORDER BY observed_from DESC) AS back
  FROM warehouse.subscription_version
  WHERE is_present
), since AS (
  SELECT id, min(observed_from) AS first_seen FROM warehouse.subscription_version GROUP BY id
)
SELECT
  newest.id,
  listed.url,
  listed.resources,
  newest.is_present AS is_active,
  since.first_seen,
  newest.observed_from AS changed_at,
  listed.extra,
  newest.fetch_id,
  newest.loaded_at
FROM warehouse.subscription_version AS newest
JOIN since ON since.id = newest.id
LEFT JOIN listed ON listed.id = newest.id AND listed.back = 1
WHERE newest.observed_to IS NULL;
