-- question: What did I earn last month, and how much of it is safe?
-- reading: Last month is the calendar month before the one that the newest loaded day lies in.
-- reading: "payment started" is as safe as the service's reports can tell; they do not say that money arrived.
-- reading: "approved" will be paid unless it is taken back; "open" may still be rejected, and "rejected" is lost.
-- reading: commission takes no account of returns, so only the rows by state add up to something that was earned.
WITH newest AS (
  SELECT max(slice_day) AS day FROM etl.receipt WHERE pipeline = 'orders' AND superseded_at IS NULL
),
last_month AS (
  SELECT
    CAST(date_trunc('month', day) - INTERVAL '1 month' AS date) AS first_day,
    CAST(date_trunc('month', day) - INTERVAL '1 day' AS date) AS last_day
  FROM newest
),
items AS (
  SELECT
    last_month.first_day,
    CASE
      WHEN item.status_group = 'approved' AND coalesce(item.approved_for_payment, false) THEN 'payment started'
      WHEN item.status_group IN ('approved', 'rejected') THEN item.status_group
      ELSE 'open'
    END AS state,
    item.commission
  FROM last_month
  JOIN warehouse.fact_order_item AS item ON item.order_date BETWEEN last_month.first_day AND last_month.last_day
),
sums AS (
  SELECT first_day, state, count(*) AS items, CAST(coalesce(sum(commission), 0) AS decimal(38,6)) AS commission
  FROM items
  GROUP BY first_day, state
)
SELECT
  first_day AS month,
  state,
  items,
  commission,
  CAST(commission AS double precision) / nullif(CAST(sum(commission) OVER () AS double precision), 0) AS share
FROM sums
ORDER BY CASE state WHEN 'payment started' THEN 1 WHEN 'approved' THEN 2 WHEN 'open' THEN 3 ELSE 4 END;
