-- Sub-IDs read by functions, what a sub-ID brings in, and how the three reports differ, with the reason.
--
-- What is said of a period costs that period only: every GROUP BY and every window has the day among its columns, so that a condition
-- on the day reaches the facts. Sub-IDs are read after grouping, each value once.

-- A sub-ID is read from left to right by the parts of the grammar in the settings. A part ends where the literal after it is first
-- found, the last one at the end (before a literal that ends the grammar). It must not hold the literal before it: then nobody
-- could tell where it begins, and the sub-ID counts as not parsed.
--
-- {parts, unread_part}, one of them null; null where there is no sub-ID or no grammar, which is the setting sub_ids.parts. As a
-- correlated subquery it is carried out for all distinct sub-IDs of a query at once, in as many steps as the grammar has parts: 4 µs
-- of one core a sub-ID. Folding the parts by list_reduce costs 5 µs, also where sub-IDs are alike.
CREATE MACRO warehouse.sub_id_reading(sub_id, grammar) AS (
  WITH RECURSIVE steps AS (
    SELECT part.position AS position, part.name AS name, part.before AS before, part.after AS after, part.is_last AS is_last
    FROM (
      SELECT unnest(from_json(grammar, '[{"position":"INTEGER","name":"VARCHAR","before":"VARCHAR","after":"VARCHAR","is_last":"BOOLEAN"}]')) AS part
    ) AS parts
  ),
  reading AS (
    SELECT 0 AS position, CAST(NULL AS VARCHAR) AS name, CAST(sub_id AS VARCHAR) AS rest, '{' AS parts, true AS is_read, false AS is_last
    UNION ALL
    SELECT
      position,
      name,
      CASE WHEN is_last THEN '' ELSE substr(head, CAST(length(part) + length(after) + 1 AS INTEGER)) END,
      parts || CASE WHEN position > 1 THEN ',' ELSE '' END || CAST(to_json(name) AS VARCHAR) || ':' || CAST(to_json(part) AS VARCHAR),
      begins AND ends AND (position = 1 OR strpos(part, before) = 0),
      is_last
    FROM (
      SELECT
        *,
        CASE WHEN is_last THEN right(head, length(after)) = after ELSE strpos(head, after) > 0 END AS ends,
        CASE WHEN is_last THEN left(head, greatest(length(head) - length(after), 0)) ELSE split_part(head, after, 1) END AS part
      FROM (
        SELECT
          reading.parts,
          steps.*,
          steps.position > 1 OR starts_with(reading.rest, steps.before) AS begins,
          CASE WHEN steps.position = 1 THEN substr(reading.rest, CAST(length(steps.before) + 1 AS INTEGER)) ELSE reading.rest END AS head
        FROM reading JOIN steps ON steps.position = reading.position + 1
        WHERE reading.is_read
      ) AS heads
    ) AS split
  )
  SELECT {'parts': CASE WHEN is_read THEN CAST(parts || '}' AS JSON) END, 'unread_part': CASE WHEN NOT is_read THEN name END}
  FROM reading
  WHERE is_last OR NOT is_read
);

CREATE MACRO warehouse.sub_id_parts(sub_id) AS main.sub_id_reading(sub_id, (SELECT value FROM etl.setting WHERE name = 'sub_ids.parts')).parts;

CREATE MACRO warehouse.sub_id_unread_part(sub_id) AS main.sub_id_reading(sub_id, (SELECT value FROM etl.setting WHERE name = 'sub_ids.parts')).unread_part;

CREATE OR REPLACE VIEW warehouse.dim_sub_id AS
WITH sub_ids AS (
  SELECT sub_id, min(day) AS first_day, max(day) AS last_day
  FROM (
    SELECT sub_id, promotion_date AS day FROM main.fact_promotion_day
    UNION ALL
    SELECT sub_id, order_date FROM main.fact_order_item
    UNION ALL
    SELECT sub_id, order_date FROM main.fact_commission_day
  ) AS every_sub_id
  WHERE sub_id IS NOT NULL
  GROUP BY sub_id
),
readings AS (
  SELECT *, main.sub_id_reading(sub_id, (SELECT value FROM etl.setting WHERE name = 'sub_ids.parts')) AS reading FROM sub_ids
)
SELECT
  sub_id,
  first_day,
  last_day,
  CASE WHEN reading IS NOT NULL THEN reading.parts IS NOT NULL END AS is_parsed,
  reading.parts AS parts,
  reading.unread_part AS unread_part
