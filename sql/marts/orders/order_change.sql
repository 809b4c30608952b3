-- A version says two things: how it came about and, where no other one follows on its day, how it ended. The version before it counts only
-- where the two meet: between others the item was gone or on another day. `steps` is 1 for final and 2 for payment: each value that is
-- taken from the row before costs as much as reading the row.
CREATE OR REPLACE VIEW mart.order_change AS
WITH seen AS (
  SELECT
    account, order_date, order_id, order_item_id, site_code, frame_type, name, sub_id, chunk_name,
    status_group, quantity, price_excl_vat, price_incl_vat, commission_percentage, commission,
    CAST(status_final IS TRUE AS integer) + 2 * CAST(approved_for_payment IS TRUE AS integer) AS steps,
    valid_from,
    valid_to,
    ended_by,
    coalesce(lag(valid_to) OVER item = valid_from, false) AS follows,
    lag(status_group) OVER item AS status_group_before,
    lag(quantity) OVER item AS quantity_before,
    lag(price_excl_vat) OVER item AS price_excl_vat_before,
    lag(price_incl_vat) OVER item AS price_incl_vat_before,
    lag(commission_percentage) OVER item AS commission_percentage_before,
    lag(commission) OVER item AS commission_before,
    lag(CAST(status_final IS TRUE AS integer) + 2 * CAST(approved_for_payment IS TRUE AS integer)) OVER item AS steps_before
  FROM warehouse.fact_order_item_version
  WINDOW item AS (PARTITION BY order_date, order_id COLLATE "C", order_item_id COLLATE "C", account ORDER BY valid_from)
),
changes AS (
  SELECT
    account, order_date, order_id, order_item_id, site_code, frame_type, name, sub_id, chunk_name,
    CASE WHEN is_end THEN valid_to ELSE valid_from END AS changed_at,
    CASE
      WHEN is_end AND ended_by = 'gone' THEN 'vanished'
      WHEN is_end THEN 'moved_away'
      WHEN NOT follows THEN 'new'
      WHEN status_group IS DISTINCT FROM status_group_before THEN 'status'
      WHEN quantity IS DISTINCT FROM quantity_before OR price_excl_vat IS DISTINCT FROM price_excl_vat_before
        OR price_incl_vat IS DISTINCT FROM price_incl_vat_before OR commission IS DISTINCT FROM commission_before
        OR commission_percentage IS DISTINCT FROM commission_percentage_before THEN 'restated'
      WHEN (steps >= 2) <> (steps_before >= 2) THEN 'payment'
      WHEN steps <> steps_before THEN 'final'
      ELSE 'relabelled'
    END AS change,
    CASE WHEN is_end THEN status_group WHEN follows THEN status_group_before END AS status_group_before,
    CASE WHEN NOT is_end THEN status_group END AS status_group_after,
    CASE WHEN is_end THEN quantity WHEN follows THEN quantity_before END AS quantity_before,
    CASE WHEN NOT is_end THEN quantity END AS quantity_after,
    CASE WHEN is_end THEN price_excl_vat WHEN follows THEN price_excl_vat_before END AS price_excl_vat_before,
    CASE WHEN NOT is_end THEN price_excl_vat END AS price_excl_vat_after,
    CASE WHEN is_end THEN commission WHEN follows THEN commission_before END AS commission_before,
    CASE WHEN NOT is_end THEN commission END AS commission_after
  FROM seen CROSS JOIN (VALUES (false), (true)) AS side(is_end)
  WHERE NOT is_end OR ended_by <> 'changed'
)
SELECT
  account, order_date, order_id, order_item_id, site_code, frame_type, name, sub_id, chunk_name,
  changed_at,
  etl.utc_day(changed_at) AS changed_on,
  change,
  status_group_before, status_group_after,
  quantity_before, quantity_after,
  price_excl_vat_before, price_excl_vat_after,
  commission_before, commission_after,
  CAST(coalesce(commission_after, 0) - coalesce(commission_before, 0) AS numeric(38,6)) AS commission_difference,
  CAST(coalesce(price_excl_vat_after * quantity_after, 0) - coalesce(price_excl_vat_before * quantity_before, 0) AS numeric(38,6))
    AS revenue_excl_vat_difference
FROM changes;
