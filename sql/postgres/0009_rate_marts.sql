-- Marts of rates and reductions: what a sold item should have earned, what changed about the rates, and at which price a reduction
-- begins. The service asks a commission of whoever sells; whether the partner is paid by it is a matter of the contract.
--
-- Days are days in UTC. What counts on a day is what was known at its end: the version with observed_from before the next midnight
-- and observed_to, if any, not before it. As days, that is from the day of observed_from to the day before that of observed_to; a
-- version that did not outlive its day counts on none.

-- Which EAN a product has is read from the first index alone, since the table is wide. The second finds what was sold of a product on
-- a day, for mart.rate_change, and takes the place of the one on the day alone. With the product first, rows of a day would lie all over
-- the index: 270,000 rows into 10 million then take 10 s of CPU instead of 4.
CREATE INDEX dim_product_newest ON warehouse.dim_product (bol_product_id, observed_from, ean)
  WHERE outcome = 'found' AND bol_product_id IS NOT NULL;
CREATE INDEX fact_order_item_day_product ON warehouse.fact_order_item (order_date, product_id);
DROP INDEX warehouse.fact_order_item_day;

-- The newest EAN that the catalogue told for a product.
CREATE VIEW warehouse.product_ean AS
SELECT DISTINCT ON (bol_product_id) bol_product_id AS product_id, ean
FROM warehouse.dim_product
WHERE outcome = 'found' AND bol_product_id IS NOT NULL
ORDER BY bol_product_id DESC, observed_from DESC, ean DESC;

-- An EAN in the Netherlands rather than in Belgium, in Dutch rather than in French: by chance that is the alphabet backwards.
CREATE VIEW warehouse.product_now AS
SELECT DISTINCT ON (ean)
  ean,
  bol_product_id AS product_id,
  title,
  offer_price,
  country_code,
  language,
  observed_from
FROM warehouse.dim_product
WHERE outcome = 'found'
ORDER BY ean, (observed_to IS NULL) DESC, country_code COLLATE "C" DESC, language COLLATE "C" DESC, observed_from DESC;

CREATE VIEW warehouse.reduction_in_force AS
SELECT
  ean, 'file' AS source, maximum_price, cost_reduction, start_date, end_date,
  greatest(start_date, CAST(timezone('UTC', observed_from) AS date)) AS first_day,
  coalesce(least(end_date, CAST(timezone('UTC', observed_to) AS date) - 1), date '9999-12-31') AS last_day
FROM warehouse.reduction_line
WHERE is_present
UNION ALL
SELECT
  ean, 'rate', maximum_price, cost_reduction, start_date, end_date,
  greatest(start_date, CAST(timezone('UTC', observed_from) AS date)),
  coalesce(least(end_date, CAST(timezone('UTC', observed_to) AS date) - 1), date '9999-12-31')
FROM warehouse.fact_commission_reduction
WHERE condition = 'NEW' AND asked_price IS NULL;

CREATE FUNCTION warehouse.reductions_in_force(day date)
RETURNS SETOF warehouse.fact_reduction
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
  SELECT line.*
  FROM warehouse.fact_reduction AS line
  WHERE coalesce(line.start_date, day) <= day
    AND coalesce(line.end_date, day) >= day
    AND line.observed_from < timezone('UTC', CAST(day + 1 AS timestamp))
    AND (line.observed_to IS NULL OR line.observed_to >= timezone('UTC', CAST(day + 1 AS timestamp)))
$$;