FROM readings;

-- `label` is the sub-ID once more, as an aggregate: a condition on a grouping column would be carried out on every fact.
DROP VIEW mart.sub_id_unparsed;
CREATE VIEW mart.sub_id_unparsed AS
WITH told AS (
  SELECT
    promotion_date AS day, sub_id, max(sub_id) AS label, sum(clicks) AS clicks, sum(orders) AS orders, sum(commission) AS commission,
    CAST(0 AS BIGINT) AS items, CAST(NULL AS DECIMAL(38,6)) AS items_commission
  FROM main.fact_promotion_day WHERE sub_id IS NOT NULL GROUP BY promotion_date, sub_id
  UNION ALL
  SELECT order_date, sub_id, max(sub_id), NULL, NULL, NULL, count(*), sum(commission)
  FROM main.fact_order_item WHERE sub_id IS NOT NULL GROUP BY order_date, sub_id
  UNION ALL
  SELECT order_date, sub_id, max(sub_id), NULL, NULL, NULL, 0, NULL
  FROM main.fact_commission_day WHERE sub_id IS NOT NULL GROUP BY order_date, sub_id
),
sums AS (
  SELECT
    day,
    sub_id,
    max(label) AS label,
    CAST(coalesce(sum(clicks), 0) AS BIGINT) AS clicks,
    CAST(coalesce(sum(orders), 0) AS BIGINT) AS orders,
    CAST(coalesce(sum(commission), 0) AS DECIMAL(38,6)) AS commission,
    CAST(sum(items) AS BIGINT) AS items,
    CAST(coalesce(sum(items_commission), 0) AS DECIMAL(38,6)) AS items_commission
  FROM told
  GROUP BY day, sub_id
),
readings AS (
  SELECT *, main.sub_id_reading(label, (SELECT value FROM etl.setting WHERE name = 'sub_ids.parts')).unread_part AS unread_part FROM sums
)
SELECT day, sub_id, unread_part, clicks, orders, commission, items, items_commission
FROM readings
WHERE unread_part IS NOT NULL;

CREATE VIEW mart.sub_id_profit AS
WITH told AS (
  SELECT
    promotion_date AS day, site_code, sub_id,
    sum(clicks) AS clicks, sum(impressions) AS impressions, sum(orders) AS orders,
    CAST(0 AS BIGINT) AS items, CAST(0 AS BIGINT) AS approved_items, CAST(0 AS BIGINT) AS rejected_items, CAST(NULL AS DECIMAL(38,6)) AS quantity,
    CAST(NULL AS DECIMAL(38,6)) AS revenue_excl_vat, CAST(NULL AS DECIMAL(38,6)) AS commission, CAST(NULL AS DECIMAL(38,6)) AS approved_commission,
    CAST(NULL AS DECIMAL(38,6)) AS lost_commission, CAST(NULL AS DECIMAL(38,6)) AS paid_commission
  FROM main.fact_promotion_day
  GROUP BY promotion_date, site_code, sub_id
  UNION ALL
  SELECT
    order_date, site_code, sub_id, NULL, NULL, NULL,
    count(*),
    count(*) FILTER (WHERE status_group = 'approved'),
    count(*) FILTER (WHERE status_group = 'rejected'),
    sum(quantity),
    sum(price_excl_vat * quantity),
    sum(commission),
    sum(commission) FILTER (WHERE status_group = 'approved'),
    sum(commission) FILTER (WHERE status_group = 'rejected'),
    sum(commission) FILTER (WHERE status_group = 'approved' AND approved_for_payment)
  FROM main.fact_order_item
  GROUP BY order_date, site_code, sub_id
),
sums AS (
  SELECT
    day,
    site_code,
    sub_id,
    CAST(coalesce(sum(clicks), 0) AS BIGINT) AS clicks,
    CAST(coalesce(sum(impressions), 0) AS BIGINT) AS impressions,
    CAST(coalesce(sum(orders), 0) AS BIGINT) AS orders,
    CAST(sum(items) AS BIGINT) AS items,
    CAST(sum(approved_items) AS BIGINT) AS approved_items,
    CAST(sum(rejected_items) AS BIGINT) AS rejected_items,
    CAST(coalesce(sum(quantity), 0) AS BIGINT) AS quantity,
    CAST(coalesce(sum(revenue_excl_vat), 0) AS DECIMAL(38,6)) AS revenue_excl_vat,
    CAST(coalesce(sum(commission), 0) AS DECIMAL(38,6)) AS commission,
    CAST(coalesce(sum(approved_commission), 0) AS DECIMAL(38,6)) AS approved_commission,
    CAST(coalesce(sum(lost_commission), 0) AS DECIMAL(38,6)) AS lost_commission,
    CAST(coalesce(sum(paid_commission), 0) AS DECIMAL(38,6)) AS paid_commission
  FROM told
  GROUP BY day, site_code, sub_id
)
SELECT
  day,
  site_code,
  sub_id,
  main.sub_id_reading(sub_id, (SELECT value FROM etl.setting WHERE name = 'sub_ids.parts')).parts AS parts,
  clicks,
  impressions,
  orders,
  items,
  approved_items,
  rejected_items,
  quantity,
  revenue_excl_vat,
  commission,
  approved_commission,
  CAST(commission - approved_commission - lost_commission AS DECIMAL(38,6)) AS open_commission,
  lost_commission,
  paid_commission,
  CAST(commission AS DOUBLE) / nullif(CAST(clicks AS DOUBLE), 0) AS epc,
  CAST(approved_commission AS DOUBLE) / nullif(CAST(clicks AS DOUBLE), 0) AS safe_epc,
  CAST(orders AS DOUBLE) / nullif(CAST(clicks AS DOUBLE), 0) AS conversion,
  CAST(revenue_excl_vat AS DOUBLE) / nullif(CAST(orders AS DOUBLE), 0) AS aov,
  CAST(approved_items AS DOUBLE) / nullif(CAST((approved_items + rejected_items) AS DOUBLE), 0) AS approval_rate,
  CAST(rejected_items AS DOUBLE) / nullif(CAST((approved_items + rejected_items) AS DOUBLE), 0) AS reversal_rate
