CREATE OR REPLACE VIEW mart.freshness AS
SELECT
  account,
  pipeline,
  max(slice_day) AS newest_day,
  count(*) AS slices,
  CAST(sum(rows) AS bigint) AS rows,
  CAST(sum(rejects) AS bigint) AS rejects,
  CAST(sum(CASE WHEN settled THEN 0 ELSE 1 END) AS bigint) AS open_slices,
  max(fetched_at) AS last_fetched_at,
  max(loaded_at) AS last_loaded_at
FROM etl.receipt
WHERE superseded_at IS NULL
GROUP BY account, pipeline;
