CREATE OR REPLACE VIEW mart.commission_leakage AS
SELECT * FROM mart.commission_expected WHERE shortfall > quantity * 0.01;
