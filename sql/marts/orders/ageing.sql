CREATE OR REPLACE VIEW mart.ageing AS
WITH newest AS (
  SELECT account, max(slice_day) AS as_of FROM etl.receipt WHERE pipeline = 'orders' AND superseded_at IS NULL GROUP BY account
),
items AS (
  SELECT
    newest.account,
    newest.as_of,
    CASE WHEN item.status_group = 'approved' THEN 'approved_unpaid' ELSE 'pending' END AS state,
    newest.as_of - item.order_date AS age_days,
    item.quantity,
    item.price_excl_vat * item.quantity AS revenue_excl_vat,
    item.commission
  FROM warehouse.fact_order_item AS item JOIN newest ON newest.account = item.account
  WHERE coalesce(item.status_group, 'unknown') <> 'rejected'
    AND (coalesce(item.status_group, 'unknown') <> 'approved' OR NOT coalesce(item.approved_for_payment, false))
),
buckets AS (
  SELECT * FROM (VALUES (1, '0-30', 0, 30), (2, '31-60', 31, 60), (3, '61-90', 61, 90), (4, '90+', 91, NULL))
    AS bucket(bucket_number, age_bucket, from_days, to_days)
)
SELECT
  items.account,
  items.as_of,
  items.state,
  buckets.bucket_number,
  buckets.age_bucket,
  buckets.from_days,
  buckets.to_days,
  count(*) AS items,
  CAST(coalesce(sum(items.quantity), 0) AS bigint) AS quantity,
  CAST(coalesce(sum(items.revenue_excl_vat), 0) AS numeric(38,6)) AS revenue_excl_vat,
  CAST(coalesce(sum(items.commission), 0) AS numeric(38,6)) AS commission
FROM items JOIN buckets ON items.age_days >= buckets.from_days AND items.age_days <= coalesce(buckets.to_days, items.age_days)
GROUP BY items.account, items.as_of, items.state, buckets.bucket_number, buckets.age_bucket, buckets.from_days, buckets.to_days;
