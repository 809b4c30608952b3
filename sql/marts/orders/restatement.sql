-- One pass over the index. The first version of an item on a day shows whether the day's first fetch had it, the last one whether it is
-- there now. A label that changed between them takes the item out of one group and into another, so each version counts in the group that
-- it names itself.
CREATE OR REPLACE VIEW mart.restatement AS
WITH seen AS (
  SELECT
    account, order_date, site_code, frame_type, name, sub_id,
    quantity,
    price_excl_vat,
    commission,
    valid_from,
    valid_to IS NULL AS is_now,
    first_value(valid_from) OVER item AS first_seen_at,
    last_value(valid_to IS NULL) OVER item AS is_there,
    min(valid_from) OVER (PARTITION BY account, order_date) AS first_fetch_at
  FROM warehouse.fact_order_item_version
  WINDOW item AS (
    PARTITION BY order_date, order_id COLLATE "C", order_item_id COLLATE "C", account ORDER BY valid_from
    ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
  )
),
ends AS (
  SELECT
    account, order_date, site_code, frame_type, name, sub_id, quantity, price_excl_vat * quantity AS revenue_excl_vat, commission,
    first_fetch_at,
    valid_from = first_fetch_at AS is_first,
    is_now,
    first_seen_at = first_fetch_at AS was_there,
    is_there
  FROM seen
  WHERE is_now OR valid_from = first_fetch_at
),
sums AS (
  SELECT
    account, order_date, site_code, frame_type, name, sub_id,
    min(first_fetch_at) AS first_fetch_at,
    count(*) FILTER (WHERE is_first) AS items_first,
    count(*) FILTER (WHERE is_now) AS items_now,
    count(*) FILTER (WHERE NOT was_there) AS late_items,
    count(*) FILTER (WHERE NOT is_there) AS gone_items,
    CAST(coalesce(sum(quantity) FILTER (WHERE is_first), 0) AS bigint) AS quantity_first,
    CAST(coalesce(sum(quantity) FILTER (WHERE is_now), 0) AS bigint) AS quantity_now,
    CAST(coalesce(sum(revenue_excl_vat) FILTER (WHERE is_first), 0) AS numeric(38,6)) AS revenue_excl_vat_first,
    CAST(coalesce(sum(revenue_excl_vat) FILTER (WHERE is_now), 0) AS numeric(38,6)) AS revenue_excl_vat_now,
    CAST(coalesce(sum(commission) FILTER (WHERE is_first), 0) AS numeric(38,6)) AS commission_first,
    CAST(coalesce(sum(commission) FILTER (WHERE is_now), 0) AS numeric(38,6)) AS commission_now,
    CAST(coalesce(sum(commission) FILTER (WHERE NOT was_there), 0) AS numeric(38,6)) AS late_commission,
    CAST(-coalesce(sum(commission) FILTER (WHERE NOT is_there), 0) AS numeric(38,6)) AS gone_commission
  FROM ends
  GROUP BY account, order_date, site_code, frame_type, name, sub_id
)
SELECT
  account, order_date, site_code, frame_type, name, sub_id,
  first_fetch_at,
  items_first, items_now, late_items, gone_items,
  quantity_first, quantity_now,
  revenue_excl_vat_first, revenue_excl_vat_now,
  commission_first, commission_now,
  CAST(commission_now - commission_first AS numeric(38,6)) AS commission_difference,
  late_commission, gone_commission,
  CAST(commission_now - commission_first - late_commission - gone_commission AS numeric(38,6)) AS changed_commission
FROM sums;
