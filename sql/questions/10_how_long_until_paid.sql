-- question: How many days pass from an order until it is decided, and until its payment starts?
-- reading: Orders of the 60 days that ended 45 days ago, because most of them have come to their end by now.
-- reading: Half of the items took median_days at the most, nine in ten took days_of_9_in_10 at the most.
-- reading: Only steps that were seen to happen count: what was decided already when it was first fetched tells nothing of when.
-- reading: A step is seen by the run after it, so all figures are late by the pause between two runs.
-- reading: mart.order_life_cycle has the days item by item; give it the days of the orders as literals, such as order_date >= DATE '2026-02-01'.
WITH newest AS (
  SELECT max(slice_day) AS day FROM etl.receipt WHERE pipeline = 'orders' AND superseded_at IS NULL
),
versions AS (
  SELECT
    order_date,
    order_id,
    order_item_id,
    CAST(timezone('UTC', valid_from) AS date) AS seen_on,
    valid_to IS NULL AS is_now,
    status_group IN ('approved', 'rejected') AS is_decided,
    status_group = 'approved' AS is_approved,
    status_group = 'approved' AND approved_for_payment AS is_paid
  FROM warehouse.fact_order_item_version
  WHERE order_date > (SELECT day FROM newest) - 105
    AND order_date <= (SELECT day FROM newest) - 45
),
items AS (
  SELECT
    order_date,
    min(seen_on) AS first_seen,
    CASE WHEN bool_or(is_now AND is_decided) THEN min(CASE WHEN is_decided THEN seen_on END) END AS decided_on,
    CASE WHEN bool_or(is_now AND is_approved) THEN min(CASE WHEN is_approved THEN seen_on END) END AS approved_on,
    CASE WHEN bool_or(is_now AND is_paid) THEN min(CASE WHEN is_paid THEN seen_on END) END AS paid_on
  FROM versions
  GROUP BY order_date, order_id, order_item_id
),
steps AS (
  SELECT 1 AS number, 'decided' AS step, decided_on - order_date AS days FROM items WHERE decided_on > first_seen
  UNION ALL
  SELECT 2, 'approved', approved_on - order_date FROM items WHERE approved_on > first_seen
  UNION ALL
  SELECT 3, 'payment started', paid_on - order_date FROM items WHERE paid_on > first_seen
)
SELECT
  step,
  count(*) AS items,
  min(days) AS fewest_days,
  percentile_disc(0.5) WITHIN GROUP (ORDER BY days) AS median_days,
  percentile_disc(0.9) WITHIN GROUP (ORDER BY days) AS days_of_9_in_10,
  max(days) AS most_days
FROM steps
GROUP BY number, step
ORDER BY number
