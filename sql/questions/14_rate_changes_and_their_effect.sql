-- question: Which commission rates changed, and what does that do to me?
-- reading: Changes that a look-up of the last 90 days was the first to show; those with the greatest effect come first.
-- reading: Both commissions per piece are at the same price, that of the last piece sold before, so that the effect is that of the rate alone.
-- reading: effect_28_days is the effect on the pieces sold in the 28 days before the change; nothing sold is no effect.
-- reading: The rate is what the service asks of a seller; whether a rise is a gain or a cost to you depends on your contract.
WITH newest AS (
  SELECT max(slice_day) AS day FROM etl.receipt WHERE pipeline = 'orders' AND superseded_at IS NULL
)
SELECT
  changed_on,
  ean,
  title,
  CAST(fixed_amount_before AS decimal(38,2)) AS fixed_before,
  CAST(fixed_amount_after AS decimal(38,2)) AS fixed_after,
  CAST(percentage_before AS decimal(38,2)) AS percentage_before,
  CAST(percentage_after AS decimal(38,2)) AS percentage_after,
  CAST(price AS decimal(38,2)) AS price,
  CAST(effect_per_piece AS decimal(38,2)) AS effect_per_piece,
  sold_28_days_before,
  CAST(effect_28_days AS decimal(38,2)) AS effect_28_days
FROM mart.rate_change AS change
WHERE changed_on > (SELECT day FROM newest) - 90
  AND outcome_before = 'found'
  AND outcome_after = 'found'
ORDER BY abs(change.effect_28_days) DESC NULLS LAST, changed_on DESC, ean, condition, asked_price NULLS FIRST
LIMIT 30
