-- severity: block
-- about: the versions that are current are the order items of their day
-- pipeline: orders
-- fix: make the history of the day again: partner-etl replay orders --from D --to D; where verify finds the lake sound: partner-etl rebuild
-- By rows and sums, so it also finds an item that has two current versions, or none. A day that was loaded before there were versions has
-- none at all, and is right.
WITH items AS (
  SELECT account, order_date, count(*) AS row_count, sum(quantity) AS quantity, sum(price_excl_vat) AS price_excl_vat,
    sum(price_incl_vat) AS price_incl_vat, sum(commission) AS commission
  FROM warehouse.fact_order_item WHERE {on_days:order_date} GROUP BY account, order_date
),
versions AS (
  SELECT account, order_date, count(*) AS row_count, sum(quantity) AS quantity, sum(price_excl_vat) AS price_excl_vat,
    sum(price_incl_vat) AS price_incl_vat, sum(commission) AS commission
  FROM warehouse.order_item_version WHERE {on_days:order_date} AND observed_to IS NULL AND is_present GROUP BY account, order_date
)
SELECT coalesce(items.order_date, versions.order_date) AS slice_day,
  items.row_count, items.quantity, items.price_excl_vat, items.price_incl_vat, items.commission,
  versions.row_count AS version_row_count, versions.quantity AS version_quantity, versions.price_excl_vat AS version_price_excl_vat,
  versions.price_incl_vat AS version_price_incl_vat, versions.commission AS version_commission
FROM items FULL JOIN versions ON versions.account = items.account AND versions.order_date = items.order_date
WHERE (items.row_count IS DISTINCT FROM versions.row_count OR items.quantity IS DISTINCT FROM versions.quantity
    OR items.price_excl_vat IS DISTINCT FROM versions.price_excl_vat
    OR items.price_incl_vat IS DISTINCT FROM versions.price_incl_vat OR items.commission IS DISTINCT FROM versions.commission)
  AND coalesce(items.order_date, versions.order_date) IN (
    SELECT order_date FROM warehouse.order_item_version WHERE {on_days:order_date})
