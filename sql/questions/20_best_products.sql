-- question: Which products earn me most?
-- reading: Orders of the last 90 loaded days, by the commission of what was not rejected.
-- reading: safe_commission is the part whose payment was started; the rest may still be rejected.
-- reading: A product is its id; the title is one of those it was sold under.
WITH newest AS (
  SELECT max(slice_day) AS day FROM etl.receipt WHERE pipeline = 'orders' AND superseded_at IS NULL
)
SELECT
  product_id,
  max(product_title) AS product_title,
  CAST(sum(quantity) AS bigint) AS pieces,
  count(DISTINCT order_id) AS orders,
  CAST(sum(price_excl_vat * quantity) AS decimal(38,2)) AS revenue_excl_vat,
  CAST(sum(commission) AS decimal(38,2)) AS commission,
  CAST(
    sum(CASE WHEN status_group = 'approved' AND approved_for_payment THEN commission ELSE 0 END) AS decimal(38,2)
  ) AS safe_commission
FROM warehouse.fact_order_item
WHERE order_date > (SELECT day FROM newest) - 90 AND order_date <= (SELECT day FROM newest) AND coalesce(status_group, 'unknown') <> 'rejected'
GROUP BY product_id
ORDER BY sum(commission) DESC NULLS LAST, product_id
LIMIT 20
