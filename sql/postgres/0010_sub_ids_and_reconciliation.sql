-- Sub-IDs read by functions, what a sub-ID brings in, and how the three reports differ, with the reason.
--
-- What is said of a period costs that period only: every GROUP BY and every window has the day among its columns, so that a condition
-- on the day reaches the facts. Sub-IDs are read after grouping.

-- A sub-ID is read from left to right by the parts of the grammar in the settings. A part ends where the literal after it is first
-- found, the last one at the end (before a literal that ends the grammar). It must not hold the literal before it: then nobody
-- could tell where it begins, and the sub-ID counts as not parsed.
--
-- parts or unread_part; both null where there is no sub-ID or no grammar. The grammar is an argument, so that who may read a view
-- need not be allowed to read the settings, and they are read once a query.
CREATE FUNCTION warehouse.sub_id_reading(sub_id text, grammar jsonb, OUT parts jsonb, OUT unread_part text)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 1000
AS $$
DECLARE
  rest text := sub_id;
  step jsonb;
  part text;
  literal text;
  is_read boolean;
BEGIN
  IF sub_id IS NULL OR grammar IS NULL THEN
    RETURN;
  END IF;
  IF NOT starts_with(sub_id, grammar -> 0 ->> 'before') THEN
    unread_part := grammar -> 0 ->> 'name';
    RETURN;
  END IF;
  rest := substr(sub_id, length(grammar -> 0 ->> 'before') + 1);
  parts := '{}';
  FOR step IN SELECT jsonb_array_elements(grammar) LOOP
    literal := step ->> 'after';
    IF CAST(step ->> 'is_last' AS boolean) THEN
      is_read := right(rest, length(literal)) = literal;
      part := left(rest, greatest(length(rest) - length(literal), 0));
    ELSE
      is_read := strpos(rest, literal) > 0;
      part := split_part(rest, literal, 1);
    END IF;
    IF NOT is_read OR (CAST(step ->> 'position' AS integer) > 1 AND strpos(part, step ->> 'before') > 0) THEN
      parts := NULL;
      unread_part := step ->> 'name';
      RETURN;
    END IF;
    parts := parts || jsonb_build_object(step ->> 'name', part);
    rest := substr(rest, length(part) + length(literal) + 1);
  END LOOP;
END
$$;

CREATE FUNCTION warehouse.sub_id_parts(sub_id text) RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
  SELECT (warehouse.sub_id_reading(sub_id, (SELECT CAST(value AS jsonb) FROM etl.setting WHERE name = 'sub_ids.parts'))).parts
$$;

