-- severity: block
-- about: every delivery is one of a push message that is known
-- pipeline: push-messages
-- fix: where verify finds the lake sound, make the warehouse afresh from it: partner-etl rebuild; else make both again from the raw store: partner-etl replay push-messages --from D --to D
SELECT delivery.received_on AS slice_day, delivery.delivery_id, delivery.resource, delivery.resource_id
FROM warehouse.push_delivery AS delivery
WHERE {on_days:received_on} AND NOT EXISTS (
  SELECT 1 FROM warehouse.fact_push_message AS message
  WHERE message.retailer_id = delivery.retailer_id AND message.resource = delivery.resource AND message.type = delivery.type
    AND message.resource_id = delivery.resource_id AND message."timestamp" = delivery."timestamp"
)
