CREATE OR REPLACE VIEW mart.completeness AS
WITH loaded AS (
  SELECT * FROM etl.receipt WHERE pipeline IN ('promotions', 'orders', 'commissions') AND superseded_at IS NULL
),
held AS (
  SELECT DISTINCT account, pipeline, slice_day FROM etl.hold WHERE pipeline IN ('promotions', 'orders', 'commissions')
),
span AS (
  SELECT account, min(slice_day) AS first_day, max(slice_day) AS last_day
  FROM (SELECT account, slice_day FROM loaded UNION ALL SELECT account, slice_day FROM held) AS every_day
  GROUP BY account
),
days AS (
  SELECT account, etl.each_day(first_day, last_day) AS day FROM span
)
SELECT
  days.account,
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
LEFT JOIN loaded ON loaded.account = days.account AND loaded.pipeline = report.pipeline AND loaded.slice_day = days.day
LEFT JOIN held ON held.account = days.account AND held.pipeline = report.pipeline AND held.slice_day = days.day;
