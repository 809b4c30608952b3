CREATE OR REPLACE VIEW mart.leakage_coverage AS
SELECT
  account,
  order_date,
  count(*) AS sold_items,
  count(expected_commission) AS judged_items,
  CAST(sum(CASE WHEN shortfall > quantity * 0.01 THEN 1 ELSE 0 END) AS bigint) AS items_below,
  CAST(sum(CASE WHEN shortfall > quantity * 0.01 THEN shortfall ELSE 0 END) AS numeric(38,6)) AS shortfall
FROM mart.commission_expected
GROUP BY account, order_date;
