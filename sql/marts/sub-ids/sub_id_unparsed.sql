CREATE OR REPLACE VIEW mart.sub_id_unparsed AS
WITH grammar AS MATERIALIZED (
  SELECT account, CAST(value AS jsonb) AS parts FROM etl.setting WHERE name = 'sub_ids.parts'
),
reported AS (
  SELECT
    account, promotion_date AS day, sub_id, max(sub_id) AS label, sum(clicks) AS clicks, sum(orders) AS orders, sum(commission) AS commission,
    CAST(0 AS bigint) AS items, CAST(NULL AS numeric(38,6)) AS items_commission
  FROM warehouse.fact_promotion_day WHERE sub_id IS NOT NULL GROUP BY account, promotion_date, sub_id
  UNION ALL
  SELECT account, order_date, sub_id, max(sub_id), NULL, NULL, NULL, count(*), sum(commission)
  FROM warehouse.fact_order_item WHERE sub_id IS NOT NULL GROUP BY account, order_date, sub_id
  UNION ALL
  SELECT account, order_date, sub_id, max(sub_id), NULL, NULL, NULL, 0, NULL
  FROM warehouse.fact_commission_day WHERE sub_id IS NOT NULL GROUP BY account, order_date, sub_id
),
sums AS (
  SELECT
    account,
    day,
    sub_id,
    max(label) AS label,
    CAST(coalesce(sum(clicks), 0) AS bigint) AS clicks,
    CAST(coalesce(sum(orders), 0) AS bigint) AS orders,
    CAST(coalesce(sum(commission), 0) AS numeric(38,6)) AS commission,
    CAST(sum(items) AS bigint) AS items,
    CAST(coalesce(sum(items_commission), 0) AS numeric(38,6)) AS items_commission
  FROM reported
  GROUP BY account, day, sub_id
),
readings AS (
  SELECT sums.*, (warehouse.sub_id_reading(label, grammar.parts)).unread_part AS unread_part
  FROM sums JOIN grammar ON grammar.account = sums.account
)
SELECT account, day, sub_id, unread_part, clicks, orders, commission, items, items_commission
FROM readings
WHERE unread_part IS NOT NULL;
