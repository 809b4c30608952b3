CREATE OR REPLACE VIEW mart.sub_id_unparsed AS
WITH reported AS (
  SELECT
    promotion_date AS day, sub_id, max(sub_id) AS label, sum(clicks) AS clicks, sum(orders) AS orders, sum(commission) AS commission,
    CAST(0 AS bigint) AS items, CAST(NULL AS numeric(38,6)) AS items_commission
  FROM warehouse.fact_promotion_day WHERE sub_id IS NOT NULL GROUP BY promotion_date, sub_id
  UNION ALL
  SELECT order_date, sub_id, max(sub_id), NULL, NULL, NULL, count(*), sum(commission)
  FROM warehouse.fact_order_item WHERE sub_id IS NOT NULL GROUP BY order_date, sub_id
  UNION ALL
  SELECT order_date, sub_id, max(sub_id), NULL, NULL, NULL, 0, NULL
  FROM warehouse.fact_commission_day WHERE sub_id IS NOT NULL GROUP BY order_date, sub_id
),
sums AS (
  SELECT
    day,
    sub_id,
    max(label) AS label,
    CAST(coalesce(sum(clicks), 0) AS bigint) AS clicks,
    CAST(coalesce(sum(orders), 0) AS bigint) AS orders,
    CAST(coalesce(sum(commission), 0) AS numeric(38,6)) AS commission,
    CAST(sum(items) AS bigint) AS items,
    CAST(coalesce(sum(items_commission), 0) AS numeric(38,6)) AS items_commission
  FROM reported
  GROUP BY day, sub_id
),
readings AS (
  SELECT *, (warehouse.sub_id_reading(label, (SELECT CAST(value AS jsonb) FROM etl.setting WHERE name = 'sub_ids.parts'))).unread_part AS unread_part FROM sums
)
SELECT day, sub_id, unread_part, clicks, orders, commission, items, items_commission
FROM readings
WHERE unread_part IS NOT NULL;
