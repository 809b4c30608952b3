CREATE OR REPLACE VIEW mart.reconciliation_difference AS
SELECT account, day, site_code, frame_type, name, sub_id, said.pair, said.measure, said.told, said.orders_say, said.difference, said.class
FROM mart.reconciliation CROSS JOIN LATERAL (
  VALUES
    ('promotions', 'orders', CAST(promotions_orders AS numeric(38,6)), CAST(orders_orders AS numeric(38,6)), CAST(orders_difference AS numeric(38,6)), promotions_class),
    ('promotions', 'commission', promotions_commission, orders_commission, commission_promotions_orders, promotions_class),
    ('promotions', 'revenue_excl_vat', promotions_revenue_excl_vat, orders_revenue_excl_vat, excl_vat_promotions_orders, promotions_class),
    ('promotions', 'revenue_incl_vat', promotions_revenue_incl_vat, orders_revenue_incl_vat, incl_vat_promotions_orders, promotions_class),
    ('commissions', 'commission', commissions_original, orders_commission, commission_commissions_orders, commissions_class),
    ('commissions', 'approved', commissions_approved, orders_approved, approved_difference, commissions_class),
    ('commissions', 'open', commissions_open, orders_open, open_difference, commissions_class),
    ('commissions', 'revenue_excl_vat', commissions_revenue_excl_vat, orders_revenue_excl_vat, excl_vat_commissions_orders, commissions_class),
    ('commissions', 'revenue_incl_vat', commissions_revenue_incl_vat, orders_revenue_incl_vat, incl_vat_commissions_orders, commissions_class)
) AS said(pair, measure, told, orders_say, difference, class)
WHERE said.difference <> 0;
