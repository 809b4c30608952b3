-- Groups by names as bytes, in the order of the index, and gives the names back in the collation of the database.
-- When an item was first seen in a state; what it was already when it was first seen has no time. The filters leave one version, that
-- which holds now, so max() only picks its value.
CREATE OR REPLACE VIEW mart.order_life_cycle AS
WITH seen AS (
  SELECT
    account,
    order_date,
    order_id COLLATE "C" COLLATE "default" AS order_id,
    order_item_id COLLATE "C" COLLATE "default" AS order_item_id,
    max(site_code) FILTER (WHERE valid_to IS NULL) AS site_code,
    max(frame_type) FILTER (WHERE valid_to IS NULL) AS frame_type,
    max(name) FILTER (WHERE valid_to IS NULL) AS name,
    max(sub_id) FILTER (WHERE valid_to IS NULL) AS sub_id,
    max(chunk_name) FILTER (WHERE valid_to IS NULL) AS chunk_name,
    max(status_group) FILTER (WHERE valid_to IS NULL) AS status_group,
    coalesce(bool_or(status_final) FILTER (WHERE valid_to IS NULL), false) AS is_final,
    coalesce(bool_or(approved_for_payment) FILTER (WHERE valid_to IS NULL), false) AS is_for_payment,
    max(commission) FILTER (WHERE valid_to IS NULL) AS commission,
    min(valid_from) AS first_seen_at,
    min(valid_from) FILTER (WHERE status_group IN ('approved', 'rejected')) AS decided_from,
    min(valid_from) FILTER (WHERE status_final) AS final_from,
    min(valid_from) FILTER (WHERE status_group = 'approved') AS approved_from,
    min(valid_from) FILTER (WHERE status_group = 'approved' AND approved_for_payment) AS payment_from
  FROM warehouse.fact_order_item_version
  GROUP BY order_date, order_id COLLATE "C", order_item_id COLLATE "C", account
  HAVING bool_or(valid_to IS NULL)
),
lived AS (
  SELECT
    *,
    CASE WHEN status_group IN ('approved', 'rejected') AND decided_from > first_seen_at THEN decided_from END AS decided_at,
    CASE WHEN is_final AND final_from > first_seen_at THEN final_from END AS final_at,
    CASE WHEN status_group = 'approved' AND approved_from > first_seen_at THEN approved_from END AS approved_at,
    CASE WHEN status_group = 'approved' AND is_for_payment AND payment_from > first_seen_at THEN payment_from END AS payment_at
  FROM seen
)
SELECT
  account, order_date, order_id, order_item_id, site_code, frame_type, name, sub_id, chunk_name, status_group, commission,
  first_seen_at, decided_at, final_at, approved_at, payment_at,
  etl.utc_day(decided_at) - order_date AS days_to_decision,
  etl.utc_day(final_at) - order_date AS days_to_final,
  etl.utc_day(approved_at) - order_date AS days_to_approval,
  etl.utc_day(payment_at) - order_date AS days_to_payment,
  coalesce(least(decided_from, final_from) > first_seen_at, true) AS seen_from_start
FROM lived;
