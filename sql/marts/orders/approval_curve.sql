-- The days come first and the facts by equality with them, so that three years of history cost no more than these weeks. Days of an even
-- and of an odd number apart, so that two processes of Postgres add them up side by side: half the time, of the payment forecast too.
CREATE OR REPLACE VIEW mart.approval_curve AS
WITH days AS NOT MATERIALIZED (
  SELECT newest.account, slice_day, as_of, etl.quotient(as_of - slice_day, 7) AS age_weeks, (slice_day - date '2000-01-01') % 2 = 0 AS is_even
  FROM etl.receipt AS receipt JOIN (
    SELECT account, max(slice_day) AS as_of FROM etl.receipt WHERE pipeline = 'orders' AND superseded_at IS NULL GROUP BY account
  ) AS newest ON newest.account = receipt.account
  WHERE pipeline = 'orders' AND superseded_at IS NULL AND slice_day > as_of - 27 * 7
),
half AS (
  SELECT
    days.account, days.age_weeks, days.as_of, min(days.slice_day) AS first_day, max(days.slice_day) AS last_day,
    count(item.order_id) AS items,
    sum(item.commission) AS commission,
    sum(CASE WHEN item.status_group = 'approved' AND item.approved_for_payment THEN item.commission END) AS paid_commission,
    sum(CASE WHEN item.status_group = 'approved' THEN item.commission END) AS approved_commission,
    sum(CASE WHEN item.status_group = 'rejected' THEN item.commission END) AS rejected_commission
  FROM days LEFT JOIN warehouse.fact_order_item AS item ON item.account = days.account AND item.order_date = days.slice_day
  WHERE days.is_even
  GROUP BY days.account, days.age_weeks, days.as_of
  UNION ALL
  SELECT
    days.account, days.age_weeks, days.as_of, min(days.slice_day), max(days.slice_day),
    count(item.order_id),
    sum(item.commission),
    sum(CASE WHEN item.status_group = 'approved' AND item.approved_for_payment THEN item.commission END),
    sum(CASE WHEN item.status_group = 'approved' THEN item.commission END),
    sum(CASE WHEN item.status_group = 'rejected' THEN item.commission END)
  FROM days LEFT JOIN warehouse.fact_order_item AS item ON item.account = days.account AND item.order_date = days.slice_day
  WHERE NOT days.is_even
  GROUP BY days.account, days.age_weeks, days.as_of
),
sums AS (
  SELECT
    account,
    age_weeks,
    as_of,
    min(first_day) AS first_day,
    max(last_day) AS last_day,
    CAST(sum(items) AS bigint) AS items,
    CAST(coalesce(sum(commission), 0) AS numeric(38,6)) AS commission,
    CAST(coalesce(sum(paid_commission), 0) AS numeric(38,6)) AS paid_commission,
    CAST(coalesce(sum(approved_commission), 0) AS numeric(38,6)) AS approved_commission,
    CAST(coalesce(sum(rejected_commission), 0) AS numeric(38,6)) AS rejected_commission
  FROM half
  GROUP BY account, age_weeks, as_of
)
SELECT
  account, age_weeks, as_of, first_day, last_day, items,
  commission, paid_commission, approved_commission, rejected_commission,
  CAST(commission - approved_commission - rejected_commission AS numeric(38,6)) AS open_commission,
  CAST(paid_commission AS double precision) / nullif(CAST(commission AS double precision), 0) AS paid_share,
  CAST(approved_commission AS double precision) / nullif(CAST(commission AS double precision), 0) AS approved_share,
  CAST(rejected_commission AS double precision) / nullif(CAST(commission AS double precision), 0) AS rejected_share
FROM sums;
