-- question: Where does a small price cut pay for itself, because a commission reduction begins there?
-- reading: A row is a boundary in force whose saved commission is more than the cut in the price that it takes; gain_per_piece is the rest.
-- reading: The price is the offer's where the catalogue tells one, else the last one sold at; it includes VAT, so the cut costs the seller even less.
-- reading: Both commissions are those that the service asks of a seller, now and at maximum_price.
-- reading: The boundary ends with end_date.
SELECT
  ean,
  title,
  CAST(price AS decimal(38,2)) AS price,
  CAST(maximum_price AS decimal(38,2)) AS maximum_price,
  CAST(price_cut AS decimal(38,2)) AS price_cut,
  CAST(commission_now AS decimal(38,2)) AS commission_now,
  CAST(commission_at_boundary AS decimal(38,2)) AS commission_at_boundary,
  CAST(-commission_difference - price_cut AS decimal(38,2)) AS gain_per_piece,
  end_date
FROM mart.price_boundary
WHERE price_cut > 0 AND -commission_difference > price_cut
ORDER BY gain_per_piece DESC, ean, maximum_price DESC, end_date
LIMIT 30