-- Every sold item once, judged or not, so that a condition on the day reaches the facts in all that is made of it. The service's own
-- total, where the very price was asked for, is taken as it is. Reductions are joined all at once and the greatest kept: looked for item
-- by item they take four times as long.
CREATE VIEW mart.commission_expected AS
WITH rate AS NOT MATERIALIZED (
  SELECT
    *,
    CAST(timezone('UTC', observed_from) AS date) AS first_day,
    coalesce(CAST(timezone('UTC', observed_to) AS date) - 1, date '9999-12-31') AS last_day
  FROM warehouse.fact_commission_rate
  WHERE condition = 'NEW' AND outcome = 'found'
),
rated AS (
  SELECT DISTINCT ON (item.order_date, item.order_id, item.order_item_id)
    item.order_date, item.order_id, item.order_item_id, item.site_code, item.sub_id, item.product_id, product_ean.ean,
    item.quantity, item.price_incl_vat AS unit_price,
    CASE WHEN asked.ean IS NULL THEN plain.fixed_amount ELSE asked.fixed_amount END AS fixed_amount,
    CASE WHEN asked.ean IS NULL THEN plain.percentage ELSE asked.percentage END AS percentage,
    CASE WHEN asked.ean IS NULL THEN plain.observed_from ELSE asked.observed_from END AS observed_from,
    CASE WHEN asked.ean IS NULL THEN plain.observed_to ELSE asked.observed_to END AS observed_to,
    asked.asked_price, asked.total_cost,
    asked.total_cost_without_reduction - asked.total_cost AS reduced_by,
    coalesce(item.commission, 0) AS commission,
    item.commission_percentage,
    item.price_excl_vat * item.quantity AS revenue_excl_vat,
    line.cost_reduction, line.source, line.maximum_price
  FROM warehouse.fact_order_item AS item
  LEFT JOIN warehouse.product_ean AS product_ean ON product_ean.product_id = item.product_id
  LEFT JOIN rate AS asked
    ON asked.ean = product_ean.ean AND asked.asked_price = item.price_incl_vat
    AND asked.first_day <= item.order_date AND asked.last_day >= item.order_date AND asked.total_cost IS NOT NULL
  LEFT JOIN rate AS plain
    ON plain.ean = product_ean.ean AND plain.asked_price IS NULL
    AND plain.first_day <= item.order_date AND plain.last_day >= item.order_date
  LEFT JOIN warehouse.reduction_in_force AS line
    ON line.ean = product_ean.ean AND line.first_day <= item.order_date AND line.last_day >= item.order_date
    AND (line.maximum_price IS NULL OR line.maximum_price >= item.price_incl_vat) AND line.cost_reduction > 0
  WHERE coalesce(item.status_group, 'unknown') <> 'rejected' AND coalesce(item.quantity, 1) > 0
  ORDER BY item.order_date, item.order_id, item.order_item_id,
    line.cost_reduction DESC NULLS LAST, line.source DESC, line.maximum_price DESC
),
expected AS (
  SELECT
    *,
    CAST(quantity * CASE
      WHEN total_cost IS NOT NULL THEN total_cost
      WHEN unit_price IS NOT NULL AND (fixed_amount IS NOT NULL OR percentage IS NOT NULL) THEN greatest(
        round(coalesce(fixed_amount, 0) + coalesce(percentage, 0) * unit_price * 0.01, 2) - coalesce(cost_reduction, 0), 0)
    END AS numeric(38,6)) AS expected_commission,
    CAST(round(revenue_excl_vat * commission_percentage * 0.01, 2) AS numeric(38,6)) AS expected_by_report
  FROM rated
)
SELECT
  order_date, order_id, order_item_id, site_code, sub_id, product_id, ean, quantity, unit_price,
  fixed_amount AS rate_fixed_amount,
  percentage AS rate_percentage,
  observed_from AS rate_observed_from,
  observed_to AS rate_observed_to,
  asked_price,
  CASE WHEN total_cost IS NULL THEN maximum_price END AS reduction_maximum_price,
  CASE WHEN total_cost IS NULL THEN cost_reduction ELSE reduced_by END AS reduction_cost_reduction,
  CASE WHEN total_cost IS NULL THEN source WHEN reduced_by > 0 THEN 'total' END AS reduction_source,
  expected_commission,
  commission AS recorded_commission,
  expected_commission - commission AS shortfall,
  commission_percentage AS reported_percentage,
  expected_by_report,
  expected_by_report - commission AS shortfall_by_report
FROM expected;

CREATE VIEW mart.commission_leakage AS
SELECT * FROM mart.commission_expected WHERE shortfall > quantity * 0.01;

CREATE VIEW mart.leakage_coverage AS
SELECT
  order_date,
  count(*) AS sold_items,
  count(expected_commission) AS judged_items,
  CAST(sum(CASE WHEN shortfall > quantity * 0.01 THEN 1 ELSE 0 END) AS bigint) AS items_below,
  CAST(sum(CASE WHEN shortfall > quantity * 0.01 THEN shortfall ELSE 0 END) AS numeric(38,6)) AS shortfall
