-- severity: block
-- about: what an order item was and what it is follow each other: nothing ends before it begins, and no two of its rows overlap
-- pipeline: orders-history
-- fix: where verify finds the lake sound, make the warehouse afresh from it: partner-etl rebuild; else make the history again from the raw store: partner-etl rebuild --history
SELECT max(slice_day) AS slice_day, account, order_id, order_item_id
FROM (
  SELECT ended.slice_day, version.account, version.order_id, version.order_item_id, version.valid_from, version.valid_to,
    lag(coalesce(version.valid_to, 'infinity')) OVER (
      PARTITION BY version.account, version.order_id, version.order_item_id ORDER BY version.valid_from, version.valid_to
    ) AS ended_before
  FROM (
    SELECT account, order_id, order_item_id, max(ended_on) AS slice_day
    FROM warehouse.fact_order_item_history WHERE {on_days:ended_on} GROUP BY account, order_id, order_item_id
  ) AS ended
  JOIN warehouse.fact_order_item_version AS version
    ON version.account = ended.account AND version.order_id = ended.order_id AND version.order_item_id = ended.order_item_id
) AS versions
WHERE valid_to < valid_from OR ended_before > valid_from
GROUP BY account, order_id, order_item_id
