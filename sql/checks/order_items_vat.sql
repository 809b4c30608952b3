-- severity: warn
-- about: a price including VAT is not below the price without
-- pipeline: orders
-- mend: ask the service about the items; the two columns may have changed places
-- Amounts below zero are compared by their size.
SELECT order_date AS slice_day, order_id, order_item_id, price_excl_vat, price_incl_vat
FROM warehouse.fact_order_item
WHERE {on_days:order_date} AND abs(price_incl_vat) < abs(price_excl_vat)