FROM sums;

-- The three reports side by side. A report without a row for a group says nothing of it: zero. Orders that are neither approved nor
-- rejected count as open; rejected ones have no part in approved and open, but do in the commission as first recorded.
--
-- Beside them stand the items that vanished, as they were last told, and the items as they were known when the content of the other
-- report was fetched. An order vanished from a group when no item of it is left there.
DROP VIEW mart.reconciliation;
CREATE VIEW mart.reconciliation AS
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
    SELECT order_date, min(observed_from) AS known_from FROM main.order_item_version GROUP BY order_date
  ) AS seen ON seen.order_date = receipts.slice_day
),
told AS (
  SELECT
    promotion_date AS day, site_code, frame_type, name, sub_id, 'promotions' AS report,
    sum(orders) AS orders, sum(commission) AS commission, CAST(NULL AS DECIMAL(38,6)) AS approved, CAST(NULL AS DECIMAL(38,6)) AS open,
    sum(revenue_excl_vat) AS excl_vat, sum(revenue_incl_vat) AS incl_vat
  FROM main.fact_promotion_day
  GROUP BY promotion_date, site_code, frame_type, name, sub_id
  UNION ALL
  SELECT
    order_date, site_code, frame_type, name, sub_id, 'orders',
    count(DISTINCT order_id), sum(commission),
    sum(commission) FILTER (WHERE status_group = 'approved'),
    sum(commission) FILTER (WHERE coalesce(status_group, 'unknown') NOT IN ('approved', 'rejected')),
    sum(price_excl_vat * quantity), sum(price_incl_vat * quantity)
  FROM main.fact_order_item
  GROUP BY order_date, site_code, frame_type, name, sub_id
  UNION ALL
  SELECT
    order_date, site_code, frame_type, name, sub_id, 'commissions',
    NULL, sum(commission_original), sum(commission_approved), sum(commission_open),
    sum(revenue_original_excl_vat), sum(revenue_original_incl_vat)
  FROM main.fact_commission_day
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
      SELECT 1 FROM main.fact_order_item AS item
      WHERE item.order_date = said.order_date AND item.order_id = said.order_id
        AND item.site_code IS NOT DISTINCT FROM said.site_code AND item.frame_type IS NOT DISTINCT FROM said.frame_type
        AND item.name IS NOT DISTINCT FROM said.name AND item.sub_id IS NOT DISTINCT FROM said.sub_id
    ) AS is_order_here
    FROM main.order_item_version AS gone
    JOIN main.order_item_version AS said
      ON said.order_date = gone.order_date AND said.order_id = gone.order_id AND said.order_item_id = gone.order_item_id
      AND said.observed_to = gone.observed_from
    WHERE NOT gone.is_present AND gone.observed_to IS NULL AND said.is_present
  ) AS said
  GROUP BY said.order_date, said.site_code, said.frame_type, said.name, said.sub_id
  UNION ALL
  SELECT
    version.order_date, version.site_code, version.frame_type, version.name, version.sub_id, 'promotions_then',
    count(DISTINCT order_id), sum(version.commission),
    sum(version.commission) FILTER (WHERE version.status_group = 'approved'),
    sum(version.commission) FILTER (WHERE coalesce(version.status_group, 'unknown') NOT IN ('approved', 'rejected')),
    sum(version.price_excl_vat * version.quantity), sum(version.price_incl_vat * version.quantity)
  FROM main.order_item_version AS version JOIN loaded ON loaded.slice_day = version.order_date
  WHERE is_present AND observed_from <= promotions_at AND (observed_to IS NULL OR observed_to > promotions_at)
  GROUP BY version.order_date, version.site_code, version.frame_type, version.name, version.sub_id
  UNION ALL
  SELECT
    version.order_date, version.site_code, version.frame_type, version.name, version.sub_id, 'commissions_then',
    NULL, sum(version.commission),
    sum(version.commission) FILTER (WHERE version.status_group = 'approved'),
    sum(version.commission) FILTER (WHERE coalesce(version.status_group, 'unknown') NOT IN ('approved', 'rejected')),
    sum(version.price_excl_vat * version.quantity), sum(version.price_incl_vat * version.quantity)
  FROM main.order_item_version AS version JOIN loaded ON loaded.slice_day = version.order_date
  WHERE is_present AND observed_from <= commissions_at AND (observed_to IS NULL OR observed_to > commissions_at)
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
  FROM told
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

