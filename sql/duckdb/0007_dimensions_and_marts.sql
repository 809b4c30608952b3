-- Dimensions that say more, the settings that they need, and the first marts. Views throughout: what they say follows the facts and
-- the settings at once, over the whole history.
--
-- In the marts every ratio is recomputed from sums that stand beside it, and is NULL where there is nothing to divide by. Sums of
-- money are DECIMAL(38,6), ratios DOUBLE. Missing parts of a name (site, tool, name, sub-ID) are one group, as GROUP BY has it.

CREATE TABLE etl.setting (
  name       VARCHAR NOT NULL,
  value      VARCHAR NOT NULL,
  changed_at TIMESTAMP WITH TIME ZONE NOT NULL
);
COMMENT ON TABLE etl.setting IS 'A setting that views need, as it was when something was published last; one that is not set has no row.';
COMMENT ON COLUMN etl.setting.name IS 'sub_ids.grammar: as it stands in the settings; sub_ids.parts: the same taken apart, as JSON';
COMMENT ON COLUMN etl.setting.value IS 'its value';
COMMENT ON COLUMN etl.setting.changed_at IS 'when it got this value here';

-- Holidays of a year follow from Easter Sunday, which J.-M. Oudin's rule puts `shift` days after 28 March, for any year of the
-- Gregorian calendar. Two holidays may fall on one day: then both are named.
CREATE OR REPLACE VIEW warehouse.dim_date AS
WITH span AS (
  SELECT min(first_day) AS first_day, max(last_day) AS last_day
  FROM (
    SELECT min(promotion_date) AS first_day, max(promotion_date) AS last_day FROM main.fact_promotion_day
    UNION ALL
    SELECT min(order_date), max(order_date) FROM main.fact_order_item
    UNION ALL
    SELECT min(order_date), max(order_date) FROM main.fact_commission_day
  ) AS spans
),
days AS (
  SELECT CAST(unnest(generate_series(first_day, last_day, INTERVAL 1 DAY)) AS DATE) AS day FROM span
),
years AS (
  SELECT DISTINCT CAST(extract(year FROM day) AS INTEGER) AS year FROM days
),
golden AS (
  SELECT year, year % 19 AS g, year // 100 AS c FROM years
),
epact AS (
  SELECT year, g, c, (c - c // 4 - (8 * c + 13) // 25 + 19 * g + 15) % 30 AS h FROM golden
),
moon AS (
  SELECT year, c, h - (h // 28) * (1 - (29 // (h + 1)) * ((21 - g) // 11)) AS i FROM epact
),
easter AS (
  SELECT year, make_date(year, 3, 28) + CAST(i - (year + year // 4 + i + 2 - c + c // 4) % 7 AS INTEGER) AS sunday FROM moon
),
holidays AS (
  SELECT country, name, sunday + days_after AS day
  FROM easter, (VALUES
    ('nl', 'Goede Vrijdag', -2),
    ('nl', 'Eerste paasdag', 0),
    ('nl', 'Tweede paasdag', 1),
    ('nl', 'Hemelvaartsdag', 39),
    ('nl', 'Eerste pinksterdag', 49),
    ('nl', 'Tweede pinksterdag', 50),
    ('be', 'Paasmaandag', 1),
    ('be', 'Onze-Lieve-Heer-Hemelvaart', 39),
    ('be', 'Pinkstermaandag', 50)
  ) AS movable(country, name, days_after)
  UNION ALL
  SELECT country, name, make_date(year, month, day_of_month)
  FROM years, (VALUES
    ('nl', 'Nieuwjaarsdag', 1, 1, 1),
    ('nl', 'Bevrijdingsdag', 5, 5, 1945),
    ('nl', 'Eerste kerstdag', 12, 25, 1),
    ('nl', 'Tweede kerstdag', 12, 26, 1),
    ('be', 'Nieuwjaar', 1, 1, 1),
    ('be', 'Dag van de Arbeid', 5, 1, 1948),
    ('be', 'Nationale feestdag', 7, 21, 1890),
    ('be', 'Onze-Lieve-Vrouw-Hemelvaart', 8, 15, 1),
    ('be', 'Allerheiligen', 11, 1, 1),
    ('be', 'Wapenstilstand', 11, 11, 1922),
    ('be', 'Kerstmis', 12, 25, 1)
  ) AS fixed(country, name, month, day_of_month, since)
  WHERE year >= since
  UNION ALL
  -- Never on a Sunday: then the day before it.
  SELECT 'nl', name, make_date(year, 4, day_of_month)
    - CASE WHEN extract(isodow FROM make_date(year, 4, day_of_month)) = 7 THEN 1 ELSE 0 END
  FROM years, (VALUES ('Koninginnedag', 30, 1949, 2013), ('Koningsdag', 27, 2014, 9999)) AS royal(name, day_of_month, since, until)
  WHERE year BETWEEN since AND until
),
named AS (
  SELECT
    day,
    string_agg(CASE WHEN country = 'nl' THEN name END, ', ' ORDER BY name) AS nl_holiday,
    string_agg(CASE WHEN country = 'be' THEN name END, ', ' ORDER BY name) AS be_holiday
  FROM holidays
  GROUP BY day
)
SELECT
  days.day,
  CAST(extract(year FROM days.day) AS INTEGER) AS year,
  CAST(extract(quarter FROM days.day) AS INTEGER) AS quarter,
  CAST(extract(month FROM days.day) AS INTEGER) AS month,
  CAST(extract(day FROM days.day) AS INTEGER) AS day_of_month,
  CAST(extract(isoyear FROM days.day) AS INTEGER) AS iso_year,
  CAST(extract(week FROM days.day) AS INTEGER) AS iso_week,
  CAST(extract(isodow FROM days.day) AS INTEGER) AS iso_weekday,
  extract(isodow FROM days.day) >= 6 AS is_weekend,
  lpad(CAST(extract(isoyear FROM days.day) AS VARCHAR), 4, '0') || '-W' || lpad(CAST(extract(week FROM days.day) AS VARCHAR), 2, '0') AS iso_year_week,
  CAST(date_trunc('month', days.day) AS DATE) AS month_start,
  CAST(date_trunc('quarter', days.day) AS DATE) AS quarter_start,
  named.nl_holiday,
  named.be_holiday
FROM days LEFT JOIN named ON named.day = days.day;
COMMENT ON VIEW warehouse.dim_date IS 'Every day from the first to the last that any report has; weeks and weekdays as ISO 8601 counts them, Monday is 1 (iso_year_week as 2026-W09); nl_holiday, be_holiday: public holidays of the Netherlands (with Good Friday) and of Belgium by name, else null.';

-- A sub-ID is read from left to right by the parts of the grammar in the settings. A part ends where the literal after it is first
-- found, the last one at the end (before a literal that ends the grammar). It must not hold the literal before it: then nobody
-- could tell where it begins, and the sub-ID counts as not parsed.
CREATE OR REPLACE VIEW warehouse.dim_sub_id AS
WITH RECURSIVE sub_ids AS (
  SELECT
    sub_id,
    min(day) AS first_day,
    max(day) AS last_day
  FROM (
    SELECT DISTINCT sub_id, promotion_date AS day FROM main.fact_promotion_day
    UNION ALL
    SELECT DISTINCT sub_id, order_date FROM main.fact_order_item
    UNION ALL
    SELECT DISTINCT sub_id, order_date FROM main.fact_commission_day
  ) AS every_sub_id
  WHERE sub_id IS NOT NULL
  GROUP BY sub_id
),
grammar AS (
  SELECT part.position AS position, part.name AS name, part.before AS before, part.after AS after, part.is_last AS is_last
  FROM (
    SELECT unnest(from_json(value, '[{"position":"INTEGER","name":"VARCHAR","before":"VARCHAR","after":"VARCHAR","is_last":"BOOLEAN"}]')) AS part
    FROM etl.setting WHERE name = 'sub_ids.parts'
  ) AS parts
),
reading AS (
  SELECT sub_id, 0 AS position, CAST(NULL AS VARCHAR) AS name, sub_id AS rest, '{' AS parts, true AS is_read, false AS is_last FROM sub_ids
  UNION ALL
  SELECT
    sub_id,
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
        reading.sub_id,
        reading.parts,
        grammar.*,
        grammar.position > 1 OR starts_with(reading.rest, grammar.before) AS begins,
        CASE WHEN grammar.position = 1 THEN substr(reading.rest, CAST(length(grammar.before) + 1 AS INTEGER)) ELSE reading.rest END AS head
      FROM reading JOIN grammar ON grammar.position = reading.position + 1
      WHERE reading.is_read
    ) AS heads
  ) AS split
)
SELECT
  sub_ids.sub_id,
  sub_ids.first_day,
  sub_ids.last_day,
  ended.is_read AS is_parsed,
  CASE WHEN ended.is_read THEN CAST(ended.parts || '}' AS JSON) END AS parts,
  CASE WHEN NOT ended.is_read THEN ended.name END AS unread_part
FROM sub_ids LEFT JOIN reading AS ended ON ended.sub_id = sub_ids.sub_id AND ended.position > 0 AND (ended.is_last OR NOT ended.is_read);
COMMENT ON VIEW warehouse.dim_sub_id IS 'Every sub-ID that a report names, with the days on which it occurs, taken apart by the setting subIds.grammar: is_parsed (null without a grammar), parts (for example parts->>''site''), unread_part: the part that could not be read.';

CREATE VIEW mart.sub_id_unparsed AS
WITH shown AS (
  SELECT sub_id, sum(clicks) AS clicks, sum(orders) AS orders, sum(commission) AS commission FROM main.fact_promotion_day GROUP BY sub_id
)
SELECT
  dim_sub_id.sub_id,
  dim_sub_id.unread_part,
  dim_sub_id.first_day,
  dim_sub_id.last_day,
  CAST(coalesce(shown.clicks, 0) AS BIGINT) AS clicks,
  CAST(coalesce(shown.orders, 0) AS BIGINT) AS orders,
  CAST(coalesce(shown.commission, 0) AS DECIMAL(38,6)) AS commission
FROM main.dim_sub_id AS dim_sub_id LEFT JOIN shown ON shown.sub_id = dim_sub_id.sub_id
WHERE NOT dim_sub_id.is_parsed;
COMMENT ON VIEW mart.sub_id_unparsed IS 'Which sub-IDs does the grammar not fit, and what hangs on them? One row: a sub-ID that could not be parsed, the part at which it failed, and its sums in the promotions report.';

CREATE VIEW mart.daily_performance AS
WITH sums AS (
  SELECT
    promotion_date AS day,
    site_code,
    frame_type,
    name,
    sub_id,
    CAST(coalesce(sum(clicks), 0) AS BIGINT) AS clicks,
    CAST(coalesce(sum(impressions), 0) AS BIGINT) AS impressions,
    CAST(coalesce(sum(orders), 0) AS BIGINT) AS orders,
    CAST(coalesce(sum(revenue_excl_vat), 0) AS DECIMAL(38,6)) AS revenue_excl_vat,
    CAST(coalesce(sum(revenue_incl_vat), 0) AS DECIMAL(38,6)) AS revenue_incl_vat,
    CAST(coalesce(sum(commission), 0) AS DECIMAL(38,6)) AS commission
  FROM main.fact_promotion_day
  GROUP BY promotion_date, site_code, frame_type, name, sub_id
)
SELECT
  *,
  CAST(clicks AS DOUBLE) / nullif(CAST(impressions AS DOUBLE), 0) AS ctr,
  CAST(orders AS DOUBLE) / nullif(CAST(clicks AS DOUBLE), 0) AS conversion,
  CAST(commission AS DOUBLE) / nullif(CAST(clicks AS DOUBLE), 0) AS epc,
  CAST(commission * 1000 AS DOUBLE) / nullif(CAST(impressions AS DOUBLE), 0) AS epm,
  CAST(revenue_excl_vat AS DOUBLE) / nullif(CAST(orders AS DOUBLE), 0) AS aov
FROM sums;
COMMENT ON VIEW mart.daily_performance IS 'How did each promotion do? One row: a day, site, tool, name and sub-ID of the promotions report. ctr = clicks / impressions, conversion = orders / clicks, epc = commission / clicks, epm = 1000 * commission / impressions, aov = revenue_excl_vat / orders.';

CREATE VIEW mart.ageing AS
WITH newest AS (
  SELECT max(slice_day) AS as_of FROM etl.receipt WHERE pipeline = 'orders' AND superseded_at IS NULL
),
items AS (
  SELECT
    newest.as_of,
    CASE WHEN item.status_group = 'approved' THEN 'approved_unpaid' ELSE 'pending' END AS state,
    newest.as_of - item.order_date AS age_days,
    item.quantity,
    item.price_excl_vat * item.quantity AS revenue_excl_vat,
    item.commission
  FROM main.fact_order_item AS item, newest
  WHERE coalesce(item.status_group, 'unknown') <> 'rejected'
    AND (coalesce(item.status_group, 'unknown') <> 'approved' OR NOT coalesce(item.approved_for_payment, false))
),
buckets AS (
  SELECT * FROM (VALUES (1, '0-30', 0, 30), (2, '31-60', 31, 60), (3, '61-90', 61, 90), (4, '90+', 91, NULL))
    AS bucket(bucket_number, age_bucket, from_days, to_days)
)
SELECT
  items.as_of,
  items.state,
  buckets.bucket_number,
  buckets.age_bucket,
  buckets.from_days,
  buckets.to_days,
  count(*) AS items,
  CAST(coalesce(sum(items.quantity), 0) AS BIGINT) AS quantity,
  CAST(coalesce(sum(items.revenue_excl_vat), 0) AS DECIMAL(38,6)) AS revenue_excl_vat,
  CAST(coalesce(sum(items.commission), 0) AS DECIMAL(38,6)) AS commission
FROM items JOIN buckets ON items.age_days >= buckets.from_days AND items.age_days <= coalesce(buckets.to_days, items.age_days)
GROUP BY items.as_of, items.state, buckets.bucket_number, buckets.age_bucket, buckets.from_days, buckets.to_days;
COMMENT ON VIEW mart.ageing IS 'How old is what is not decided, and what is approved but not yet on its way to payment? One row: a state (pending: neither approved nor rejected; approved_unpaid) and an age of the order in days on as_of, the newest day of orders that is loaded. Revenue is price times quantity.';

CREATE VIEW mart.reversal AS
WITH sums AS (
  SELECT
    chunk_name,
    site_code,
    sub_id,
    count(*) AS items,
    CAST(sum(CASE WHEN status_group IN ('approved', 'rejected') THEN 1 ELSE 0 END) AS BIGINT) AS decided_items,
    CAST(sum(CASE WHEN status_group = 'rejected' THEN 1 ELSE 0 END) AS BIGINT) AS rejected_items,
    CAST(coalesce(sum(commission), 0) AS DECIMAL(38,6)) AS commission,
    CAST(coalesce(sum(CASE WHEN status_group IN ('approved', 'rejected') THEN commission END), 0) AS DECIMAL(38,6)) AS decided_commission,
    CAST(coalesce(sum(CASE WHEN status_group = 'rejected' THEN commission END), 0) AS DECIMAL(38,6)) AS lost_commission
  FROM main.fact_order_item
  GROUP BY chunk_name, site_code, sub_id
)
SELECT
  *,
  CAST(rejected_items AS DOUBLE) / nullif(CAST(decided_items AS DOUBLE), 0) AS reversal_rate,
  CAST(lost_commission AS DOUBLE) / nullif(CAST(decided_commission AS DOUBLE), 0) AS lost_rate
FROM sums;
COMMENT ON VIEW mart.reversal IS 'Where are orders turned down? One row: a product group, site and sub-ID. reversal_rate = rejected_items / decided_items (those approved or rejected), lost_rate = lost_commission / decided_commission; what is still open is in items and commission only.';

CREATE VIEW mart.freshness AS
SELECT
  pipeline,
  max(slice_day) AS newest_day,
  count(*) AS slices,
  CAST(sum(rows) AS BIGINT) AS rows,
  CAST(sum(rejects) AS BIGINT) AS rejects,
  CAST(sum(CASE WHEN settled THEN 0 ELSE 1 END) AS BIGINT) AS open_slices,
  max(fetched_at) AS last_fetched_at,
  max(loaded_at) AS last_loaded_at
FROM etl.receipt
WHERE superseded_at IS NULL
GROUP BY pipeline;
COMMENT ON VIEW mart.freshness IS 'How far has each pipeline come? One row: a pipeline, with its newest day, what is loaded, and how many of its slices can still change (open_slices).';

-- The three reports side by side. A report without a row for a group says nothing of it: zero. Orders that are neither approved nor
-- rejected count as open; rejected ones have no part in approved and open, but do in the commission as first recorded.
CREATE VIEW mart.reconciliation AS
WITH told AS (
  SELECT
    promotion_date AS day, site_code, frame_type, name, sub_id,
    1 AS in_promotions, 0 AS in_orders, 0 AS in_commissions,
    orders AS promotions_orders, commission AS promotions_commission,
    revenue_excl_vat AS promotions_revenue_excl_vat, revenue_incl_vat AS promotions_revenue_incl_vat,
    CAST(NULL AS VARCHAR) AS order_id, CAST(NULL AS DECIMAL(38,6)) AS orders_commission,
    CAST(NULL AS DECIMAL(38,6)) AS orders_approved, CAST(NULL AS DECIMAL(38,6)) AS orders_open,
    CAST(NULL AS DECIMAL(38,6)) AS orders_revenue_excl_vat, CAST(NULL AS DECIMAL(38,6)) AS orders_revenue_incl_vat,
    CAST(NULL AS DECIMAL(38,6)) AS commissions_original, CAST(NULL AS DECIMAL(38,6)) AS commissions_approved,
    CAST(NULL AS DECIMAL(38,6)) AS commissions_open,
    CAST(NULL AS DECIMAL(38,6)) AS commissions_revenue_excl_vat, CAST(NULL AS DECIMAL(38,6)) AS commissions_revenue_incl_vat
  FROM main.fact_promotion_day
  UNION ALL
  SELECT
    order_date, site_code, frame_type, name, sub_id, 0, 1, 0, NULL, NULL, NULL, NULL,
    order_id, commission,
    CASE WHEN status_group = 'approved' THEN commission END,
    CASE WHEN coalesce(status_group, 'unknown') NOT IN ('approved', 'rejected') THEN commission END,
    price_excl_vat * quantity, price_incl_vat * quantity,
    NULL, NULL, NULL, NULL, NULL
  FROM main.fact_order_item
  UNION ALL
  SELECT
    order_date, site_code, frame_type, name, sub_id, 0, 0, 1, NULL, NULL, NULL, NULL,
    NULL, NULL, NULL, NULL, NULL, NULL,
    commission_original, commission_approved, commission_open, revenue_original_excl_vat, revenue_original_incl_vat
  FROM main.fact_commission_day
),
summed AS (
  SELECT
    day, site_code, frame_type, name, sub_id,
    max(in_promotions) = 1 AS in_promotions, max(in_orders) = 1 AS in_orders, max(in_commissions) = 1 AS in_commissions,
    CAST(coalesce(sum(promotions_orders), 0) AS BIGINT) AS promotions_orders,
    count(DISTINCT order_id) AS orders_orders,
    CAST(coalesce(sum(promotions_commission), 0) AS DECIMAL(38,6)) AS promotions_commission,
    CAST(coalesce(sum(orders_commission), 0) AS DECIMAL(38,6)) AS orders_commission,
    CAST(coalesce(sum(commissions_original), 0) AS DECIMAL(38,6)) AS commissions_original,
    CAST(coalesce(sum(orders_approved), 0) AS DECIMAL(38,6)) AS orders_approved,
    CAST(coalesce(sum(commissions_approved), 0) AS DECIMAL(38,6)) AS commissions_approved,
    CAST(coalesce(sum(orders_open), 0) AS DECIMAL(38,6)) AS orders_open,
    CAST(coalesce(sum(commissions_open), 0) AS DECIMAL(38,6)) AS commissions_open,
    CAST(coalesce(sum(promotions_revenue_excl_vat), 0) AS DECIMAL(38,6)) AS promotions_revenue_excl_vat,
    CAST(coalesce(sum(orders_revenue_excl_vat), 0) AS DECIMAL(38,6)) AS orders_revenue_excl_vat,
    CAST(coalesce(sum(commissions_revenue_excl_vat), 0) AS DECIMAL(38,6)) AS commissions_revenue_excl_vat,
    CAST(coalesce(sum(promotions_revenue_incl_vat), 0) AS DECIMAL(38,6)) AS promotions_revenue_incl_vat,
    CAST(coalesce(sum(orders_revenue_incl_vat), 0) AS DECIMAL(38,6)) AS orders_revenue_incl_vat,
    CAST(coalesce(sum(commissions_revenue_incl_vat), 0) AS DECIMAL(38,6)) AS commissions_revenue_incl_vat
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
judged AS (
  SELECT
    *,
    orders_difference = 0 AND commission_promotions_orders = 0 AND commission_commissions_orders = 0 AS same_commission,
    excl_vat_promotions_orders = 0 AND excl_vat_commissions_orders = 0 AS same_excl_vat,
    incl_vat_promotions_orders = 0 AND incl_vat_commissions_orders = 0 AS same_incl_vat,
    approved_difference = 0 AND open_difference = 0 AS same_state
  FROM compared
),
loaded AS (
  SELECT slice_day FROM etl.receipt
  WHERE superseded_at IS NULL AND pipeline IN ('promotions', 'orders', 'commissions')
  GROUP BY slice_day
  HAVING count(DISTINCT pipeline) = 3
)
SELECT
  judged.day, judged.site_code, judged.frame_type, judged.name, judged.sub_id,
  CASE
    WHEN loaded.slice_day IS NULL THEN 'not_loaded'
    WHEN same_commission AND same_excl_vat AND same_incl_vat AND same_state THEN 'equal'
    WHEN NOT in_promotions AND NOT in_orders THEN 'only_in_commissions'
    WHEN NOT in_promotions AND NOT in_commissions THEN 'only_in_orders'
    WHEN NOT in_orders AND NOT in_commissions THEN 'only_in_promotions'
    WHEN NOT in_promotions THEN 'missing_in_promotions'
    WHEN NOT in_orders THEN 'missing_in_orders'
    WHEN NOT in_commissions THEN 'missing_in_commissions'
    WHEN same_commission AND same_excl_vat AND same_incl_vat THEN 'state'
    WHEN same_commission AND same_state AND same_excl_vat THEN 'vat'
    ELSE 'amount'
  END AS class,
  promotions_orders, orders_orders, orders_difference,
  promotions_commission, orders_commission, commissions_original, commission_promotions_orders, commission_commissions_orders,
  orders_approved, commissions_approved, approved_difference,
  orders_open, commissions_open, open_difference,
  promotions_revenue_excl_vat, orders_revenue_excl_vat, commissions_revenue_excl_vat, excl_vat_promotions_orders, excl_vat_commissions_orders,
  promotions_revenue_incl_vat, orders_revenue_incl_vat, commissions_revenue_incl_vat, incl_vat_promotions_orders, incl_vat_commissions_orders
FROM judged LEFT JOIN loaded ON loaded.slice_day = judged.day;
COMMENT ON VIEW mart.reconciliation IS 'Do the three reports tell one story? One row: a day, site, tool, name and sub-ID, with orders, commission and revenue (price times quantity) of each report and their differences. class: equal; only_in_… and missing_in_… a report; state: only approved against open differs; vat: only revenue including VAT; amount: anything else; not_loaded: a report of that day is not here yet.';
