-- severity: block
-- about: the deliveries that a push message counts are the rows of push_delivery
-- pipeline: push-messages
-- fix: where verify finds the lake sound, make the warehouse afresh from it: partner-etl rebuild; else make both again from the raw store: partner-etl replay push-messages --from D --to D
-- A message stands on the day of its first delivery, so no delivery of it lies before.
SELECT message.received_on AS slice_day, message.retailer_id, message.resource, message.type, message.resource_id,
  message."timestamp", max(message.deliveries) AS deliveries, count(delivery.delivery_id) AS delivery_rows
FROM (SELECT * FROM warehouse.fact_push_message WHERE {on_days:received_on}) AS message
LEFT JOIN (
  SELECT * FROM warehouse.push_delivery
  WHERE received_on >= (SELECT min(received_on) FROM warehouse.fact_push_message WHERE {on_days:received_on})
) AS delivery
  ON delivery.resource_id = message.resource_id AND delivery."timestamp" = message."timestamp"
  AND delivery.retailer_id = message.retailer_id AND delivery.resource = message.resource AND delivery.type = message.type
GROUP BY message.received_on, message.retailer_id, message.resource, message.type, message.resource_id, message."timestamp"
HAVING max(message.deliveries) <> count(delivery.delivery_id)
