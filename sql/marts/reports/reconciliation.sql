CREATE OR REPLACE VIEW mart.reconciliation AS
WITH loaded AS (
  SELECT
    account,
    slice_day,
    max(fetched_at) FILTER (WHERE pipeline = 'promotions') AS promotions_at,
    max(fetched_at) FILTER (WHERE pipeline = 'orders') AS orders_at,
    max(fetched_at) FILTER (WHERE pipeline = 'commissions') AS commissions_at
  FROM etl.receipt
  WHERE superseded_at IS NULL AND pipeline IN ('promotions', 'orders', 'commissions')
  GROUP BY account, slice_day
),
-- Items that the report no longer has, as they were last. Looked at by group and day, so never all of them at once.
gone AS NOT MATERIALIZED (
  SELECT
    said.*,
    EXISTS (
      SELECT 1 FROM warehouse.fact_order_item AS item
      WHERE item.account = said.account AND item.order_date = said.order_date AND item.order_id = said.order_id
        AND item.site_code IS NOT DISTINCT FROM said.site_code AND item.frame_type IS NOT DISTINCT FROM said.frame_type
        AND item.name IS NOT DISTINCT FROM said.name AND item.sub_id IS NOT DISTINCT FROM said.sub_id
    ) AS is_order_here
  FROM warehouse.fact_order_item_history AS said
  WHERE said.ended_by = 'gone' AND NOT EXISTS (
    SELECT 1 FROM warehouse.fact_order_item_version AS later
    WHERE later.account = said.account AND later.order_id = said.order_id AND later.order_item_id = said.order_item_id
      AND later.valid_from >= said.valid_to
  )
),
reported AS (
  SELECT
    account, promotion_date AS day, site_code, frame_type, name, sub_id, 'promotions' AS report,
    sum(orders) AS orders, sum(commission) AS commission, CAST(NULL AS numeric(38,6)) AS approved, CAST(NULL AS numeric(38,6)) AS open,
    sum(revenue_excl_vat) AS excl_vat, sum(revenue_incl_vat) AS incl_vat, CAST(NULL AS timestamp with time zone) AS known_from
  FROM warehouse.fact_promotion_day
  GROUP BY account, promotion_date, site_code, frame_type, name, sub_id
  UNION ALL
  SELECT
    account, order_date, site_code, frame_type, name, sub_id, 'orders',
    count(DISTINCT order_id), sum(commission),
    sum(commission) FILTER (WHERE status_group = 'approved'),
    sum(commission) FILTER (WHERE coalesce(status_group, 'unknown') NOT IN ('approved', 'rejected')),
    sum(price_excl_vat * quantity), sum(price_incl_vat * quantity), NULL
  FROM warehouse.fact_order_item
  GROUP BY account, order_date, site_code, frame_type, name, sub_id
  UNION ALL
  SELECT
    account, order_date, site_code, frame_type, name, sub_id, 'commissions',
    NULL, sum(commission_original), sum(commission_approved), sum(commission_open),
    sum(revenue_original_excl_vat), sum(revenue_original_incl_vat), NULL
  FROM warehouse.fact_commission_day
  GROUP BY account, order_date, site_code, frame_type, name, sub_id
  UNION ALL
  SELECT account, order_date, NULL, NULL, NULL, NULL, 'known', NULL, NULL, NULL, NULL, NULL, NULL, min(valid_from)
  FROM warehouse.fact_order_item_version
  GROUP BY account, order_date
),
summed AS (
  SELECT
    account, day, site_code, frame_type, name, sub_id,
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
  GROUP BY account, day, site_code, frame_type, name, sub_id
),
compared AS (
  SELECT
    *,
    min(day_known_from) OVER (PARTITION BY account, day) AS known_from,
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
  WINDOW place AS (PARTITION BY account, day, site_code, frame_type, name)
),
-- Only of the groups that differ is it looked at what their items were: what is gone, and what was known when each report was fetched.
asked AS (
  SELECT
    placed.*,
    loaded.promotions_at,
    loaded.commissions_at,
    CASE
      WHEN loaded.promotions_at IS NULL OR loaded.orders_at IS NULL THEN 'not_loaded'
      WHEN orders_difference = 0 AND commission_promotions_orders = 0 AND excl_vat_promotions_orders = 0 AND incl_vat_promotions_orders = 0 THEN 'equal'
      WHEN promotions_agree_on_place THEN 'missing_sub_id'
      WHEN orders_difference = 0 AND commission_promotions_orders = 0 AND excl_vat_promotions_orders = 0 THEN 'vat'
      WHEN orders_difference = 0 AND excl_vat_promotions_orders = 0 AND incl_vat_promotions_orders = 0 THEN 'rate'
    END AS promotions_seen,
    CASE
      WHEN loaded.commissions_at IS NULL OR loaded.orders_at IS NULL THEN 'not_loaded'
      WHEN commission_commissions_orders = 0 AND approved_difference = 0 AND open_difference = 0
        AND excl_vat_commissions_orders = 0 AND incl_vat_commissions_orders = 0 THEN 'equal'
      WHEN commissions_agree_on_place THEN 'missing_sub_id'
      WHEN commission_commissions_orders = 0 AND approved_difference = 0 AND open_difference = 0 AND excl_vat_commissions_orders = 0 THEN 'vat'
      WHEN commission_commissions_orders <> 0 AND excl_vat_commissions_orders = 0 AND incl_vat_commissions_orders = 0 THEN 'rate'
    END AS commissions_seen
  FROM placed LEFT JOIN loaded ON loaded.account = placed.account AND loaded.slice_day = placed.day
),
judged AS (
  SELECT
    asked.*,
    CASE
      WHEN promotions_seen IS NOT NULL THEN promotions_seen
      WHEN orders_difference = gone.orders AND commission_promotions_orders = gone.commission
        AND excl_vat_promotions_orders = gone.excl_vat AND incl_vat_promotions_orders = gone.incl_vat THEN 'vanished'
      WHEN known_from <= promotions_at AND promotions_orders = known.orders_then AND promotions_commission = known.commission_then
        AND promotions_revenue_excl_vat = known.excl_vat_then AND promotions_revenue_incl_vat = known.incl_vat_then THEN 'timing'
      ELSE 'unexplained'
    END AS promotions_class,
    CASE
      WHEN commissions_seen IS NOT NULL THEN commissions_seen
      WHEN commission_commissions_orders = gone.commission AND approved_difference = gone.approved AND open_difference = gone.open
        AND excl_vat_commissions_orders = gone.excl_vat AND incl_vat_commissions_orders = gone.incl_vat THEN 'vanished'
      WHEN commission_commissions_orders = 0 AND approved_difference + open_difference = 0
        AND excl_vat_commissions_orders = 0 AND incl_vat_commissions_orders = 0 THEN 'timing'
      WHEN known_from <= commissions_at AND commissions_original = known.commission_booked
        AND commissions_approved = known.approved_booked AND commissions_open = known.open_booked
        AND commissions_revenue_excl_vat = known.excl_vat_booked AND commissions_revenue_incl_vat = known.incl_vat_booked THEN 'timing'
      ELSE 'unexplained'
    END AS commissions_class
  FROM asked
  LEFT JOIN LATERAL (
    SELECT
      count(DISTINCT said.order_id) FILTER (WHERE NOT said.is_order_here) AS orders,
      coalesce(sum(said.commission), 0) AS commission,
      coalesce(sum(said.commission) FILTER (WHERE said.status_group = 'approved'), 0) AS approved,
      coalesce(sum(said.commission) FILTER (WHERE coalesce(said.status_group, 'unknown') NOT IN ('approved', 'rejected')), 0) AS open,
      coalesce(sum(said.price_excl_vat * said.quantity), 0) AS excl_vat,
      coalesce(sum(said.price_incl_vat * said.quantity), 0) AS incl_vat
    FROM gone AS said
    WHERE (asked.promotions_seen IS NULL OR asked.commissions_seen IS NULL)
      AND said.account = asked.account AND said.order_date = asked.day
      AND coalesce(said.sub_id, '') = coalesce(asked.sub_id, '') AND coalesce(said.name, '') = coalesce(asked.name, '')
      AND said.site_code IS NOT DISTINCT FROM asked.site_code AND said.frame_type IS NOT DISTINCT FROM asked.frame_type
      AND said.name IS NOT DISTINCT FROM asked.name AND said.sub_id IS NOT DISTINCT FROM asked.sub_id
  ) AS gone ON true
  LEFT JOIN LATERAL (
    SELECT
      count(DISTINCT version.order_id) FILTER (WHERE is_then) AS orders_then,
      coalesce(sum(version.commission) FILTER (WHERE is_then), 0) AS commission_then,
      coalesce(sum(version.price_excl_vat * version.quantity) FILTER (WHERE is_then), 0) AS excl_vat_then,
      coalesce(sum(version.price_incl_vat * version.quantity) FILTER (WHERE is_then), 0) AS incl_vat_then,
      coalesce(sum(version.commission) FILTER (WHERE is_booked), 0) AS commission_booked,
      coalesce(sum(version.commission) FILTER (WHERE is_booked AND version.status_group = 'approved'), 0) AS approved_booked,
      coalesce(sum(version.commission) FILTER (WHERE is_booked AND coalesce(version.status_group, 'unknown') NOT IN ('approved', 'rejected')), 0) AS open_booked,
      coalesce(sum(version.price_excl_vat * version.quantity) FILTER (WHERE is_booked), 0) AS excl_vat_booked,
      coalesce(sum(version.price_incl_vat * version.quantity) FILTER (WHERE is_booked), 0) AS incl_vat_booked
    FROM (
      SELECT
        version.*,
        valid_from <= asked.promotions_at AND (valid_to IS NULL OR valid_to > asked.promotions_at) AS is_then,
        valid_from <= asked.commissions_at AND (valid_to IS NULL OR valid_to > asked.commissions_at) AS is_booked
      FROM warehouse.fact_order_item_version AS version
      WHERE (asked.promotions_seen IS NULL OR asked.commissions_seen IS NULL)
        AND version.account = asked.account AND version.order_date = asked.day
        AND coalesce(version.sub_id, '') = coalesce(asked.sub_id, '') AND coalesce(version.name, '') = coalesce(asked.name, '')
        AND version.site_code IS NOT DISTINCT FROM asked.site_code AND version.frame_type IS NOT DISTINCT FROM asked.frame_type
        AND version.name IS NOT DISTINCT FROM asked.name AND version.sub_id IS NOT DISTINCT FROM asked.sub_id
    ) AS version
  ) AS known ON true
)
SELECT
  account, day, site_code, frame_type, name, sub_id,
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
