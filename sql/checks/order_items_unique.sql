-- severity: block
-- about: an order item is there once
-- pipeline: orders
-- fix: where verify finds the lake sound, make the warehouse afresh from it: partner-etl rebuild; else the item may have moved to another day: fetch both days again (partner-etl backfill orders --from D --to D --refetch)
-- The days looked at among themselves, and then against all others, where few orders lie in the range of their numbers. Where the table has
-- its primary key, that sees to it, and nothing is read.
SELECT max(order_date) AS slice_day, account, order_id, order_item_id, count(*) AS times
FROM warehouse.fact_order_item
WHERE NOT etl.has_key('fact_order_item') AND {on_days:order_date}
GROUP BY account, order_id, order_item_id
HAVING count(*) > 1
UNION ALL
SELECT loaded.order_date, loaded.account, loaded.order_id, loaded.order_item_id, 2
FROM warehouse.fact_order_item AS loaded
JOIN (
  SELECT account, order_id, order_item_id FROM warehouse.fact_order_item
  WHERE NOT {on_days:order_date}
    AND order_id >= (SELECT min(order_id) FROM warehouse.fact_order_item WHERE {on_days:order_date})
    AND order_id <= (SELECT max(order_id) FROM warehouse.fact_order_item WHERE {on_days:order_date})
) AS other ON other.account = loaded.account AND other.order_id = loaded.order_id AND other.order_item_id = loaded.order_item_id
WHERE NOT etl.has_key('fact_order_item') AND {on_days:order_date}
