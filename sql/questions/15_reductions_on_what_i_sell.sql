-- question: Which commission reductions are on what I sell?
-- reading: Lines of the reductions file in force on the newest loaded day, for products sold in the 30 days up to it.
-- reading: A reduction applies where the price (including VAT) is maximum_price or lower: pieces_within were sold so, reduced_by is what that makes.
-- reading: A product with several lines has a row for each; only the greatest of those that fit counts for a piece, so do not add the rows up.
-- reading: Products that the catalogue was not asked about (setting eans) cannot be found here.
WITH newest AS (
  SELECT max(slice_day) AS day FROM etl.receipt WHERE pipeline = 'orders' AND superseded_at IS NULL
),
sold AS (
  SELECT product_id, price_incl_vat, max(product_title) AS product_title, sum(quantity) AS pieces
  FROM warehouse.fact_order_item
  WHERE order_date > (SELECT day FROM newest) - 30 AND order_date <= (SELECT day FROM newest) AND coalesce(status_group, 'unknown') <> 'rejected'
  GROUP BY product_id, price_incl_vat
)
SELECT
  line.ean,
  max(sold.product_title) AS product_title,
  CAST(line.maximum_price AS decimal(38,2)) AS maximum_price,
  CAST(line.cost_reduction AS decimal(38,2)) AS cost_reduction,
  line.end_date,
  CAST(sum(sold.pieces) AS bigint) AS pieces,
  CAST(coalesce(sum(CASE WHEN sold.price_incl_vat <= line.maximum_price THEN sold.pieces END), 0) AS bigint) AS pieces_within,
  CAST(
    coalesce(sum(CASE WHEN sold.price_incl_vat <= line.maximum_price THEN sold.pieces END), 0) * line.cost_reduction AS decimal(38,2)
  ) AS reduced_by
FROM sold
JOIN warehouse.product_ean ON product_ean.product_id = sold.product_id
CROSS JOIN newest
CROSS JOIN LATERAL warehouse.reductions_in_force(newest.day) AS line
WHERE line.ean = product_ean.ean
GROUP BY line.ean, line.maximum_price, line.cost_reduction, line.start_date, line.end_date
ORDER BY reduced_by DESC, pieces DESC, line.ean, line.maximum_price, line.cost_reduction, line.start_date, line.end_date
LIMIT 50
