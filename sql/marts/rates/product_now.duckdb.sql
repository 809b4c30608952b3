-- With arg_max over all values at once half of what DISTINCT ON costs DuckDB: 0.6 s against 1.2 for 400,000 EANs.
-- An EAN in the Netherlands rather than in Belgium, in Dutch rather than in French: by chance that is the alphabet backwards.
CREATE OR REPLACE VIEW warehouse.product_now AS
SELECT
  ean,
  newest.product_id,
  newest.title,
  newest.offer_price,
  newest.country_code,
  newest.language,
  newest.valid_from
FROM (
  SELECT
    ean,
    arg_max(
      struct_pack(product_id := bol_product_id, title, offer_price, country_code, language, valid_from),
      (valid_to IS NULL, country_code, language, valid_from)
    ) AS newest
  FROM warehouse.dim_product_version
  WHERE outcome = 'found'
  GROUP BY ean
) AS product;
