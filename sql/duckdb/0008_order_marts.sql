-- What became of orders: changes, life cycle, cohorts, restatements, reversals, and what is still to be paid. And which days are here.
--
-- What lies in the past is told from warehouse.order_item_version alone: versions come back with a rebuild, older receipts do not.
-- A condition on order_date (or order_week) must reach the scan of the facts. So every window and every group has that day among
-- its columns, an item's history is that on one day, and a week comes by equality from the days that are loaded.
--
-- approved and rejected are status_group; open is what is neither; paid is approved with payment started, so it is a part of approved.
-- The UTC day of an instant is counted from its microseconds: timezone('UTC', …) costs fourteen times as much.
--
-- What each view and column means stands in sql/dictionary/orders.yaml.

-- A version that is there tells two things: how it came about, and, unless another one follows it on its day, how it ended. The version
-- before it counts only where the two meet: between others the item was on another day.
CREATE VIEW mart.order_change AS
WITH seen AS (
  SELECT
    order_date, order_id, order_item_id, site_code, frame_type, name, sub_id, chunk_name,
    status_group, quantity, price_excl_vat, price_incl_vat, commission_percentage, commission,
    coalesce(status_final, false) AS is_final,
    coalesce(approved_for_payment, false) AS is_for_payment,
    is_present,
    observed_from,
    observed_to,
    coalesce(lag(observed_to) OVER item = observed_from AND lag(is_present) OVER item, false) AS follows,
    coalesce(lead(observed_from) OVER item = observed_to, false) AS is_followed,
    coalesce(lead(is_present) OVER item, false) AS is_present_after,
    lag(status_group) OVER item AS status_group_before,
    lag(quantity) OVER item AS quantity_before,
    lag(price_excl_vat) OVER item AS price_excl_vat_before,
    lag(price_incl_vat) OVER item AS price_incl_vat_before,
    lag(commission_percentage) OVER item AS commission_percentage_before,
    lag(commission) OVER item AS commission_before,
    lag(coalesce(status_final, false)) OVER item AS was_final,
    lag(coalesce(approved_for_payment, false)) OVER item AS was_for_payment
  FROM main.order_item_version
  WINDOW item AS (PARTITION BY order_date, order_id, order_item_id ORDER BY observed_from)
),
told AS (
  SELECT
    order_date, order_id, order_item_id, site_code, frame_type, name, sub_id, chunk_name,
    CASE WHEN is_end THEN observed_to ELSE observed_from END AS changed_at,
    CASE
      WHEN is_end AND is_followed THEN 'vanished'
      WHEN is_end THEN 'moved_away'
      WHEN NOT follows THEN 'new'
      WHEN status_group IS DISTINCT FROM status_group_before THEN 'status'
      WHEN quantity IS DISTINCT FROM quantity_before OR price_excl_vat IS DISTINCT FROM price_excl_vat_before
        OR price_incl_vat IS DISTINCT FROM price_incl_vat_before OR commission IS DISTINCT FROM commission_before
        OR commission_percentage IS DISTINCT FROM commission_percentage_before THEN 'restated'
      WHEN is_for_payment <> was_for_payment THEN 'payment'
      WHEN is_final <> was_final THEN 'final'
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
  WHERE is_present AND (NOT is_end OR (observed_to IS NOT NULL AND NOT (is_followed AND is_present_after)))
)
SELECT
  order_date, order_id, order_item_id, site_code, frame_type, name, sub_id, chunk_name,
  changed_at,
  (DATE '1970-01-01' + CAST(epoch_us(changed_at) // 86400000000 AS INTEGER)) AS changed_on,
  change,
  status_group_before, status_group_after,
  quantity_before, quantity_after,
  price_excl_vat_before, price_excl_vat_after,
  commission_before, commission_after,
  CAST(coalesce(commission_after, 0) - coalesce(commission_before, 0) AS DECIMAL(38,6)) AS commission_difference,
  CAST(coalesce(price_excl_vat_after * quantity_after, 0) - coalesce(price_excl_vat_before * quantity_before, 0) AS DECIMAL(38,6))
    AS revenue_excl_vat_difference
FROM told;

-- When an item was first seen in a state; what it was already when it was first seen has no time. The filters leave one version, that
-- which holds now, so max() only picks its value.
CREATE VIEW mart.order_life_cycle AS
WITH seen AS (
  SELECT
    order_date, order_id, order_item_id,
    max(site_code) FILTER (WHERE observed_to IS NULL) AS site_code,
    max(frame_type) FILTER (WHERE observed_to IS NULL) AS frame_type,
    max(name) FILTER (WHERE observed_to IS NULL) AS name,
    max(sub_id) FILTER (WHERE observed_to IS NULL) AS sub_id,
    max(chunk_name) FILTER (WHERE observed_to IS NULL) AS chunk_name,
    max(status_group) FILTER (WHERE observed_to IS NULL) AS status_group,
    coalesce(bool_or(status_final) FILTER (WHERE observed_to IS NULL), false) AS is_final,
    coalesce(bool_or(approved_for_payment) FILTER (WHERE observed_to IS NULL), false) AS is_for_payment,
    max(commission) FILTER (WHERE observed_to IS NULL) AS commission,
    min(observed_from) AS first_seen_at,
    min(observed_from) FILTER (WHERE status_group IN ('approved', 'rejected')) AS decided_from,
    min(observed_from) FILTER (WHERE status_final) AS final_from,
    min(observed_from) FILTER (WHERE status_group = 'approved') AS approved_from,
    min(observed_from) FILTER (WHERE status_group = 'approved' AND approved_for_payment) AS payment_from
  FROM main.order_item_version
  WHERE is_present
  GROUP BY order_date, order_id, order_item_id
  HAVING bool_or(observed_to IS NULL)
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
  order_date, order_id, order_item_id, site_code, frame_type, name, sub_id, chunk_name, status_group, commission,
  first_seen_at, decided_at, final_at, approved_at, payment_at,
  (DATE '1970-01-01' + CAST(epoch_us(decided_at) // 86400000000 AS INTEGER)) - order_date AS days_to_decision,
  (DATE '1970-01-01' + CAST(epoch_us(final_at) // 86400000000 AS INTEGER)) - order_date AS days_to_final,
  (DATE '1970-01-01' + CAST(epoch_us(approved_at) // 86400000000 AS INTEGER)) - order_date AS days_to_approval,
  (DATE '1970-01-01' + CAST(epoch_us(payment_at) // 86400000000 AS INTEGER)) - order_date AS days_to_payment,
  coalesce(least(decided_from, final_from) > first_seen_at, true) AS seen_from_start
FROM lived;

-- A version is known at the ends of the weeks of age from seen_age to the one before left_age. Versions of the same two ages are added
-- up first; then each sum is put in at one age and taken out at the other, and the running total is what was known.
CREATE VIEW mart.approval_cohort AS
WITH newest AS (
  SELECT max(slice_day) AS as_of FROM etl.receipt WHERE pipeline = 'orders' AND superseded_at IS NULL
),
weeks AS (
  SELECT slice_day, as_of, slice_day - CAST(extract(isodow FROM slice_day) AS INTEGER) + 1 AS order_week
  FROM etl.receipt, newest
  WHERE pipeline = 'orders' AND superseded_at IS NULL
),
days AS (
  SELECT slice_day, order_week, (as_of - order_week) // 7 AS newest_age FROM weeks
),
seen AS (
  SELECT
    days.order_week,
    days.newest_age,
    least(greatest((DATE '1970-01-01' + CAST(epoch_us(version.observed_from) // 86400000000 AS INTEGER)) - days.order_week, 0) // 7, days.newest_age) AS seen_age,
    CASE
      WHEN version.observed_to IS NOT NULL
        THEN least(greatest((DATE '1970-01-01' + CAST(epoch_us(version.observed_to) // 86400000000 AS INTEGER)) - days.order_week, 0) // 7, days.newest_age)
    END AS left_age,
    version.status_group = 'approved' AS is_approved,
    version.status_group = 'rejected' AS is_rejected,
    version.status_group = 'approved' AND version.approved_for_payment AS is_paid,
    version.commission
  FROM days JOIN main.order_item_version AS version ON version.order_date = days.slice_day
  WHERE version.is_present
),
spans AS (
  SELECT
    order_week, newest_age, seen_age, left_age,
    count(*) AS items,
    count(*) FILTER (WHERE is_approved) AS approved_items,
    count(*) FILTER (WHERE is_rejected) AS rejected_items,
    count(*) FILTER (WHERE is_paid) AS paid_items,
    coalesce(sum(commission), 0) AS commission,
    coalesce(sum(commission) FILTER (WHERE is_approved), 0) AS approved_commission,
    coalesce(sum(commission) FILTER (WHERE is_rejected), 0) AS rejected_commission,
    coalesce(sum(commission) FILTER (WHERE is_paid), 0) AS paid_commission
  FROM seen
  WHERE seen_age IS DISTINCT FROM left_age
  GROUP BY order_week, newest_age, seen_age, left_age
),
steps AS (
  SELECT
    order_week,
    newest_age,
    CASE WHEN sign = 1 THEN seen_age ELSE left_age END AS age_weeks,
    CASE WHEN sign = 1 THEN items ELSE 0 END AS seen_items,
    sign * items AS items,
    sign * approved_items AS approved_items,
    sign * rejected_items AS rejected_items,
    sign * paid_items AS paid_items,
    CASE WHEN sign = 1 THEN commission ELSE -commission END AS commission,
    CASE WHEN sign = 1 THEN approved_commission ELSE -approved_commission END AS approved_commission,
    CASE WHEN sign = 1 THEN rejected_commission ELSE -rejected_commission END AS rejected_commission,
    CASE WHEN sign = 1 THEN paid_commission ELSE -paid_commission END AS paid_commission
  FROM spans CROSS JOIN (VALUES (1), (-1)) AS edge(sign)
  WHERE sign = 1 OR left_age IS NOT NULL
  UNION ALL
  SELECT order_week, newest_age, unnest(generate_series(0, newest_age)), 0, 0, 0, 0, 0, 0, 0, 0, 0
  FROM (SELECT DISTINCT order_week, newest_age FROM days) AS loaded
),
known AS (
  SELECT
    order_week,
    age_weeks,
    age_weeks = max(newest_age) AS is_newest,
    sum(sum(seen_items)) OVER week AS seen_items,
    CAST(sum(sum(items)) OVER week AS BIGINT) AS items,
    CAST(sum(sum(approved_items)) OVER week AS BIGINT) AS approved_items,
    CAST(sum(sum(rejected_items)) OVER week AS BIGINT) AS rejected_items,
    CAST(sum(sum(paid_items)) OVER week AS BIGINT) AS paid_items,
    CAST(sum(sum(commission)) OVER week AS DECIMAL(38,6)) AS commission,
    CAST(sum(sum(approved_commission)) OVER week AS DECIMAL(38,6)) AS approved_commission,
    CAST(sum(sum(rejected_commission)) OVER week AS DECIMAL(38,6)) AS rejected_commission,
    CAST(sum(sum(paid_commission)) OVER week AS DECIMAL(38,6)) AS paid_commission
  FROM steps
  GROUP BY order_week, age_weeks
  WINDOW week AS (PARTITION BY order_week ORDER BY age_weeks)
)
SELECT
  order_week, age_weeks, is_newest,
  items, approved_items, rejected_items, paid_items,
  approved_items + rejected_items AS decided_items,
  commission, approved_commission, rejected_commission, paid_commission,
  CAST(approved_commission + rejected_commission AS DECIMAL(38,6)) AS decided_commission,
  CAST(commission - approved_commission - rejected_commission AS DECIMAL(38,6)) AS open_commission,
  CAST(approved_items AS DOUBLE) / nullif(CAST(approved_items + rejected_items AS DOUBLE), 0) AS approval_rate,
  CAST(approved_commission AS DOUBLE) / nullif(CAST(approved_commission + rejected_commission AS DOUBLE), 0) AS commission_approval_rate,
  CAST(paid_commission AS DOUBLE) / nullif(CAST(commission AS DOUBLE), 0) AS paid_share
FROM known
WHERE seen_items > 0;

-- Of an item at most two versions matter: that of the day's first fetch and that which holds now. A label that changed between them takes
-- the item out of one group and into another, so each version counts in the group that it names itself.
CREATE VIEW mart.restatement AS
WITH dated AS (
  SELECT
    order_date, order_id, order_item_id, site_code, frame_type, name, sub_id,
    quantity,
    price_excl_vat * quantity AS revenue_excl_vat,
    commission,
    is_present,
    observed_from,
    observed_to IS NULL AS is_now,
    min(observed_from) OVER (PARTITION BY order_date) AS first_fetch_at
  FROM main.order_item_version
),
ends AS (
  SELECT
    order_date, site_code, frame_type, name, sub_id, quantity, revenue_excl_vat, commission, first_fetch_at,
    observed_from = first_fetch_at AS is_first,
    is_now,
    observed_from = first_fetch_at OR lag(is_present) OVER item IS NOT NULL AS was_there,
    is_now OR lead(is_present) OVER item IS NOT NULL AS is_there
  FROM dated
  WHERE is_present AND (is_now OR observed_from = first_fetch_at)
  WINDOW item AS (PARTITION BY order_date, order_id, order_item_id ORDER BY observed_from)
),
sums AS (
  SELECT
    order_date, site_code, frame_type, name, sub_id,
    min(first_fetch_at) AS first_fetch_at,
    count(*) FILTER (WHERE is_first) AS items_first,
    count(*) FILTER (WHERE is_now) AS items_now,
    count(*) FILTER (WHERE NOT was_there) AS late_items,
    count(*) FILTER (WHERE NOT is_there) AS gone_items,
    CAST(coalesce(sum(quantity) FILTER (WHERE is_first), 0) AS BIGINT) AS quantity_first,
    CAST(coalesce(sum(quantity) FILTER (WHERE is_now), 0) AS BIGINT) AS quantity_now,
    CAST(coalesce(sum(revenue_excl_vat) FILTER (WHERE is_first), 0) AS DECIMAL(38,6)) AS revenue_excl_vat_first,
    CAST(coalesce(sum(revenue_excl_vat) FILTER (WHERE is_now), 0) AS DECIMAL(38,6)) AS revenue_excl_vat_now,
    CAST(coalesce(sum(commission) FILTER (WHERE is_first), 0) AS DECIMAL(38,6)) AS commission_first,
    CAST(coalesce(sum(commission) FILTER (WHERE is_now), 0) AS DECIMAL(38,6)) AS commission_now,
    CAST(coalesce(sum(commission) FILTER (WHERE NOT was_there), 0) AS DECIMAL(38,6)) AS late_commission,
    CAST(-coalesce(sum(commission) FILTER (WHERE NOT is_there), 0) AS DECIMAL(38,6)) AS gone_commission,
    CAST(
      coalesce(sum(commission) FILTER (WHERE is_now AND was_there), 0) - coalesce(sum(commission) FILTER (WHERE is_first AND is_there), 0)
      AS DECIMAL(38,6)
    ) AS changed_commission
  FROM ends
  GROUP BY order_date, site_code, frame_type, name, sub_id
)
SELECT
  order_date, site_code, frame_type, name, sub_id,
  first_fetch_at,
  items_first, items_now, late_items, gone_items,
  quantity_first, quantity_now,
  revenue_excl_vat_first, revenue_excl_vat_now,
  commission_first, commission_now,
  CAST(commission_now - commission_first AS DECIMAL(38,6)) AS commission_difference,
  late_commission, gone_commission, changed_commission
FROM sums;

DROP VIEW mart.reversal;
CREATE VIEW mart.reversal AS
WITH sums AS (
  SELECT
    order_date,
    chunk_name,
    site_code,
    sub_id,
    count(*) AS items,
    count(*) FILTER (WHERE status_group IN ('approved', 'rejected')) AS decided_items,
    count(*) FILTER (WHERE status_group = 'rejected') AS rejected_items,
    CAST(coalesce(sum(commission), 0) AS DECIMAL(38,6)) AS commission,
    CAST(coalesce(sum(commission) FILTER (WHERE status_group IN ('approved', 'rejected')), 0) AS DECIMAL(38,6)) AS decided_commission,
    CAST(coalesce(sum(commission) FILTER (WHERE status_group = 'rejected'), 0) AS DECIMAL(38,6)) AS lost_commission
  FROM main.fact_order_item
  GROUP BY order_date, chunk_name, site_code, sub_id
)
SELECT
  *,
  CAST(rejected_items AS DOUBLE) / nullif(CAST(decided_items AS DOUBLE), 0) AS reversal_rate,
  CAST(lost_commission AS DOUBLE) / nullif(CAST(decided_commission AS DOUBLE), 0) AS lost_rate
FROM sums;

-- The days come first and the facts by equality with them, so that three years of history cost no more than these weeks.
CREATE VIEW mart.approval_curve AS
WITH newest AS (
  SELECT max(slice_day) AS as_of FROM etl.receipt WHERE pipeline = 'orders' AND superseded_at IS NULL
),
days AS (
  SELECT slice_day, as_of, (as_of - slice_day) // 7 AS age_weeks
  FROM etl.receipt, newest
  WHERE pipeline = 'orders' AND superseded_at IS NULL AND slice_day > as_of - 27 * 7
),
sums AS (
  SELECT
    days.age_weeks,
    days.as_of,
    min(days.slice_day) AS first_day,
    max(days.slice_day) AS last_day,
    count(item.order_id) AS items,
    CAST(coalesce(sum(item.commission), 0) AS DECIMAL(38,6)) AS commission,
    CAST(coalesce(sum(item.commission) FILTER (WHERE item.status_group = 'approved' AND item.approved_for_payment), 0) AS DECIMAL(38,6)) AS paid_commission,
    CAST(coalesce(sum(item.commission) FILTER (WHERE item.status_group = 'approved'), 0) AS DECIMAL(38,6)) AS approved_commission,
    CAST(coalesce(sum(item.commission) FILTER (WHERE item.status_group = 'rejected'), 0) AS DECIMAL(38,6)) AS rejected_commission
  FROM days LEFT JOIN main.fact_order_item AS item ON item.order_date = days.slice_day
  GROUP BY days.age_weeks, days.as_of
)
SELECT
  age_weeks, as_of, first_day, last_day, items,
  commission, paid_commission, approved_commission, rejected_commission,
  CAST(commission - approved_commission - rejected_commission AS DECIMAL(38,6)) AS open_commission,
  CAST(paid_commission AS DOUBLE) / nullif(CAST(commission AS DOUBLE), 0) AS paid_share,
  CAST(approved_commission AS DOUBLE) / nullif(CAST(commission AS DOUBLE), 0) AS approved_share,
  CAST(rejected_commission AS DOUBLE) / nullif(CAST(commission AS DOUBLE), 0) AS rejected_share
FROM sums;

-- Every age of the curve is another week's orders, so the curve goes up and down by chance. Adding up only its rises would promise
-- money that nobody owes. So the rising curve that is nearest to it is taken (isotonic regression, weighed by commission, by its
-- min-max formula: of all spans of ages that begin by this age the greatest of the least share of those that end from it on). A
-- curve that rises by itself stays as it is. Chances have nine digits, so that both engines multiply the same numbers.
CREATE VIEW mart.payment_forecast AS
WITH newest AS (
  SELECT max(slice_day) AS as_of FROM etl.receipt WHERE pipeline = 'orders' AND superseded_at IS NULL
),
unpaid AS (
  SELECT (newest.as_of - day.order_date) // 7 AS age_weeks, CAST(sum(day.items) AS BIGINT) AS items, sum(day.commission) AS commission
  FROM newest, (
    SELECT order_date, count(*) AS items, coalesce(sum(commission), 0) AS commission
    FROM main.fact_order_item
    WHERE coalesce(status_group, 'unknown') <> 'rejected'
      AND (coalesce(status_group, 'unknown') <> 'approved' OR NOT coalesce(approved_for_payment, false))
    GROUP BY order_date
  ) AS day
  GROUP BY 1
),
curve AS (
  SELECT age_weeks, commission, paid_commission, rejected_share FROM mart.approval_curve
),
spans AS (
  SELECT
    young.age_weeks AS from_age,
    old.age_weeks AS to_age,
    CAST(sum(part.paid_commission) AS DOUBLE) / nullif(CAST(sum(part.commission) AS DOUBLE), 0) AS share
  FROM curve AS young
  JOIN curve AS old ON old.age_weeks >= young.age_weeks
  JOIN curve AS part ON part.age_weeks BETWEEN young.age_weeks AND old.age_weeks
  GROUP BY young.age_weeks, old.age_weeks
),
ages AS (
  SELECT unnest(generate_series(0, 26)) AS age_weeks
),
least_shares AS (
  SELECT ages.age_weeks, spans.from_age, min(spans.share) AS share
  FROM ages JOIN spans ON ages.age_weeks BETWEEN spans.from_age AND spans.to_age
  GROUP BY ages.age_weeks, spans.from_age
),
rising AS (
  SELECT age_weeks, max(share) AS share FROM least_shares GROUP BY age_weeks
),
chances AS (
  SELECT
    now.age_weeks,
    later.age_weeks - now.age_weeks AS weeks_ahead,
    CAST(
      coalesce((later.share - before.share) / nullif(greatest(1 - now.share - curve.rejected_share, last.share - now.share), 0), 0)
      AS DECIMAL(10,9)
    ) AS chance
  FROM rising AS now
  JOIN curve ON curve.age_weeks = now.age_weeks
  JOIN rising AS later ON later.age_weeks > now.age_weeks
  JOIN rising AS before ON before.age_weeks = later.age_weeks - 1
  CROSS JOIN (SELECT max(share) AS share FROM rising) AS last
),
expected AS (
  SELECT chances.weeks_ahead, sum(CAST(unpaid.commission AS DECIMAL(28,6)) * chances.chance) AS commission
  FROM unpaid JOIN chances ON chances.age_weeks = unpaid.age_weeks
  GROUP BY chances.weeks_ahead
),
owed AS (
  SELECT CAST(coalesce(sum(commission), 0) AS DECIMAL(38,6)) AS of_commission, CAST(coalesce(sum(items), 0) AS BIGINT) AS items FROM unpaid
)
SELECT
  newest.as_of - CAST(extract(isodow FROM newest.as_of) AS INTEGER) + 1 + CAST(ages.age_weeks * 7 AS INTEGER) AS payment_week,
  newest.as_of,
  ages.age_weeks AS weeks_ahead,
  CAST(coalesce(expected.commission, 0) AS DECIMAL(38,6)) AS expected_commission,
  owed.of_commission,
  owed.items
FROM newest CROSS JOIN owed CROSS JOIN ages LEFT JOIN expected ON expected.weeks_ahead = ages.age_weeks
WHERE ages.age_weeks > 0 AND newest.as_of IS NOT NULL;

CREATE VIEW mart.completeness AS
WITH loaded AS (
  SELECT * FROM etl.receipt WHERE pipeline IN ('promotions', 'orders', 'commissions') AND superseded_at IS NULL
),
held AS (
  SELECT DISTINCT pipeline, slice_day FROM etl.hold WHERE pipeline IN ('promotions', 'orders', 'commissions')
),
span AS (
  SELECT min(slice_day) AS first_day, max(slice_day) AS last_day
  FROM (SELECT slice_day FROM loaded UNION ALL SELECT slice_day FROM held) AS every_day
),
days AS (
  SELECT CAST(unnest(generate_series(first_day, last_day, INTERVAL 1 DAY)) AS DATE) AS day FROM span
)
SELECT
  report.pipeline,
  days.day,
  CASE
    WHEN held.slice_day IS NOT NULL THEN 'held'
    WHEN loaded.slice_day IS NULL THEN 'missing'
    WHEN loaded.settled THEN 'settled'
    ELSE 'open'
  END AS state,
  loaded.rows,
  loaded.rejects,
  loaded.fetched_at,
  loaded.loaded_at
FROM days
CROSS JOIN (VALUES ('promotions'), ('orders'), ('commissions')) AS report(pipeline)
LEFT JOIN loaded ON loaded.pipeline = report.pipeline AND loaded.slice_day = days.day
LEFT JOIN held ON held.pipeline = report.pipeline AND held.slice_day = days.day;
