-- What came and what did not. A message is late when its first delivery came more than a minute after its own time, so that the
-- service must have tried before; out of order when one with a later time had been delivered before it on the same day. Missing
-- are processes that we started, whose end is known, and of which no message came although a subscription asked for it: counted
-- when every retry (15 minutes) and a margin have passed, on the day on which the end was seen.
CREATE OR REPLACE VIEW mart.push_day AS
WITH firsts AS (
  SELECT
    account,
    received_on AS day,
    first_delivered_at > "timestamp" + INTERVAL '1 minute' AS is_late,
    "timestamp" < max("timestamp") OVER (
      PARTITION BY account, received_on ORDER BY first_delivered_at, delivery_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS is_out_of_order
  FROM warehouse.fact_push_message
), messages AS (
  SELECT
    account,
    day,
    count(*) AS messages,
    sum(CASE WHEN is_late THEN 1 ELSE 0 END) AS late,
    sum(CASE WHEN is_out_of_order THEN 1 ELSE 0 END) AS out_of_order
  FROM firsts
  GROUP BY account, day
), deliveries AS (
  SELECT account, received_on AS day, count(*) AS deliveries FROM warehouse.push_delivery GROUP BY account, received_on
), missing AS (
  SELECT ended.account, ended.end_seen_on AS day, count(*) AS missing
  FROM mart.process AS ended
  WHERE ended.started_here
    AND ended.end_seen + INTERVAL '20 minutes' < CURRENT_TIMESTAMP
    AND EXISTS (
      SELECT 1 FROM warehouse.subscription_version AS asked
      WHERE asked.account = ended.account AND asked.resources::VARCHAR LIKE '%"PROCESS_STATUS"%'
        AND asked.valid_from <= ended.end_seen
        AND (asked.valid_to IS NULL OR asked.valid_to > ended.end_seen)
    )
    AND NOT EXISTS (
      SELECT 1 FROM warehouse.fact_push_message AS message
      WHERE message.account = ended.account AND message.resource = 'PROCESS_STATUS' AND message.resource_id = ended.process_status_id
    )
  GROUP BY ended.account, ended.end_seen_on
), days AS (
  SELECT account, day FROM messages UNION SELECT account, day FROM deliveries UNION SELECT account, day FROM missing
)
SELECT
  days.account,
  days.day,
  CAST(coalesce(messages.messages, 0) AS BIGINT) AS messages,
  CAST(coalesce(deliveries.deliveries, 0) AS BIGINT) AS deliveries,
  CAST(coalesce(deliveries.deliveries, 0) - coalesce(messages.messages, 0) AS BIGINT) AS duplicates,
  CAST(coalesce(messages.out_of_order, 0) AS BIGINT) AS out_of_order,
  CAST(coalesce(messages.late, 0) AS BIGINT) AS late,
  CAST(coalesce(missing.missing, 0) AS BIGINT) AS missing
FROM days
LEFT JOIN messages ON messages.account = days.account AND messages.day = days.day
LEFT JOIN deliveries ON deliveries.account = days.account AND deliveries.day = days.day
LEFT JOIN missing ON missing.account = days.account AND missing.day = days.day;
