-- What holds now. A boundary that the file and the rate tell alike is one.
CREATE OR REPLACE VIEW mart.price_boundary AS
WITH newest AS (
  SELECT account, max(slice_day) AS as_of FROM etl.receipt
  WHERE pipeline IN ('orders', 'reductions', 'reductions-history', 'commission-rates', 'commission-rates-history') AND superseded_at IS NULL
  GROUP BY account
),
boundary AS (
  SELECT
    newest.account, newest.as_of, line.ean, line.maximum_price, line.cost_reduction, line.end_date,
    max(CASE WHEN line.source = 'file' THEN 1 ELSE 0 END) = 1 AS in_file,
    max(CASE WHEN line.source = 'rate' THEN 1 ELSE 0 END) = 1 AS in_rate
  FROM warehouse.reduction_in_force AS line JOIN newest ON newest.account = line.account
  WHERE line.first_day <= newest.as_of AND line.last_day >= newest.as_of AND line.cost_reduction > 0
  GROUP BY newest.account, newest.as_of, line.ean, line.maximum_price, line.cost_reduction, line.end_date
),
rated AS (
  SELECT
    boundary.*, rate.condition, rate.fixed_amount, rate.percentage, product_now.title, product_now.offer_price
  FROM boundary
  JOIN warehouse.fact_commission_rate AS rate
    ON rate.account = boundary.account AND rate.ean = boundary.ean AND rate.condition = 'NEW' AND rate.asked_price IS NULL
    AND rate.outcome = 'found'
  LEFT JOIN warehouse.product_now AS product_now ON product_now.account = boundary.account AND product_now.ean = boundary.ean
),
sold AS (
  SELECT DISTINCT ON (product_ean.ean, product_ean.account) product_ean.account, product_ean.ean, item.price_incl_vat AS sold_price
  FROM newest
  JOIN warehouse.fact_order_item AS item
    ON item.account = newest.account AND item.order_date > newest.as_of - 28 AND item.order_date <= newest.as_of AND item.price_incl_vat IS NOT NULL
  JOIN warehouse.product_ean AS product_ean ON product_ean.account = item.account AND product_ean.product_id = item.product_id
  ORDER BY product_ean.ean, product_ean.account, item.order_date DESC, item.price_incl_vat DESC
),
priced AS (
  SELECT rated.*, sold.sold_price, coalesce(rated.offer_price, sold.sold_price) AS price
  FROM rated LEFT JOIN sold ON sold.account = rated.account AND sold.ean = rated.ean
),
reduced AS (
  SELECT
    *,
    round(coalesce(fixed_amount, 0) + coalesce(percentage, 0) * price * 0.01, 2) AS full_now,
    coalesce(max(CASE WHEN maximum_price IS NULL OR maximum_price >= price THEN cost_reduction END) OVER (PARTITION BY account, ean), 0)
      AS reduced_now,
    round(coalesce(fixed_amount, 0) + coalesce(percentage, 0) * maximum_price * 0.01, 2) AS full_at_boundary,
    max(cost_reduction) OVER (
      PARTITION BY account, ean ORDER BY maximum_price DESC NULLS FIRST RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS reduced_at_boundary
  FROM priced
),
judged AS (
  SELECT
    *,
    CAST(CASE WHEN full_now IS NOT NULL THEN greatest(full_now - reduced_now, 0) END AS numeric(38,6)) AS commission_now,
    CAST(CASE WHEN full_at_boundary IS NOT NULL THEN greatest(full_at_boundary - reduced_at_boundary, 0) END AS numeric(38,6))
      AS commission_at_boundary
  FROM reduced
)
SELECT
  account, as_of, ean, title, condition, price,
  CASE WHEN offer_price IS NOT NULL THEN 'offer' WHEN sold_price IS NOT NULL THEN 'sold' END AS price_source,
  fixed_amount AS rate_fixed_amount,
  percentage AS rate_percentage,
  commission_now,
  maximum_price,
  cost_reduction,
  CAST(price - maximum_price AS numeric(38,6)) AS price_cut,
  commission_at_boundary,
  commission_at_boundary - commission_now AS commission_difference,
  end_date,
  in_file,
  in_rate
FROM judged;
