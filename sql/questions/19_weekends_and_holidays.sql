-- question: Do I earn more on weekends and holidays?
-- reading: The last 90 loaded days of orders; a holiday is a public holiday of the Netherlands, whatever the weekday.
-- reading: Compare the columns per day: there are more weekdays than weekend days.
-- reading: A day is the service's day of the order (Amsterdam), and rejected items are left out.
WITH newest AS (
  SELECT max(slice_day) AS day FROM etl.receipt WHERE pipeline = 'orders' AND superseded_at IS NULL
),
days AS (
  SELECT
    day,
    CASE WHEN nl_holiday IS NOT NULL THEN 'holiday' WHEN is_weekend THEN 'weekend' ELSE 'weekday' END AS kind
  FROM warehouse.dim_date
  WHERE day > (SELECT day FROM newest) - 90 AND day <= (SELECT day FROM newest)
),
sums AS (
  SELECT order_date, count(*) AS items, sum(commission) AS commission
  FROM warehouse.fact_order_item
  WHERE order_date > (SELECT day FROM newest) - 90 AND order_date <= (SELECT day FROM newest) AND coalesce(status_group, 'unknown') <> 'rejected'
  GROUP BY order_date
)
SELECT
  days.kind,
  count(*) AS days,
  CAST(coalesce(sum(sums.items), 0) AS bigint) AS items,
  CAST(coalesce(sum(sums.commission), 0) AS decimal(38,2)) AS commission,
  CAST(CAST(coalesce(sum(sums.items), 0) AS double precision) / count(*) AS decimal(18,1)) AS items_per_day,
  CAST(CAST(coalesce(sum(sums.commission), 0) AS double precision) / count(*) AS decimal(18,2)) AS commission_per_day
FROM days
LEFT JOIN sums ON sums.order_date = days.day
GROUP BY days.kind
ORDER BY days.kind
