-- A site is its code within the account; the name is the newest one reported.
CREATE OR REPLACE VIEW warehouse.dim_site AS
SELECT
  account,
  site_code,
  (array_agg(site_name ORDER BY day DESC, site_name DESC) FILTER (WHERE site_name IS NOT NULL))[1] AS site_name,
  min(day) AS first_day,
  max(day) AS last_day
FROM (
  SELECT DISTINCT account, site_code, site_name, promotion_date AS day FROM warehouse.fact_promotion_day
  UNION ALL
  SELECT DISTINCT account, site_code, site_name, order_date FROM warehouse.fact_order_item
  UNION ALL
  SELECT DISTINCT account, site_code, site_name, order_date FROM warehouse.fact_commission_day
) AS sites
WHERE site_code IS NOT NULL
GROUP BY account, site_code;
