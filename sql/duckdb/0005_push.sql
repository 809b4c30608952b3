-- Push: the messages that were received, every delivery of them, and the state of subscriptions and processes. The columns are
-- those of pipelines/*.ts, as in 0002_reports.sql, and as there they carry no key and no index;
-- versions are as in 0004_lookups.sql.

-- One message, once however often it was delivered.
CREATE TABLE warehouse.fact_push_message (
  retailer_id        VARCHAR NOT NULL,
  "timestamp"        TIMESTAMP WITH TIME ZONE NOT NULL,
  resource           VARCHAR NOT NULL,
  type               VARCHAR NOT NULL,
  resource_id        VARCHAR NOT NULL,
  metadata           JSON,
  links              JSON,
  key_id             VARCHAR,
  body_sha256        VARCHAR,
  received_on        DATE NOT NULL,
  first_delivered_at TIMESTAMP WITH TIME ZONE NOT NULL,
  last_delivered_at  TIMESTAMP WITH TIME ZONE,
  deliveries         BIGINT,
  bodies             BIGINT,
  delivery_id        VARCHAR,
  extra              JSON,
  fetch_id           VARCHAR NOT NULL,
  loaded_at          TIMESTAMP WITH TIME ZONE NOT NULL
);

-- One delivery, by the id that the receiver gave it.
CREATE TABLE warehouse.push_delivery (
  delivery_id    VARCHAR NOT NULL,
  received_on    DATE NOT NULL,
  received_at    TIMESTAMP WITH TIME ZONE NOT NULL,
  source_address VARCHAR,
  retailer_id    VARCHAR NOT NULL,
  "timestamp"    TIMESTAMP WITH TIME ZONE NOT NULL,
  resource       VARCHAR NOT NULL,
  type           VARCHAR NOT NULL,
  resource_id    VARCHAR NOT NULL,
  key_id         VARCHAR,
  body_sha256    VARCHAR,
  extra          JSON,
  fetch_id       VARCHAR NOT NULL,
  loaded_at      TIMESTAMP WITH TIME ZONE NOT NULL
);

-- One version of a subscription.
CREATE TABLE warehouse.subscription_version (
  id            VARCHAR NOT NULL,
  url           VARCHAR,
  resources     JSON,
  is_present    BOOLEAN NOT NULL,
  observed_on   DATE NOT NULL,
  observed_from TIMESTAMP WITH TIME ZONE NOT NULL,
  extra         JSON,
  fetch_id      VARCHAR NOT NULL,
  loaded_at     TIMESTAMP WITH TIME ZONE NOT NULL,
  observed_to   TIMESTAMP WITH TIME ZONE
);

-- One version of a process status.
CREATE TABLE warehouse.process_status_version (
  process_status_id VARCHAR NOT NULL,
  observed_on       DATE NOT NULL,
  observed_from     TIMESTAMP WITH TIME ZONE NOT NULL,
  outcome           VARCHAR NOT NULL,
  entity_id         VARCHAR,
  event_type        VARCHAR,
  description       VARCHAR,
  status            VARCHAR,
  error_message     VARCHAR,
  create_timestamp  TIMESTAMP WITH TIME ZONE,
  links             JSON,
  asked_by          VARCHAR,
  reason            VARCHAR,
  extra             JSON,
  fetch_id          VARCHAR NOT NULL,
  loaded_at         TIMESTAMP WITH TIME ZONE NOT NULL,
  observed_to       TIMESTAMP WITH TIME ZONE
);

-- One version of what lies behind a link.
CREATE TABLE warehouse.push_link (
  href          VARCHAR NOT NULL,
  observed_on   DATE NOT NULL,
  observed_from TIMESTAMP WITH TIME ZONE NOT NULL,
  resource      VARCHAR NOT NULL,
  resource_id   VARCHAR NOT NULL,
  outcome       VARCHAR NOT NULL,
  payload       JSON,
  reason        VARCHAR,
  extra         JSON,
  fetch_id      VARCHAR NOT NULL,
  loaded_at     TIMESTAMP WITH TIME ZONE NOT NULL,
  observed_to   TIMESTAMP WITH TIME ZONE
);

-- Subscriptions, one row each: as they were listed last.
CREATE VIEW warehouse.subscription AS
WITH listed AS (
  SELECT id, url, resources, extra, row_number() OVER (PARTITION BY id ORDER BY observed_from DESC) AS back
  FROM main.subscription_version
  WHERE is_present
), since AS (
  SELECT id, min(observed_from) AS first_seen FROM main.subscription_version GROUP BY id
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
FROM main.subscription_version AS newest
JOIN since ON since.id = newest.id
LEFT JOIN listed ON listed.id = newest.id AND listed.back = 1
WHERE newest.observed_to IS NULL;
COMMENT ON VIEW warehouse.subscription IS 'Push subscriptions, one row each, with what was listed last; is_active: it still was when they were listed last.';

-- Process statuses, one row each: what was told last, also after the service has forgotten it.
CREATE VIEW warehouse.process_status AS
WITH told AS (
  SELECT *, row_number() OVER (PARTITION BY process_status_id ORDER BY observed_from DESC) AS back
  FROM main.process_status_version
  WHERE outcome = 'found'
), summed AS (
  SELECT
    process_status_id,
    min(observed_from) AS first_seen,
    max(CASE WHEN asked_by = 'start' THEN 1 ELSE 0 END) = 1 AS started_here,
    min(CASE WHEN status IN ('SUCCESS', 'FAILURE', 'TIMEOUT') THEN observed_from END) AS end_seen,
    min(CASE WHEN status IN ('SUCCESS', 'FAILURE', 'TIMEOUT') THEN observed_on END) AS end_seen_on
  FROM main.process_status_version
  GROUP BY process_status_id
)
SELECT
  newest.process_status_id,
  told.entity_id,
  told.event_type,
  told.description,
  told.status,
  told.error_message,
  told.create_timestamp,
  summed.started_here,
  summed.first_seen,
  summed.end_seen,
  summed.end_seen_on,
  newest.outcome <> 'found' AS is_forgotten,
  told.links,
  told.extra,
  newest.fetch_id,
  newest.loaded_at
FROM main.process_status_version AS newest
JOIN summed ON summed.process_status_id = newest.process_status_id
LEFT JOIN told ON told.process_status_id = newest.process_status_id AND told.back = 1
WHERE newest.observed_to IS NULL;
COMMENT ON VIEW warehouse.process_status IS 'Asynchronous requests, one row each, with what was told last. started_here: by this installation; end_seen: when its end was first told; is_forgotten: the service did not know it any more when it was asked last.';

-- What came and what did not. A message is late when its first delivery came more than a minute after its own time, so that the
-- service must have tried before; out of order when one with a later time had been delivered before it on the same day. Missing
-- are processes that we started, whose end is known, and of which no message came although a subscription asked for it: counted
-- when every retry (15 minutes) and a margin have passed, on the day on which the end was seen.
CREATE VIEW mart.push_day AS
WITH firsts AS (
  SELECT
    received_on AS day,
    first_delivered_at > "timestamp" + INTERVAL '1 minute' AS is_late,
    "timestamp" < max("timestamp") OVER (
      PARTITION BY received_on ORDER BY first_delivered_at, delivery_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS is_out_of_order
  FROM main.fact_push_message
), messages AS (
  SELECT
    day,
    count(*) AS messages,
    sum(CASE WHEN is_late THEN 1 ELSE 0 END) AS late,
    sum(CASE WHEN is_out_of_order THEN 1 ELSE 0 END) AS out_of_order
  FROM firsts
  GROUP BY day
), deliveries AS (
  SELECT received_on AS day, count(*) AS deliveries FROM main.push_delivery GROUP BY received_on
), missing AS (
  SELECT ended.end_seen_on AS day, count(*) AS missing
  FROM main.process_status AS ended
  WHERE ended.started_here
    AND ended.end_seen + INTERVAL '20 minutes' < CURRENT_TIMESTAMP
    AND EXISTS (
      SELECT 1 FROM main.subscription_version AS asked
      WHERE asked.is_present
        AND asked.resources::VARCHAR LIKE '%"PROCESS_STATUS"%'
        AND asked.observed_from <= ended.end_seen
        AND (asked.observed_to IS NULL OR asked.observed_to > ended.end_seen)
    )
    AND NOT EXISTS (
      SELECT 1 FROM main.fact_push_message AS told
      WHERE told.resource = 'PROCESS_STATUS' AND told.resource_id = ended.process_status_id
    )
  GROUP BY ended.end_seen_on
), days AS (
  SELECT day FROM messages UNION SELECT day FROM deliveries UNION SELECT day FROM missing
)
SELECT
  days.day,
  CAST(coalesce(messages.messages, 0) AS BIGINT) AS messages,
  CAST(coalesce(deliveries.deliveries, 0) AS BIGINT) AS deliveries,
  CAST(coalesce(deliveries.deliveries, 0) - coalesce(messages.messages, 0) AS BIGINT) AS duplicates,
  CAST(coalesce(messages.out_of_order, 0) AS BIGINT) AS out_of_order,
  CAST(coalesce(messages.late, 0) AS BIGINT) AS late,
  CAST(coalesce(missing.missing, 0) AS BIGINT) AS missing
FROM days
LEFT JOIN messages ON messages.day = days.day
LEFT JOIN deliveries ON deliveries.day = days.day
LEFT JOIN missing ON missing.day = days.day;
COMMENT ON VIEW mart.push_day IS 'Push messages by the day on which they came: new messages, deliveries, duplicates among them, messages out of order and late; and by the day on which it was seen, ended processes of ours of which no message came.';
