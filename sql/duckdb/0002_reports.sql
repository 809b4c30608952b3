-- The tables of the three reports. Their columns are those of pipelines/*.ts, which a test holds against these tables both ways;
-- their comments are written from there. No key and no index: replacing 365 days in 10 million rows takes 1.9 s without and
-- 72 s with a primary key. Publishing checks that the keys of a keyed pipeline are unique.

-- One row of the promotions report. It has no natural key.
CREATE TABLE warehouse.fact_promotion_day (
  promotion_date      DATE NOT NULL,
  site_name           VARCHAR,
  site_code           VARCHAR,
  frame_type          VARCHAR,
  name                VARCHAR,
  sub_id              VARCHAR,
  clicks              BIGINT,
  impressions         BIGINT,
  click_through_rate  DOUBLE,
  commission          DECIMAL(18,6),
  earnings_per_click  DOUBLE,
  earnings_per_mille  DOUBLE,
  orders              BIGINT,
  conversion          DOUBLE,
  revenue_excl_vat    DECIMAL(18,6),
  revenue_incl_vat    DECIMAL(18,6),
  average_order_value DOUBLE,
  extra               JSON,
  fetch_id            VARCHAR NOT NULL,
  loaded_at           TIMESTAMP WITH TIME ZONE NOT NULL
);

-- One ordered item. Its key is (order_id, order_item_id).
CREATE TABLE warehouse.fact_order_item (
  order_date            DATE NOT NULL,
  order_date_time       VARCHAR,
  order_id              VARCHAR NOT NULL,
  order_item_id         VARCHAR NOT NULL,
  product_title         VARCHAR,
  product_id            VARCHAR,
  chunk_name            VARCHAR,
  site_name             VARCHAR,
  site_code             VARCHAR,
  frame_type            VARCHAR,
  name                  VARCHAR,
  sub_id                VARCHAR,
  status                VARCHAR,
  quantity              BIGINT,
  price_excl_vat        DECIMAL(18,6),
  price_incl_vat        DECIMAL(18,6),
  commission_percentage DECIMAL(18,6),
  commission            DECIMAL(18,6),
  status_final          BOOLEAN,
  approved_for_payment  BOOLEAN,
  order_local_time      TIMESTAMP,
  order_utc_time        TIMESTAMP WITH TIME ZONE,
  status_group          VARCHAR,
  extra                 JSON,
  fetch_id              VARCHAR NOT NULL,
  loaded_at             TIMESTAMP WITH TIME ZONE NOT NULL
);

-- One row of the commissions report. It has no natural key.
CREATE TABLE warehouse.fact_commission_day (
  order_date                DATE NOT NULL,
  site_name                 VARCHAR,
  site_code                 VARCHAR,
  frame_type                VARCHAR,
  name                      VARCHAR,
  sub_id                    VARCHAR,
  commission_percentage     DECIMAL(18,6),
  commission_original       DECIMAL(18,6),
  commission_approved       DECIMAL(18,6),
  commission_open           DECIMAL(18,6),
  revenue_original_excl_vat DECIMAL(18,6),
  revenue_original_incl_vat DECIMAL(18,6),
  revenue_approved_excl_vat DECIMAL(18,6),
  revenue_approved_incl_vat DECIMAL(18,6),
  revenue_open_excl_vat     DECIMAL(18,6),
  revenue_open_incl_vat     DECIMAL(18,6),
  quantity_payable          BIGINT,
  extra                     JSON,
  fetch_id                  VARCHAR NOT NULL,
  loaded_at                 TIMESTAMP WITH TIME ZONE NOT NULL
);
