-- question: Where are my orders turned down?
-- reading: Orders of the 90 days that ended 30 days ago, because younger ones are mostly not decided yet.
-- reading: rejected_percent is rejected items of those that were decided (approved or rejected); items that are still open are not in it.
-- reading: lost_commission is the commission of the rejected items; the rows are in its order, so a big loss comes before a high percentage of little.
-- reading: mart.reversal has the same by day and sub-ID.
WITH newest AS (
  SELECT max(slice_day) AS day FROM etl.receipt WHERE pipeline = 'orders' AND superseded_at IS NULL
),
sums AS (
  SELECT
    chunk_name AS product_group,
    site_code,
    count(*) AS items,
    count(CASE WHEN status_group IN ('approved', 'rejected') THEN 1 END) AS decided_items,
    count(CASE WHEN status_group = 'rejected' THEN 1 END) AS rejected_items,
    sum(CASE WHEN status_group = 'rejected' THEN commission ELSE 0 END) AS lost_commission
  FROM warehouse.fact_order_item
  WHERE order_date > (SELECT day FROM newest) - 120 AND order_date <= (SELECT day FROM newest) - 30
  GROUP BY chunk_name, site_code
)
SELECT
  product_group,
  site_code,
  items,
  decided_items,
  rejected_items,
  CAST(100 * CAST(rejected_items AS double precision) / nullif(decided_items, 0) AS decimal(18,1)) AS rejected_percent,
  CAST(lost_commission AS decimal(38,2)) AS lost_commission
FROM sums
WHERE rejected_items > 0
ORDER BY sums.lost_commission DESC, rejected_items DESC, product_group NULLS LAST, site_code NULLS LAST
LIMIT 25
