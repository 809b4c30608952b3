-- The dimensions that the three reports share, as views over them: they are always right and cost nothing to keep.

-- Every day from the first to the last that any report has.
CREATE VIEW warehouse.dim_date AS
WITH span AS (
  SELECT min(first_day) AS first_day, max(last_day) AS last_day
  FROM (
    SELECT min(promotion_date) AS first_day, max(promotion_date) AS last_day FROM warehouse.fact_promotion_day
    UNION ALL
    SELECT min(order_date), max(order_date) FROM warehouse.fact_order_item
    UNION ALL
    SELECT min(order_date), max(order_date) FROM warehouse.fact_commission_day
  ) AS spans
),
days AS (
  SELECT CAST(moment AS date) AS day FROM span, generate_series(first_day, last_day, interval '1 day') AS moment
)
SELECT
  day,
  CAST(extract(year FROM day) AS integer) AS year,
  CAST(extract(quarter FROM day) AS integer) AS quarter,
  CAST(extract(month FROM day) AS integer) AS month,
  CAST(extract(day FROM day) AS integer) AS day_of_month,
  CAST(extract(isoyear FROM day) AS integer) AS iso_year,
  CAST(extract(week FROM day) AS integer) AS iso_week,
  CAST(extract(isodow FROM day) AS integer) AS iso_weekday,
  extract(isodow FROM day) >= 6 AS is_weekend
FROM days;
COMMENT ON VIEW warehouse.dim_date IS 'Every day from the first to the last that any report has; weeks and weekdays as ISO 8601 counts them, Monday is 1.';

-- A site is its code; the name is the newest one reported.
CREATE VIEW warehouse.dim_site AS
SELECT
  site_code,
  (array_agg(site_name ORDER BY day DESC, site_name DESC) FILTER (WHERE site_name IS NOT NULL))[1] AS site_name,
  min(day) AS first_day,
  max(day) AS last_day
FROM (
  SELECT DISTINCT site_code, site_name, promotion_date AS day FROM warehouse.fact_promotion_day
  UNION ALL
  SELECT DISTINCT site_code, site_name, order_date FROM warehouse.fact_order_item
  UNION ALL
  SELECT DISTINCT site_code, site_name, order_date FROM warehouse.fact_commission_day
) AS sites
WHERE site_code IS NOT NULL
GROUP BY site_code;
COMMENT ON VIEW warehouse.dim_site IS 'Every site that a report names, with its newest name and the days on which it occurs.';

CREATE VIEW warehouse.dim_sub_id AS
SELECT
  sub_id,
  min(day) AS first_day,
  max(day) AS last_day
FROM (
  SELECT DISTINCT sub_id, promotion_date AS day FROM warehouse.fact_promotion_day
  UNION ALL
  SELECT DISTINCT sub_id, order_date FROM warehouse.fact_order_item
  UNION ALL
  SELECT DISTINCT sub_id, order_date FROM warehouse.fact_commission_day
) AS sub_ids
WHERE sub_id IS NOT NULL
GROUP BY sub_id;
COMMENT ON VIEW warehouse.dim_sub_id IS 'Every sub-ID that a report names, with the days on which it occurs.';
