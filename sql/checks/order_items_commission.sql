-- severity: warn
-- about: the commission of an order item is not above what was paid for it, VAT included
-- pipeline: orders
-- fix: ask the service about the items; an amount in cents, or a percentage that slipped into the column, looks like this
-- Whether price_incl_vat is of one piece or of all, the service does not say; so this takes the larger of the two.
SELECT order_date AS slice_day, order_id, order_item_id, commission, price_incl_vat, quantity
FROM warehouse.fact_order_item
WHERE {on_days:order_date}
  AND commission > abs(price_incl_vat) * CASE WHEN quantity > 1 THEN quantity ELSE 1 END
