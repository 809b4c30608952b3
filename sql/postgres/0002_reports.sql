-- The tables of the three reports. Their columns are those of pipelines/*.ts, which a test holds against these tables both ways;
-- their comments are written from there. The index on the day serves the replacing of slices and the control sums by day.

-- One row of the promotions report. It has no natural key.
CREATE TABLE warehouse.fact_promotion_day (
  promotion_date      date NOT NULL,
  site_name           text,
  site_code           text,
  frame_type          text,
  name                text,
  sub_id              text,
  clicks              bigint,
  impressions         bigint,
  click_through_rate  double precision,
  commission          numeric(18,6),
  earnings_per_click  double precision,
  earnings_per_mille  double precision,
  orders              bigint,
  conversion          double precision,
  revenue_excl_vat    numeric(18,6),
  revenue_incl_vat    numeric(18,6),
  average_order_value double precision,
  extra               jsonb,
  fetch_id            text NOT NULL,
  loaded_at           timestamp with time zone NOT NULL
);
CREATE INDEX fact_promotion_day_day ON warehouse.fact_promotion_day (promotion_date);

-- One ordered item. Its key is (order_id, order_item_id).
CREATE TABLE warehouse.fact_order_item (
  order_date            date NOT NULL,
  order_date_time       text,
  order_id              text NOT NULL,
  order_item_id         text NOT NULL,
  product_title         text,
  product_id            text,
  chunk_name            text,
  site_name             text,
  site_code             text,
  frame_type            text,
  name                  text,
  sub_id                text,
  status                text,
  quantity              bigint,
  price_excl_vat        numeric(18,6),
  price_incl_vat        numeric(18,6),
  commission_percentage numeric(18,6),
  commission            numeric(18,6),
  status_final          boolean,
  approved_for_payment  boolean,
  order_local_time      timestamp without time zone,
  order_utc_time        timestamp with time zone,
  status_group          text,
  extra                 jsonb,
  fetch_id              text NOT NULL,
  loaded_at             timestamp with time zone NOT NULL,
  PRIMARY KEY (order_id, order_item_id)
);
CREATE INDEX fact_order_item_day ON warehouse.fact_order_item (order_date);

-- One row of the commissions report. It has no natural key.
CREATE TABLE warehouse.fact_commission_day (
  order_date                date NOT NULL,
  site_name                 text,
  site_code                 text,
  frame_type                text,
  name                      text,
  sub_id                    text,
  commission_percentage     numeric(18,6),
  commission_original       numeric(18,6),
  commission_approved       numeric(18,6),
  commission_open           numeric(18,6),
  revenue_original_excl_vat numeric(18,6),
  revenue_original_incl_vat numeric(18,6),
  revenue_approved_excl_vat numeric(18,6),
  revenue_approved_incl_vat numeric(18,6),
  revenue_open_excl_vat     numeric(18,6),
  revenue_open_incl_vat     numeric(18,6),
  quantity_payable          bigint,
  extra                     jsonb,
  fetch_id                  text NOT NULL,
  loaded_at                 timestamp with time zone NOT NULL
);
CREATE INDEX fact_commission_day_day ON warehouse.fact_commission_day (order_date);
