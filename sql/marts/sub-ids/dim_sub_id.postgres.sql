CREATE OR REPLACE VIEW warehouse.dim_sub_id AS
WITH RECURSIVE sub_ids AS (
  SELECT least(
    (SELECT min(sub_id) FROM warehouse.fact_promotion_day),
    (SELECT min(sub_id) FROM warehouse.fact_order_item),
    (SELECT min(sub_id) FROM warehouse.fact_commission_day)
  ) AS sub_id
  UNION ALL
  SELECT least(
    (SELECT min(sub_id) FROM warehouse.fact_promotion_day WHERE sub_id > sub_ids.sub_id),
    (SELECT min(sub_id) FROM warehouse.fact_order_item WHERE sub_id > sub_ids.sub_id),
    (SELECT min(sub_id) FROM warehouse.fact_commission_day WHERE sub_id > sub_ids.sub_id)
  )
  FROM sub_ids
  WHERE sub_ids.sub_id IS NOT NULL
)
SELECT
  sub_ids.sub_id,
  least(
    (SELECT min(promotion_date) FROM warehouse.fact_promotion_day WHERE sub_id = sub_ids.sub_id),
    (SELECT min(order_date) FROM warehouse.fact_order_item WHERE sub_id = sub_ids.sub_id),
    (SELECT min(order_date) FROM warehouse.fact_commission_day WHERE sub_id = sub_ids.sub_id)
  ) AS first_day,
  greatest(
    (SELECT max(promotion_date) FROM warehouse.fact_promotion_day WHERE sub_id = sub_ids.sub_id),
    (SELECT max(order_date) FROM warehouse.fact_order_item WHERE sub_id = sub_ids.sub_id),
    (SELECT max(order_date) FROM warehouse.fact_commission_day WHERE sub_id = sub_ids.sub_id)
  ) AS last_day,
  CASE WHEN grammar.parts IS NOT NULL THEN reading.parts IS NOT NULL END AS is_parsed,
  reading.parts,
  reading.unread_part
FROM sub_ids
LEFT JOIN (SELECT CAST(value AS jsonb) AS parts FROM etl.setting WHERE name = 'sub_ids.parts') AS grammar ON true
CROSS JOIN LATERAL warehouse.sub_id_reading(sub_ids.sub_id, grammar.parts) AS reading
WHERE sub_ids.sub_id IS NOT NULL;
