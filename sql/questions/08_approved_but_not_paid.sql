-- question: What is approved and still not on its way to payment, and how old is it?
-- reading: approved_unpaid is approved, but its payment was not started; pending is neither approved nor rejected.
-- reading: age_bucket is the age of the order in days on as_of, the newest loaded day.
-- reading: Payment is started some weeks after the approval, so ask about what is older than 60 days, and claim what is older than 90.
SELECT
  as_of,
  state,
  age_bucket,
  items,
  CAST(commission AS decimal(38,2)) AS commission
FROM mart.ageing
ORDER BY state, bucket_number
