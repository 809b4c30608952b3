CREATE OR REPLACE VIEW mart.reconciliation AS
WITH loaded AS (
  SELECT receipts.*, seen.known_from
  FROM (
    SELECT
      slice_day,
      max(CASE WHEN pipeline = 'promotions' THEN fetched_at END) AS promotions_at,
      max(CASE WHEN pipeline = 'orders' THEN fetched_at END) AS orders_at,
      max(CASE WHEN pipeline = 'commissions' THEN fetched_at END) AS commissions_at
    FROM etl.receipt
    WHERE superseded_at IS NULL AND pipeline IN ('promotions', 'orders', 'commissions')
    GROUP BY slice_day
  ) AS receipts
  LEFT JOIN (
    SELECT order_date, min(valid_from) AS known_from FROM warehouse.fact_order_item_version GROUP BY order_date
  ) AS seen ON seen.order_date = receipts.slice_day
),
reported AS (
  SELECT
    promotion_date AS day, site_code, frame_type, name, sub_id, 'promotions' AS report,
    sum(orders) AS orders, sum(commission) AS commission, CAST(NULL AS DECIMAL(38,6)) AS approved, CAST(NULL AS DECIMAL(38,6)) AS open,
    sum(revenue_excl_vat) AS excl_vat, sum(revenue_incl_vat) AS incl_vat
  FROM warehouse.fact_promotion_day
  GROUP BY promotion_date, site_code, frame_type, name, sub_id
  UNION ALL
  SELECT
    order_date, site_code, frame_type, name, sub_id, 'orders',
    count(DISTINCT order_id), sum(commission),
    sum(commission) FILTER (WHERE status_group = 'approved'),
    sum(commission) FILTER (WHERE coalesce(status_group, 'unknown') NOT IN ('approved', 'rejected')),
    sum(price_excl_vat * quantity), sum(price_incl_vat * quantity)
  FROM warehouse.fact_order_item
  GROUP BY order_date, site_code, frame_type, name, sub_id
  UNION ALL
  SELECT
    order_date, site_code, frame_type, name, sub_id, 'commissions',
    NULL, sum(commission_original), sum(commission_approved), sum(commission_open),
    sum(revenue_original_excl_vat), sum(revenue_original_incl_vat)
  FROM warehouse.fact_commission_day
  GROUP BY order_date, site_code, frame_type, name, sub_id
  UNION ALL
  SELECT
    said.order_date, said.site_code, said.frame_type, said.name, said.sub_id, 'gone',
    count(DISTINCT order_id) FILTER (WHERE NOT is_order_here), sum(said.commission),
    sum(said.commission) FILTER (WHERE said.status_group = 'approved'),
    sum(said.commission) FILTER (WHERE coalesce(said.status_group, 'unknown') NOT IN ('approved', 'rejected')),
    sum(said.price_excl_vat * said.quantity), sum(said.price_incl_vat * said.quantity)
  FROM (
    SELECT said.*, EXISTS (
      SELECT 1 FROM warehouse.fact_order_item AS item
      WHERE item.order_date = said.order_date AND item.order_id = said.order_id
        AND item.site_code IS NOT DISTINCT FROM said.site_code AND item.frame_type IS NOT DISTINCT FROM said.frame_type
        AND item.name IS NOT DISTINCT FROM said.name AND item.sub_id IS NOT DISTINCT FROM said.sub_id
    ) AS is_order_here
    FROM warehouse.fact_order_item_history AS said
    WHERE said.ended_by = 'gone' AND NOT EXISTS (
      SELECT 1 FROM warehouse.fact_order_item_version AS later
      WHERE later.account = said.account AND later.order_id = said.order_id AND later.order_item_id = said.order_item_id
        AND later.valid_from >= said.valid_to
    )
  ) AS said
  GROUP BY said.order_date, said.site_code, said.frame_type, said.name, said.sub_id
  UNION ALL
  SELECT
    version.order_date, version.site_code, version.frame_type, version.name, version.sub_id, 'promotions_then',
    count(DISTINCT order_id), sum(version.commission),
    sum(version.commission) FILTER (WHERE version.status_group = 'approved'),
    sum(version.commission) FILTER (WHERE coalesce(version.status_group, 'unknown') NOT IN ('approved', 'rejected')),
    sum(version.price_excl_vat * version.quantity), sum(version.price_incl_vat * version.quantity)
  FROM warehouse.fact_order_item_version AS version JOIN loaded ON loaded.slice_day = version.order_date
  WHERE valid_from <= promotions_at AND (valid_to IS NULL OR valid_to > promotions_at)
  GROUP BY version.order_date, version.site_code, version.frame_type, version.name, version.sub_id
  UNION ALL
  SELECT
    version.order_date, version.site_code, version.frame_type, version.name, version.sub_id, 'commissions_then',
    NULL, sum(version.commission),
    sum(version.commission) FILTER (WHERE version.status_group = 'approved'),
    sum(version.commission) FILTER (WHERE coalesce(version.status_group, 'unknown') NOT IN ('approved', 'rejected')),
    sum(version.price_excl_vat * version.quantity), sum(version.price_incl_vat * version.quantity)
  FROM warehouse.fact_order_item_version AS version JOIN loaded ON loaded.slice_day = version.order_date
  WHERE valid_from <= commissions_at AND (valid_to IS NULL OR valid_to > commissions_at)
  GROUP BY version.order_date, version.site_code, version.frame_type, version.name, version.sub_id
),
summed AS (
  SELECT
    day, site_code, frame_type, name, sub_id,
    count(*) FILTER (WHERE report = 'promotions') > 0 AS in_promotions,
    count(*) FILTER (WHERE report = 'orders') > 0 AS in_orders,
    count(*) FILTER (WHERE report = 'commissions') > 0 AS in_commissions,
    CAST(coalesce(sum(orders) FILTER (WHERE report = 'promotions'), 0) AS BIGINT) AS promotions_orders,
    CAST(coalesce(sum(orders) FILTER (WHERE report = 'orders'), 0) AS BIGINT) AS orders_orders,
    CAST(coalesce(sum(commission) FILTER (WHERE report = 'promotions'), 0) AS DECIMAL(38,6)) AS promotions_commission,
    CAST(coalesce(sum(commission) FILTER (WHERE report = 'orders'), 0) AS DECIMAL(38,6)) AS orders_commission,
    CAST(coalesce(sum(commission) FILTER (WHERE report = 'commissions'), 0) AS DECIMAL(38,6)) AS commissions_original,
    CAST(coalesce(sum(approved) FILTER (WHERE report = 'orders'), 0) AS DECIMAL(38,6)) AS orders_approved,
    CAST(coalesce(sum(approved) FILTER (WHERE report = 'commissions'), 0) AS DECIMAL(38,6)) AS commissions_approved,
    CAST(coalesce(sum(open) FILTER (WHERE report = 'orders'), 0) AS DECIMAL(38,6)) AS orders_open,
    CAST(coalesce(sum(open) FILTER (WHERE report = 'commissions'), 0) AS DECIMAL(38,6)) AS commissions_open,
    CAST(coalesce(sum(excl_vat) FILTER (WHERE report = 'promotions'), 0) AS DECIMAL(38,6)) AS promotions_revenue_excl_vat,
    CAST(coalesce(sum(excl_vat) FILTER (WHERE report = 'orders'), 0) AS DECIMAL(38,6)) AS orders_revenue_excl_vat,
    CAST(coalesce(sum(excl_vat) FILTER (WHERE report = 'commissions'), 0) AS DECIMAL(38,6)) AS commissions_revenue_excl_vat,
    CAST(coalesce(sum(incl_vat) FILTER (WHERE report = 'promotions'), 0) AS DECIMAL(38,6)) AS promotions_revenue_incl_vat,
    CAST(coalesce(sum(incl_vat) FILTER (WHERE report = 'orders'), 0) AS DECIMAL(38,6)) AS orders_revenue_incl_vat,
    CAST(coalesce(sum(incl_vat) FILTER (WHERE report = 'commissions'), 0) AS DECIMAL(38,6)) AS commissions_revenue_incl_vat,
    CAST(coalesce(sum(orders) FILTER (WHERE report = 'gone'), 0) AS BIGINT) AS gone_orders,
    CAST(coalesce(sum(commission) FILTER (WHERE report = 'gone'), 0) AS DECIMAL(38,6)) AS gone_commission,
    CAST(coalesce(sum(approved) FILTER (WHERE report = 'gone'), 0) AS DECIMAL(38,6)) AS gone_approved,
    CAST(coalesce(sum(open) FILTER (WHERE report = 'gone'), 0) AS DECIMAL(38,6)) AS gone_open,
    CAST(coalesce(sum(excl_vat) FILTER (WHERE report = 'gone'), 0) AS DECIMAL(38,6)) AS gone_excl_vat,
    CAST(coalesce(sum(incl_vat) FILTER (WHERE report = 'gone'), 0) AS DECIMAL(38,6)) AS gone_incl_vat,
    CAST(coalesce(sum(orders) FILTER (WHERE report = 'promotions_then'), 0) AS BIGINT) AS promotions_then_orders,
    CAST(coalesce(sum(commission) FILTER (WHERE report = 'promotions_then'), 0) AS DECIMAL(38,6)) AS promotions_then_commission,
    CAST(coalesce(sum(excl_vat) FILTER (WHERE report = 'promotions_then'), 0) AS DECIMAL(38,6)) AS promotions_then_excl_vat,
    CAST(coalesce(sum(incl_vat) FILTER (WHERE report = 'promotions_then'), 0) AS DECIMAL(38,6)) AS promotions_then_incl_vat,
    CAST(coalesce(sum(commission) FILTER (WHERE report = 'commissions_then'), 0) AS DECIMAL(38,6)) AS commissions_then_commission,
    CAST(coalesce(sum(approved) FILTER (WHERE report = 'commissions_then'), 0) AS DECIMAL(38,6)) AS commissions_then_approved,
    CAST(coalesce(sum(open) FILTER (WHERE report = 'commissions_then'), 0) AS DECIMAL(38,6)) AS commissions_then_open,
    CAST(coalesce(sum(excl_vat) FILTER (WHERE report = 'commissions_then'), 0) AS DECIMAL(38,6)) AS commissions_then_excl_vat,
    CAST(coalesce(sum(incl_vat) FILTER (WHERE report = 'commissions_then'), 0) AS DECIMAL(38,6)) AS commissions_then_incl_vat
  FROM reported
  GROUP BY day, site_code, frame_type, name, sub_id
),
compared AS (
  SELECT
    *,
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
  WHERE in_promotions OR in_orders OR in_commissions
),
placed AS (
  SELECT
    *,
    sum(orders_difference) OVER place = 0 AND sum(commission_promotions_orders) OVER place = 0
      AND sum(excl_vat_promotions_orders) OVER place = 0 AND sum(incl_vat_promotions_orders) OVER place = 0 AS promotions_agree_on_place,
    sum(commission_commissions_orders) OVER place = 0 AND sum(approved_difference) OVER place = 0 AND sum(open_difference) OVER place = 0
      AND sum(excl_vat_commissions_orders) OVER place = 0 AND sum(incl_vat_commissions_orders) OVER place = 0 AS commissions_agree_on_place
  FROM compared
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
      WHEN orders_difference = gone_orders
        AND commission_promotions_orders = gone_commission
        AND excl_vat_promotions_orders = gone_excl_vat
        AND incl_vat_promotions_orders = gone_incl_vat THEN 'vanished'
      WHEN loaded.known_from <= loaded.promotions_at AND promotions_orders = promotions_then_orders
        AND promotions_commission = promotions_then_commission
        AND promotions_revenue_excl_vat = promotions_then_excl_vat
        AND promotions_revenue_incl_vat = promotions_then_incl_vat THEN 'timing'
      ELSE 'unexplained'
    END AS promotions_class,
    CASE
      WHEN loaded.commissions_at IS NULL OR loaded.orders_at IS NULL THEN 'not_loaded'
      WHEN commission_commissions_orders = 0 AND approved_difference = 0 AND open_difference = 0
        AND excl_vat_commissions_orders = 0 AND incl_vat_commissions_orders = 0 THEN 'equal'
      WHEN commissions_agree_on_place THEN 'missing_sub_id'
      WHEN commission_commissions_orders = 0 AND approved_difference = 0 AND open_difference = 0 AND excl_vat_commissions_orders = 0 THEN 'vat'
      WHEN commission_commissions_orders <> 0 AND excl_vat_commissions_orders = 0 AND incl_vat_commissions_orders = 0 THEN 'rate'
      WHEN commission_commissions_orders = gone_commission
        AND approved_difference = gone_approved
        AND open_difference = gone_open
        AND excl_vat_commissions_orders = gone_excl_vat
        AND incl_vat_commissions_orders = gone_incl_vat THEN 'vanished'
      WHEN commission_commissions_orders = 0 AND approved_difference + open_difference = 0
        AND excl_vat_commissions_orders = 0 AND incl_vat_commissions_orders = 0 THEN 'timing'
      WHEN loaded.known_from <= loaded.commissions_at AND commissions_original = commissions_then_commission
        AND commissions_approved = commissions_then_approved
        AND commissions_open = commissions_then_open
        AND commissions_revenue_excl_vat = commissions_then_excl_vat
        AND commissions_revenue_incl_vat = commissions_then_incl_vat THEN 'timing'
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
