CREATE OR REPLACE VIEW mart.daily_performance AS
WITH sums AS (
  SELECT
    account,
    promotion_date AS day,
    site_code,
    frame_type,
    name,
    sub_id,
    CAST(coalesce(sum(clicks), 0) AS bigint) AS clicks,
    CAST(coalesce(sum(impressions), 0) AS bigint) AS impressions,
    CAST(coalesce(sum(orders), 0) AS bigint) AS orders,
    CAST(coalesce(sum(revenue_excl_vat), 0) AS numeric(38,6)) AS revenue_excl_vat,
    CAST(coalesce(sum(revenue_incl_vat), 0) AS numeric(38,6)) AS revenue_incl_vat,
    CAST(coalesce(sum(commission), 0) AS numeric(38,6)) AS commission
  FROM warehouse.fact_promotion_day
  GROUP BY account, promotion_date, site_code, frame_type, name, sub_id
)
SELECT
  *,
  CAST(clicks AS double precision) / nullif(CAST(impressions AS double precision), 0) AS ctr,
  CAST(orders AS double precision) / nullif(CAST(clicks AS double precision), 0) AS conversion,
  CAST(commission AS double precision) / nullif(CAST(clicks AS double precision), 0) AS epc,
  CAST(commission * 1000 AS double precision) / nullif(CAST(impressions AS double precision), 0) AS epm,
  CAST(revenue_excl_vat AS double precision) / nullif(CAST(orders AS double precision), 0) AS aov
FROM sums;
