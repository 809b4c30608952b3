CREATE OR REPLACE VIEW mart.sub_id_profit AS
WITH grammar AS MATERIALIZED (
  SELECT account, CAST(value AS jsonb) AS parts FROM etl.setting WHERE name = 'sub_ids.parts'
),
reported AS (
  SELECT
    account, promotion_date AS day, site_code, sub_id,
    sum(clicks) AS clicks, sum(impressions) AS impressions, sum(orders) AS orders,
    CAST(0 AS bigint) AS items, CAST(0 AS bigint) AS approved_items, CAST(0 AS bigint) AS rejected_items, CAST(NULL AS numeric(38,6)) AS quantity,
    CAST(NULL AS numeric(38,6)) AS revenue_excl_vat, CAST(NULL AS numeric(38,6)) AS commission, CAST(NULL AS numeric(38,6)) AS approved_commission,
    CAST(NULL AS numeric(38,6)) AS lost_commission, CAST(NULL AS numeric(38,6)) AS paid_commission
  FROM warehouse.fact_promotion_day
  GROUP BY account, promotion_date, site_code, sub_id
  UNION ALL
  SELECT
    account, order_date, site_code, sub_id, NULL, NULL, NULL,
    count(*),
    count(*) FILTER (WHERE status_group = 'approved'),
    count(*) FILTER (WHERE status_group = 'rejected'),
    sum(quantity),
    sum(price_excl_vat * quantity),
    sum(commission),
    sum(commission) FILTER (WHERE status_group = 'approved'),
    sum(commission) FILTER (WHERE status_group = 'rejected'),
    sum(commission) FILTER (WHERE status_group = 'approved' AND approved_for_payment)
  FROM warehouse.fact_order_item
  GROUP BY account, order_date, site_code, sub_id
),
sums AS (
  SELECT
    account,
    day,
    site_code,
    sub_id,
    CAST(coalesce(sum(clicks), 0) AS bigint) AS clicks,
    CAST(coalesce(sum(impressions), 0) AS bigint) AS impressions,
    CAST(coalesce(sum(orders), 0) AS bigint) AS orders,
    CAST(sum(items) AS bigint) AS items,
    CAST(sum(approved_items) AS bigint) AS approved_items,
    CAST(sum(rejected_items) AS bigint) AS rejected_items,
    CAST(coalesce(sum(quantity), 0) AS bigint) AS quantity,
    CAST(coalesce(sum(revenue_excl_vat), 0) AS numeric(38,6)) AS revenue_excl_vat,
    CAST(coalesce(sum(commission), 0) AS numeric(38,6)) AS commission,
    CAST(coalesce(sum(approved_commission), 0) AS numeric(38,6)) AS approved_commission,
    CAST(coalesce(sum(lost_commission), 0) AS numeric(38,6)) AS lost_commission,
    CAST(coalesce(sum(paid_commission), 0) AS numeric(38,6)) AS paid_commission
  FROM reported
  GROUP BY account, day, site_code, sub_id
)
SELECT
  sums.account,
  day,
  site_code,
  sub_id,
  (warehouse.sub_id_reading(sub_id, grammar.parts)).parts AS parts,
  clicks,
  impressions,
  orders,
  items,
  approved_items,
  rejected_items,
  quantity,
  revenue_excl_vat,
  commission,
  approved_commission,
  CAST(commission - approved_commission - lost_commission AS numeric(38,6)) AS open_commission,
  lost_commission,
  paid_commission,
  CAST(commission AS double precision) / nullif(CAST(clicks AS double precision), 0) AS epc,
  CAST(approved_commission AS double precision) / nullif(CAST(clicks AS double precision), 0) AS safe_epc,
  CAST(orders AS double precision) / nullif(CAST(clicks AS double precision), 0) AS conversion,
  CAST(revenue_excl_vat AS double precision) / nullif(CAST(orders AS double precision), 0) AS aov,
  CAST(approved_items AS double precision) / nullif(CAST((approved_items + rejected_items) AS double precision), 0) AS approval_rate,
  CAST(rejected_items AS double precision) / nullif(CAST((approved_items + rejected_items) AS double precision), 0) AS reversal_rate
FROM sums LEFT JOIN grammar ON grammar.account = sums.account;
