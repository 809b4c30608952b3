-- What order items are, and what they were.
CREATE OR REPLACE VIEW warehouse.fact_order_item_version AS
SELECT
  account, order_date, order_date_time, order_id, order_item_id, product_title, product_id, chunk_name, site_name, site_code, frame_type, name,
  sub_id, status, quantity, price_excl_vat, price_incl_vat, commission_percentage, commission, status_final, approved_for_payment,
  order_local_time, order_utc_time, status_group, extra, fetch_id, loaded_at,
  valid_from, CAST(NULL AS timestamp with time zone) AS valid_to, CAST(NULL AS text) AS ended_by
FROM warehouse.fact_order_item
UNION ALL
SELECT
  account, order_date, order_date_time, order_id, order_item_id, product_title, product_id, chunk_name, site_name, site_code, frame_type, name,
  sub_id, status, quantity, price_excl_vat, price_incl_vat, commission_percentage, commission, status_final, approved_for_payment,
  order_local_time, order_utc_time, status_group, extra, fetch_id, loaded_at,
  valid_from, valid_to, ended_by
FROM warehouse.fact_order_item_history;
