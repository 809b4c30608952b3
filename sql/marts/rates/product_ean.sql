-- The newest EAN that the catalogue named for a product.
CREATE OR REPLACE VIEW warehouse.product_ean AS
SELECT DISTINCT ON (bol_product_id, account) account, bol_product_id AS product_id, ean
FROM warehouse.dim_product_version
WHERE outcome = 'found' AND bol_product_id IS NOT NULL
ORDER BY bol_product_id DESC, account DESC, valid_from DESC, ean DESC;
