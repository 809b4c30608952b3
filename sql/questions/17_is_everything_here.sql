-- question: Is everything here, and how fresh is it?
-- reading: The last 60 days up to the newest day that any of the three reports has.
-- reading: missing days were never loaded; of held days the newest answer is kept back: partner-etl status says why, partner-etl release applies it.
-- reading: open days are loaded and may still change, settled ones can change no more; the promotions report has no open state.
-- reading: rejected_rows could not be loaded and are set aside (partner-etl rejects); last_fetched_on is the day (UTC) of the newest answer that brought something new.
SELECT
  completeness.pipeline AS report,
  count(*) AS days,
  count(*) FILTER (WHERE completeness.state = 'missing') AS missing_days,
  count(*) FILTER (WHERE completeness.state = 'held') AS held_days,
  count(*) FILTER (WHERE completeness.state = 'open') AS open_days,
  count(*) FILTER (WHERE completeness.state = 'settled') AS settled_days,
  min(CASE WHEN completeness.state IN ('missing', 'held') THEN completeness.day END) AS first_to_look_at,
  CAST(coalesce(sum(completeness.rejects), 0) AS bigint) AS rejected_rows,
  freshness.newest_day,
  CAST(timezone('UTC', freshness.last_fetched_at) AS date) AS last_fetched_on
FROM mart.completeness
LEFT JOIN mart.freshness ON freshness.pipeline = completeness.pipeline
WHERE completeness.day > (SELECT max(day) FROM mart.completeness) - 60
GROUP BY completeness.pipeline, freshness.newest_day, freshness.last_fetched_at
ORDER BY completeness.pipeline
