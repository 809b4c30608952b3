-- A version is known at the ends of the weeks of age from seen_age to the one before left_age. Versions of the same two ages are added
-- up first; then each sum is put in at one age and taken out at the other, and the running total is what was known.
-- The account is compared in a CASE, which Postgres takes for half of the rows: an equality with a column of a view it takes for one of 200,
-- and would sort all rows for the few groups that it expects.
CREATE OR REPLACE VIEW mart.approval_cohort AS
WITH newest AS (
  SELECT account, max(slice_day) AS as_of FROM etl.receipt WHERE pipeline = 'orders' AND superseded_at IS NULL GROUP BY account
),
weeks AS (
  SELECT newest.account, slice_day, as_of, slice_day - CAST(extract(isodow FROM slice_day) AS integer) + 1 AS order_week
  FROM etl.receipt AS receipt JOIN newest ON newest.account = receipt.account
  WHERE pipeline = 'orders' AND superseded_at IS NULL
),
days AS (
  SELECT account, slice_day, order_week, etl.quotient(as_of - order_week, 7) AS newest_age FROM weeks
),
seen AS (
  SELECT
    days.account,
    days.order_week,
    days.newest_age,
    least(etl.quotient(greatest(etl.utc_day(version.valid_from) - days.order_week, 0), 7), days.newest_age) AS seen_age,
    CASE
      WHEN version.valid_to IS NOT NULL
        THEN least(etl.quotient(greatest(etl.utc_day(version.valid_to) - days.order_week, 0), 7), days.newest_age)
    END AS left_age,
    version.status_group = 'approved' AS is_approved,
    version.status_group = 'rejected' AS is_rejected,
    version.status_group = 'approved' AND version.approved_for_payment AS is_paid,
    version.commission
  FROM days
  JOIN warehouse.fact_order_item_version AS version
    ON version.order_date = days.slice_day AND CASE WHEN version.account = days.account THEN true ELSE false END
),
spans AS (
  SELECT
    account, order_week, newest_age, seen_age, left_age,
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
  GROUP BY account, order_week, newest_age, seen_age, left_age
),
steps AS (
  SELECT
    account,
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
  SELECT account, order_week, newest_age, etl.each_number(0, newest_age), 0, 0, 0, 0, 0, 0, 0, 0, 0
  FROM (SELECT DISTINCT account, order_week, newest_age FROM days) AS loaded
),
known AS (
  SELECT
    account,
    order_week,
    age_weeks,
    age_weeks = max(newest_age) AS is_newest,
    sum(sum(seen_items)) OVER week AS seen_items,
    CAST(sum(sum(items)) OVER week AS bigint) AS items,
    CAST(sum(sum(approved_items)) OVER week AS bigint) AS approved_items,
    CAST(sum(sum(rejected_items)) OVER week AS bigint) AS rejected_items,
    CAST(sum(sum(paid_items)) OVER week AS bigint) AS paid_items,
    CAST(sum(sum(commission)) OVER week AS numeric(38,6)) AS commission,
    CAST(sum(sum(approved_commission)) OVER week AS numeric(38,6)) AS approved_commission,
    CAST(sum(sum(rejected_commission)) OVER week AS numeric(38,6)) AS rejected_commission,
    CAST(sum(sum(paid_commission)) OVER week AS numeric(38,6)) AS paid_commission
  FROM steps
  GROUP BY account, order_week, age_weeks
  WINDOW week AS (PARTITION BY account, order_week ORDER BY age_weeks)
)
SELECT
  account, order_week, age_weeks, is_newest,
  items, approved_items, rejected_items, paid_items,
  approved_items + rejected_items AS decided_items,
  commission, approved_commission, rejected_commission, paid_commission,
  CAST(approved_commission + rejected_commission AS numeric(38,6)) AS decided_commission,
  CAST(commission - approved_commission - rejected_commission AS numeric(38,6)) AS open_commission,
  CAST(approved_items AS double precision) / nullif(CAST(approved_items + rejected_items AS double precision), 0) AS approval_rate,
  CAST(approved_commission AS double precision) / nullif(CAST(approved_commission + rejected_commission AS double precision), 0) AS commission_approval_rate,
  CAST(paid_commission AS double precision) / nullif(CAST(commission AS double precision), 0) AS paid_share
FROM known
WHERE seen_items > 0;
