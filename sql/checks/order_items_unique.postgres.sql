-- severity: block
-- about: an order item is there once
-- pipeline: orders
-- fix: where verify finds the lake sound, make the warehouse afresh from it: partner-etl rebuild; else the item may have moved to another day: fetch both days again (partner-etl backfill orders --from D --to D --refetch)
-- The primary key sees to it, so the table is read only where somebody has taken that away.
SELECT loaded.order_date AS slice_day, loaded.account, loaded.order_id, loaded.order_item_id, count(*) AS times
FROM (SELECT DISTINCT account, order_date, order_id, order_item_id FROM warehouse.fact_order_item WHERE {on_days:order_date}) AS loaded
JOIN warehouse.fact_order_item AS item ON item.account = loaded.account AND item.order_id = loaded.order_id AND item.order_item_id = loaded.order_item_id
WHERE NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conrelid = 'warehouse.fact_order_item'::regclass AND contype = 'p')
GROUP BY loaded.order_date, loaded.account, loaded.order_id, loaded.order_item_id
HAVING count(*) > 1
