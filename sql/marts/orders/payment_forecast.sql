-- Every age of the curve is another week's orders, so the curve goes up and down by chance. Adding up only its rises would promise
-- money that nobody owes. So the rising curve that is nearest to it is taken (isotonic regression, weighed by commission, by its
-- min-max formula: of all spans of ages that begin by this age the greatest of the least share of those that end from it on). A
-- curve that rises by itself stays as it is. Chances have nine digits, so that both engines multiply the same numbers.
CREATE OR REPLACE VIEW mart.payment_forecast AS
WITH newest AS (
  SELECT account, max(slice_day) AS as_of FROM etl.receipt WHERE pipeline = 'orders' AND superseded_at IS NULL GROUP BY account
),
unpaid AS (
  SELECT newest.account, etl.quotient(newest.as_of - day.order_date, 7) AS age_weeks, CAST(sum(day.items) AS bigint) AS items, sum(day.commission) AS commission
  FROM newest JOIN (
    SELECT account, order_date, count(*) AS items, coalesce(sum(commission), 0) AS commission
    FROM warehouse.fact_order_item
    WHERE coalesce(status_group, 'unknown') <> 'rejected'
      AND (coalesce(status_group, 'unknown') <> 'approved' OR NOT coalesce(approved_for_payment, false))
    GROUP BY account, order_date
  ) AS day ON day.account = newest.account
  GROUP BY 1, 2
),
curve AS (
  SELECT account, age_weeks, commission, paid_commission, rejected_share FROM mart.approval_curve
),
spans AS (
  SELECT
    young.account,
    young.age_weeks AS from_age,
    old.age_weeks AS to_age,
    CAST(sum(part.paid_commission) AS double precision) / nullif(CAST(sum(part.commission) AS double precision), 0) AS share
  FROM curve AS young
  JOIN curve AS old ON old.account = young.account AND old.age_weeks >= young.age_weeks
  JOIN curve AS part ON part.account = young.account AND part.age_weeks BETWEEN young.age_weeks AND old.age_weeks
  GROUP BY young.account, young.age_weeks, old.age_weeks
),
ages AS (
  SELECT etl.each_number(0, 26) AS age_weeks
),
least_shares AS (
  SELECT spans.account, ages.age_weeks, spans.from_age, min(spans.share) AS share
  FROM ages JOIN spans ON ages.age_weeks BETWEEN spans.from_age AND spans.to_age
  GROUP BY spans.account, ages.age_weeks, spans.from_age
),
rising AS (
  SELECT account, age_weeks, max(share) AS share FROM least_shares GROUP BY account, age_weeks
),
chances AS (
  SELECT
    now.account,
    now.age_weeks,
    later.age_weeks - now.age_weeks AS weeks_ahead,
    CAST(
      coalesce((later.share - before.share) / nullif(greatest(1 - now.share - curve.rejected_share, last.share - now.share), 0), 0)
      AS numeric(10,9)
    ) AS chance
  FROM rising AS now
  JOIN curve ON curve.account = now.account AND curve.age_weeks = now.age_weeks
  JOIN rising AS later ON later.account = now.account AND later.age_weeks > now.age_weeks
  JOIN rising AS before ON before.account = now.account AND before.age_weeks = later.age_weeks - 1
  JOIN (SELECT account, max(share) AS share FROM rising GROUP BY account) AS last ON last.account = now.account
),
expected AS (
  SELECT chances.account, chances.weeks_ahead, sum(CAST(unpaid.commission AS numeric(28,6)) * chances.chance) AS commission
  FROM unpaid JOIN chances ON chances.account = unpaid.account AND chances.age_weeks = unpaid.age_weeks
  GROUP BY chances.account, chances.weeks_ahead
),
owed AS (
  SELECT account, sum(commission) AS of_commission, sum(items) AS items FROM unpaid GROUP BY account
)
SELECT
  newest.account,
  newest.as_of - CAST(extract(isodow FROM newest.as_of) AS integer) + 1 + CAST(ages.age_weeks * 7 AS integer) AS payment_week,
  newest.as_of,
  ages.age_weeks AS weeks_ahead,
  CAST(coalesce(expected.commission, 0) AS numeric(38,6)) AS expected_commission,
  CAST(coalesce(owed.of_commission, 0) AS numeric(38,6)) AS of_commission,
  CAST(coalesce(owed.items, 0) AS bigint) AS items
FROM newest
CROSS JOIN ages
LEFT JOIN owed ON owed.account = newest.account
LEFT JOIN expected ON expected.account = newest.account AND expected.weeks_ahead = ages.age_weeks
WHERE ages.age_weeks > 0;
