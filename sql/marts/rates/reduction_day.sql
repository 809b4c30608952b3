-- The parts of a day side by side as rows, and summed: a condition on the day reaches each of them. Lines are counted by the pair of
-- their days, of which there are few; EANs by what each of their lines adds to the days of those before it.
CREATE OR REPLACE VIEW mart.reduction_day AS
WITH day AS (
  SELECT DISTINCT account, slice_day AS day FROM etl.receipt
  WHERE pipeline IN ('orders', 'reductions', 'reductions-history', 'commission-rates', 'commission-rates-history') AND superseded_at IS NULL
),
span AS (
  SELECT account, first_day, last_day, count(*) AS lines, sum(cost_reduction) AS cost, max(cost_reduction) AS highest
  FROM warehouse.reduction_in_force
  WHERE source = 'file'
  GROUP BY account, first_day, last_day
),
piece AS (
  SELECT account, ean, greatest(first_day, reached + 1) AS first_day, last_day
  FROM (
    SELECT
      account, ean, first_day, last_day,
      max(last_day) OVER (PARTITION BY account, ean ORDER BY first_day, last_day ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
    FROM warehouse.reduction_in_force
    WHERE source = 'file'
  ) AS line
  WHERE reached IS NULL OR last_day > reached
),
part AS (
  SELECT
    day.account, day.day, span.lines, 0 AS eans, 0 AS sold_eans, span.cost, span.highest,
    CASE WHEN span.first_day = day.day THEN span.lines END AS started,
    CASE WHEN span.last_day = day.day THEN span.lines END AS ended
  FROM day LEFT JOIN span ON span.account = day.account AND span.first_day <= day.day AND span.last_day >= day.day
  UNION ALL
  SELECT day.account, day.day, 0, covered.eans, 0, NULL, NULL, 0, 0
  FROM day
  JOIN (SELECT account, first_day, last_day, count(*) AS eans FROM piece GROUP BY account, first_day, last_day) AS covered
    ON covered.account = day.account AND covered.first_day <= day.day AND covered.last_day >= day.day
  UNION ALL
  SELECT item.account, item.order_date, 0, 0, count(DISTINCT piece.ean), NULL, NULL, 0, 0
  FROM warehouse.fact_order_item AS item
  JOIN warehouse.product_ean AS product_ean ON product_ean.account = item.account AND product_ean.product_id = item.product_id
  JOIN piece
    ON piece.account = item.account AND piece.ean = product_ean.ean AND piece.first_day <= item.order_date AND piece.last_day >= item.order_date
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
