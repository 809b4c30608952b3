-- question: What will be paid, and when?
-- reading: A row is a week to come, by its Monday: what is expected to go on its way to payment in it, and in all weeks up to it.
-- reading: The expectation goes by how older orders fared: of orders of this age, so much was paid so many weeks later.
-- reading: It is a mean and no promise; a week may well be a third off, the sum over all weeks is far nearer.
-- reading: not_paid_now is everything that is neither paid nor rejected; what is missing to it is expected to be rejected, or to take longer.
SELECT
  payment_week,
  CAST(expected_commission AS decimal(38,2)) AS expected_commission,
  CAST(sum(expected_commission) OVER (ORDER BY payment_week) AS decimal(38,2)) AS expected_by_then,
  CAST(of_commission AS decimal(38,2)) AS not_paid_now
FROM mart.payment_forecast
ORDER BY payment_week
LIMIT 13
