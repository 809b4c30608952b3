-- Push: the messages that were received, every delivery of them, and the state of subscriptions and processes. The columns are
-- those of pipelines/*.ts, as in 0002_reports.sql; versions are as in 0004_lookups.sql.

-- One message, once however often it was delivered.
CREATE TABLE warehouse.fact_push_message (
  retailer_id        text NOT NULL,
  "timestamp"        timestamp with time zone NOT NULL,
  resource           text NOT NULL,
  type               text NOT NULL,
  resource_id        text NOT NULL,
  metadata           jsonb,
  links              jsonb,
  key_id             text,
  body_sha256        text,
  received_on        date NOT NULL,
  first_delivered_at timestamp with time zone NOT NULL,
  last_delivered_at  timestamp with time zone,
  deliveries         bigint,
  bodies             bigint,
  delivery_id        text,
  extra              jsonb,
  fetch_id           text NOT NULL,
  loaded_at          timestamp with time zone NOT NULL,
  PRIMARY KEY (retailer_id, resource, type, resource_id, "timestamp")
);
CREATE INDEX fact_push_message_day ON warehouse.fact_push_message (received_on);
CREATE INDEX fact_push_message_resource ON warehouse.fact_push_message (resource_id);

-- One delivery, by the id that the receiver gave it.
CREATE TABLE warehouse.push_delivery (
  delivery_id    text NOT NULL,
  received_on    date NOT NULL,
  received_at    timestamp with time zone NOT NULL,
  source_address text,
  retailer_id    text NOT NULL,
  "timestamp"    timestamp with time zone NOT NULL,
  resource       text NOT NULL,
  type           text NOT NULL,
  resource_id    text NOT NULL,
  key_id         text,
  body_sha256    text,
  extra          jsonb,
  fetch_id       text NOT NULL,
  loaded_at      timestamp with time zone NOT NULL,
  PRIMARY KEY (delivery_id)
);
CREATE INDEX push_delivery_day ON warehouse.push_delivery (received_on);

-- One version of a subscription.
CREATE TABLE warehouse.subscription_version (
  id            text NOT NULL,
  url           text,
  resources     jsonb,
  is_present    boolean NOT NULL,
  observed_on   date NOT NULL,
  observed_from timestamp with time zone NOT NULL,
  extra         jsonb,
  fetch_id      text NOT NULL,
  loaded_at     timestamp with time zone NOT NULL,
  observed_to   timestamp with time zone,
  PRIMARY KEY (id, observed_from)
);
CREATE INDEX subscription_version_day ON warehouse.subscription_version (observed_on);

-- One version of a process status.
CREATE TABLE warehouse.process_status_version (
  process_status_id text NOT NULL,
  observed_on       date NOT NULL,
  observed_from     timestamp with time zone NOT NULL,
  outcome           text NOT NULL,
  entity_id         text,
  event_type        text,
  description       text,
  status            text,
  error_message     text,
  create_timestamp  timestamp with time zone,
  links             jsonb,
  asked_by          text,
  reason            text,
  extra             jsonb,
  fetch_id          text NOT NULL,
  loaded_at         timestamp with time zone NOT NULL,
  observed_to       timestamp with time zone,
  PRIMARY KEY (process_status_id, observed_from)
);
CREATE INDEX process_status_version_day ON warehouse.process_status_version (observed_on);

-- One version of what lies behind a link.
CREATE TABLE warehouse.push_link (
  href          text NOT NULL,
  observed_on   date NOT NULL,
  observed_from timestamp with time zone NOT NULL,
  resource      text NOT NULL,
  resource_id   text NOT NULL,
  outcome       text NOT NULL,
  payload       jsonb,
  reason        text,
  extra         jsonb,
  fetch_id      text NOT NULL,
  loaded_at     timestamp with time zone NOT NULL,
  observed_to   timestamp with time zone,
  PRIMARY KEY (href, observed_from)
);
CREATE INDEX push_link_day ON warehouse.push_link (observed_on);

-- Subscriptions, one row each: as they were listed last.
CREATE VIEW warehouse.subscription AS
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
COMMENT ON VIEW warehouse.subscription IS 'Push subscriptions, one row each, with what was listed last; is_active: it still was when they were listed last.';

-- Process statuses, one row each: what was told last, also after the service has forgotten it.
CREATE VIEW warehouse.process_status AS
WITH told AS (
  SELECT *, row_number() OVER (PARTITION BY process_status_id ORDER BY observed_from DESC) AS back
  FROM warehouse.process_status_version
  WHERE outcome = 'found'
), summed AS (
  SELECT
    process_status_id,
    min(observed_from) AS first_seen,
    max(CASE WHEN asked_by = 'start' THEN 1 ELSE 0 END) = 1 AS started_here,
    min(CASE WHEN status IN ('SUCCESS', 'FAILURE', 'TIMEOUT') THEN observed_from END) AS end_seen,
    min(CASE WHEN status IN ('SUCCESS', 'FAILURE', 'TIMEOUT') THEN observed_on END) AS end_seen_on
  FROM warehouse.process_status_version
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
FROM warehouse.process_status_version AS newest
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
  FROM warehouse.fact_push_message
), messages AS (
  SELECT
    day,
    count(*) AS messages,
    sum(CASE WHEN is_late THEN 1 ELSE 0 END) AS late,
    sum(CASE WHEN is_out_of_order THEN 1 ELSE 0 END) AS out_of_order
  FROM firsts
  GROUP BY day
), deliveries AS (
  SELECT received_on AS day, count(*) AS deliveries FROM warehouse.push_delivery GROUP BY received_on
), missing AS (
  SELECT ended.end_seen_on AS day, count(*) AS missing
  FROM warehouse.process_status AS ended
  WHERE ended.started_here
    AND ended.end_seen + INTERVAL '20 minutes' < CURRENT_TIMESTAMP
    AND EXISTS (
      SELECT 1 FROM warehouse.subscription_version AS asked
      WHERE asked.is_present
        AND asked.resources::VARCHAR LIKE '%"PROCESS_STATUS"%'
        AND asked.observed_from <= ended.end_seen
        AND (asked.observed_to IS NULL OR asked.observed_to > ended.end_seen)
    )
    AND NOT EXISTS (
      SELECT 1 FROM warehouse.fact_push_message AS told
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
