-- The parts of a day side by side as rows, and summed: a condition on the day reaches each of them. Lines are counted by their days, of
-- which there are few combinations; EANs by the lines that are in force where none that began before is: from `first_new_day` on. What was
-- sold is joined with the two tables of lines: of a view over both Postgres knows no statistics, and sorts all of them.
CREATE OR REPLACE VIEW mart.reduction_day AS
WITH day AS (
  SELECT DISTINCT account, slice_day AS day FROM etl.receipt
  WHERE pipeline IN ('orders', 'reductions', 'reductions-history', 'commission-rates', 'commission-rates-history') AND superseded_at IS NULL
),
span AS (
  SELECT
    account, first_day, last_day, first_new_day,
    count(*) AS lines, sum(cost_reduction) AS cost, max(cost_reduction) AS highest
  FROM (
    SELECT
      account, first_day, last_day, cost_reduction,
      greatest(first_day, 1 + max(last_day) OVER (
        PARTITION BY account, ean ORDER BY first_day, last_day ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
      )) AS first_new_day
    FROM warehouse.reduction_in_force
    WHERE source = 'file'
  ) AS line
  GROUP BY account, first_day, last_day, first_new_day
),
part AS (
  SELECT
    day.account, day.day, span.lines,
    CASE WHEN span.first_new_day <= day.day THEN span.lines ELSE 0 END AS eans,
    0 AS sold_eans, span.cost, span.highest,
    CASE WHEN span.first_day = day.day THEN span.lines END AS started,
    CASE WHEN span.last_day = day.day THEN span.lines END AS ended
  FROM day LEFT JOIN span ON span.account = day.account AND span.first_day <= day.day AND span.last_day >= day.day
  UNION ALL
  SELECT item.account, item.order_date, 0, 0, count(DISTINCT coalesce(present.ean, past.ean)), NULL, NULL, 0, 0
  FROM warehouse.fact_order_item AS item
  LEFT JOIN warehouse.product_ean AS product_ean ON product_ean.account = item.account AND product_ean.product_id = item.product_id
  LEFT JOIN warehouse.fact_reduction AS present
    ON present.account = item.account AND present.ean = product_ean.ean
    AND coalesce(present.start_date, date '0001-01-01') <= item.order_date AND coalesce(present.end_date, date '9999-12-31') >= item.order_date
    AND etl.utc_day(present.valid_from) <= item.order_date
  LEFT JOIN warehouse.fact_reduction_history AS past
    ON past.account = item.account AND past.ean = product_ean.ean
    AND coalesce(past.start_date, date '0001-01-01') <= item.order_date AND coalesce(past.end_date, date '9999-12-31') >= item.order_date
    AND etl.utc_day(past.valid_from) <= item.order_date AND etl.utc_day(past.valid_to) > item.order_date
  WHERE coalesce(item.status_group, 'unknown') <> 'rejected'
  GROUP BY item.account, item.order_date
)
SELECT
  account,
  day,
  CAST(coalesce(sum(lines), 0) AS bigint) AS lines_in_force,
  CAST(coalesce(sum(eans), 0) AS bigint) AS eans_in_force,
  CAST(coalesce(sum(sold_eans), 0) AS bigint) AS sold_eans_in_force,
  CAST(coalesce(sum(started), 0) AS bigint) AS lines_started,
  CAST(coalesce(sum(ended), 0) AS bigint) AS lines_ended,
  CAST(coalesce(sum(cost), 0) AS numeric(38,6)) AS cost_reduction,
  CAST(sum(cost) AS double precision) / nullif(CAST(sum(lines) AS double precision), 0) AS average_cost_reduction,
  CAST(max(highest) AS numeric(38,6)) AS highest_cost_reduction
FROM part
GROUP BY account, day;