FROM mart.commission_expected
GROUP BY order_date;

-- What the service asked before and after, at the same price: that of the last piece sold before the change, so that the effect is
-- that of the rate alone. Sales are looked for product by product and day by day.
CREATE VIEW mart.rate_change AS
WITH newest AS (
  SELECT max(slice_day) AS day FROM etl.receipt WHERE pipeline = 'orders' AND superseded_at IS NULL
),
change AS (
  SELECT
    later.observed_on AS changed_on, later.observed_from AS changed_at, later.ean, later.condition, later.asked_price,
    earlier.fixed_amount AS fixed_amount_before, later.fixed_amount AS fixed_amount_after,
    earlier.percentage AS percentage_before, later.percentage AS percentage_after,
    earlier.outcome AS outcome_before, later.outcome AS outcome_after,
    coalesce(earlier.total_cost_without_reduction, earlier.total_cost) AS total_before,
    coalesce(later.total_cost_without_reduction, later.total_cost) AS total_after
  FROM warehouse.fact_commission_rate AS later
  JOIN warehouse.fact_commission_rate AS earlier
    ON earlier.ean = later.ean AND earlier.condition = later.condition
    AND coalesce(earlier.asked_price, 'NaN') = coalesce(later.asked_price, 'NaN') AND earlier.observed_to = later.observed_from
  WHERE earlier.outcome <> later.outcome
    OR earlier.fixed_amount IS DISTINCT FROM later.fixed_amount
    OR earlier.percentage IS DISTINCT FROM later.percentage
),
sold AS (
  SELECT
    change.changed_on, change.changed_at, change.ean, change.condition, change.asked_price,
    change.fixed_amount_before, change.fixed_amount_after, change.percentage_before, change.percentage_after,
    change.outcome_before, change.outcome_after, change.total_before, change.total_after,
    sum(sales.sold_before) AS sold_before,
    sum(sales.sold_after) AS sold_after,
    sum(sales.revenue_before) AS revenue_before,
    sum(sales.revenue_after) AS revenue_after,
    (max(ARRAY[CAST(sales.last_day - date '2000-01-01' AS numeric), sales.last_price]) FILTER (WHERE sales.last_price IS NOT NULL))[2]
      AS last_price
  FROM change
  LEFT JOIN warehouse.product_ean AS product_ean ON product_ean.ean = change.ean
  LEFT JOIN LATERAL (
    SELECT
      sum(CASE WHEN item.order_date < change.changed_on THEN item.quantity END) AS sold_before,
      sum(CASE WHEN item.order_date >= change.changed_on THEN item.quantity END) AS sold_after,
      sum(CASE WHEN item.order_date < change.changed_on THEN item.price_excl_vat * item.quantity END) AS revenue_before,
      sum(CASE WHEN item.order_date >= change.changed_on THEN item.price_excl_vat * item.quantity END) AS revenue_after,
      (max(ARRAY[CAST(item.order_date - date '2000-01-01' AS numeric), item.price_incl_vat])
        FILTER (WHERE item.order_date < change.changed_on AND item.price_incl_vat IS NOT NULL))[2] AS last_price,
      max(item.order_date) FILTER (WHERE item.order_date < change.changed_on AND item.price_incl_vat IS NOT NULL) AS last_day
    FROM etl.receipt AS loaded
    JOIN warehouse.fact_order_item AS item ON item.order_date = loaded.slice_day AND item.product_id = product_ean.product_id
    WHERE loaded.pipeline = 'orders' AND loaded.superseded_at IS NULL
      AND loaded.slice_day >= change.changed_on - 28 AND loaded.slice_day < change.changed_on + 28
      AND coalesce(item.status_group, 'unknown') <> 'rejected'
  ) AS sales ON true
  GROUP BY
    change.changed_on, change.changed_at, change.ean, change.condition, change.asked_price,
    change.fixed_amount_before, change.fixed_amount_after, change.percentage_before, change.percentage_after,
    change.outcome_before, change.outcome_after, change.total_before, change.total_after
),
priced AS (
  SELECT
    sold.*,
    product_now.title,
    coalesce(sold.asked_price, sold.last_price, product_now.offer_price) AS price
  FROM sold LEFT JOIN warehouse.product_now AS product_now ON product_now.ean = sold.ean
),
asked AS (
  SELECT
    *,
    CASE WHEN outcome_before = 'found' THEN coalesce(
      total_before, round(coalesce(fixed_amount_before, 0) + coalesce(percentage_before, 0) * price * 0.01, 2)) END AS before,
    CASE WHEN outcome_after = 'found' THEN coalesce(
      total_after, round(coalesce(fixed_amount_after, 0) + coalesce(percentage_after, 0) * price * 0.01, 2)) END AS after
  FROM priced
)
SELECT
  changed_on, changed_at, ean, condition, asked_price, title,
  fixed_amount_before, fixed_amount_after, percentage_before, percentage_after, outcome_before, outcome_after,
  CAST(coalesce(sold_before, 0) AS bigint) AS sold_28_days_before,
  CAST(coalesce(sold_after, 0) AS bigint) AS sold_28_days_after,
  greatest(0, least(28, newest.day - changed_on + 1)) AS days_after,
  CAST(coalesce(revenue_before, 0) AS numeric(38,6)) AS revenue_excl_vat_28_days_before,
  CAST(coalesce(revenue_after, 0) AS numeric(38,6)) AS revenue_excl_vat_28_days_after,
  price,
  CAST(before AS numeric(38,6)) AS commission_per_piece_before,
  CAST(after AS numeric(38,6)) AS commission_per_piece_after,
  CAST(after - before AS numeric(38,6)) AS effect_per_piece,
  CAST((after - before) * coalesce(sold_before, 0) AS numeric(38,6)) AS effect_28_days
