-- question: Which sub-IDs earn most, and how much of it is safe?
-- reading: The last 90 loaded days. commission is as recorded by the orders report, whatever became of it; approved and paid are parts of it, lost is what was rejected.
-- reading: paid means that payment was started. What is neither approved nor lost is still open.
-- reading: Compare sub-IDs by approved_per_click and not by commission_per_click: cheap clicks are often turned down.
-- reading: The row without a sub-ID is everything that came without one. With the setting subIds.grammar, mart.sub_id_profit takes sub-IDs apart, day by day.
WITH newest AS (
  SELECT max(slice_day) AS day FROM etl.receipt WHERE pipeline = 'orders' AND superseded_at IS NULL
),
told AS (
  SELECT sub_id, clicks, orders, 0 AS commission, 0 AS approved, 0 AS paid, 0 AS lost
  FROM warehouse.fact_promotion_day
  WHERE promotion_date > (SELECT day FROM newest) - 90 AND promotion_date <= (SELECT day FROM newest)
  UNION ALL
  SELECT
    sub_id,
    0,
    0,
    commission,
    CASE WHEN status_group = 'approved' THEN commission ELSE 0 END,
    CASE WHEN status_group = 'approved' AND approved_for_payment THEN commission ELSE 0 END,
    CASE WHEN status_group = 'rejected' THEN commission ELSE 0 END
  FROM warehouse.fact_order_item
  WHERE order_date > (SELECT day FROM newest) - 90 AND order_date <= (SELECT day FROM newest)
),
sub_ids AS (
  SELECT
    sub_id,
    CAST(sum(clicks) AS bigint) AS clicks,
    CAST(sum(orders) AS bigint) AS orders,
    sum(commission) AS commission,
    sum(approved) AS approved,
    sum(paid) AS paid,
    sum(lost) AS lost
  FROM told
  GROUP BY sub_id
)
SELECT
  sub_id,
  clicks,
  orders,
  CAST(commission AS decimal(38,2)) AS commission,
  CAST(approved AS decimal(38,2)) AS approved,
  CAST(paid AS decimal(38,2)) AS paid,
  CAST(lost AS decimal(38,2)) AS lost,
  CAST(CAST(commission AS double precision) / nullif(clicks, 0) AS decimal(18,4)) AS commission_per_click,
  CAST(CAST(approved AS double precision) / nullif(clicks, 0) AS decimal(18,4)) AS approved_per_click
FROM sub_ids
ORDER BY sub_ids.approved DESC, sub_ids.commission DESC, sub_id NULLS LAST
LIMIT 30
