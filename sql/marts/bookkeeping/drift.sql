-- What dashboards ask of drift: one row for each oddity, however many answers showed it. The rows by fetch lie beneath, so
-- that recording one fetch again does not count it twice.
CREATE OR REPLACE VIEW etl.drift AS
SELECT
  account,
  pipeline,
  kind,
  field,
  min(seen_at) AS first_seen_at,
  min(fetch_id) AS first_fetch_id,
  max(seen_at) AS last_seen_at,
  max(fetch_id) AS last_fetch_id,
  CAST(sum(count) AS bigint) AS count,
  (array_agg(example ORDER BY fetch_id))[1] AS example
FROM etl.drift_by_fetch
GROUP BY account, pipeline, kind, field;
