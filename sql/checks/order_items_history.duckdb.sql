-- severity: block
-- about: what an order item was and what it is follow each other: nothing ends before it begins, and no two of its rows overlap
-- pipeline: orders-history
-- fix: where verify finds the lake sound, make the warehouse afresh from it: partner-etl rebuild; else make the history again from the raw store: partner-etl rebuild --history
-- Items are compared by their hashes: 18 million rows of history, all of them in hand, then fit into 120 MB of memory; by their names they
-- do not into 256. Few orders lie in the range of the numbers of those that ended on a few days.
SELECT max(ended_on) AS slice_day, account, order_id, order_item_id
FROM warehouse.fact_order_item_history
WHERE {on_days:ended_on} AND hash(account, order_id, order_item_id) IN (
  SELECT item
  FROM (
    SELECT item, valid_from, valid_to,
      lag(coalesce(valid_to, 'infinity')) OVER (PARTITION BY item ORDER BY valid_from, valid_to) AS ended_before
    FROM (
      SELECT hash(account, order_id, order_item_id) AS item, valid_from, valid_to
      FROM warehouse.fact_order_item_version
      WHERE order_id >= (SELECT min(order_id) FROM warehouse.fact_order_item_history WHERE {on_days:ended_on})
        AND order_id <= (SELECT max(order_id) FROM warehouse.fact_order_item_history WHERE {on_days:ended_on})
    ) AS near
    WHERE item IN (
      SELECT hash(account, order_id, order_item_id) FROM warehouse.fact_order_item_history WHERE {on_days:ended_on}
    )
  ) AS versions
  WHERE valid_to < valid_from OR ended_before > valid_from
)
GROUP BY account, order_id, order_item_id
