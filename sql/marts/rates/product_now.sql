-- An EAN in the Netherlands rather than in Belgium, in Dutch rather than in French: by chance that is the alphabet backwards.
CREATE OR REPLACE VIEW warehouse.product_now AS
SELECT account, ean, product_id, title, offer_price, country_code, language, valid_from
FROM (
  SELECT
    account, ean, bol_product_id AS product_id, title, offer_price, country_code, language, valid_from,
    row_number() OVER (
      PARTITION BY account, ean ORDER BY valid_to IS NULL DESC, country_code COLLATE "C" DESC, language COLLATE "C" DESC, valid_from DESC
    ) AS back
  FROM warehouse.dim_product_version
  WHERE outcome = 'found'
) AS product
WHERE back = 1;
