-- What the service asked before and after, at the same price: that of the last piece sold before the change, so that the effect is
-- that of the rate alone. Sales are looked for product by product and day by day.
-- Postgres takes one of 200 rows for each equality with a column of a view: by all those of the key it would expect one change and join
-- products to each of them by reading all products. So part of the key is one CASE, which it takes for half of the rows.
CREATE OR REPLACE VIEW mart.rate_change AS
WITH newest AS (
  SELECT account, max(slice_day) AS day FROM etl.receipt WHERE pipeline = 'orders' AND superseded_at IS NULL GROUP BY account
),
change AS (
  SELECT
    later.account, later.observed_on AS changed_on, later.valid_from AS changed_at, later.ean, later.condition, later.asked_price,
    earlier.fixed_amount AS fixed_amount_before, later.fixed_amount AS fixed_amount_after,
    earlier.percentage AS percentage_before, later.percentage AS percentage_after,
    earlier.outcome AS outcome_before, later.outcome AS outcome_after,
    coalesce(earlier.total_cost_without_reduction, earlier.total_cost) AS total_before,
    coalesce(later.total_cost_without_reduction, later.total_cost) AS total_after
  FROM warehouse.fact_commission_rate_version AS later
  JOIN warehouse.fact_commission_rate_history AS earlier
    ON earlier.ean = later.ean AND earlier.valid_to = later.valid_from
    AND CASE WHEN earlier.account = later.account AND earlier.condition = later.condition
      THEN earlier.asked_price IS NOT DISTINCT FROM later.asked_price
        AND (earlier.outcome <> later.outcome OR earlier.fixed_amount IS DISTINCT FROM later.fixed_amount
          OR earlier.percentage IS DISTINCT FROM later.percentage)
      ELSE false END
),
sold AS (
  SELECT
    change.account, change.changed_on, change.changed_at, change.ean, change.condition, change.asked_price,
    change.fixed_amount_before, change.fixed_amount_after, change.percentage_before, change.percentage_after,
    change.outcome_before, change.outcome_after, change.total_before, change.total_after,
    sum(sales.sold_before) AS sold_before,
    sum(sales.sold_after) AS sold_after,
    sum(sales.revenue_before) AS revenue_before,
    sum(sales.revenue_after) AS revenue_after,
    (max(ARRAY[CAST(sales.last_day - date '2000-01-01' AS numeric), sales.last_price]) FILTER (WHERE sales.last_price IS NOT NULL))[2]
      AS last_price
  FROM change
  LEFT JOIN warehouse.product_ean AS product_ean ON product_ean.account = change.account AND product_ean.ean = change.ean
  LEFT JOIN LATERAL (
    SELECT
      sum(CASE WHEN item.order_date < change.changed_on THEN item.quantity END) AS sold_before,
      sum(CASE WHEN item.order_date >= change.changed_on THEN item.quantity END) AS sold_after,
      sum(CASE WHEN item.order_date < change.changed_on THEN item.price_excl_vat * item.quantity END) AS revenue_before,
      sum(CASE WHEN item.order_date >= change.changed_on THEN item.price_excl_vat * item.quantity END) AS revenue_after,
      (max(ARRAY[CAST(item.order_date - date '2000-01-01' AS numeric), item.price_incl_vat])
        FILTER (WHERE item.order_date < change.changed_on AND item.price_incl_vat IS NOT NULL))[2] AS last_price,
      max(item.order_date) FILTER (WHERE item.order_date < change.changed_on AND item.price_incl_vat IS NOT NULL) AS last_day
    FROM etl.receipt AS loaded
    JOIN warehouse.fact_order_item AS item
      ON item.account = loaded.account AND item.order_date = loaded.slice_day AND item.product_id = product_ean.product_id
    WHERE loaded.account = change.account AND loaded.pipeline = 'orders' AND loaded.superseded_at IS NULL
      AND loaded.slice_day >= change.changed_on - 28 AND loaded.slice_day < change.changed_on + 28
      AND coalesce(item.status_group, 'unknown') <> 'rejected'
  ) AS sales ON true
  GROUP BY
    change.account, change.changed_on, change.changed_at, change.ean, change.condition, change.asked_price,
    change.fixed_amount_before, change.fixed_amount_after, change.percentage_before, change.percentage_after,
    change.outcome_before, change.outcome_after, change.total_before, change.total_after
),
priced AS (
  SELECT
    sold.*,
    product_now.title,
    coalesce(sold.asked_price, sold.last_price, product_now.offer_price) AS price
  FROM sold LEFT JOIN warehouse.product_now AS product_now ON product_now.account = sold.account AND product_now.ean = sold.ean
),
asked AS (
  SELECT
    *,
    CASE WHEN outcome_before = 'found' THEN coalesce(
      total_before, round(coalesce(fixed_amount_before, 0) + coalesce(percentage_before, 0) * price * 0.01, 2)) END AS before,
    CASE WHEN outcome_after = 'found' THEN coalesce(
      total_after, round(coalesce(fixed_amount_after, 0) + coalesce(percentage_after, 0) * price * 0.01, 2)) END AS after
  FROM priced
)
SELECT
  asked.account, changed_on, changed_at, ean, condition, asked_price, title,
  fixed_amount_before, fixed_amount_after, percentage_before, percentage_after, outcome_before, outcome_after,
  CAST(coalesce(sold_before, 0) AS bigint) AS sold_28_days_before,
  CAST(coalesce(sold_after, 0) AS bigint) AS sold_28_days_after,
  greatest(0, least(28, newest.day - changed_on + 1)) AS days_after,
  CAST(coalesce(revenue_before, 0) AS numeric(38,6)) AS revenue_excl_vat_28_days_before,
  CAST(coalesce(revenue_after, 0) AS numeric(38,6)) AS revenue_excl_vat_28_days_after,
  price,
  CAST(before AS numeric(38,6)) AS commission_per_piece_before,
  CAST(after AS numeric(38,6)) AS commission_per_piece_after,
  CAST(after - before AS numeric(38,6)) AS effect_per_piece,
  CAST((after - before) * coalesce(sold_before, 0) AS numeric(38,6)) AS effect_28_days
FROM asked LEFT JOIN newest ON newest.account = asked.account;
