-- Asynchronous requests, one row each: what the service said last, also after it has forgotten them.
CREATE OR REPLACE VIEW mart.process AS
WITH said AS (
  SELECT *, row_number() OVER (PARTITION BY account, process_status_id ORDER BY valid_from DESC) AS back
  FROM warehouse.process_status_version
  WHERE outcome = 'found'
), summed AS (
  SELECT
    account,
    process_status_id,
    min(valid_from) AS first_seen,
    max(CASE WHEN asked_by = 'start' THEN 1 ELSE 0 END) = 1 AS started_here,
    min(CASE WHEN status IN ('SUCCESS', 'FAILURE', 'TIMEOUT') THEN valid_from END) AS end_seen,
    min(CASE WHEN status IN ('SUCCESS', 'FAILURE', 'TIMEOUT') THEN observed_on END) AS end_seen_on
  FROM warehouse.process_status_version
  GROUP BY account, process_status_id
)
SELECT
  newest.account,
  newest.process_status_id,
  said.entity_id,
  said.event_type,
  said.description,
  said.status,
  said.error_message,
  said.create_timestamp,
  summed.started_here,
  summed.first_seen,
  summed.end_seen,
  summed.end_seen_on,
  newest.outcome <> 'found' AS is_forgotten,
  said.links,
  said.extra,
  newest.fetch_id,
  newest.loaded_at
FROM warehouse.process_status AS newest
JOIN summed ON summed.account = newest.account AND summed.process_status_id = newest.process_status_id
LEFT JOIN said ON said.account = newest.account AND said.process_status_id = newest.process_status_id AND said.back = 1;
