CREATE OR REPLACE VIEW warehouse.dim_sub_id AS
WITH sub_ids AS (
  SELECT sub_id, min(day) AS first_day, max(day) AS last_day
  FROM (
    SELECT sub_id, promotion_date AS day FROM warehouse.fact_promotion_day
    UNION ALL
    SELECT sub_id, order_date FROM warehouse.fact_order_item
    UNION ALL
    SELECT sub_id, order_date FROM warehouse.fact_commission_day
  ) AS every_sub_id
  WHERE sub_id IS NOT NULL
  GROUP BY sub_id
),
readings AS (
  SELECT *, warehouse.sub_id_reading(sub_id, (SELECT value FROM etl.setting WHERE name = 'sub_ids.parts')) AS reading FROM sub_ids
)
SELECT
  sub_id,
  first_day,
  last_day,
  CASE WHEN reading IS NOT NULL THEN reading.parts IS NOT NULL END AS is_parsed,
  reading.parts AS parts,
  reading.unread_part AS unread_part
FROM readings;
