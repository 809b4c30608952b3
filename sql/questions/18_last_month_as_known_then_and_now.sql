-- question: How did last month look when it ended, and how does it look now?
-- reading: "then" is what was known at midnight (UTC) after the last day of the month; the newest days of the month were not fetched by then.
-- reading: An item counts in the state that it had then, and in the one that it has now.
-- reading: The commission of an item is the same in every state until it is restated, so a shift between states is not money lost, but a rejection is.
WITH newest AS (
  SELECT max(slice_day) AS day FROM etl.receipt WHERE pipeline = 'orders' AND superseded_at IS NULL
),
last_month AS (
  SELECT
    CAST(date_trunc('month', day) - INTERVAL '1 month' AS date) AS first_day,
    CAST(date_trunc('month', day) - INTERVAL '1 day' AS date) AS last_day,
    timezone('UTC', CAST(date_trunc('month', day) AS timestamp)) AS ended_at
  FROM newest
),
items AS (
  SELECT item.status_group, 1 AS items_then, 0 AS items_now, item.commission AS commission_then, 0 AS commission_now
  FROM last_month
  CROSS JOIN LATERAL warehouse.orders_as_of(last_month.ended_at) AS item
  WHERE item.order_date >= last_month.first_day AND item.order_date <= last_month.last_day
  UNION ALL
  SELECT status_group, 0, 1, 0, commission
  FROM warehouse.fact_order_item
  WHERE order_date >= (SELECT first_day FROM last_month) AND order_date <= (SELECT last_day FROM last_month)
)
SELECT
  coalesce(status_group, 'unknown') AS state,
  CAST(sum(items_then) AS bigint) AS items_then,
  CAST(sum(items_now) AS bigint) AS items_now,
  CAST(coalesce(sum(commission_then), 0) AS decimal(38,2)) AS commission_then,
  CAST(coalesce(sum(commission_now), 0) AS decimal(38,2)) AS commission_now,
  CAST(coalesce(sum(commission_now), 0) - coalesce(sum(commission_then), 0) AS decimal(38,2)) AS difference
FROM items
GROUP BY coalesce(status_group, 'unknown')
ORDER BY state
