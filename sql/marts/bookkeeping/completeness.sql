CREATE OR REPLACE VIEW mart.completeness AS
WITH loaded AS (
  SELECT * FROM etl.receipt WHERE pipeline IN ('promotions', 'orders', 'commissions') AND superseded_at IS NULL
),
held AS (
  SELECT DISTINCT pipeline, slice_day FROM etl.hold WHERE pipeline IN ('promotions', 'orders', 'commissions')
),
span AS (
  SELECT min(slice_day) AS first_day, max(slice_day) AS last_day
  FROM (SELECT slice_day FROM loaded UNION ALL SELECT slice_day FROM held) AS every_day
),
days AS (
  SELECT etl.each_day(first_day, last_day) AS day FROM span
)
SELECT
  report.pipeline,
  days.day,
  CASE
    WHEN held.slice_day IS NOT NULL THEN 'held'
    WHEN loaded.slice_day IS NULL THEN 'missing'
    WHEN loaded.settled THEN 'settled'
    ELSE 'open'
  END AS state,
  loaded.rows,
  loaded.rejects,
  loaded.fetched_at,
  loaded.loaded_at
FROM days
CROSS JOIN (VALUES ('promotions'), ('orders'), ('commissions')) AS report(pipeline)
LEFT JOIN loaded ON loaded.pipeline = report.pipeline AND loaded.slice_day = days.day
LEFT JOIN held ON held.pipeline = report.pipeline AND held.slice_day = days.day;