FROM asked, newest;

-- The parts of a day side by side as rows, and summed: a condition on the day reaches each of them. Lines are counted by the pair of
-- their days, of which there are few; EANs by what each of their lines adds to the days of those before it.
CREATE VIEW mart.reduction_day AS
WITH day AS (
  SELECT DISTINCT slice_day AS day FROM etl.receipt
  WHERE pipeline IN ('orders', 'reductions', 'commission-rates') AND superseded_at IS NULL
),
span AS (
  SELECT first_day, last_day, count(*) AS lines, sum(cost_reduction) AS cost, max(cost_reduction) AS highest
  FROM warehouse.reduction_in_force
  WHERE source = 'file'
  GROUP BY first_day, last_day
),
piece AS (
  SELECT ean, greatest(first_day, reached + 1) AS first_day, last_day
  FROM (
    SELECT
      ean, first_day, last_day,
      max(last_day) OVER (PARTITION BY ean ORDER BY first_day, last_day ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
    FROM warehouse.reduction_in_force
    WHERE source = 'file'
  ) AS line
  WHERE reached IS NULL OR last_day > reached
),
part AS (
  SELECT
    day.day, span.lines, 0 AS eans, 0 AS sold_eans, span.cost, span.highest,
    CASE WHEN span.first_day = day.day THEN span.lines END AS started,
    CASE WHEN span.last_day = day.day THEN span.lines END AS ended
  FROM day LEFT JOIN span ON span.first_day <= day.day AND span.last_day >= day.day
  UNION ALL
  SELECT day.day, 0, covered.eans, 0, NULL, NULL, 0, 0
  FROM day
  JOIN (SELECT first_day, last_day, count(*) AS eans FROM piece GROUP BY first_day, last_day) AS covered
    ON covered.first_day <= day.day AND covered.last_day >= day.day
  UNION ALL
  SELECT item.order_date, 0, 0, count(DISTINCT piece.ean), NULL, NULL, 0, 0
  FROM warehouse.fact_order_item AS item
  JOIN warehouse.product_ean AS product_ean ON product_ean.product_id = item.product_id
  JOIN piece ON piece.ean = product_ean.ean AND piece.first_day <= item.order_date AND piece.last_day >= item.order_date
  WHERE coalesce(item.status_group, 'unknown') <> 'rejected'
  GROUP BY item.order_date
)
SELECT
  day,
  CAST(coalesce(sum(lines), 0) AS bigint) AS lines_in_force,
  CAST(coalesce(sum(eans), 0) AS bigint) AS eans_in_force,
  CAST(coalesce(sum(sold_eans), 0) AS bigint) AS sold_eans_in_force,
  CAST(coalesce(sum(started), 0) AS bigint) AS lines_started,
  CAST(coalesce(sum(ended), 0) AS bigint) AS lines_ended,
  CAST(coalesce(sum(cost), 0) AS numeric(38,6)) AS cost_reduction,
  CAST(sum(cost) AS double precision) / nullif(CAST(sum(lines) AS double precision), 0) AS average_cost_reduction,
  CAST(max(highest) AS numeric(38,6)) AS highest_cost_reduction
FROM part
GROUP BY day;

-- What holds now. A boundary that the file and the rate tell alike is one.
CREATE VIEW mart.price_boundary AS
WITH newest AS (
  SELECT max(slice_day) AS as_of FROM etl.receipt
  WHERE pipeline IN ('orders', 'reductions', 'commission-rates') AND superseded_at IS NULL
),
boundary AS (
  SELECT
    newest.as_of, line.ean, line.maximum_price, line.cost_reduction, line.end_date,
    max(CASE WHEN line.source = 'file' THEN 1 ELSE 0 END) = 1 AS in_file,
    max(CASE WHEN line.source = 'rate' THEN 1 ELSE 0 END) = 1 AS in_rate
  FROM warehouse.reduction_in_force AS line, newest
  WHERE line.first_day <= newest.as_of AND line.last_day >= newest.as_of AND line.cost_reduction > 0
  GROUP BY newest.as_of, line.ean, line.maximum_price, line.cost_reduction, line.end_date
),
rated AS (
  SELECT
    boundary.*, rate.condition, rate.fixed_amount, rate.percentage, product_now.title, product_now.offer_price
  FROM boundary
  JOIN warehouse.fact_commission_rate AS rate
    ON rate.ean = boundary.ean AND rate.condition = 'NEW' AND rate.asked_price IS NULL
    AND rate.observed_to IS NULL AND rate.outcome = 'found'
  LEFT JOIN warehouse.product_now AS product_now ON product_now.ean = boundary.ean
),
sold AS (
  SELECT DISTINCT ON (product_ean.ean) product_ean.ean, item.price_incl_vat AS sold_price
  FROM newest
  JOIN warehouse.fact_order_item AS item
    ON item.order_date > newest.as_of - 28 AND item.order_date <= newest.as_of AND item.price_incl_vat IS NOT NULL
  JOIN warehouse.product_ean AS product_ean ON product_ean.product_id = item.product_id
  ORDER BY product_ean.ean, item.order_date DESC, item.price_incl_vat DESC
),
priced AS (
  SELECT rated.*, sold.sold_price, coalesce(rated.offer_price, sold.sold_price) AS price
  FROM rated LEFT JOIN sold ON sold.ean = rated.ean
),
reduced AS (
  SELECT
    *,
    round(coalesce(fixed_amount, 0) + coalesce(percentage, 0) * price * 0.01, 2) AS full_now,
    coalesce(max(CASE WHEN maximum_price IS NULL OR maximum_price >= price THEN cost_reduction END) OVER (PARTITION BY ean), 0)
      AS reduced_now,
    round(coalesce(fixed_amount, 0) + coalesce(percentage, 0) * maximum_price * 0.01, 2) AS full_at_boundary,
    max(cost_reduction) OVER (
      PARTITION BY ean ORDER BY maximum_price DESC NULLS FIRST RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS reduced_at_boundary
  FROM priced
),
judged AS (
  SELECT
    *,
    CAST(CASE WHEN full_now IS NOT NULL THEN greatest(full_now - reduced_now, 0) END AS numeric(38,6)) AS commission_now,
    CAST(CASE WHEN full_at_boundary IS NOT NULL THEN greatest(full_at_boundary - reduced_at_boundary, 0) END AS numeric(38,6))
      AS commission_at_boundary
  FROM reduced
)
SELECT
  as_of, ean, title, condition, price,
  CASE WHEN offer_price IS NOT NULL THEN 'offer' WHEN sold_price IS NOT NULL THEN 'sold' END AS price_source,
  fixed_amount AS rate_fixed_amount,
  percentage AS rate_percentage,
  commission_now,
  maximum_price,
  cost_reduction,
  CAST(price - maximum_price AS numeric(38,6)) AS price_cut,
  commission_at_boundary,
  commission_at_boundary - commission_now AS commission_difference,
  end_date,
  in_file,
  in_rate
FROM judged;
