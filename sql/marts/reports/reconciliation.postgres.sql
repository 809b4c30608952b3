CREATE OR REPLACE VIEW mart.reconciliation AS
WITH loaded AS (
  SELECT
    slice_day,
    max(fetched_at) FILTER (WHERE pipeline = 'promotions') AS promotions_at,
    max(fetched_at) FILTER (WHERE pipeline = 'orders') AS orders_at,
    max(fetched_at) FILTER (WHERE pipeline = 'commissions') AS commissions_at
  FROM etl.receipt
  WHERE superseded_at IS NULL AND pipeline IN ('promotions', 'orders', 'commissions')
  GROUP BY slice_day
),
-- Items that the report no longer has, as they were last. Looked at by group and day, so never all of them at once.
gone AS NOT MATERIALIZED (
  SELECT said.*
  FROM warehouse.fact_order_item_history AS said
  WHERE said.ended_by = 'gone' AND NOT EXISTS (
    SELECT FROM warehouse.fact_order_item_version AS later
    WHERE later.account = said.account AND later.order_id = said.order_id AND later.order_item_id = said.order_item_id
      AND later.valid_from >= said.valid_to
  )
),
reported AS (
  SELECT
    promotion_date AS day, site_code, frame_type, name, sub_id, 'promotions' AS report,
    sum(orders) AS orders, sum(commission) AS commission, CAST(NULL AS numeric) AS approved, CAST(NULL AS numeric) AS open,
    sum(revenue_excl_vat) AS excl_vat, sum(revenue_incl_vat) AS incl_vat, CAST(NULL AS timestamp with time zone) AS known_from
  FROM warehouse.fact_promotion_day
  GROUP BY promotion_date, site_code, frame_type, name, sub_id
  UNION ALL
  SELECT
    order_date, site_code, frame_type, name, sub_id, 'orders',
    count(DISTINCT order_id), sum(commission),
    sum(commission) FILTER (WHERE status_group = 'approved'),
    sum(commission) FILTER (WHERE coalesce(status_group, 'unknown') NOT IN ('approved', 'rejected')),
    sum(price_excl_vat * quantity), sum(price_incl_vat * quantity), NULL
  FROM warehouse.fact_order_item
  GROUP BY order_date, site_code, frame_type, name, sub_id
  UNION ALL
  SELECT
    order_date, site_code, frame_type, name, sub_id, 'commissions',
    NULL, sum(commission_original), sum(commission_approved), sum(commission_open),
    sum(revenue_original_excl_vat), sum(revenue_original_incl_vat), NULL
  FROM warehouse.fact_commission_day
  GROUP BY order_date, site_code, frame_type, name, sub_id
  UNION ALL
  SELECT order_date, NULL, NULL, NULL, NULL, 'known', NULL, NULL, NULL, NULL, NULL, NULL, min(valid_from)
  FROM warehouse.fact_order_item_version
  GROUP BY order_date
),
summed AS (
  SELECT
    day, site_code, frame_type, name, sub_id,
    count(*) FILTER (WHERE report = 'promotions') > 0 AS in_promotions,
    count(*) FILTER (WHERE report = 'orders') > 0 AS in_orders,
    count(*) FILTER (WHERE report = 'commissions') > 0 AS in_commissions,
    min(known_from) AS day_known_from,
    CAST(coalesce(sum(orders) FILTER (WHERE report = 'promotions'), 0) AS bigint) AS promotions_orders,
    CAST(coalesce(sum(orders) FILTER (WHERE report = 'orders'), 0) AS bigint) AS orders_orders,
    CAST(coalesce(sum(commission) FILTER (WHERE report = 'promotions'), 0) AS numeric(38,6)) AS promotions_commission,
    CAST(coalesce(sum(commission) FILTER (WHERE report = 'orders'), 0) AS numeric(38,6)) AS orders_commission,
    CAST(coalesce(sum(commission) FILTER (WHERE report = 'commissions'), 0) AS numeric(38,6)) AS commissions_original,
    CAST(coalesce(sum(approved) FILTER (WHERE report = 'orders'), 0) AS numeric(38,6)) AS orders_approved,
    CAST(coalesce(sum(approved) FILTER (WHERE report = 'commissions'), 0) AS numeric(38,6)) AS commissions_approved,
    CAST(coalesce(sum(open) FILTER (WHERE report = 'orders'), 0) AS numeric(38,6)) AS orders_open,
    CAST(coalesce(sum(open) FILTER (WHERE report = 'commissions'), 0) AS numeric(38,6)) AS commissions_open,
    CAST(coalesce(sum(excl_vat) FILTER (WHERE report = 'promotions'), 0) AS numeric(38,6)) AS promotions_revenue_excl_vat,
    CAST(coalesce(sum(excl_vat) FILTER (WHERE report = 'orders'), 0) AS numeric(38,6)) AS orders_revenue_excl_vat,
    CAST(coalesce(sum(excl_vat) FILTER (WHERE report = 'commissions'), 0) AS numeric(38,6)) AS commissions_revenue_excl_vat,
    CAST(coalesce(sum(incl_vat) FILTER (WHERE report = 'promotions'), 0) AS numeric(38,6)) AS promotions_revenue_incl_vat,
    CAST(coalesce(sum(incl_vat) FILTER (WHERE report = 'orders'), 0) AS numeric(38,6)) AS orders_revenue_incl_vat,
    CAST(coalesce(sum(incl_vat) FILTER (WHERE report = 'commissions'), 0) AS numeric(38,6)) AS commissions_revenue_incl_vat
  FROM reported
  GROUP BY day, site_code, frame_type, name, sub_id
),
compared AS (
  SELECT
    *,
    min(day_known_from) OVER (PARTITION BY day) AS known_from,
    promotions_orders - orders_orders AS orders_difference,
    promotions_commission - orders_commission AS commission_promotions_orders,
    commissions_original - orders_commission AS commission_commissions_orders,
    commissions_approved - orders_approved AS approved_difference,
    commissions_open - orders_open AS open_difference,
    promotions_revenue_excl_vat - orders_revenue_excl_vat AS excl_vat_promotions_orders,
    commissions_revenue_excl_vat - orders_revenue_excl_vat AS excl_vat_commissions_orders,
    promotions_revenue_incl_vat - orders_revenue_incl_vat AS incl_vat_promotions_orders,
    commissions_revenue_incl_vat - orders_revenue_incl_vat AS incl_vat_commissions_orders
  FROM summed
),
placed AS (
  SELECT
    *,
    sum(orders_difference) OVER place = 0 AND sum(commission_promotions_orders) OVER place = 0
      AND sum(excl_vat_promotions_orders) OVER place = 0 AND sum(incl_vat_promotions_orders) OVER place = 0 AS promotions_agree_on_place,
    sum(commission_commissions_orders) OVER place = 0 AND sum(approved_difference) OVER place = 0 AND sum(open_difference) OVER place = 0
      AND sum(excl_vat_commissions_orders) OVER place = 0 AND sum(incl_vat_commissions_orders) OVER place = 0 AS commissions_agree_on_place
  FROM compared
  WHERE in_promotions OR in_orders OR in_commissions
  WINDOW place AS (PARTITION BY day, site_code, frame_type, name)
),
judged AS (
  SELECT
    placed.*,
    CASE
      WHEN loaded.promotions_at IS NULL OR loaded.orders_at IS NULL THEN 'not_loaded'
      WHEN orders_difference = 0 AND commission_promotions_orders = 0 AND excl_vat_promotions_orders = 0 AND incl_vat_promotions_orders = 0 THEN 'equal'
      WHEN promotions_agree_on_place THEN 'missing_sub_id'
      WHEN orders_difference = 0 AND commission_promotions_orders = 0 AND excl_vat_promotions_orders = 0 THEN 'vat'
      WHEN orders_difference = 0 AND excl_vat_promotions_orders = 0 AND incl_vat_promotions_orders = 0 THEN 'rate'
      WHEN (
        SELECT orders_difference = count(DISTINCT said.order_id) FILTER (WHERE NOT EXISTS (
            SELECT FROM warehouse.fact_order_item AS item
            WHERE item.order_id = said.order_id AND item.order_date = placed.day
              AND (item.site_code, item.frame_type, item.name, item.sub_id) IS NOT DISTINCT FROM (placed.site_code, placed.frame_type, placed.name, placed.sub_id)
          ))
          AND commission_promotions_orders = coalesce(sum(said.commission), 0)
          AND excl_vat_promotions_orders = coalesce(sum(said.price_excl_vat * said.quantity), 0)
          AND incl_vat_promotions_orders = coalesce(sum(said.price_incl_vat * said.quantity), 0)
        FROM gone AS said
        WHERE said.order_date = placed.day
          AND coalesce(said.sub_id, '') = coalesce(placed.sub_id, '') AND coalesce(said.name, '') = coalesce(placed.name, '')
          AND (said.site_code, said.frame_type, said.name, said.sub_id) IS NOT DISTINCT FROM (placed.site_code, placed.frame_type, placed.name, placed.sub_id)
      ) THEN 'vanished'
      WHEN placed.known_from <= loaded.promotions_at AND (
        SELECT promotions_orders = count(DISTINCT version.order_id)
          AND promotions_commission = coalesce(sum(version.commission), 0)
          AND promotions_revenue_excl_vat = coalesce(sum(version.price_excl_vat * version.quantity), 0)
          AND promotions_revenue_incl_vat = coalesce(sum(version.price_incl_vat * version.quantity), 0)
        FROM warehouse.fact_order_item_version AS version
        WHERE version.order_date = placed.day
          AND coalesce(version.sub_id, '') = coalesce(placed.sub_id, '') AND coalesce(version.name, '') = coalesce(placed.name, '')
          AND (version.site_code, version.frame_type, version.name, version.sub_id) IS NOT DISTINCT FROM (placed.site_code, placed.frame_type, placed.name, placed.sub_id)
          AND version.valid_from <= loaded.promotions_at AND (version.valid_to IS NULL OR version.valid_to > loaded.promotions_at)
      ) THEN 'timing'
      ELSE 'unexplained'
    END AS promotions_class,
    CASE
      WHEN loaded.commissions_at IS NULL OR loaded.orders_at IS NULL THEN 'not_loaded'
      WHEN commission_commissions_orders = 0 AND approved_difference = 0 AND open_difference = 0
        AND excl_vat_commissions_orders = 0 AND incl_vat_commissions_orders = 0 THEN 'equal'
      WHEN commissions_agree_on_place THEN 'missing_sub_id'
      WHEN commission_commissions_orders = 0 AND approved_difference = 0 AND open_difference = 0 AND excl_vat_commissions_orders = 0 THEN 'vat'
      WHEN commission_commissions_orders <> 0 AND excl_vat_commissions_orders = 0 AND incl_vat_commissions_orders = 0 THEN 'rate'
      WHEN (
        SELECT commission_commissions_orders = coalesce(sum(said.commission), 0)
          AND approved_difference = coalesce(sum(said.commission) FILTER (WHERE said.status_group = 'approved'), 0)
          AND open_difference = coalesce(sum(said.commission) FILTER (WHERE coalesce(said.status_group, 'unknown') NOT IN ('approved', 'rejected')), 0)
          AND excl_vat_commissions_orders = coalesce(sum(said.price_excl_vat * said.quantity), 0)
          AND incl_vat_commissions_orders = coalesce(sum(said.price_incl_vat * said.quantity), 0)
        FROM gone AS said
        WHERE said.order_date = placed.day
          AND coalesce(said.sub_id, '') = coalesce(placed.sub_id, '') AND coalesce(said.name, '') = coalesce(placed.name, '')
          AND (said.site_code, said.frame_type, said.name, said.sub_id) IS NOT DISTINCT FROM (placed.site_code, placed.frame_type, placed.name, placed.sub_id)
      ) THEN 'vanished'
      WHEN commission_commissions_orders = 0 AND approved_difference + open_difference = 0
        AND excl_vat_commissions_orders = 0 AND incl_vat_commissions_orders = 0 THEN 'timing'
      WHEN placed.known_from <= loaded.commissions_at AND (
        SELECT commissions_original = coalesce(sum(version.commission), 0)
          AND commissions_approved = coalesce(sum(version.commission) FILTER (WHERE version.status_group = 'approved'), 0)
          AND commissions_open = coalesce(sum(version.commission) FILTER (WHERE coalesce(version.status_group, 'unknown') NOT IN ('approved', 'rejected')), 0)
          AND commissions_revenue_excl_vat = coalesce(sum(version.price_excl_vat * version.quantity), 0)
          AND commissions_revenue_incl_vat = coalesce(sum(version.price_incl_vat * version.quantity), 0)
        FROM warehouse.fact_order_item_version AS version
        WHERE version.order_date = placed.day
          AND coalesce(version.sub_id, '') = coalesce(placed.sub_id, '') AND coalesce(version.name, '') = coalesce(placed.name, '')
          AND (version.site_code, version.frame_type, version.name, version.sub_id) IS NOT DISTINCT FROM (placed.site_code, placed.frame_type, placed.name, placed.sub_id)
          AND version.valid_from <= loaded.commissions_at AND (version.valid_to IS NULL OR version.valid_to > loaded.commissions_at)
      ) THEN 'timing'
      ELSE 'unexplained'
    END AS commissions_class
  FROM placed LEFT JOIN loaded ON loaded.slice_day = placed.day
)
SELECT
  day, site_code, frame_type, name, sub_id,
  CASE
    WHEN 'not_loaded' IN (promotions_class, commissions_class) THEN 'not_loaded'
    WHEN 'unexplained' IN (promotions_class, commissions_class) THEN 'unexplained'
    WHEN 'rate' IN (promotions_class, commissions_class) THEN 'rate'
    WHEN 'vat' IN (promotions_class, commissions_class) THEN 'vat'
    WHEN 'missing_sub_id' IN (promotions_class, commissions_class) THEN 'missing_sub_id'
    WHEN 'vanished' IN (promotions_class, commissions_class) THEN 'vanished'
    WHEN 'timing' IN (promotions_class, commissions_class) THEN 'timing'
    ELSE 'equal'
  END AS class,
  promotions_class, commissions_class,
  in_promotions, in_orders, in_commissions,
  promotions_orders, orders_orders, orders_difference,
  promotions_commission, orders_commission, commissions_original, commission_promotions_orders, commission_commissions_orders,
  orders_approved, commissions_approved, approved_difference,
  orders_open, commissions_open, open_difference,
  promotions_revenue_excl_vat, orders_revenue_excl_vat, commissions_revenue_excl_vat, excl_vat_promotions_orders, excl_vat_commissions_orders,
  promotions_revenue_incl_vat, orders_revenue_incl_vat, commissions_revenue_incl_vat, incl_vat_promotions_orders, incl_vat_commissions_orders
FROM judged;
