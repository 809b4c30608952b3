-- severity: warn
-- about: a price including VAT is 1.00 to 1.25 times the price without
-- pipeline: orders
-- fix: ask the service about the items; the two columns may have changed places, or one of them may mean something else now
-- Amounts below zero are compared by their size. A cent more is left to rounding.
SELECT order_date AS slice_day, order_id, order_item_id, price_excl_vat, price_incl_vat
FROM warehouse.fact_order_item
WHERE {on_days:order_date}
  AND (abs(price_incl_vat) < abs(price_excl_vat) OR abs(price_incl_vat) > CAST(abs(price_excl_vat) AS DECIMAL(38,6)) * 1.25 + 0.01)