CREATE FUNCTION warehouse.sub_id_unread_part(sub_id text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
  SELECT (warehouse.sub_id_reading(sub_id, (SELECT CAST(value AS jsonb) FROM etl.setting WHERE name = 'sub_ids.parts'))).unread_part
$$;

-- Walks from each sub-ID to the next by the indexes, three steps a sub-ID, instead of reading all facts.
CREATE INDEX fact_promotion_day_sub_id ON warehouse.fact_promotion_day (sub_id, promotion_date);
CREATE INDEX fact_order_item_sub_id ON warehouse.fact_order_item (sub_id, order_date);
CREATE INDEX fact_commission_day_sub_id ON warehouse.fact_commission_day (sub_id, order_date);

CREATE OR REPLACE VIEW warehouse.dim_sub_id AS
WITH RECURSIVE sub_ids AS (
  SELECT least(
    (SELECT min(sub_id) FROM warehouse.fact_promotion_day),
    (SELECT min(sub_id) FROM warehouse.fact_order_item),
    (SELECT min(sub_id) FROM warehouse.fact_commission_day)
  ) AS sub_id
  UNION ALL
  SELECT least(
    (SELECT min(sub_id) FROM warehouse.fact_promotion_day WHERE sub_id > sub_ids.sub_id),
    (SELECT min(sub_id) FROM warehouse.fact_order_item WHERE sub_id > sub_ids.sub_id),
    (SELECT min(sub_id) FROM warehouse.fact_commission_day WHERE sub_id > sub_ids.sub_id)
  )
  FROM sub_ids
  WHERE sub_ids.sub_id IS NOT NULL
)
SELECT
  sub_ids.sub_id,
  least(
    (SELECT min(promotion_date) FROM warehouse.fact_promotion_day WHERE sub_id = sub_ids.sub_id),
    (SELECT min(order_date) FROM warehouse.fact_order_item WHERE sub_id = sub_ids.sub_id),
    (SELECT min(order_date) FROM warehouse.fact_commission_day WHERE sub_id = sub_ids.sub_id)
  ) AS first_day,
  greatest(
    (SELECT max(promotion_date) FROM warehouse.fact_promotion_day WHERE sub_id = sub_ids.sub_id),
    (SELECT max(order_date) FROM warehouse.fact_order_item WHERE sub_id = sub_ids.sub_id),
    (SELECT max(order_date) FROM warehouse.fact_commission_day WHERE sub_id = sub_ids.sub_id)
  ) AS last_day,
  CASE WHEN grammar.parts IS NOT NULL THEN reading.parts IS NOT NULL END AS is_parsed,
  reading.parts,
  reading.unread_part
FROM sub_ids
LEFT JOIN (SELECT CAST(value AS jsonb) AS parts FROM etl.setting WHERE name = 'sub_ids.parts') AS grammar ON true
CROSS JOIN LATERAL warehouse.sub_id_reading(sub_ids.sub_id, grammar.parts) AS reading
WHERE sub_ids.sub_id IS NOT NULL;

-- `label` is the sub-ID once more, as an aggregate: a condition on a grouping column would be carried out on every fact.
DROP VIEW mart.sub_id_unparsed;
CREATE VIEW mart.sub_id_unparsed AS
WITH told AS (
  SELECT
    promotion_date AS day, sub_id, max(sub_id) AS label, sum(clicks) AS clicks, sum(orders) AS orders, sum(commission) AS commission,
    CAST(0 AS bigint) AS items, CAST(NULL AS numeric(38,6)) AS items_commission
  FROM warehouse.fact_promotion_day WHERE sub_id IS NOT NULL GROUP BY promotion_date, sub_id
  UNION ALL
  SELECT order_date, sub_id, max(sub_id), NULL, NULL, NULL, count(*), sum(commission)
  FROM warehouse.fact_order_item WHERE sub_id IS NOT NULL GROUP BY order_date, sub_id
  UNION ALL
  SELECT order_date, sub_id, max(sub_id), NULL, NULL, NULL, 0, NULL
  FROM warehouse.fact_commission_day WHERE sub_id IS NOT NULL GROUP BY order_date, sub_id
),
sums AS (
  SELECT
    day,
    sub_id,
    max(label) AS label,
    CAST(coalesce(sum(clicks), 0) AS bigint) AS clicks,
    CAST(coalesce(sum(orders), 0) AS bigint) AS orders,
    CAST(coalesce(sum(commission), 0) AS numeric(38,6)) AS commission,
    CAST(sum(items) AS bigint) AS items,
    CAST(coalesce(sum(items_commission), 0) AS numeric(38,6)) AS items_commission
  FROM told
  GROUP BY day, sub_id
),
readings AS (
  SELECT *, (warehouse.sub_id_reading(label, (SELECT CAST(value AS jsonb) FROM etl.setting WHERE name = 'sub_ids.parts'))).unread_part AS unread_part FROM sums
)
SELECT day, sub_id, unread_part, clicks, orders, commission, items, items_commission
FROM readings
WHERE unread_part IS NOT NULL;

CREATE VIEW mart.sub_id_profit AS
WITH told AS (
  SELECT
    promotion_date AS day, site_code, sub_id,
    sum(clicks) AS clicks, sum(impressions) AS impressions, sum(orders) AS orders,
    CAST(0 AS bigint) AS items, CAST(0 AS bigint) AS approved_items, CAST(0 AS bigint) AS rejected_items, CAST(NULL AS numeric(38,6)) AS quantity,
    CAST(NULL AS numeric(38,6)) AS revenue_excl_vat, CAST(NULL AS numeric(38,6)) AS commission, CAST(NULL AS numeric(38,6)) AS approved_commission,
    CAST(NULL AS numeric(38,6)) AS lost_commission, CAST(NULL AS numeric(38,6)) AS paid_commission
  FROM warehouse.fact_promotion_day
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
  FROM warehouse.fact_order_item
  GROUP BY order_date, site_code, sub_id
),
sums AS (
  SELECT
    day,
    site_code,
    sub_id,
    CAST(coalesce(sum(clicks), 0) AS bigint) AS clicks,
    CAST(coalesce(sum(impressions), 0) AS bigint) AS impressions,
    CAST(coalesce(sum(orders), 0) AS bigint) AS orders,
    CAST(sum(items) AS bigint) AS items,
    CAST(sum(approved_items) AS bigint) AS approved_items,
    CAST(sum(rejected_items) AS bigint) AS rejected_items,
    CAST(coalesce(sum(quantity), 0) AS bigint) AS quantity,
    CAST(coalesce(sum(revenue_excl_vat), 0) AS numeric(38,6)) AS revenue_excl_vat,
    CAST(coalesce(sum(commission), 0) AS numeric(38,6)) AS commission,
    CAST(coalesce(sum(approved_commission), 0) AS numeric(38,6)) AS approved_commission,
    CAST(coalesce(sum(lost_commission), 0) AS numeric(38,6)) AS lost_commission,
    CAST(coalesce(sum(paid_commission), 0) AS numeric(38,6)) AS paid_commission
  FROM told
  GROUP BY day, site_code, sub_id
)
SELECT
  day,
  site_code,
  sub_id,
  (warehouse.sub_id_reading(sub_id, (SELECT CAST(value AS jsonb) FROM etl.setting WHERE name = 'sub_ids.parts'))).parts AS parts,
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
  CAST(commission - approved_commission - lost_commission AS numeric(38,6)) AS open_commission,
  lost_commission,
  paid_commission,
  CAST(commission AS double precision) / nullif(CAST(clicks AS double precision), 0) AS epc,
  CAST(approved_commission AS double precision) / nullif(CAST(clicks AS double precision), 0) AS safe_epc,
  CAST(orders AS double precision) / nullif(CAST(clicks AS double precision), 0) AS conversion,
  CAST(revenue_excl_vat AS double precision) / nullif(CAST(orders AS double precision), 0) AS aov,
  CAST(approved_items AS double precision) / nullif(CAST((approved_items + rejected_items) AS double precision), 0) AS approval_rate,
  CAST(rejected_items AS double precision) / nullif(CAST((approved_items + rejected_items) AS double precision), 0) AS reversal_rate
FROM sums;

-- Since when a day is known; it does the work of the index on the day alone, too.
DROP INDEX warehouse.order_item_version_day;
CREATE INDEX order_item_version_day ON warehouse.order_item_version (order_date, observed_from);
-- The versions of a group of the reconciliation, of which a name and a sub-ID can be null.
CREATE INDEX order_item_version_group ON warehouse.order_item_version (order_date, coalesce(sub_id, ''), coalesce(name, ''));
-- Items that the report no longer has: few.
CREATE INDEX order_item_version_gone ON warehouse.order_item_version (order_date) WHERE NOT is_present AND observed_to IS NULL;

-- The three reports side by side. A report without a row for a group says nothing of it: zero. Orders that are neither approved nor
-- rejected count as open; rejected ones have no part in approved and open, but do in the commission as first recorded.
--
-- Why two of them differ is looked up only in groups that do: what vanished, and what was known when the content of the other report
-- was fetched. Both are subqueries in a CASE, so that they are carried out for those groups alone, by indexes.
DROP VIEW mart.reconciliation;
CREATE VIEW mart.reconciliation AS
WITH receipts AS (
  SELECT
    slice_day,
    max(fetched_at) FILTER (WHERE pipeline = 'promotions') AS promotions_at,
    max(fetched_at) FILTER (WHERE pipeline = 'orders') AS orders_at,
    max(fetched_at) FILTER (WHERE pipeline = 'commissions') AS commissions_at
  FROM etl.receipt
  WHERE superseded_at IS NULL AND pipeline IN ('promotions', 'orders', 'commissions')
  GROUP BY slice_day
),
loaded AS (
  SELECT *, (SELECT min(observed_from) FROM warehouse.order_item_version WHERE order_date = slice_day) AS known_from FROM receipts
),
told AS (
  SELECT
    promotion_date AS day, site_code, frame_type, name, sub_id, 'promotions' AS report,
    sum(orders) AS orders, sum(commission) AS commission, CAST(NULL AS numeric) AS approved, CAST(NULL AS numeric) AS open,
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
),
summed AS (
  SELECT
    day, site_code, frame_type, name, sub_id,
    count(*) FILTER (WHERE report = 'promotions') > 0 AS in_promotions,
    count(*) FILTER (WHERE report = 'orders') > 0 AS in_orders,
    count(*) FILTER (WHERE report = 'commissions') > 0 AS in_commissions,
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
      WHEN (
        SELECT orders_difference = count(DISTINCT said.order_id) FILTER (WHERE NOT EXISTS (
            SELECT FROM warehouse.fact_order_item AS item
            WHERE item.order_id = said.order_id AND item.order_date = placed.day
              AND (item.site_code, item.frame_type, item.name, item.sub_id) IS NOT DISTINCT FROM (placed.site_code, placed.frame_type, placed.name, placed.sub_id)
          ))
          AND commission_promotions_orders = coalesce(sum(said.commission), 0)
          AND excl_vat_promotions_orders = coalesce(sum(said.price_excl_vat * said.quantity), 0)
          AND incl_vat_promotions_orders = coalesce(sum(said.price_incl_vat * said.quantity), 0)
        FROM warehouse.order_item_version AS gone
        CROSS JOIN LATERAL (
          SELECT * FROM warehouse.order_item_version AS version
          WHERE version.order_id = gone.order_id AND version.order_item_id = gone.order_item_id AND version.observed_from < gone.observed_from
          ORDER BY version.observed_from DESC LIMIT 1
        ) AS said
        WHERE NOT gone.is_present AND gone.observed_to IS NULL AND gone.order_date = placed.day AND said.is_present
          AND said.order_date = placed.day
          AND coalesce(said.sub_id, '') = coalesce(placed.sub_id, '') AND coalesce(said.name, '') = coalesce(placed.name, '')
          AND (said.site_code, said.frame_type, said.name, said.sub_id) IS NOT DISTINCT FROM (placed.site_code, placed.frame_type, placed.name, placed.sub_id)
      ) THEN 'vanished'
      WHEN loaded.known_from <= loaded.promotions_at AND (
        SELECT promotions_orders = count(DISTINCT version.order_id)
          AND promotions_commission = coalesce(sum(version.commission), 0)
          AND promotions_revenue_excl_vat = coalesce(sum(version.price_excl_vat * version.quantity), 0)
          AND promotions_revenue_incl_vat = coalesce(sum(version.price_incl_vat * version.quantity), 0)
        FROM warehouse.order_item_version AS version
        WHERE version.order_date = placed.day
          AND coalesce(version.sub_id, '') = coalesce(placed.sub_id, '') AND coalesce(version.name, '') = coalesce(placed.name, '')
          AND (version.site_code, version.frame_type, version.name, version.sub_id) IS NOT DISTINCT FROM (placed.site_code, placed.frame_type, placed.name, placed.sub_id)
          AND version.is_present AND version.observed_from <= loaded.promotions_at AND (version.observed_to IS NULL OR version.observed_to > loaded.promotions_at)
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
        FROM warehouse.order_item_version AS gone
        CROSS JOIN LATERAL (
          SELECT * FROM warehouse.order_item_version AS version
          WHERE version.order_id = gone.order_id AND version.order_item_id = gone.order_item_id AND version.observed_from < gone.observed_from
          ORDER BY version.observed_from DESC LIMIT 1
        ) AS said
        WHERE NOT gone.is_present AND gone.observed_to IS NULL AND gone.order_date = placed.day AND said.is_present
          AND said.order_date = placed.day
          AND coalesce(said.sub_id, '') = coalesce(placed.sub_id, '') AND coalesce(said.name, '') = coalesce(placed.name, '')
          AND (said.site_code, said.frame_type, said.name, said.sub_id) IS NOT DISTINCT FROM (placed.site_code, placed.frame_type, placed.name, placed.sub_id)
      ) THEN 'vanished'
      WHEN commission_commissions_orders = 0 AND approved_difference + open_difference = 0
        AND excl_vat_commissions_orders = 0 AND incl_vat_commissions_orders = 0 THEN 'timing'
      WHEN loaded.known_from <= loaded.commissions_at AND (
        SELECT commissions_original = coalesce(sum(version.commission), 0)
          AND commissions_approved = coalesce(sum(version.commission) FILTER (WHERE version.status_group = 'approved'), 0)
          AND commissions_open = coalesce(sum(version.commission) FILTER (WHERE coalesce(version.status_group, 'unknown') NOT IN ('approved', 'rejected')), 0)
          AND commissions_revenue_excl_vat = coalesce(sum(version.price_excl_vat * version.quantity), 0)
          AND commissions_revenue_incl_vat = coalesce(sum(version.price_incl_vat * version.quantity), 0)
        FROM warehouse.order_item_version AS version
        WHERE version.order_date = placed.day
          AND coalesce(version.sub_id, '') = coalesce(placed.sub_id, '') AND coalesce(version.name, '') = coalesce(placed.name, '')
          AND (version.site_code, version.frame_type, version.name, version.sub_id) IS NOT DISTINCT FROM (placed.site_code, placed.frame_type, placed.name, placed.sub_id)
          AND version.is_present AND version.observed_from <= loaded.commissions_at AND (version.observed_to IS NULL OR version.observed_to > loaded.commissions_at)
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

CREATE VIEW mart.reconciliation_difference AS
SELECT day, site_code, frame_type, name, sub_id, said.pair, said.measure, said.told, said.orders_say, said.difference, said.class
FROM mart.reconciliation CROSS JOIN LATERAL (
  VALUES
    ('promotions', 'orders', CAST(promotions_orders AS numeric(38,6)), CAST(orders_orders AS numeric(38,6)), CAST(orders_difference AS numeric(38,6)), promotions_class),
    ('promotions', 'commission', promotions_commission, orders_commission, commission_promotions_orders, promotions_class),
    ('promotions', 'revenue_excl_vat', promotions_revenue_excl_vat, orders_revenue_excl_vat, excl_vat_promotions_orders, promotions_class),
    ('promotions', 'revenue_incl_vat', promotions_revenue_incl_vat, orders_revenue_incl_vat, incl_vat_promotions_orders, promotions_class),
    ('commissions', 'commission', commissions_original, orders_commission, commission_commissions_orders, commissions_class),
    ('commissions', 'approved', commissions_approved, orders_approved, approved_difference, commissions_class),
    ('commissions', 'open', commissions_open, orders_open, open_difference, commissions_class),
    ('commissions', 'revenue_excl_vat', commissions_revenue_excl_vat, orders_revenue_excl_vat, excl_vat_commissions_orders, commissions_class),
    ('commissions', 'revenue_incl_vat', commissions_revenue_incl_vat, orders_revenue_incl_vat, incl_vat_commissions_orders, commissions_class)
) AS said(pair, measure, told, orders_say, difference, class)
WHERE said.difference <> 0;