CREATE VIEW mart.reconciliation_difference AS
SELECT day, site_code, frame_type, name, sub_id, said.pair AS pair, said.measure AS measure, said.told AS told, said.orders_say AS orders_say, said.difference AS difference, said.class AS class
FROM (
  SELECT
    day, site_code, frame_type, name, sub_id,
    unnest([
      {'pair': 'promotions', 'measure': 'orders', 'told': CAST(promotions_orders AS DECIMAL(38,6)), 'orders_say': CAST(orders_orders AS DECIMAL(38,6)), 'difference': CAST(orders_difference AS DECIMAL(38,6)), 'class': promotions_class},
      {'pair': 'promotions', 'measure': 'commission', 'told': promotions_commission, 'orders_say': orders_commission, 'difference': commission_promotions_orders, 'class': promotions_class},
      {'pair': 'promotions', 'measure': 'revenue_excl_vat', 'told': promotions_revenue_excl_vat, 'orders_say': orders_revenue_excl_vat, 'difference': excl_vat_promotions_orders, 'class': promotions_class},
      {'pair': 'promotions', 'measure': 'revenue_incl_vat', 'told': promotions_revenue_incl_vat, 'orders_say': orders_revenue_incl_vat, 'difference': incl_vat_promotions_orders, 'class': promotions_class},
      {'pair': 'commissions', 'measure': 'commission', 'told': commissions_original, 'orders_say': orders_commission, 'difference': commission_commissions_orders, 'class': commissions_class},
      {'pair': 'commissions', 'measure': 'approved', 'told': commissions_approved, 'orders_say': orders_approved, 'difference': approved_difference, 'class': commissions_class},
      {'pair': 'commissions', 'measure': 'open', 'told': commissions_open, 'orders_say': orders_open, 'difference': open_difference, 'class': commissions_class},
      {'pair': 'commissions', 'measure': 'revenue_excl_vat', 'told': commissions_revenue_excl_vat, 'orders_say': orders_revenue_excl_vat, 'difference': excl_vat_commissions_orders, 'class': commissions_class},
      {'pair': 'commissions', 'measure': 'revenue_incl_vat', 'told': commissions_revenue_incl_vat, 'orders_say': orders_revenue_incl_vat, 'difference': incl_vat_commissions_orders, 'class': commissions_class}
    ]) AS said
  FROM mart.reconciliation
) AS measures
WHERE said.difference <> 0;
