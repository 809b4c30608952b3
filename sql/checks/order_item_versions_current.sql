-- severity: block
-- about: of each order item exactly one version is current
-- pipeline: order-item-versions
-- mend: make the warehouse afresh from the lake: partner-etl rebuild
SELECT thing.slice_day, thing.order_id, thing.order_item_id, count(*) AS versions,
  sum(CASE WHEN seen.observed_to IS NULL THEN 1 ELSE 0 END) AS current_versions
FROM (
  SELECT order_id, order_item_id, max(order_date) AS slice_day FROM warehouse.order_item_version
  WHERE {on_days:order_date} GROUP BY order_id, order_item_id
) AS thing
JOIN warehouse.order_item_version AS seen
  ON seen.order_id = thing.order_id AND seen.order_item_id = thing.order_item_id
GROUP BY thing.slice_day, thing.order_id, thing.order_item_id
HAVING sum(CASE WHEN seen.observed_to IS NULL THEN 1 ELSE 0 END) <> 1
