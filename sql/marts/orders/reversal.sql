CREATE OR REPLACE VIEW mart.reversal AS
WITH sums AS (
  SELECT
    account,
    order_date,
    chunk_name,
    site_code,
    sub_id,
    count(*) AS items,
    count(*) FILTER (WHERE status_group IN ('approved', 'rejected')) AS decided_items,
    count(*) FILTER (WHERE status_group = 'rejected') AS rejected_items,
    CAST(coalesce(sum(commission), 0) AS numeric(38,6)) AS commission,
    CAST(coalesce(sum(commission) FILTER (WHERE status_group IN ('approved', 'rejected')), 0) AS numeric(38,6)) AS decided_commission,
    CAST(coalesce(sum(commission) FILTER (WHERE status_group = 'rejected'), 0) AS numeric(38,6)) AS lost_commission
  FROM warehouse.fact_order_item
  GROUP BY account, order_date, chunk_name, site_code, sub_id
)
SELECT
  *,
  CAST(rejected_items AS double precision) / nullif(CAST(decided_items AS double precision), 0) AS reversal_rate,
  CAST(lost_commission AS double precision) / nullif(CAST(decided_commission AS double precision), 0) AS lost_rate
FROM sums;
